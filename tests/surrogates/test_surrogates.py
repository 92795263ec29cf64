"""One set of checks for every surrogate."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

from headstart.errors import ArgumentError
from headstart.surrogates.base import Acquisition, Model, Posterior, Surrogate
from headstart.surrogates.gaussian import refit_at
from headstart.surrogates.names import SURROGATES
from related_tasks import HISTORIES, MIXED, PLAIN, begin, candidates, check, family, model, slope, trials

NAMES = sorted(SURROGATES)

# The protocol ------------------------------------------------------------------------------------------


def members(protocol: type) -> list[str]:
    return [name for name in vars(protocol) if not name.startswith("_")]


def conforms(thing: object, protocol: type) -> None:
    """Every member of the protocol is there, and its methods take the same arguments."""
    for name in members(protocol):
        assert hasattr(thing, name), f"{type(thing).__name__} has no {name}"
        if inspect.isfunction(expected := vars(protocol)[name]):
            given = inspect.signature(getattr(thing, name)).parameters
            assert list(given) == list(inspect.signature(expected).parameters)[1:]


@pytest.mark.parametrize("name", NAMES)
def test_every_surrogate_has_the_members_of_the_protocol(name: str) -> None:
    surrogate = SURROGATES[name]()
    conforms(surrogate, Surrogate)
    assert isinstance(surrogate.needs_history, bool)
    started = model(name)
    conforms(started, Model)
    posterior = started.fit(*trials(6))
    conforms(posterior, Posterior)
    conforms(posterior.extend(np.array([0.1, 0.2]), 50.0), Posterior)


def test_the_protocol_has_members() -> None:
    """Otherwise the test above would check nothing."""
    assert members(Posterior) == ["predict", "extend", "score", "climb"]
    assert members(Model) == ["fit"]
    assert members(Surrogate) == ["needs_history", "begin"]


# Predictions -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_reproducible_from_the_rng(name: str) -> None:
    Z, losses = trials(8)
    again = begin(name, PLAIN, family())
    assert np.array_equal(model(name).fit(Z, losses).predict(candidates()), again.fit(Z, losses).predict(candidates()))


@pytest.mark.parametrize("name", NAMES)
def test_a_posterior_depends_on_nothing_but_the_trials(name: str) -> None:
    Z, losses = trials(12)
    kept = Z.copy(), losses.copy()
    for array in (Z, losses):
        array.setflags(write=False)
    first = model(name).fit(Z, losses)
    before = first.predict(candidates())
    first.extend(np.array([0.1, 0.2]), 50.0)
    model(name).fit(*trials(5, seed=1)).score(candidates(), Acquisition())
    assert np.array_equal(before, first.predict(candidates()))
    assert np.array_equal(before, model(name).fit(Z, losses).predict(candidates()))
    assert np.array_equal(Z, kept[0])
    assert np.array_equal(losses, kept[1])


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", HISTORIES)
def test_finite_whatever_the_history(name: str, kind: str) -> None:
    for n in (1, 2, 6):
        check(model(name, kind), *trials(n), candidates(n=30))


@pytest.mark.parametrize("name", NAMES)
def test_without_a_history_it_works_or_says_what_to_do(name: str) -> None:
    if SURROGATES[name]().needs_history:
        expected = f"surrogate='{name}' learns from past runs; pass a history with history=, or use surrogate='gp'"
        with pytest.raises(ArgumentError) as error:
            begin(name, PLAIN, None)
        assert str(error.value) == expected
        return
    for n in (1, 2, 6):
        check(begin(name, PLAIN, None), *trials(n), candidates(n=30))


@pytest.mark.parametrize("name", NAMES)
def test_constant_losses_and_repeated_trials(name: str) -> None:
    Z, losses = trials(6)
    check(model(name), Z, np.full(6, 4.0), candidates(n=30))
    check(model(name), np.repeat(Z, 2, axis=0), np.repeat(losses, 2), candidates(n=30))
    check(model(name), np.repeat(Z[:1], 4, axis=0), losses[:4], candidates(n=30))
    check(model(name), np.repeat(Z[:1], 4, axis=0), np.full(4, -1.0), candidates(n=30))
    check(model(name), Z, 1e12 * losses, candidates(n=30))
    check(model(name), Z, 1e-12 * losses, candidates(n=30))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("n", [1, 9])
def test_mixed_conditional_spaces(name: str, n: int) -> None:
    check(model(name, mixed=True), *trials(n, MIXED), candidates(MIXED, 40))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", ["shared", "ragged, without features"])
def test_learns_a_smooth_function(name: str, kind: str) -> None:
    Z, losses = trials(25)
    posterior = model(name, kind).fit(Z, losses)
    at = candidates()
    assert np.corrcoef(posterior.predict(at)[0], slope(at, 0.45))[0, 1] > 0.85
    order = np.argsort(losses)
    predicted = posterior.predict(Z)[0]
    assert predicted[order[:5]].mean() < predicted[order[-5:]].mean() - np.ptp(losses) / 3
    assert losses.min() - np.ptp(losses) < predicted.min() < predicted.max() < losses.max() + np.ptp(losses)


@pytest.mark.parametrize("name", ["gp", "mklgp", "scot"])
def test_more_certain_near_the_trials(name: str) -> None:
    Z, losses = trials(12)
    posterior = model(name, "ragged").fit(0.3 * Z, losses)
    assert posterior.predict(0.3 * Z)[1].max() < posterior.predict(np.array([[1.0, 1.0]]))[1][0]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", ["shared", "ragged"])
def test_extending_is_fitting_with_one_more(name: str, kind: str) -> None:
    n = next(n for n in range(8, 99) if refit_at(n + 1) == refit_at(n))  # where no refit changes the warp
    Z, losses = trials(n + 1)
    extended = model(name, kind).fit(Z[:n], losses[:n]).extend(Z[n], float(losses[n]))
    anew = model(name, kind).fit(Z, losses)
    if name == "prior":  # extending keeps the weights of the past tasks
        assert np.allclose(extended.predict(candidates()), anew.predict(candidates()), atol=0.1 * np.ptp(losses))
        return
    for one, other in zip(extended.predict(candidates()), anew.predict(candidates()), strict=True):
        assert np.allclose(one, other, rtol=1e-6, atol=1e-8)
    scores = [p.score(candidates(), Acquisition(trials=n + 1)) for p in (extended, anew)]
    assert np.argmax(scores[0]) == np.argmax(scores[1])


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("n", [2, 7, 15])
def test_units_of_the_losses_do_not_matter(name: str, n: int) -> None:
    Z, losses = trials(n)
    here, there = (model(name).fit(Z, f) for f in (losses, 1000 * losses - 321.0))
    (mean, std), changed = here.predict(candidates()), there.predict(candidates())
    assert np.allclose(changed[0], 1000 * mean - 321.0, rtol=1e-6)
    assert np.allclose(changed[1], 1000 * std, rtol=1e-6)
    for acquisition in Acquisition.NAMES:
        acquire = Acquisition(acquisition, n, 2)
        score = here.score(candidates(), acquire)
        assert score[np.argmax(there.score(candidates(), acquire))] == pytest.approx(score.max(), rel=1e-9)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("acquisition", ["ei", "lcb"])
@pytest.mark.parametrize("mixed", [False, True])
def test_climbing_follows_the_gradient_of_the_score(name: str, acquisition: str, mixed: bool) -> None:
    space = MIXED if mixed else PLAIN
    posterior = model(name, mixed=mixed).fit(*trials(9, space))
    acquire = Acquisition(acquisition, 9, space.width)
    at = 0.05 + 0.9 * candidates(space, 12)
    if (climbed := posterior.climb(at, acquire)) is None:
        pytest.skip("has no gradient")
    value, gradient = climbed
    assert np.allclose(value, posterior.score(at, acquire), rtol=1e-8)
    for j, step in enumerate(3e-5 * np.eye(space.width)):
        difference = (posterior.score(at + step, acquire) - posterior.score(at - step, acquire)) / 6e-5
        assert np.allclose(gradient[:, j], difference, rtol=1e-3, atol=1e-4 * np.abs(gradient).max())
