"""The content of a report on one study: what its start was worth, which past tasks it follows, what comes next."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from headstart._support.direction import turned
from headstart._support.threads import one_thread
from headstart._support.types import Array
from headstart._support.wording import counted
from headstart.adapters.optuna.outlook import Outlook, Seen, outlook_of
from headstart.report.content import STEPS, About, listed
from headstart.space import Categorical, Parameter
from headstart.surrogates.base import Posterior

DRAWN = 2048  # configurations of random search that the surrogate judges
ENOUGH = 5  # results from which on its judgement is shown
MOST_TASKS, LEAST = 20, 0.005  # past tasks with their weights; the others are one line


@one_thread
def content(where: str, name: str, *, about: About) -> dict[str, Any]:
    """Everything that the page about a study shows."""
    found = outlook_of(where, name)
    space = None if found.optimizer is None else found.optimizer.space
    posterior = None if found.optimizer is None else found.optimizer.posterior(found.told)
    results = [trial for trial in found.trials if trial.value is not None]
    best = min(results, key=lambda trial: turned(trial.value or 0.0, found.direction), default=None)
    names = list(space or {})
    return {
        "kind": "study",
        "title": about.title,
        "about": {**about.to_json(), "metric": about.metric or found.metric},
        "facts": _facts(found),
        "verdict": _verdict(found, posterior),
        "best": None if best is None else {"number": best.number, "value": best.value, "config": best.config},
        "trials": [_trial(trial) for trial in found.trials],
        "start": _start(found),
        "follows": _follows(found),
        "slices": [] if posterior is None else _slices(found, posterior, best),
        "names": names,
        "next": [
            {"config": {n: r.config.get(n) for n in names}, "origin": r.origin, "why": r.why} for r in found.upcoming
        ],
        "parameters": [] if space is None else [f"{n}: {space.describe(n)}" for n in space],
        "stuck": [str(one) for one in found.account.stuck],
    }


def _facts(found: Outlook) -> dict[str, Any]:
    states = [trial.state for trial in found.trials]
    return {
        "direction": found.direction,
        "trials": len(states),
        **{state: states.count(state) for state in ("complete", "failed", "pruned", "running", "waiting")},
        "starts": found.account.planned,
    }


def _trial(trial: Seen) -> dict[str, Any]:
    start = None if trial.start is None else trial.start + 1
    shown = {"number": trial.number, "state": trial.state, "value": trial.value, "origin": trial.origin}
    return {**shown, "start": start, "config": trial.config, "why": trial.why}


def _start(found: Outlook) -> list[dict[str, Any]]:
    configs = {trial.number: trial.config for trial in found.trials}
    return [
        {
            "start": tried.start + 1,
            "trial": tried.trial,
            "state": tried.state,
            "value": tried.value,
            "changed": list(tried.changed),
            "config": configs[tried.trial],
        }
        for tried in found.account.tried
    ]


# -- what the start was worth ---------------------------------------------------------------------------------


def _verdict(found: Outlook, posterior: Posterior | None) -> dict[str, Any]:
    account, first = found.account, found.account.best_start
    if not account.planned:
        return {
            "answer": "unclear",
            "headline": "This study has no learned start.",
            "says": "Its trials were chosen by another sampler, or there were no past runs to learn from.",
        }
    if first is None or first.value is None:
        ran = f"{account.ran} of {account.planned} configurations of the start ran"
        return {"answer": "unclear", "headline": "Too early to tell.", "says": f"{ran}; none has a result yet."}
    worth = _worth(found, posterior, turned(first.value, found.direction))
    if worth is None:
        return {"answer": "unclear", "headline": f"The best of the start: {first.value:.4g}.", "says": account.verdict}
    trials = f"{DRAWN:,}" if worth > DRAWN else f"about {round(worth):,}"
    more, verb = "more than " if worth > DRAWN else "", "was" if account.ran == 1 else "were"
    return {
        "answer": "yes" if worth > account.ran else "no",
        "headline": f"Its {counted(account.ran, 'trial')} {verb} worth {more}{trials} trials of random search.",
        "says": f"{account.verdict} The figure for random search is an estimate: what the surrogate now predicts for "
        f"{DRAWN:,} configurations spread over the whole search space.",
    }


def _worth(found: Outlook, posterior: Posterior | None, best: float) -> float | None:
    """The trials that random search would need to match a loss, by what the surrogate believes; infinite if never."""
    if posterior is None or found.optimizer is None or found.told is None or len(found.told.known) < ENOUGH:
        return None
    space = found.optimizer.space
    V = space.sample_values(DRAWN, rng=np.random.default_rng(0), method="sobol")
    share = float((posterior.predict(space.encode_values(V))[0] <= best).mean())
    return 1 / share if share else math.inf


# -- what is believed now -------------------------------------------------------------------------------------


def _follows(found: Outlook) -> dict[str, Any]:
    if found.optimizer is None or found.told is None:
        return {"text": "The objective's parameters are not known before its first trial.", "weights": [], "tasks": 0}
    weights = found.optimizer.weights(found.told)
    history = found.optimizer.history
    named = [(task, weight) for task, weight in weights.items() if weight >= LEAST][:MOST_TASKS]
    shown: list[list[Any]] = [[task, round(weight, 4)] for task, weight in named]
    if len(weights) > len(named):
        others = sum(weights.values()) - sum(weight for _, weight in named)
        shown.append([counted(len(weights) - len(named), "other"), round(others, 4)])
    if history is not None and len(found.told.known):
        shown.append(["this study's own results", round(max(0.0, 1 - sum(weights.values())), 4)])
    return {
        "text": found.optimizer.explain(found.told),
        "weights": shown,
        "tasks": 0 if history is None else len(history),
    }


def _slices(found: Outlook, posterior: Posterior, best: Seen | None) -> list[dict[str, Any]]:
    """The predicted value along each parameter, all others as in the best trial; one standard deviation around it."""
    assert found.optimizer is not None
    assert found.told is not None
    space, told = found.optimizer.space, found.told.known
    if best is None or not len(told):
        return []
    base, sign = told.V[int(told.losses.argmin())], turned(1.0, found.direction)
    shown = []
    for j, (name, parameter) in enumerate(space.items()):
        if np.isnan(base[j]):
            continue  # inactive in the best trial
        v, labels = _along(parameter)
        V = np.tile(base, (len(v), 1))
        V[:, j] = v
        V = _valid(found, V)
        mean, std = posterior.predict(space.encode_values(V))
        bounds = [sign * loss for loss in (mean, mean - std, mean + std)]
        shown.append(
            {
                "name": name,
                "choices": [str(c) for c in parameter.choices] if isinstance(parameter, Categorical) else None,
                "log": not isinstance(parameter, Categorical) and bool(parameter.log),
                "x": labels,
                "mean": listed(bounds[0]),
                "low": listed(np.minimum(bounds[1], bounds[2])),
                "high": listed(np.maximum(bounds[1], bounds[2])),
                "points": _points(name, parameter, found),
            }
        )
    return shown


def _valid(found: Outlook, V: Array) -> Array:
    """V with the middle of the range where a changed parent makes a parameter active, and nothing where it does not."""
    assert found.optimizer is not None
    space = found.optimizer.space
    middle = space.from_cube(np.full((1, len(space)), 0.5))[0]
    for name in space.parents_first:
        j = space.names.index(name)
        active = space.active(V, name)
        fallback = middle[j] if not np.isnan(middle[j]) else float(space[name].draw(np.array([0.5]))[0])
        V[active & np.isnan(V[:, j]), j] = fallback
        V[~active, j] = np.nan
    return V


def _along(parameter: Parameter) -> tuple[Array, list[Any]]:
    """Values of V along a parameter, and as the user writes them."""
    if isinstance(parameter, Categorical):
        return parameter.options(), [str(choice) for choice in parameter.choices]
    v = np.unique(parameter.draw(np.linspace(0.0, 1.0, STEPS)))
    return v, [parameter.native(float(x)) for x in v]


def _points(name: str, parameter: Parameter, found: Outlook) -> list[dict[str, Any]]:
    points = []
    for trial in found.trials:
        if trial.value is None or name not in trial.config or not parameter.contains(trial.config[name]):
            continue
        x = trial.config[name]
        points.append({"x": str(x) if isinstance(parameter, Categorical) else x, "y": trial.value, "i": trial.number})
    return points
