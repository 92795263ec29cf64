"""HeadstartPruner: stops trials that are unlikely to beat the best, by what past learning curves teach."""

from __future__ import annotations

import math
import threading
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from optuna import Study
from optuna.pruners import BasePruner
from optuna.storages import BaseStorage
from optuna.trial import FrozenTrial, TrialState

from headstart._support.arguments import whole
from headstart._support.log import log
from headstart._support.threads import one_thread
from headstart.adapters.optuna.distributions import parameter_of
from headstart.adapters.optuna.past import Past
from headstart.adapters.optuna.storages import direction_of
from headstart.adapters.optuna.trials import curve_of
from headstart.errors import ArgumentError, HistoryError
from headstart.history import History
from headstart.transfer.drawn import LEAST_RUNS, Curve
from headstart.transfer.stopping import LEAST_TASKS, Stopping, StoppingEvidence, learn_stopping

NEEDED = f"at least {LEAST_TASKS} past tasks with {LEAST_RUNS} complete learning curves each"


class HeadstartPruner(BasePruner):
    """Stops a trial when, given the learning curves of past tasks, it is unlikely to beat the best so far.

    past: past runs with learning curves: a storage URL, file or object, studies, a `Store`, a `History` with curves, or
        a list of these. A storage may be empty or not exist yet: without enough curves nothing is stopped.
    rate: the share of studies in which the best trial may be stopped by mistake. The pruner is set so that this holds
        on the past tasks, each left out in turn; `evidence` shows it.
    studies, skip_damaged: as for `HeadstartSampler`.
    seed: of the studies that are drawn from the past tasks to set it.

    It decides from the first trial on: while no trial is complete, those are stopped that are unlikely to end well by
    what past runs reported, but, of five or more, none of the best third. Trials are compared by what they report, so
    report the same metric in every study.
    """

    def __init__(
        self,
        past: Any,
        *,
        rate: float = 0.2,
        studies: str | Sequence[str] | None = None,
        seed: int = 0,
        skip_damaged: bool = False,
    ) -> None:
        if isinstance(rate, bool) or not isinstance(rate, (int, float)) or not 0 < rate < 1:
            raise ArgumentError(f"rate must be a number between 0 and 1, but got {rate!r}")
        self._rate, self._seed = float(rate), whole("seed", seed, 0)
        self._past = Past.of(past, studies, None, skip_damaged)
        if isinstance(past, History) and past.curves is None:
            raise HistoryError(
                "the history has no learning curves, so nothing can be learned from it about stopping",
                "read them with {step}, or from Optuna studies whose trials report",
            )
        self._reset()

    def _reset(self) -> None:
        self._lock = threading.Lock()
        self._rules: dict[tuple[BaseStorage, int], Stopping | None] = {}
        self._curves: dict[tuple[BaseStorage, int, int], Curve] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in ("_lock", "_rules", "_curves")}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        vars(self).update(state)
        self._reset()

    def prune(self, study: Study, trial: FrozenTrial) -> bool:
        """Called by Optuna: whether to stop a trial after its latest report."""
        direction = direction_of(study, "HeadstartPruner", "Optuna prunes studies with one objective only")
        if not trial.intermediate_values:
            return False
        latest = [trial.intermediate_values[step] for step in sorted(trial.intermediate_values)[-2:]]
        if not any(map(math.isfinite, latest)):
            return True  # nothing but NaN or infinities: the first report, or two in a row
        rule = self._rule(study, trial)
        if rule is None:
            return False
        steps, losses = _columns(curve_of(trial, direction))
        best = self._best(study, direction)
        if rule.due(steps, best) is None:
            return False
        return rule.stops(steps, losses, best, self._before(study, trial, direction))

    def evidence(self, study: Study | None = None) -> StoppingEvidence:
        """How often the best trial would have been stopped on the past tasks, each left out in turn.

        study: the new study, which is no part of its own past; None if there is none yet.
        """
        rule = self._learned(None if study is None else (study, {}))
        if rule is None:
            raise HistoryError(f"there are too few learning curves: the pruner needs {NEEDED}")
        return rule.evidence

    def _rule(self, study: Study, trial: FrozenTrial) -> Stopping | None:
        key = (study._storage, study._study_id)
        with self._lock:
            if key not in self._rules:
                found = {name: parameter_of(kind) for name, kind in trial.distributions.items()}
                parameters = {name: parameter for name, parameter in found.items() if parameter is not None}
                rule = self._learned((study, parameters))
                if rule is None:
                    log.warning("no trial will be stopped: the pruner needs %s", NEEDED)
                self._rules[key] = rule
            return self._rules[key]

    @one_thread
    def _learned(self, new: tuple[Study, Mapping[str, Any]] | None) -> Stopping | None:
        candidates = self._past.for_study(new[0]) if new is not None else self._past.for_nobody()
        history = candidates.chosen(new[1] if new is not None else {})
        if history is None:
            return None
        return learn_stopping(history, self._rate, rng=np.random.default_rng(self._seed))

    def _best(self, study: Study, direction: str) -> Curve | None:
        """The curve of the complete trial that ended best."""
        complete = study._storage.get_all_trials(study._study_id, deepcopy=False, states=(TrialState.COMPLETE,))
        curves = [curve for trial in complete if len((curve := self._curve(study, trial, direction))[0]) > 1]
        return min(curves, key=lambda curve: float(curve[1][-1])) if curves else None

    def _before(self, study: Study, trial: FrozenTrial, direction: str) -> list[Curve]:
        """The curves of all earlier trials that reported something, whatever became of them."""
        trials = study._storage.get_all_trials(study._study_id, deepcopy=False)
        curves = [self._curve(study, other, direction) for other in trials if other.number < trial.number]
        return [curve for curve in curves if len(curve[0])]

    def _curve(self, study: Study, trial: FrozenTrial, direction: str) -> Curve:
        """What a trial reported. Finished trials are converted once."""
        key = (study._storage, study._study_id, trial.number)
        known = self._curves.get(key)
        if known is None:
            known = _columns(curve_of(trial, direction))
            if trial.state.is_finished():
                self._curves[key] = known
        return known


def _columns(curve: Mapping[int, float]) -> Curve:
    steps = np.array(list(curve), dtype=np.int64)
    losses = np.array([curve[int(step)] for step in steps], dtype=float)
    assert all(map(math.isfinite, losses))
    return steps, losses
