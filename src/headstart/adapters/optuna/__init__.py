"""Optuna: its studies as a history, a sampler that starts from them, and a queue for studies with another sampler.

May import: everything below `adapters`. Hands on: the names in `__all__`, as `hs.optuna`.

damage          what cannot be read, as one error or counted
databases       opening a database of Optuna, never writing
journals        opening a journal of Optuna, never writing
trials          a trial's loss and configuration; past trials, read fast
storages        opening storages for reading
distributions   Optuna's distributions as our parameters, and back
conditions      conditions on parameters, inferred from which trials have them
attributes      the attributes that headstart writes to studies and trials
gathering       the studies that can be used, and those that belong to the new search
reading         past studies as a History
store           a store that fills itself: its runs, read and written
past            what a sampler was given as past runs
suggesting      a search space as a function of the trial
objective       the search space of an objective, inferred from its trials
workers         whether the worker of a trial is alive
reservations    how workers on one study share a start
search          the next configuration of one study
sampler         HeadstartSampler
pruner          HeadstartPruner
stuck           trials whose worker died, and how to free them
queue           enqueue, describe, and the account of how a start ran
outlook         what a study has found and what comes next, for the report
tables          Optuna's TPE on a table of results, to compare with
"""

from __future__ import annotations

from headstart.errors import MissingPackageError

try:
    from optuna import __version__ as _version
except ImportError as error:
    raise MissingPackageError.of("the Optuna adapter", "optuna", "optuna") from error

if int(_version.partition(".")[0]) < 4:
    raise MissingPackageError(
        f"headstart needs Optuna 4 or newer, but found {_version}", "pip install 'optuna>=4'", name="optuna"
    )

from headstart.adapters.optuna.distributions import to_distributions
from headstart.adapters.optuna.pruner import HeadstartPruner
from headstart.adapters.optuna.queue import Account, Queued, account, account_of, describe, enqueue
from headstart.adapters.optuna.reading import read
from headstart.adapters.optuna.sampler import HeadstartSampler
from headstart.adapters.optuna.suggesting import space

__all__ = [
    "Account",
    "HeadstartPruner",
    "HeadstartSampler",
    "Queued",
    "account",
    "account_of",
    "describe",
    "enqueue",
    "read",
    "space",
    "to_distributions",
]
