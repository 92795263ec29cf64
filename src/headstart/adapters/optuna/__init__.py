"""Optuna: its studies as a past, a sampler that starts from them, and a queue for those who keep their sampler.

conditions      what an objective asks for under which conditions, told from its trials
distributions   Optuna's distributions and our parameters
storages        opening storages, for reading
trials          past trials, read fast
reading         past studies as a History
claims          who tries what: how workers on one study share a start
search          what to try next in one study
sampler         HeadstartSampler
queue           enqueue, describe, and the account of what ran
"""

from __future__ import annotations

try:
    from optuna import __version__ as _version
except ImportError as error:
    raise ImportError('Optuna is not installed: pip install "headstart[optuna]"') from error

if int(_version.partition(".")[0]) < 4:
    raise ImportError(f'headstart needs Optuna 4 or newer, but found {_version}: pip install "optuna>=4"')

from headstart.adapters.optuna.distributions import to_distributions
from headstart.adapters.optuna.queue import Account, Queued, account, account_of, describe, enqueue
from headstart.adapters.optuna.reading import read
from headstart.adapters.optuna.sampler import HeadstartSampler

__all__ = [
    "Account",
    "HeadstartSampler",
    "Queued",
    "account",
    "account_of",
    "describe",
    "enqueue",
    "read",
    "to_distributions",
]
