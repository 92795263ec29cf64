"""The search space of a study's objective, inferred from its trials."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from optuna.trial import FrozenTrial, TrialState

from headstart.adapters.optuna.conditions import Params, Shapes, joined, possible_parents
from headstart.adapters.optuna.distributions import parameter_of
from headstart.space import Parameter, Space


@dataclass
class Objective:
    """The parameters that a study's trials have suggested so far. Each finished trial is read once."""

    parameters: dict[str, Parameter] = field(default_factory=dict)  # with the range suggested last
    complete: list[Params] = field(default_factory=list)  # the parameters of complete trials
    settled: dict[str, Parameter] = field(default_factory=dict)  # those of trials that were not cut off
    _read: set[int] = field(default_factory=set)
    _shapes: Shapes = field(default_factory=Shapes)

    def read(self, trials: Sequence[FrozenTrial]) -> None:
        for trial in trials:
            if trial.number in self._read:
                continue
            found = {name: parameter_of(distribution) for name, distribution in trial.distributions.items()}
            known = {name: parameter for name, parameter in found.items() if parameter is not None}
            self.parameters.update(known)
            if trial.state.is_finished():
                self._read.add(trial.number)
                if trial.state != TrialState.FAIL:
                    self.settled.update(known)
                if trial.state == TrialState.COMPLETE and known:
                    self.complete.append({name: trial.params[name] for name in known})

    def space(self, base: Space | None) -> Space | None:
        """The space as far as it is known; base: as for `joined`."""
        known = {*self.parameters, *(base or ())}
        parents = possible_parents(self.parameters, base)
        return joined(base, self.parameters, self._shapes.of(self.complete, known, parents))


def nothing_shared(what: str, old: Space, new: Space) -> str | None:
    """A sentence if the objective suggests no parameter of a history or start; None if it does."""
    if set(old) & set(new):
        return None
    return (
        f"the objective suggests none of the {what}'s parameters "
        f"(it suggests {', '.join(new)}; the {what} has {', '.join(old)})"
    )
