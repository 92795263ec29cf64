"""The ledger of a search: its finished trials, and those that are still running."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from headstart._support.direction import turned
from headstart._support.types import Array
from headstart.errors import FormatError
from headstart.search.trials import Trial, number, spent
from headstart.space import Config, Space
from headstart.strategies.base import Told


@dataclass(frozen=True)
class Asked:
    """A configuration without a result yet (a row of V). proposed: the proposal that this candidate stands in for."""

    v: Array
    origin: str
    why: str = ""
    proposed: Array | None = None


@dataclass(frozen=True)
class _Finished:
    """A finished trial. loss: minimised; NaN if it failed."""

    asked: Asked
    trial: Trial
    loss: float


class Ledger:
    """The trials of one search, in order."""

    def __init__(self, space: Space, direction: str) -> None:
        self._space, self._direction = space, direction
        self._finished: list[_Finished] = []
        self._running: list[Asked] = []

    def __bool__(self) -> bool:
        return bool(self._finished or self._running)

    def ask(self, asked: Asked) -> None:
        """Note a configuration that is now running."""
        self._running.append(asked)

    def tell(self, config: Mapping[str, Any], value: Any, cost: Any) -> None:
        """Note the result of a configuration, whether it was asked for or not."""
        result, paid = number(value), spent(cost)
        v = self._space.to_values([config])[0]
        place = next((i for i, a in enumerate(self._running) if np.array_equal(a.v, v, equal_nan=True)), None)
        asked = Asked(v, "told") if place is None else self._running[place]
        self._finished.append(self._finish(asked, dict(config), result, paid))
        if place is not None:
            del self._running[place]

    def _finish(self, asked: Asked, config: Config, value: float | None, cost: float | None) -> _Finished:
        loss = math.nan if value is None else turned(value, self._direction)
        return _Finished(asked, Trial(config, value, asked.origin, cost, asked.why), loss)

    # -- looking ------------------------------------------------------------------------------------------------

    @property
    def trials(self) -> list[Trial]:
        """The finished trials."""
        return [one.trial for one in self._finished]

    @property
    def running(self) -> list[Config]:
        """Configurations that have no result yet."""
        return self._configs(self._running)

    @property
    def replaced(self) -> list[Array]:
        """The proposals (rows of V) that candidates stand in for."""
        asked = (*(one.asked for one in self._finished), *self._running)
        return [a.proposed for a in asked if a.proposed is not None]

    def told(self, *, costs: bool) -> Told:
        """All trials so far. Failed ones count as the worst seen; running ones have no loss. costs: with theirs."""
        losses = np.array([one.loss for one in self._finished], dtype=float)
        if np.isfinite(losses).any():
            losses = np.where(np.isnan(losses), np.nanmax(losses), losses)
        V = [*(one.asked.v for one in self._finished), *(asked.v for asked in self._running)]
        unknown = np.full(len(self._running), np.nan)
        paid = [math.nan if trial.cost is None else trial.cost for trial in self.trials]
        return Told(
            np.array(V).reshape(-1, len(self._space)),
            np.append(losses, unknown),
            np.append(paid, unknown) if costs else None,
        )

    # -- as JSON ------------------------------------------------------------------------------------------------

    def to_json(self) -> dict[str, Any]:
        """Plain JSON, whatever types the configurations were given in."""
        trials = []
        for asked, trial in zip(self._asked_json([one.asked for one in self._finished]), self.trials, strict=True):
            paid = {} if trial.cost is None else {"cost": trial.cost}
            trials.append({**asked, "value": trial.value, **paid})
        return {"trials": trials, "pending": self._asked_json(self._running)}

    def read(self, state: Mapping[str, Any]) -> None:
        """Take over the trials of `to_json`; an error leaves the ledger unchanged."""
        try:
            finished = [
                self._finish(self._asked(one), dict(one["config"]), number(one["value"]), spent(one.get("cost")))
                for one in state["trials"]
            ]
            running = [self._asked(one) for one in state["pending"]]
        except (KeyError, TypeError, ValueError) as error:
            raise FormatError(f"the state is damaged: {error}") from error
        self._finished, self._running = finished, running

    def _configs(self, asked: Sequence[Asked]) -> list[Config]:
        return self._space.from_values(np.array([a.v for a in asked]).reshape(-1, len(self._space)))

    def _asked_json(self, asked: Sequence[Asked]) -> list[dict[str, Any]]:
        out: list[dict[str, Any]] = []
        for config, a in zip(self._configs(asked), asked, strict=True):
            out.append({"config": config, "origin": a.origin})
            if a.why:
                out[-1]["why"] = a.why
            if a.proposed is not None:
                out[-1]["proposed"] = self._space.from_values(a.proposed[None])[0]
        return out

    def _asked(self, entry: Mapping[str, Any]) -> Asked:
        v = self._space.to_values([entry["config"]])[0]
        proposed = self._space.to_values([entry["proposed"]])[0] if "proposed" in entry else None
        return Asked(v, str(entry["origin"]), str(entry.get("why", "")), proposed)
