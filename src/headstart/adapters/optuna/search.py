"""The search of one study: which configuration to try next, given all its trials."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
from optuna.trial import FrozenTrial

from headstart._support.log import announce, log
from headstart._support.types import Array, Mask
from headstart.adapters.optuna.conditions import Params, placed
from headstart.adapters.optuna.objective import Objective, nothing_shared
from headstart.adapters.optuna.past import Candidates
from headstart.adapters.optuna.reservations import (
    NOTHING,
    Other,
    Others,
    Reservation,
    choosing_before,
    counting,
    losses,
    running_beside,
)
from headstart.errors import ExhaustedError, HeadstartError
from headstart.history import Features, History
from headstart.search.optimizer import Optimizer
from headstart.space import Change, Space
from headstart.space.reconciliation import report
from headstart.starts.start import Start
from headstart.strategies.base import Told
from headstart.surrogates.names import resolve_surrogate

T = TypeVar("T")

TOGETHER = 16  # trials that choose at the same time and are told apart
MOST = 32  # proposals of one model for trials of this process, one after the other
SHARE = 4.0  # how many times as long as one choice of the model the trials take that it chooses for, in a hurry


@dataclass(frozen=True)
class Settings:
    """How to search. The fields are arguments of `headstart.Optimizer`."""

    n_init: int | str
    init: Any
    surrogate: Any
    acquisition: str
    cost: str | None = None
    budget: float | None = None


@dataclass(frozen=True)
class Known:
    """Everything known before the first trial.

    past: from which the history is chosen as soon as the objective's parameters are known. space: the objective's; None
    infers it. fill: values for parameters that past runs lack.
    """

    past: Candidates | None
    start: Start | None
    space: Space | None
    features: Features | None
    fill: Params = field(default_factory=dict)


@dataclass(frozen=True)
class Seen:
    """The other trials, as seen by one that chooses. starting: it may be part of the start."""

    space: Space
    found: list[Other]
    told: Told
    starting: bool


class Search:
    """Proposes configurations for a study. With one worker, a proposal depends on nothing but the trials."""

    def __init__(self, settings: Settings, known: Known, *, direction: str, seed: int) -> None:
        self.settings = settings
        self.known = known
        self.direction = direction
        self.seed = seed
        self._objective = Objective()
        self._others = Others(direction)
        self._rows = Rows()
        self._ahead: list[Reservation] = []
        self._choosing = 0.0  # seconds that the model took for its last choice
        self._last: tuple[Sequence[FrozenTrial], int, Seen | None] | None = None
        self._history: History | None = None
        self._optimizer: Optimizer | None = None
        self._learned_from: History | None = None
        self._logged: set[Change | str] = set()

    @property
    def history(self) -> History | None:
        """The past runs that were chosen for the study, if any."""
        return self._history

    def is_starting(self, trials: Sequence[FrozenTrial], number: int) -> bool:
        """Whether the trial with this number may try a configuration of the start, given all trials of the study.

        This does the slow part, learning from the history, before other trials wait for this one.
        """
        space = self._space(trials)
        if space is not None and not self._is_ready(space):
            self._optimizer_for(space).propose(Told.nothing(space), starting=True)
        seen = self._seen(trials, number)
        if seen is None or self.known.start is None:
            return seen is not None and seen.starting
        return self._from_start(self.known.start, seen.space, seen.told) is not None

    def propose(self, trials: Sequence[FrozenTrial], number: int, *, evaluating: float = math.inf) -> Reservation:
        """The configuration for the trial with this number, given all trials of the study.

        evaluating: seconds that the last trial took. If choosing takes longer, and other workers run trials, too, the
        model chooses for several trials at once.
        """
        seen = self._seen(trials, number)
        if seen is None:
            return NOTHING  # the first trial will show which parameters the objective suggests
        start = self.known.start
        if start is not None and (given := self._from_start(start, seen.space, seen.told)) is not None:
            return given
        starting = seen.starting and start is None
        optimizer = self._optimizer_for(seen.space)
        before = choosing_before(trials, number)
        ahead = self._worth_keeping(evaluating) if running_beside(trials, number) else 0
        if not starting and (before or ahead) and len(seen.told.known):
            one = self._one_of_several(optimizer, seen, number, before, ahead)
            if one is not None:
                return one
        self._ahead = []
        begin = time.monotonic()
        try:
            v, origin = optimizer.propose(seen.told, starting=starting)
        except ExhaustedError:
            return NOTHING
        self._choosing = time.monotonic() - begin
        place = _free_index(seen.found) if origin == "strategy" else None
        why = optimizer.reason(seen.told, origin, place)
        return Reservation(seen.space.from_values(v[None])[0], origin, place, why=why)

    def _worth_keeping(self, evaluating: float) -> int:
        """For how many later trials the model chooses, too: 0 unless choosing takes longer than evaluating."""
        if evaluating >= self._choosing:
            return 0
        return min(math.ceil(SHARE * self._choosing / max(evaluating, 1e-6)), MOST) - 1

    def _one_of_several(
        self, optimizer: Optimizer, seen: Seen, number: int, before: int, ahead: int
    ) -> Reservation | None:
        """The proposal that remains if `before` others take theirs; those for later trials are kept."""
        tried, kept = seen.told, self._ahead if ahead else []
        while kept:
            reservation = kept.pop(0)
            V, fits, _ = placed(seen.space, [reservation.config])
            if fits[0] and V[0] not in tried:
                return reservation
        before, begin = min(before, TOGETHER - 1), time.monotonic()
        found = optimizer.propose_several(tried, before + 1 + ahead, trial=number)[before:]
        self._choosing = time.monotonic() - begin
        if not len(found):
            return None
        first, *later = seen.space.from_values(found)
        self._ahead = [Reservation(config, "surrogate", ahead=True) for config in later]
        return Reservation(first, "surrogate", why=optimizer.reason(tried, "surrogate"))

    def _seen(self, trials: Sequence[FrozenTrial], number: int) -> Seen | None:
        """What the trial with this number sees; the last answer is kept, since most are asked for twice."""
        if self._last is None or self._last[0] is not trials or self._last[1] != number:
            self._last = trials, number, self._look(trials, number)
        return self._last[2]

    def _look(self, trials: Sequence[FrozenTrial], number: int) -> Seen | None:
        space = self._space(trials)
        if space is None:
            return None
        others = self._others.of(trials, number)
        found = counting(others)
        told = self._told(space, found)
        starting = len(told) - sum(other.extra for other in others) < self._n_init(space)
        return Seen(space, found, _with_reserved_starts(space, told, found), starting)

    def view(self, trials: Sequence[FrozenTrial]) -> tuple[Optimizer, Told] | None:
        """The optimiser and all trials as it knows them; None as long as the objective's parameters are unknown."""
        space = self._space(trials)
        if space is None:
            return None
        found = counting(self._others.of(trials, -1))
        return self._optimizer_for(space), self._told(space, found)

    def _told(self, space: Space, found: Sequence[Other]) -> Told:
        costs = np.array([other.seconds for other in found], dtype=float) if self.settings.cost else None
        V, fits = self._rows.of(space, [other.config for other in found])
        return Told(V[fits], losses(found)[fits], None if costs is None else costs[fits])

    def _space(self, trials: Sequence[FrozenTrial]) -> Space | None:
        """The objective's space as far as it is known; this also chooses the history that belongs to it."""
        self._objective.read(trials)
        known = self.known
        if known.past is not None:
            self._history = known.past.chosen(self._objective.settled or known.space or {})
        sources = (self._history, known.start)
        base = known.space or next((source.space for source in sources if source is not None), None)
        return self._objective.space(base)

    def _n_init(self, space: Space) -> int:
        n = self.settings.n_init
        if not isinstance(n, str):
            return n
        return self._optimizer_for(space).n_init if self.known.start is None else len(self.known.start)

    def _is_ready(self, space: Space) -> bool:
        return self._optimizer is not None and self._optimizer.space == space and self._learned_from is self._history

    # -- a given start ---------------------------------------------------------------------------------------

    def _from_start(self, start: Start, space: Space, told: Told) -> Reservation | None:
        """The first configuration of the start that has not been tried."""
        rows, total = list(range(len(start))), min(len(start), self._n_init(space))
        if start.space != space:
            converted = self._converted("start", start.space, space, lambda: start.reconciled(space))
            if converted is None:
                return None
            start, result = converted
            rows = result.rows
            self._log_changes("start", result.changes)
        for row, v, config in zip(rows, start.V, start.configs, strict=True):
            if row < total and v not in told:
                which = "the given start" if start.method == "given" else f"the start {start.method!r}"
                return Reservation(config, "start", row, why=f"Configuration {row + 1} of {total} of {which}.")
        return None

    # -- learning from the history ---------------------------------------------------------------------------

    def _optimizer_for(self, space: Space) -> Optimizer:
        """The optimiser for this space. It is built and trained again only when the space has changed."""
        if self._optimizer is None or not self._is_ready(space):
            self._learned_from = self._history
            history = self._history_in(space)
            settings, known = self.settings, self.known
            # The settings may be for past runs that turned out to be missing or unusable.
            without = history is None and (
                known.past is not None or resolve_surrogate(settings.surrogate).needs_history
            )
            self._optimizer = Optimizer(
                space,
                history,
                init="random" if history is None or known.start is not None else settings.init,
                n_init=settings.n_init,
                surrogate="auto" if without else settings.surrogate,
                acquisition=settings.acquisition,
                features=known.features,
                seed=self.seed,
                cost=settings.cost,
                budget=settings.budget,
            )
            about = self._optimizer.about()
            if about not in self._logged:
                self._logged.add(about)
                announce(about)
        return self._optimizer

    def _history_in(self, space: Space) -> History | None:
        history = self._history
        fill = {name: value for name, value in self.known.fill.items() if name in space}
        if history is None or (history.space == space and not fill):
            return history
        converted = self._converted("history", history.space, space, lambda: history.moved_to(space, fill=fill))
        if converted is None:
            return None
        in_space, changes = converted
        self._log_changes("history", changes)
        return in_space

    # -- converting to the objective's space -----------------------------------------------------------------

    def _converted(self, what: str, old: Space, new: Space, convert: Callable[[], T]) -> T | None:
        """The result of a conversion; None, with a warning, if nothing can be converted."""
        reason = nothing_shared(what, old, new)
        if reason is None:
            try:
                return convert()
            except HeadstartError as error:
                reason = str(error)
        text = f"the {what} is ignored: {reason}"
        if text not in self._logged:
            self._logged.add(text)
            log.warning("%s", text)
        return None

    def _log_changes(self, what: str, changes: Sequence[Change]) -> None:
        """Log how the parameters changed, as a table. Each line is logged only once."""
        new = [change for change in changes if change.altered and change not in self._logged]
        self._logged.update(new)
        if new:
            log.warning("the %s has another search space than the objective; converted:\n%s", what, report(new))


class Rows:
    """Configurations as rows of V. Those of finished trials come again with every trial, and are converted once."""

    def __init__(self) -> None:
        self._space: Space | None = None
        self._known: dict[int, tuple[Params, Array, bool]] = {}  # by identity; what is kept cannot change its identity

    def of(self, space: Space, configs: Sequence[Params]) -> tuple[Array, Mask]:
        """V (n, p), and which rows fit the space."""
        if space != self._space:
            self._space, self._known = space, {}
        new = [config for config in configs if id(config) not in self._known]
        V, fits, _ = placed(space, new)
        self._known.update((id(config), (config, v, bool(fit))) for config, v, fit in zip(new, V, fits, strict=True))
        rows = [self._known[id(config)] for config in configs]
        self._known = {id(row[0]): row for row in rows}
        return np.array([v for _, v, _ in rows]).reshape(-1, len(space)), np.array([f for *_, f in rows], dtype=bool)


def _with_reserved_starts(space: Space, told: Told, found: Sequence[Other]) -> Told:
    """Configurations of the start count as tried even if their trial had to change them."""
    reservations = [(o.reservation, o.config) for o in found if o.reservation and o.reservation.start is not None]
    reserved = [reservation.config for reservation, config in reservations if reservation.config != config]
    V, fits, _ = placed(space, reserved)
    for v in V[fits]:
        if v not in told:
            told = told.and_(v)
    return told


def _free_index(found: Sequence[Other]) -> int:
    """The lowest position in the start that no trial has reserved."""
    taken = {other.reservation.start for other in found if other.reservation}
    return next(i for i in range(len(taken) + 1) if i not in taken)
