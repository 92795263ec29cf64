"""The search, step by step: first a strategy proposes, then a surrogate (Algorithm 1 of the papers).

A proposal depends on the seed and on the trials so far, and on nothing else. So the state of a search is its trials: it
can be written as JSON after any step and continued identically.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

import numpy as np

from headstart._support.arguments import whole
from headstart._support.direction import checked_direction
from headstart._support.log import log
from headstart._support.threads import one_thread
from headstart._support.types import Array
from headstart._support.wording import counted
from headstart.errors import ArgumentError, ExhaustedError, FormatError
from headstart.history import Features
from headstart.history.past import past_runs
from headstart.history.task import checked_features, moderate
from headstart.search.arguments import candidates_of, seed_of, sorted_past, without_past
from headstart.search.budget import checked_cost
from headstart.search.ledger import Asked, Ledger
from headstart.search.proposal import several_candidates, several_in_space
from headstart.search.restarts import BEGINNING, own_trials
from headstart.search.trials import BestTrial, Trial
from headstart.space import Config, as_space
from headstart.space.rows import unrepeated
from headstart.starts.learning import MOST, worthwhile
from headstart.starts.start import Start
from headstart.strategies.auto import Auto, AutoRun
from headstart.strategies.base import Planned, Run, Strategy, Told, anywhere, configurations, fresh
from headstart.strategies.metric import surrogate_after
from headstart.strategies.names import resolve_strategy
from headstart.strategies.random import Random, stream
from headstart.surrogates.base import Acquisition, Model, Posterior
from headstart.surrogates.costs import CostModel, CostPosterior, PerCost, Spending, check_acquisition
from headstart.surrogates.gaussian import Gaussian
from headstart.surrogates.mixture import MixtureModel
from headstart.surrogates.names import resolve_surrogate
from headstart.transfer.models import NewTask, TaskModels

FORMAT = 2  # of the state; format 1 is read, too
AIMS = {  # what a surrogate's proposal is chosen for, by the name of the acquisition
    "ei": "its expected improvement",
    "log_ei": "its expected improvement",
    "pi": "its probability of improvement",
    "lcb": "its lower confidence bound",
}


class Optimizer(BestTrial):
    """Ask for a configuration, evaluate it, tell the result, and repeat.

    space: a `Space`, or anything that `as_space` accepts.
    history: past runs, in any form that `learn` takes; of a storage, only the studies that share parameters with the
        space. If they have another space, they are converted to this one, and the changes are logged. A `Start` here
        is the same as in `init`.
    rename, fill: for that conversion, as for `reconcile`.
    init: proposes the first `n_init` trials: the name of a strategy, a strategy object, or a `Start`.
    n_init: "auto" learns the number, at most 10: the start ends where the next configuration serves no past task. 0 is
        no start: the surrogate proposes from the first trial on. One that knows only the run's own trials begins at
        random.
    surrogate: proposes all later trials: a name or an object.
    acquisition: "ei", "log_ei", "pi" or "lcb".
    features: the new task's meta-features.
    candidates: if given, the only configurations to choose from.
    cost: what trials cost, such as "seconds"; `tell` takes it, and the past runs may have it. Then proposals are chosen
        for their expected gain per unit of cost: of init="auto" those of the start, and those of the surrogate. None:
        cost does not matter.
    budget: what all trials together may cost: a number, or a time such as "30 min". Cost matters less and less as the
        budget is spent, and trials that would not fit into the rest are avoided.
    """

    @one_thread
    def __init__(
        self,
        space: Any,
        history: Any = None,
        init: Any = "auto",
        n_init: int | str = 10,
        surrogate: Any = "auto",
        acquisition: str = "ei",
        features: Features | None = None,
        candidates: Sequence[Mapping[str, Any]] | None = None,
        direction: str = "minimize",
        seed: int | None = None,
        *,
        rename: Mapping[str, str] | None = None,
        fill: Mapping[str, Any] | None = None,
        cost: str | None = None,
        budget: float | str | None = None,
    ) -> None:
        self.space = as_space(space)
        self.direction = checked_direction(direction)
        features = checked_features(features)
        self.n_init = MOST if n_init == "auto" else whole("n_init", n_init, 0)
        self.acquisition = Acquisition(acquisition).name
        self.cost, self.budget = checked_cost(cost, budget)
        if self.cost is not None:
            check_acquisition(self.acquisition)
        self.seed = seed_of(seed)
        history, init = sorted_past(history, init)
        self.history = None if history is None else past_runs(history, self.space, rename=rename, fill=fill)
        if history is not None and self.history is None:  # a store that holds nothing yet
            init, surrogate = without_past(init, surrogate)
        self._given = None if candidates is None else list(candidates)
        self._candidates = None if candidates is None else candidates_of(self.space, candidates)
        self._ledger = Ledger(self.space, self.direction)
        strategy_rng, surrogate_rng, models_rng = (np.random.default_rng([self.seed, i]) for i in range(3))
        models = None if self.history is None else TaskModels(self.history, rng=models_rng, allowed=self._allowed)
        self._run: Run
        if isinstance(init, Start):
            plan = unrepeated(init.fitted(self.space).V)
            self.n_init = min(self.n_init, len(plan))
            self._run, self._origin = Planned(plan, self.space), "start"
            self._start = f"{len(plan)} given configurations"
        else:
            strategy = resolve_strategy(init, history=models is not None, seed=self.seed)
            surrogate = surrogate_after(strategy, surrogate)
            if self.n_init == 0:
                strategy = Auto() if surrogate == "auto" and models is not None else Random(self.seed)
            if n_init == "auto" and models is not None:
                self.n_init = worthwhile(strategy, models, features, np.random.default_rng([self.seed, 0]))
            self._run = self._begun(strategy, models, features, strategy_rng)
            self._origin = "random" if isinstance(strategy, Random) else "strategy"
            self._start = repr(init) if models is not None or not isinstance(init, str) else "'random'"
        self._surrogate = repr(surrogate) if models is not None or surrogate != "auto" else "'gp'"
        self._model = resolve_surrogate(surrogate).begin(self.space, models, features=features, rng=surrogate_rng)
        other = np.random.default_rng([self.seed, 6])
        self._other = Gaussian(own=True).begin(self.space, None, features=None, rng=other)
        self._costs = None if self.cost is None else self._cost_model()

    def _cost_model(self) -> CostModel:
        model = CostModel.of(self.history, rng=np.random.default_rng([self.seed, 4]))
        if self.history is not None and model.shape is None:
            log.warning("the past runs have no costs, so the costs of this search are all that is known of them")
        return model

    def __repr__(self) -> str:
        past = "no past runs" if self.history is None else f"past runs of {counted(len(self.history), 'task')}"
        parameters = counted(len(self.space), "parameter")
        return f"Optimizer({self._about()}, {self.direction}, {parameters}, start {self._start}, {past})"

    def _begun(
        self, strategy: Strategy, models: TaskModels | None, features: Features | None, rng: np.random.Generator
    ) -> Run:
        if models is not None:
            return strategy.begin(models, n=self.n_init, features=features, rng=rng)
        if not isinstance(strategy, Random):
            raise ArgumentError(f"init={strategy!r} learns from past runs", "pass a history with {history}")
        return strategy.begin(NewTask(self.space, self._allowed), n=self.n_init, features=features, rng=rng)

    @property
    def _from_nothing(self) -> bool:
        """Whether the surrogate can propose before the first result."""
        return bool(getattr(self._model, "from_nothing", False))

    @property
    def _allowed(self) -> Array | None:
        return None if self._candidates is None else self._candidates.V

    # -- asking ------------------------------------------------------------------------------------------

    @one_thread
    def ask(self) -> Config:
        """The next configuration to try. Parallel workers may ask again before the last result is in."""
        told = self._told()
        starting = len(told) < self.n_init
        v, origin = self.propose(told, starting=starting)
        why = self.reason(told, origin, len(told) if starting else None)
        log.info("trial %d: %s", len(told), why)
        if self._candidates is None or self._given is None:
            self._ledger.ask(Asked(v, origin, why))
            return self.space.from_values(v[None])[0]
        try:
            i = self._candidates.nearest(v, told)
        except ExhaustedError:
            raise ExhaustedError(self._exhausted()) from None
        nearest = self._candidates.V[i]
        moved = not np.array_equal(v, nearest, equal_nan=True)
        self._ledger.ask(Asked(nearest, origin, why, v if moved else None))
        return self._given[i]  # type: ignore[return-value]  # exactly as it was given

    @one_thread
    def propose(self, told: Told, *, starting: bool) -> tuple[Array, str]:
        """The next configuration as a row of V, and its origin. This leaves the optimiser unchanged.

        told: all trials, with a loss of NaN for those that are still running. starting: ask the strategy, not the
        surrogate.
        """
        return self._from_strategy(told) if starting else self._from_surrogate(told)

    def _from_strategy(self, told: Told) -> tuple[Array, str]:
        for proposed in self._ledger.replaced:
            told = told.moving(proposed)
        try:
            if self._costs is not None and isinstance(self._run, AutoRun):
                costs, spending = self._costs_after(told, self._costs)
                return self._run.ask_per_cost(told, spending.penalty(costs.log_cost(self._run.Z))), self._origin
            return self._run.ask(told), self._origin
        except ExhaustedError:
            return self._anywhere(told), "random"

    def _from_surrogate(self, told: Told) -> tuple[Array, str]:
        if not len(told.known) and not self._from_nothing:
            return self._from_strategy(told) if self.n_init == 0 else (self._anywhere(told), "random")
        found = self.propose_several(told, 1)
        if not len(found):
            raise ExhaustedError(self._exhausted())
        return found[0], "surrogate"

    @one_thread
    def propose_several(self, told: Told, n: int, *, trial: int | None = None) -> Array:
        """At most n untried configurations from the surrogate, each chosen as if those before it were running.

        told: as for `propose`; at least one trial has a loss, unless the surrogate can start from nothing. trial: a
        number of whoever asks, so that workers that know the same trials search in different places.
        """
        mine = self._starting_over(told)
        if mine is not None and len(mine.known) < BEGINNING:
            rest = anywhere(self.space, (self.seed, 5))
            return np.array(list(islice((v for v in rest if v not in mine), n))).reshape(-1, len(self.space))
        seen, model = (told, self._model) if mine is None else (mine, self._other)
        posterior = self._believed(model, seen)
        if self._costs is not None:
            posterior = PerCost(posterior, *self._costs_after(told, self._costs))
        acquisition = Acquisition(self.acquisition, len(seen), self.space.width)
        if self._candidates is not None:
            return several_candidates(posterior, self._candidates, seen, acquisition, n)
        rng = np.random.default_rng([self.seed, 3, len(told), *([] if trial is None else [trial])])
        return several_in_space(posterior, self.space, seen, acquisition, n, rng=rng)

    def _starting_over(self, told: Told) -> Told | None:
        """The trials of the search to which the next trial belongs, if it is one that starts over (`restarts.py`).

        The first search must have left the past behind: as long as past tasks decide, they have not been tried out.
        """
        if not isinstance(self._model, MixtureModel) or self._candidates is not None:
            return None
        mine, known = own_trials(told), told.known
        alone = mine is not None and self._model.is_alone(self.space.encode_values(known.V), moderate(known.losses))
        return mine if alone else None

    @one_thread
    def posterior(self, told: Told | None = None) -> Posterior | None:
        """What the surrogate believes about losses, which are minimised; None if it needs a first result for that.

        told: all trials, with a loss of NaN for those that are still running; by default those of this optimiser.
        """
        told = self._told() if told is None else told
        return self._believed(self._model, told) if len(told.known) or self._from_nothing else None

    def _believed(self, model: Model, told: Told) -> Posterior:
        known = told.known
        posterior = model.fit(self.space.encode_values(known.V), moderate(known.losses))
        for z in self.space.encode_values(told.V[np.isnan(told.losses)]):  # still running: assume the expected loss
            posterior = posterior.extend(z, float(posterior.predict(z[None])[0][0]))
        return posterior

    def weights(self, told: Told | None = None) -> dict[str, float]:
        """How much each past task counts for the next proposal, largest first; what is missing to 1 is this run's own.

        told: as for `posterior`. Empty without a history, and for surrogates that do not weigh the tasks.
        """
        model = self._model
        if not isinstance(model, MixtureModel) or self.history is None:
            return {}
        known = (self._told() if told is None else told).known
        return model.weights(self.space.encode_values(known.V), moderate(known.losses), self.history.tasks)

    def _costs_after(self, told: Told, model: CostModel) -> tuple[CostPosterior, Spending]:
        """What trials are expected to cost after those so far, and what is left of the budget."""
        costs = np.full(len(told), np.nan) if told.costs is None else told.costs
        return model.fit(self.space.encode_values(told.V), costs), Spending.of(costs, self.budget)

    def _anywhere(self, told: Told) -> Array:
        try:
            filler = anywhere(self.space, stream(self.seed, self._allowed), self._allowed)
            return fresh(filler, told, self.space)
        except ExhaustedError:
            raise ExhaustedError(self._exhausted()) from None

    def _exhausted(self) -> str:
        what = f"{len(self._candidates):,} candidates" if self._candidates is not None else configurations(self.space)
        running = f" or are running ({len(self.pending)})" if self.pending else ""
        return f"all {what} have been tried{running}; there is nothing left to ask for"

    def _told(self) -> Told:
        return self._ledger.told(costs=self.cost is not None)

    # -- telling -----------------------------------------------------------------------------------------

    def tell(self, config: Mapping[str, Any], value: float | None, cost: float | None = None) -> None:
        """Report the value of a configuration; None or NaN if the trial failed. Any configuration may be reported.

        cost: what the trial cost, whether it failed or not; None if it is unknown.
        """
        self._ledger.tell(config, value, cost)

    # -- looking -----------------------------------------------------------------------------------------

    @property
    def trials(self) -> list[Trial]:
        """All finished trials, in order."""
        return self._ledger.trials

    @property
    def spent(self) -> float:
        """What the finished trials have cost together, as far as that is known."""
        return sum(trial.cost for trial in self.trials if trial.cost is not None)

    @property
    def pending(self) -> list[Config]:
        """Configurations that were proposed and have no result yet."""
        return self._ledger.running

    def explain(self, told: Told | None = None) -> str:
        """Where the next proposal comes from, and why, in a sentence. told: as for `posterior`."""
        told = self._told() if told is None else told
        left = self.n_init - len(told)
        if left <= 0 and self._starting_over(told) is not None:
            return "The search no longer improves, so the next trial belongs to one that starts over."
        if left > 0 and not isinstance(self._run, AutoRun):
            return f"{left} of the first {self.n_init} trials are still to come from the start: {self._start}."
        return self._decides(told, starting=left > 0)

    @one_thread
    def reason(self, told: Told, origin: str, place: int | None = None) -> str:
        """Why `propose` chose what it did, and which past tasks spoke for it, in a sentence or two.

        told: the trials that `propose` was told. origin: what it returned. place: which configuration of the start it
        is, from 0; None if it is not part of the start.
        """
        if origin == "random":
            return "Spread evenly over the search space, without a model."
        if place is not None and not isinstance(self._run, AutoRun):
            start = "given start" if self._origin == "start" else f"start {self._start}"
            return f"Configuration {place + 1} of {self.n_init} of the {start}."
        if place is not None and not len(told.known):
            aim = "what it adds to the configurations before it" if len(told) else "its average over the past tasks"
        else:
            aim = AIMS["ei" if place is not None else self.acquisition]
        per = "" if self.cost is None else f" per unit of cost ({self.cost})"
        if place is None and (mine := self._starting_over(told)) is not None:
            chosen = "Spread evenly over the search space" if len(mine.known) < BEGINNING else f"Chosen for {aim}{per}"
            return f"{chosen}, by a search that starts over, since the first one no longer improves."
        return f"Chosen for {aim}{per}. {self._decides(told, starting=place is not None)}"

    def _decides(self, told: Told, *, starting: bool) -> str:
        """Which model decides the next proposal, and which past tasks count, in a sentence."""
        model: Model = self._run.model if starting and isinstance(self._run, AutoRun) else self._model
        if isinstance(model, MixtureModel) and self.history is not None:
            known = told.known
            return model.explain(self.space.encode_values(known.V), moderate(known.losses), self.history.tasks)
        past = "there are no past runs" if self.history is None else f"there are {len(self.history):,} past tasks"
        return f"The surrogate {self._surrogate} decides; {past}."

    def about(self, n_trials: int | None = None) -> str:
        """What the search begins with, in a line. n_trials: how many trials it will have, if that is known."""
        of = "trials are" if n_trials is None else f"of {n_trials} trials are"
        if self.history is None:
            return f"No past runs. {self.n_init} {of} the start: {self._start.strip(chr(39))}."
        trials = counted(sum(int(task.counts.sum()) for task in self.history), "trial")
        text = f"Learned from {trials} of {counted(len(self.history), 'task')}"
        there, other = (self.history.info.get(f"studies{more}", 0) for more in ("", "_of_other_models"))
        if other:
            text += f" (of {there} studies; {other} {'has' if other == 1 else 'have'} other parameters)"
        return f"{text}. {self.n_init} {of} the start."

    # -- state -------------------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """The state of the search as plain JSON, for `restore` of an Optimizer made with the same arguments."""
        return {"format": FORMAT, **self._settings(), **self._ledger.to_json()}

    def restore(self, state: Mapping[str, Any]) -> Optimizer:
        """Continue from a state. This optimiser must be new and have been made with the same arguments."""
        if self._ledger:
            raise ArgumentError("this optimiser has trials already", "restore the state into a new one")
        if not isinstance(state, Mapping) or state.get("format") not in (1, FORMAT):
            raise FormatError("this is not the state of an optimiser, or its version is unknown")
        for name, mine in {"cost": None, "budget": None, **self._settings()}.items():
            theirs = state.get(name)
            renamed = name == "acquisition" and theirs == "auto" and mine == "ei"
            if theirs != mine and not renamed:  # "auto" was for a while the name of the default
                raise ArgumentError(f"the state has {name}={theirs!r}, but this optimiser has {name}={mine!r}")
        self._ledger.read(state)
        return self

    def _settings(self) -> dict[str, Any]:
        """The arguments that decide how the search continues, as far as they are plain JSON."""
        paid = {} if self.cost is None else {"cost": self.cost, "budget": self.budget}
        return {
            "seed": self.seed,
            "space": self.space.to_json(),
            "direction": self.direction,
            "n_init": self.n_init,
            "acquisition": self.acquisition,
            **paid,
        }
