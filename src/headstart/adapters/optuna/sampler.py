"""HeadstartSampler: an Optuna sampler that starts from past studies and keeps using them in its surrogates.

It reads and writes Optuna's storage directly (`study._storage`, `trial._trial_id`), as Optuna's own samplers do: system
attributes are not accessible otherwise.
"""

from __future__ import annotations

import math
import threading
import time
import zlib
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

import numpy as np
from optuna import Study
from optuna.distributions import BaseDistribution
from optuna.samplers import BaseSampler, RandomSampler
from optuna.storages import BaseStorage
from optuna.trial import FrozenTrial, TrialState

from headstart._support.arguments import whole
from headstart._support.display import card
from headstart._support.log import log
from headstart.adapters.optuna.attributes import CHANGED, ENDED, ORIGIN, RESERVATION, START, STARTS, WHY, features_in
from headstart.adapters.optuna.distributions import fitted
from headstart.adapters.optuna.past import Past
from headstart.adapters.optuna.reservations import NOTHING, Reservation, free, is_lost, wait_for_turn
from headstart.adapters.optuna.search import Known, Search, Settings
from headstart.adapters.optuna.storages import describe, direction_of
from headstart.adapters.optuna.trials import is_queued, seconds_of
from headstart.adapters.optuna.workers import heartbeat, this_worker
from headstart.errors import ArgumentError, SpaceError
from headstart.history import Features
from headstart.history.shown import picture_of
from headstart.search.budget import SECONDS, checked_seconds
from headstart.space import as_space
from headstart.starts.start import as_start
from headstart.strategies.names import resolve_strategy
from headstart.surrogates.base import Acquisition
from headstart.surrogates.costs import check_acquisition
from headstart.surrogates.names import resolve_surrogate

if TYPE_CHECKING:
    import pandas as pd

N_INIT = 10  # trials of a learned start, by default
RECENT = 5  # trials whose time tells how long one takes; one alone may have waited for a locked storage


class HeadstartSampler(BaseSampler):
    """Starts a study from past studies, then proposes configurations by a surrogate that keeps using them.

    past: a storage URL, file or object, a study, a `Store`, any other past runs that `learn` takes, or a list of these;
        or a `Start`, or None to search without past runs. A storage may be empty or not exist yet. Of its studies,
        those that share the objective's parameters are used. The new study is never part of its own past.
    studies: names of past studies, or patterns such as "svm-*", to use instead.
    n_init: how many trials the start has (default: 10, or the length of a given `Start`); "auto" learns the number, as
        for `Optimizer`.
    init, surrogate: as for `Optimizer`.
    acquisition: "ei" (default), "log_ei", "pi" or "lcb".
    features: the new task's meta-features (default: those that `hs.optuna.describe` wrote to the study).
    space: the objective's search space, to let the sampler know it before the first trial.
    rename: new names of past parameters, old name → new name. fill: values for parameters that past runs lack.
    seed: by default it is derived from the study's name, so that all workers agree on it.
    independent_sampler: samples parameters that are not known yet (default: at random).
    skip_damaged: leave out past studies and trials that cannot be read, instead of raising an error.
    cost: "seconds" prefers configurations that gain much in little time, as for `Optimizer`.
    budget: end the study when its trials have taken this time together: seconds, or text such as "30 min". This implies
        cost="seconds". A study that is driven with ask and tell is not ended.
    """

    def __init__(
        self,
        past: Any,
        *,
        studies: str | Sequence[str] | None = None,
        n_init: int | str | None = None,
        init: Any = "auto",
        surrogate: Any = "auto",
        acquisition: str = "ei",
        features: Features | None = None,
        space: Any = None,
        rename: Mapping[str, str] | None = None,
        fill: Mapping[str, Any] | None = None,
        seed: int | None = None,
        independent_sampler: BaseSampler | None = None,
        skip_damaged: bool = False,
        cost: str | None = None,
        budget: float | str | None = None,
    ) -> None:
        self._start = as_start(past) or as_start(init)
        self._past = None if past is None or as_start(past) else Past.of(past, studies, rename, skip_damaged)
        if self._past is None and studies is not None:
            kind = "None" if past is None else "a Start"
            raise ArgumentError(f"past is {kind}, which has no studies to choose from", "leave out {studies}")
        if n_init not in (None, "auto"):
            n_init = whole("n_init", n_init, 1)
        if self._start is None:
            resolve_strategy(init, history=past is not None)  # fails early if there is no such strategy
        if resolve_surrogate(surrogate).needs_history and self._past is None:
            raise ArgumentError(
                f"surrogate={surrogate!r} learns from past runs", "name past studies with {past}, or use surrogate='gp'"
            )
        n_init = n_init or (len(self._start) if self._start is not None else N_INIT)
        amount = checked_seconds(cost, budget)
        cost = cost if amount is None else SECONDS
        self._settings = Settings(n_init, init, surrogate, Acquisition(acquisition).name, cost, amount)
        if cost is not None:
            check_acquisition(acquisition)
        self._features = features
        self._space = None if space is None else as_space(space)
        self._fill = dict(fill or {})
        self._seed = None if seed is None else whole("seed", seed, 0, or_none=True)
        self._independent = independent_sampler
        self._reset()

    def _reset(self) -> None:
        """Clear everything that a copy of the sampler can find again."""
        self._lock = threading.RLock()
        self._search: tuple[BaseStorage, int, Search] | None = None
        self._reservations: dict[int, tuple[BaseStorage, Reservation]] = {}  # by trial id
        self._chosen: dict[int, float] = {}  # by trial id: when its configuration was chosen
        self._evaluating: deque[float] = deque(maxlen=RECENT)  # seconds that the last trials of this process took

    def __getstate__(self) -> dict[str, Any]:
        cleared = ("_lock", "_search", "_reservations", "_chosen", "_evaluating")
        return {name: value for name, value in vars(self).items() if name not in cleared}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        vars(self).update(state)
        self._reset()

    def _arguments(self) -> dict[str, Any]:
        """The sampler's arguments, as far as they are not the defaults; without passwords."""
        past: Any = None
        if self._start is not None:
            past = repr(self._start)
        elif self._past is not None:
            runs = [] if self._past.runs is None else [repr(self._past.runs)]
            past = ", ".join([*(describe(one) for one in self._past.storages), *runs])
        given = {**asdict(self._settings), "seed": self._seed, "space": self._space}
        usual = {"init": "auto", "surrogate": "auto", "acquisition": "ei", "seed": None, "space": None}
        return {"past": past, **{name: x for name, x in given.items() if name not in usual or x is not usual[name]}}

    def __repr__(self) -> str:
        shown = (f"{name}={value if name == 'past' else repr(value)}" for name, value in self._arguments().items())
        return f"HeadstartSampler({', '.join(shown)})"

    def _repr_html_(self) -> str:
        history = None if self._search is None else self._search[2].history
        rows = [[name, str(value)] for name, value in self._arguments().items()]
        picture = None if history is None else picture_of(history)
        return card("HeadstartSampler", ["argument", "value"], rows, picture)

    def to_frame(self) -> pd.DataFrame:
        """The past runs that the last study learned from, as `History.to_frame`; empty before its first trial."""
        import pandas as pd

        history = None if self._search is None else self._search[2].history
        return pd.DataFrame() if history is None else history.to_frame()

    def reseed_rng(self) -> None:
        """Reseed the independent sampler. Ours has no generator: its proposals differ by trial number."""
        if self._independent is not None:
            self._independent.reseed_rng()

    # -- called by Optuna ------------------------------------------------------------------------------------

    def before_trial(self, study: Study, trial: FrozenTrial) -> None:
        """Reserve a configuration before the objective runs, and say where it comes from and why.

        A trial that was chosen for ahead does not repeat it: in a hurry, writing takes most of the time.
        """
        reservation = self._reserved(study, trial, trial)
        if reservation.origin != NOTHING.origin and not reservation.ahead:
            study._storage.set_trial_user_attr(trial._trial_id, ORIGIN, reservation.origin)
        if reservation.why:
            study._storage.set_trial_user_attr(trial._trial_id, WHY, reservation.why)
        if self._independent is not None:
            self._independent.before_trial(study, trial)
        self._chosen[trial._trial_id] = time.monotonic()

    def infer_relative_search_space(self, study: Study, trial: FrozenTrial) -> dict[str, BaseDistribution]:
        """Empty: `sample_independent` returns the values one by one, all from the same reservation.

        Optuna raises an error if an objective suggests other choices than a relative search space announces. Only
        `sample_independent` receives the distribution that the objective really suggests.
        """
        _direction(study)
        return {}

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        return {name: self.sample_independent(study, trial, name, kind) for name, kind in search_space.items()}

    def sample_independent(
        self, study: Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        """The reserved value, moved into the suggested range; a random one if there is none."""
        reserved = self._reserved(study, trial).config
        if param_name in reserved:
            with suppress(SpaceError):  # a choice that the objective no longer has
                return fitted(reserved[param_name], param_distribution)
        sampler = self._independent or RandomSampler(self._seed_of(study, trial.number, param_name))
        return sampler.sample_independent(study, trial, param_name, param_distribution)

    def after_trial(self, study: Study, trial: FrozenTrial, state: TrialState, values: Sequence[float] | None) -> None:
        """Record which learned values could not be used, and that a failed trial's worker was alive."""
        self._reservations.pop(trial._trial_id, None)
        if (chosen := self._chosen.pop(trial._trial_id, None)) is not None:
            self._evaluating.append(time.monotonic() - chosen)
        reservation = Reservation.of(trial)
        if state == TrialState.COMPLETE and reservation is not None and reservation.start is not None:
            changed = {name: value for name, value in reservation.config.items() if trial.params.get(name) != value}
            if changed:
                study._storage.set_trial_user_attr(trial._trial_id, CHANGED, changed)
        if state == TrialState.FAIL:
            study._storage.set_trial_system_attr(trial._trial_id, ENDED, True)
        if self._settings.budget is not None:
            self._end_if_spent(study, trial, self._settings.budget)
        if self._independent is not None:
            self._independent.after_trial(study, trial, state, values)

    def _end_if_spent(self, study: Study, trial: FrozenTrial, budget: float) -> None:
        """End the study if its trials, this one included, have taken all of the budget."""
        others = [t for t in study._storage.get_all_trials(study._study_id, deepcopy=False) if t.number != trial.number]
        started = trial.datetime_start
        own = math.nan if started is None else (datetime.now() - started).total_seconds()
        if math.fsum(s for s in (own, *map(seconds_of, others)) if math.isfinite(s)) >= budget:
            with suppress(RuntimeError):  # the study is driven with ask and tell
                study.stop()
                few = "" if others else " (it was smaller than one trial)"
                log.info("the study ends: the budget of %g seconds is spent%s", budget, few)

    # -- reservations ----------------------------------------------------------------------------------------

    def _reserved(self, study: Study, trial: FrozenTrial, stored: FrozenTrial | None = None) -> Reservation:
        """This trial's reservation, made now if it has none. stored: the trial, if it was read a moment ago."""
        _direction(study)
        storage, cached = study._storage, self._reservations.get(trial._trial_id)
        if cached is not None and cached[0] is storage:
            return cached[1]
        stored = stored or storage.get_trial(trial._trial_id)
        reservation = Reservation.of(stored) or (NOTHING if is_queued(stored) else self._reserve(study, trial))
        self._reservations[trial._trial_id] = storage, reservation
        return reservation

    def _reserve(self, study: Study, trial: FrozenTrial) -> Reservation:
        storage, reservation, lost = study._storage, NOTHING, True
        try:
            with heartbeat(study, trial):
                while lost:
                    reservation, known = self._proposed(study, trial)
                    lost = is_lost(storage, study._study_id, trial.number, reservation, known)
        except BaseException:  # so that no other trial waits for this one
            storage.set_trial_system_attr(trial._trial_id, RESERVATION, NOTHING.to_json())
            raise
        if reservation.start is not None:
            storage.set_trial_user_attr(trial._trial_id, START, reservation.start)
        return reservation

    def _proposed(self, study: Study, trial: FrozenTrial) -> tuple[Reservation, list[FrozenTrial]]:
        """A reservation for the trial, stored when it is the trial's turn, and the trials that it knows of."""
        storage, number = study._storage, trial.number

        def needs_turn(trials: Sequence[FrozenTrial]) -> bool:
            with self._lock:
                return self._search_for(study).is_starting(trials, number)

        trials = wait_for_turn(storage, study._study_id, number, needs_turn)
        if free(storage, trials):
            trials = storage.get_all_trials(study._study_id, deepcopy=False)
        with self._lock:
            evaluating = float(np.median(self._evaluating)) if self._evaluating else math.inf
            reservation = self._search_for(study).propose(trials, number, evaluating=evaluating)
        reservation = replace(reservation, worker=this_worker(study))
        storage.set_trial_system_attr(trial._trial_id, RESERVATION, reservation.to_json())
        return reservation, trials

    def _search_for(self, study: Study) -> Search:
        """The search of this study. The history is read when the study's first trial begins."""
        storage, number = study._storage, study._study_id
        if self._search is None or self._search[:2] != (storage, number):
            past = None if self._past is None else self._past.for_study(study)
            known = Known(past, self._start, self._space, self._features or _described(study), self._fill)
            search = Search(self._settings, known, direction=_direction(study), seed=self._seed_of(study))
            if (past is not None and past.any) or self._start is not None:
                planned = 0 if isinstance(self._settings.n_init, str) else self._settings.n_init
                storage.set_study_system_attr(number, STARTS, planned)
            self._search = storage, number, search
        return self._search[2]

    def _seed_of(self, study: Study, *more: int | str) -> int:
        """The seed, or one derived from the study's name; more: what the seed is for."""
        parts = [study.study_name if self._seed is None else str(self._seed), *map(str, more)]
        return self._seed if self._seed is not None and not more else zlib.crc32("\n".join(parts).encode())


def _direction(study: Study) -> str:
    """The study's direction; an error if it has several objectives."""
    return direction_of(
        study, "HeadstartSampler", "use one of Optuna's samplers for several objectives, such as NSGAIISampler"
    )


def _described(study: Study) -> Features | None:
    """The meta-features that `hs.optuna.describe` wrote to the study."""
    attributes = study._storage.get_study_user_attrs(study._study_id)
    return features_in(attributes, study.study_name, lambda text: log.warning("skipped %s", text))
