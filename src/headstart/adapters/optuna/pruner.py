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
from headstart.space import Space
from headstart.transfer.standings import LEAST_RUNS, LOOKS, Curve, lowest
from headstart.transfer.stopping import Stopping, StoppingEvidence, learn_stopping, tasks_needed

NOT_KEPT = ("_rules", "_curves", "_promises")  # by copies of a pruner


class HeadstartPruner(BasePruner):
    """Stops a trial when, given the learning curves of past tasks, it is unlikely to become the best.

    past: past runs with learning curves: a storage URL, file or object, studies, a `Store`, a `History` with curves, or
        a list of these. A storage may be empty or not exist yet: without enough curves nothing is stopped.
    rate: the share of the best runs that may be stopped by mistake. The pruner is set so that this holds for a new task
        like the past ones, for configurations drawn as widely as theirs and for those of a sampler that prefers good
        ones. `evidence` shows what it would have done on the past tasks. A rate of 30% needs three past tasks with
        learning curves, 20% four, 10% nine.
    studies, skip_damaged: as for `HeadstartSampler`.
    seed: of the forest that learns what configurations promise.

    It decides from the first trial on: after its first report by how its configuration would have ended on past tasks,
    then by its rank among all trials of the study. While there are few of them, what past runs reported counts, too.
    Trials are compared by what they report, so report the same metric in every study.
    """

    def __init__(
        self,
        past: Any,
        *,
        rate: float = 0.3,
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
        self._rules: dict[tuple[BaseStorage, int], tuple[Stopping, Space] | None] = {}
        self._curves: dict[tuple[BaseStorage, int, int], Curve] = {}
        self._promises: dict[tuple[BaseStorage, int, int], float] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in ("_lock", *NOT_KEPT)}

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
        learned = self._rule(study, trial)
        if learned is None:
            return False
        rule, space = learned
        curve = _columns(curve_of(trial, direction))
        span = rule.span(curve[0], self._longest(study, direction))
        look = rule.due(curve[0], span)
        if look is None:
            return False
        others = self._others(study, trial)
        promises = np.array([self._promise(study, other, rule, space) for other in (*others, trial)])
        if look == 0:
            return rule.stops_early(float(promises[-1]), promises[:-1])
        reached = [lowest(self._curve(study, other, direction), span) for other in others]
        return rule.stops(look, curve, span, np.array(reached).reshape(len(others), len(LOOKS)), promises)

    def evidence(self, study: Study | None = None) -> StoppingEvidence:
        """How often the best trial would have been stopped on the past tasks, each left out in turn.

        study: the new study, which is no part of its own past; None if there is none yet.
        """
        learned = self._learned(None if study is None else (study, {}))
        if learned is None:
            raise HistoryError(f"there are too few learning curves: the pruner needs {self._needed}")
        return learned[0].evidence

    @property
    def _needed(self) -> str:
        many = tasks_needed(self._rate)
        return f"at least {many} past tasks with {LEAST_RUNS} complete learning curves each for rate={self._rate:g}"

    def _rule(self, study: Study, trial: FrozenTrial) -> tuple[Stopping, Space] | None:
        key = (study._storage, study._study_id)
        with self._lock:
            if key not in self._rules:
                found = {name: parameter_of(kind) for name, kind in trial.distributions.items()}
                parameters = {name: parameter for name, parameter in found.items() if parameter is not None}
                rule = self._learned((study, parameters))
                if rule is None:
                    log.warning("no trial will be stopped: the pruner needs %s", self._needed)
                self._rules[key] = rule
            return self._rules[key]

    @one_thread
    def _learned(self, new: tuple[Study, Mapping[str, Any]] | None) -> tuple[Stopping, Space] | None:
        candidates = self._past.for_study(new[0]) if new is not None else self._past.for_nobody()
        history = candidates.chosen(new[1] if new is not None else {})
        if history is None:
            return None
        rule = learn_stopping(history, self._rate, rng=np.random.default_rng(self._seed))
        return None if rule is None else (rule, history.space)

    def _longest(self, study: Study, direction: str) -> Curve | None:
        """The longest curve of a complete trial."""
        complete = study._storage.get_all_trials(study._study_id, deepcopy=False, states=(TrialState.COMPLETE,))
        curves = [curve for trial in complete if len((curve := self._curve(study, trial, direction))[0]) > 1]
        return max(curves, key=lambda curve: int(curve[0][-1])) if curves else None

    def _others(self, study: Study, trial: FrozenTrial) -> list[FrozenTrial]:
        """All other trials that reported something, whatever became of them."""
        trials = study._storage.get_all_trials(study._study_id, deepcopy=False)
        return [
            other
            for other in trials
            if other.number != trial.number and any(map(math.isfinite, other.intermediate_values.values()))
        ]

    def _promise(self, study: Study, trial: FrozenTrial, rule: Stopping, space: Space) -> float:
        """How well the trial's configuration ended on past tasks; NaN if they have no such configuration."""
        key = (study._storage, study._study_id, trial.number)
        if key not in self._promises:
            config = {name: value for name, value in trial.params.items() if name in space}
            if not config or not space.contains(config):
                return math.nan
            self._promises[key] = rule.promised(space.encode([config]))
        return self._promises[key]

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
