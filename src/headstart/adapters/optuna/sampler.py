"""HeadstartSampler: a sampler for Optuna that starts from past studies and goes on with surrogates that use them."""

from __future__ import annotations

import threading
import zlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from optuna import Study
from optuna.distributions import BaseDistribution
from optuna.samplers import BaseSampler, RandomSampler
from optuna.storages import BaseStorage
from optuna.study import StudyDirection
from optuna.trial import FrozenTrial, TrialState

from headstart._support.arguments import whole
from headstart._support.log import log
from headstart.adapters.optuna.distributions import fitted
from headstart.adapters.optuna.reading import FEATURES, NoPastError, read, read_features
from headstart.adapters.optuna.reservations import CHANGED, CLAIM, ENDED, NOTHING, START, STARTS, Claim, Turns, is_given
from headstart.adapters.optuna.search import Search, Settings
from headstart.adapters.optuna.storages import is_past, opened, place
from headstart.errors import ArgumentError
from headstart.history import Features, History
from headstart.space import as_space
from headstart.starts.start import Start
from headstart.strategies.names import STRATEGIES, resolve_strategy
from headstart.surrogates.base import Acquisition
from headstart.surrogates.names import resolve_surrogate

N_INIT = 10  # trials of a learned start, unless told otherwise


class HeadstartSampler(BaseSampler):
    """Starts a study from what earlier ones learned, then proposes by surrogates that go on using them.

    past: a storage URL, file or object, a study or a list of studies; or a `History`, a `Start`, or None for a search
    without a past. The study itself is no part of its past. studies: names, or patterns such as "svm-*".
    n_init: trials of the start (10, or the length of a given `Start`). init, surrogate, acquisition, features: as for
    `Optimizer`; features default to those that `hs.optuna.describe` wrote to the study.
    space: the objective's space, if it shall be known before the first trial has shown it.
    seed: None takes one from the study's name, so that all workers on it agree.
    independent_sampler: for parameters that are not known yet (at random by default).
    """

    def __init__(
        self,
        past: Any,
        *,
        studies: str | Sequence[str] | None = None,
        n_init: int | None = None,
        init: Any = "auto",
        surrogate: Any = "auto",
        acquisition: str = "auto",
        features: Features | None = None,
        space: Any = None,
        seed: int | None = None,
        independent_sampler: BaseSampler | None = None,
    ) -> None:
        self._past = _checked_past(past, studies)
        self._studies = studies
        self._start = past if isinstance(past, Start) else init if isinstance(init, Start) else None
        if n_init is not None:
            n_init = whole("n_init", n_init, 1)
        if self._start is None and (past is None or not isinstance(init, str) or init not in STRATEGIES):
            resolve_strategy(init, history=False)
        if resolve_surrogate(surrogate).needs_history and (past is None or isinstance(past, Start)):
            raise ArgumentError(f"surrogate={surrogate!r} learns from past runs; name a past, or take surrogate='gp'")
        n_init = n_init or (len(self._start) if self._start is not None else N_INIT)
        self._settings = Settings(n_init, init, surrogate, Acquisition(acquisition).name)
        self._features = features
        self._space = None if space is None else as_space(space)
        self._seed = None if seed is None else whole("seed", seed, 0, or_none=True)
        self._independent = independent_sampler
        self._forget()

    def _forget(self) -> None:
        """What is not worth keeping in a copy: it is found again when needed."""
        self._lock = threading.RLock()
        self._turns = Turns()
        self._search: tuple[BaseStorage, int, Search] | None = None
        self._claims: dict[int, tuple[BaseStorage, Claim]] = {}  # by trial id

    def __getstate__(self) -> dict[str, Any]:
        forgotten = ("_lock", "_turns", "_search", "_claims")
        return {name: value for name, value in vars(self).items() if name not in forgotten}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        vars(self).update(state)
        self._forget()

    def reseed_rng(self) -> None:
        """Threads share this sampler and its trials differ by number; only the independent one has a generator."""
        if self._independent is not None:
            self._independent.reseed_rng()

    # -- what Optuna calls -----------------------------------------------------------------------------------

    def before_trial(self, study: Study, trial: FrozenTrial) -> None:
        """Claims a configuration, so that every trial has one from the moment it exists."""
        self._claim(study, trial)
        if self._independent is not None:
            self._independent.before_trial(study, trial)

    def infer_relative_search_space(self, study: Study, trial: FrozenTrial) -> dict[str, BaseDistribution]:
        """Empty: values are handed out as they are asked for.

        Optuna refuses a study whose objective asks for other choices than a relative search space announces; only
        `sample_independent` is told what the objective really asks for. The values still come from one joint proposal.
        """
        _refuse_several_objectives(study)
        return {}

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        return {name: self.sample_independent(study, trial, name, kind) for name, kind in search_space.items()}

    def sample_independent(
        self, study: Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        """The value that was claimed, moved into the range asked for; if there is none, one at random."""
        claim = self._claim(study, trial)
        with suppress(KeyError, ValueError):  # not claimed, or a choice that is no more
            return fitted(claim.config[param_name], param_distribution)
        sampler = self._independent or RandomSampler(self._seed_of(study, trial.number, param_name))
        return sampler.sample_independent(study, trial, param_name, param_distribution)

    def after_trial(self, study: Study, trial: FrozenTrial, state: TrialState, values: Sequence[float] | None) -> None:
        """Notes what could not be used as learned, and that a trial failed while its worker was alive."""
        self._claims.pop(trial._trial_id, None)
        claim = Claim.of(trial)
        if state == TrialState.COMPLETE and claim is not None and claim.start is not None:
            proposed = {name: value for name, value in claim.config.items() if trial.params.get(name) != value}
            if proposed:
                study._storage.set_trial_user_attr(trial._trial_id, CHANGED, proposed)
        if state == TrialState.FAIL:
            study._storage.set_trial_system_attr(trial._trial_id, ENDED, True)
        if self._independent is not None:
            self._independent.after_trial(study, trial, state, values)

    # -- claims ----------------------------------------------------------------------------------------------

    def _claim(self, study: Study, trial: FrozenTrial) -> Claim:
        """This trial's claim, made now if it has none."""
        _refuse_several_objectives(study)
        storage, kept = study._storage, self._claims.get(trial._trial_id)
        if kept is not None and kept[0] is storage:
            return kept[1]
        known = storage.get_trial(trial._trial_id)
        claim = Claim.of(known) or (NOTHING if is_given(known) else self._make_claim(study, trial))
        self._claims[trial._trial_id] = storage, claim
        return claim

    def _make_claim(self, study: Study, trial: FrozenTrial) -> Claim:
        storage, claim = study._storage, NOTHING
        try:
            with self._lock:
                search = self._search_for(study)
                search.prepare(storage.get_all_trials(study._study_id, deepcopy=False))
            trials = self._turns.wait(storage, study._study_id, trial.number)
            with self._lock:
                claim = search.propose(trials, trial.number)
        finally:  # also if something went wrong, so that nobody waits for this trial
            if claim.start is not None:
                storage.set_trial_user_attr(trial._trial_id, START, claim.start)
            storage.set_trial_system_attr(trial._trial_id, CLAIM, claim.to_json())
        return claim

    def _search_for(self, study: Study) -> Search:
        """The search of this study; the past is read when its first trial begins."""
        if self._search is None or self._search[:2] != (study._storage, study._study_id):
            history = self._read_past(study)
            found: list[str] = []
            attributes = study._storage.get_study_user_attrs(study._study_id)
            features = self._features or read_features(attributes.get(FEATURES), study.study_name, found)
            for text in found:
                log.warning("passed over %s", text)
            search = Search(
                self._settings,
                history=history,
                start=self._start,
                space=self._space,
                features=features,
                sign=-1.0 if study.direction == StudyDirection.MAXIMIZE else 1.0,
                seed=self._seed_of(study),
            )
            if history is not None or self._start is not None:
                study._storage.set_study_system_attr(study._study_id, STARTS, self._settings.n_init)
            self._search = study._storage, study._study_id, search
        return self._search[2]

    def _read_past(self, study: Study) -> History | None:
        direction = study.direction.name.lower()
        if isinstance(self._past, History):
            if self._past.direction != direction:
                raise ArgumentError(
                    f"the past is to {self._past.direction}, but the study {study.study_name!r} is to {direction}"
                )
            return self._past
        if self._past is None or isinstance(self._past, Start):
            return None
        here = place(study._storage)
        try:
            return read(
                self._past,
                self._studies,
                direction=direction,
                leave_out=lambda past: past.name == study.study_name and past.place == here,
            )
        except NoPastError as error:
            log.warning("searching without a past: %s", error)
            return None

    def _seed_of(self, study: Study, *more: int | str) -> int:
        """The seed, or one made of the study's name, for something in particular."""
        parts = [study.study_name if self._seed is None else str(self._seed), *map(str, more)]
        return self._seed if self._seed is not None and not more else zlib.crc32("\n".join(parts).encode())


def _checked_past(past: Any, studies: str | Sequence[str] | None) -> Any:
    """The past itself, after a look at whether it is there at all."""
    if past is None or isinstance(past, (History, Start)):
        if studies is not None:
            raise ArgumentError("studies= chooses among the studies of a storage; this past has none")
        return past
    if not is_past(past):
        raise ArgumentError(
            "the past is a storage URL or object, a study, a list of studies, a History, a Start or None, "
            f"but got {past!r:.80}"
        )
    with opened(past, studies) as found:
        if all(len(study.directions) > 1 for study in found):
            raise ArgumentError(
                f"all studies of the past have several objectives: {found[0].name!r} has {len(found[0].directions)}"
            )
    return past if isinstance(past, (str, Study)) or not isinstance(past, Sequence) else list(past)


def _refuse_several_objectives(study: Study) -> None:
    if len(study.directions) > 1:
        raise ArgumentError(
            f"HeadstartSampler searches for one objective, but the study {study.study_name!r} has "
            f"{len(study.directions)}; use one of Optuna's samplers for several, such as NSGAIISampler"
        )
