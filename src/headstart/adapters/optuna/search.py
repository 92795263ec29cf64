"""One study's search: what is known of the objective's space, and what to try next given all its trials."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from optuna.trial import FrozenTrial, TrialState

from headstart._support.log import log
from headstart._support.types import Array
from headstart.adapters.optuna.conditions import Params, joined, placed, shapes, telling
from headstart.adapters.optuna.distributions import parameter_of
from headstart.adapters.optuna.reservations import NOTHING, Claim, Other, losses, others
from headstart.errors import ExhaustedError
from headstart.history import Features, History
from headstart.search.optimizer import Optimizer
from headstart.space import Change, Parameter, Space
from headstart.space.reconciliation import report
from headstart.starts.start import Start
from headstart.strategies.base import Told
from headstart.surrogates.names import resolve_surrogate


@dataclass(frozen=True)
class Settings:
    """How to search: as for `headstart.Optimizer`."""

    n_init: int
    init: Any
    surrogate: Any
    acquisition: str


@dataclass
class Seen:
    """What this study's trials have asked for so far; finished trials are read once."""

    parameters: dict[str, Parameter] = field(default_factory=dict)  # as they were asked for last
    complete: list[Params] = field(default_factory=list)
    _read: set[int] = field(default_factory=set)

    def read(self, trials: Sequence[FrozenTrial]) -> None:
        for trial in trials:
            if trial.number in self._read:
                continue
            found = {name: parameter_of(distribution) for name, distribution in trial.distributions.items()}
            known = {name: parameter for name, parameter in found.items() if parameter is not None}
            self.parameters.update(known)
            if trial.state.is_finished():
                self._read.add(trial.number)
                if trial.state == TrialState.COMPLETE and known:
                    self.complete.append({name: trial.params[name] for name in known})


class Search:
    """Proposes configurations for a study; nothing it answers depends on what it answered before."""

    def __init__(
        self,
        settings: Settings,
        *,
        history: History | None,
        start: Start | None,
        space: Space | None,
        features: Features | None,
        sign: float,
        seed: int,
    ) -> None:
        """space: the objective's, if it is known beforehand; sign: −1 for a study that maximises."""
        self.settings = settings
        self.history = history
        self.start = start
        self.features = features
        self.sign = sign
        self.seed = seed
        self._base = space or (history.space if history else start.space if start else None)
        self._seen = Seen()
        self._optimizer: Optimizer | None = None
        self._said: set[Change | str] = set()

    def prepare(self, trials: Sequence[FrozenTrial]) -> None:
        """Learn from the past what takes long, before others wait for an answer."""
        self._seen.read(trials)
        space = self._space()
        if space is not None and (self._optimizer is None or self._optimizer.space != space):
            self._search_in(space).propose(Told.nothing(space), starting=True)

    def propose(self, trials: Sequence[FrozenTrial], number: int) -> Claim:
        """What the trial with this number is to try, given all trials of the study."""
        self._seen.read(trials)
        space = self._space()
        if space is None:
            return NOTHING  # nothing is known yet; the first trial shows what the objective asks for
        found = others(trials, number, self.sign)
        told = _told(space, [other.config for other in found], losses(found))
        starting = len(told) < self.settings.n_init
        told = _with_claims(space, told, found)
        if self.start is not None:
            claim = self._from_start(self.start, space, told)
            if claim is not None:
                return claim
            starting = False
        try:
            v, origin = self._search_in(space).propose(told, starting=starting)
        except ExhaustedError:
            return NOTHING
        learned = origin == "strategy"
        return Claim(space.from_values(v[None])[0], origin, _free_index(found) if learned else None)

    # -- the space -------------------------------------------------------------------------------------------

    def _space(self) -> Space | None:
        seen = self._seen
        parents = telling(seen.parameters, self._base)
        known = {*seen.parameters, *(self._base or ())}
        return joined(self._base, seen.parameters, shapes(seen.complete, known, parents))

    # -- a given start ---------------------------------------------------------------------------------------

    def _from_start(self, start: Start, space: Space, told: Told) -> Claim | None:
        """The first configuration of the start that has not been tried."""
        if not set(start.space) & set(space):
            self._warn(_ignored("the start", start.space, space))
            return None
        rows = list(range(len(start)))
        if start.space != space:
            try:
                start, result = start.reconciled(space)
            except ValueError as error:
                self._warn(f"the start is ignored: {error}")
                return None
            rows = result.rows
            self._report("the start", result.changes)
        for row, v, config in zip(rows, space.to_values(start.configs), start.configs, strict=True):
            if row < self.settings.n_init and v not in told:
                return Claim(config, "start", row)
        return None

    # -- the past --------------------------------------------------------------------------------------------

    def _search_in(self, space: Space) -> Optimizer:
        """The optimizer for this space: learned anew only when the space has changed."""
        if self._optimizer is None or self._optimizer.space != space:
            history = self._history_in(space)
            alone = history is None and (
                self.history is not None or resolve_surrogate(self.settings.surrogate).needs_history
            )
            self._optimizer = Optimizer(
                space,
                history,
                init="random" if history is None or self.start is not None else self.settings.init,
                n_init=self.settings.n_init,
                surrogate="auto" if alone else self.settings.surrogate,
                acquisition=self.settings.acquisition,
                features=self.features,
                seed=self.seed,
            )
        return self._optimizer

    def _history_in(self, space: Space) -> History | None:
        if self.history is None or self.history.space == space:
            return self.history
        if not set(self.history.space) & set(space):
            self._warn(_ignored("the past", self.history.space, space))
            return None
        try:
            history, changes = self.history.moved_to(space)
        except ValueError as error:
            self._warn(f"the past is ignored: {error}")
            return None
        self._report("the past", changes)
        return history

    # -- words -----------------------------------------------------------------------------------------------

    def _report(self, what: str, changes: Sequence[Change]) -> None:
        """A table of what became of the parameters, each line once."""
        new = [c for c in changes if (c.action != "kept" or c.detail) and c not in self._said]
        self._said.update(new)
        if new:
            log.warning("the objective has another space than %s; brought over:\n%s", what, report(new))

    def _warn(self, text: str) -> None:
        if text not in self._said:
            self._said.add(text)
            log.warning("%s", text)


def _ignored(what: str, old: Space, new: Space) -> str:
    return (
        f"{what} is ignored, because the objective never asks for any of its parameters: it asks for "
        f"{', '.join(new)}, and {what} knows {', '.join(old)}"
    )


def _told(space: Space, configs: Sequence[Params], known: Array) -> Told:
    V, fits, _ = placed(space, configs)
    return Told(V[fits], known[fits])


def _with_claims(space: Space, told: Told, found: Sequence[Other]) -> Told:
    """Starts that were not tried as they were claimed are used up all the same."""
    claimed = [o.claim.config for o in found if o.claim and o.claim.start is not None and o.claim.config != o.config]
    for v in _told(space, claimed, np.full(len(claimed), np.nan)).V:
        if v not in told:
            told = told.and_(v)
    return told


def _free_index(found: Sequence[Other]) -> int:
    """The lowest number of a start that no trial has claimed."""
    taken = {other.claim.start for other in found if other.claim}
    return next(i for i in range(len(taken) + 1) if i not in taken)
