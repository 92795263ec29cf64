"""Where the acquisition is greatest: exact over a list, sought over a space, and never twice the same."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable

import numpy as np
import pytest

from headstart._support.types import Array
from headstart.errors import ExhaustedError
from headstart.search.climbing import climb
from headstart.search.proposal import (
    around,
    best_candidate,
    best_in_space,
    completed,
    neighbours,
    several_candidates,
    several_in_space,
)
from headstart.space import Categorical, Float, Int, Space
from headstart.strategies.base import LISTABLE, Told
from headstart.strategies.candidates import Candidates
from headstart.surrogates.base import Acquisition
from headstart.surrogates.forest import Forest
from headstart.surrogates.gaussian import Gaussian

EI = Acquisition("ei")

PLANE = Space({"x": Float(0, 1), "y": Float(0, 1)})
MODELS = Space(
    {
        "model": Categorical(["tree", "net", "line"]),
        "depth": Int(1, 20, when={"model": "tree"}),
        "rate": Float(1e-4, 1.0, log=True, when={"model": "net"}),
        "layer": Categorical(["dense", "conv"], when={"model": "net"}),
        "width": Int(4, 512, log=True, when={"layer": "dense"}),
        "alpha": Float(0.0, 1.0, when={"model": ["net", "line"]}),
    }
)


class Surface:
    """A posterior whose acquisition is any function of the encoding."""

    def __init__(self, value: Callable[[Array], Array]) -> None:
        self.value = value

    def predict(self, Z: Array) -> tuple[Array, Array]:
        return -self.value(Z), np.ones(len(Z))

    def extend(self, z: Array, loss: float) -> Surface:
        return self

    def score(self, Z: Array, acquisition: Acquisition) -> Array:
        return self.value(Z)

    def climb(self, Z: Array, acquisition: Acquisition) -> tuple[Array, Array] | None:
        return None


class Slope(Surface):
    """One with a gradient."""

    def __init__(self, value: Callable[[Array], Array], gradient: Callable[[Array], Array]) -> None:
        super().__init__(value)
        self.gradient = gradient

    def climb(self, Z: Array, acquisition: Acquisition) -> tuple[Array, Array]:
        return self.value(Z), self.gradient(Z)


def hill(top: Array) -> Slope:
    return Slope(lambda Z: -((Z - top) ** 2).sum(axis=1), lambda Z: -2 * (Z - top))


def told(space: Space, V: Array, losses: Array | None = None) -> Told:
    return Told(V, np.arange(len(V), dtype=float) if losses is None else losses)


# -- lists -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["ei", "log_ei", "pi", "lcb"])
def test_over_a_list_the_choice_is_the_brute_force_maximum(name: str) -> None:
    rng = np.random.default_rng(3)
    listed = MODELS.sample_values(200, rng=rng)
    Z, seen = MODELS.encode_values(listed), told(MODELS, listed[:20], rng.normal(size=20))
    model = Gaussian().begin(MODELS, None, features=None, rng=rng)
    posterior = model.fit(Z[:20], seen.losses)
    acquisition = Acquisition(name, 20, MODELS.width)
    found = best_candidate(posterior, Candidates(MODELS, listed), seen, acquisition)
    free = [z for v, z in zip(listed, Z, strict=True) if v not in seen]
    singly = [posterior.score(z[None], acquisition)[0] for z in free]
    assert posterior.score(MODELS.encode_values(found[None]), acquisition)[0] == pytest.approx(max(singly))
    assert found not in seen


def test_of_equal_candidates_the_first_is_taken() -> None:
    listed = PLANE.sample_values(9, rng=np.random.default_rng(0))
    flat = Surface(lambda Z: np.zeros(len(Z)))
    candidates = Candidates(PLANE, listed)
    np.testing.assert_array_equal(best_candidate(flat, candidates, told(PLANE, listed[:0]), EI), listed[0])
    np.testing.assert_array_equal(best_candidate(flat, candidates, told(PLANE, listed[:4]), EI), listed[4])
    assert best_candidate(flat, candidates, told(PLANE, listed), EI) is None


def test_the_nearest_untried_candidate_is_the_brute_force_one() -> None:
    rng = np.random.default_rng(5)
    candidates = Candidates(MODELS, MODELS.sample_values(60, rng=rng))
    seen = told(MODELS, candidates.V[:50])
    for v in MODELS.sample_values(20, rng=rng):
        distances = ((candidates.Z - MODELS.encode_values(v[None])) ** 2).sum(axis=1)
        assert candidates.nearest(v, seen) == 50 + int(np.argmin(distances[50:]))
    with pytest.raises(ExhaustedError, match="all 60 candidates have been tried"):
        candidates.nearest(candidates.V[0], told(MODELS, candidates.V))


# -- spaces ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("top", [(0.31, 0.77), (0.0, 0.5), (1.0, 1.0), (1.4, 0.2)])
def test_the_known_maximum_is_found(top: tuple[float, float]) -> None:
    seen = told(PLANE, np.array([[0.5, 0.5], [0.1, 0.9]]))
    found = best_in_space(hill(np.array(top)), PLANE, seen, EI, rng=np.random.default_rng(0))
    np.testing.assert_allclose(found, np.clip(top, 0, 1), atol=1e-5)


def test_the_highest_of_many_peaks_is_found() -> None:
    """Twenty narrow bumps; only a search from many starts finds the highest."""
    rng = np.random.default_rng(1)
    centres, heights = rng.random((20, 2)), np.linspace(0.5, 1.0, 20)

    def bumps(Z: Array) -> Array:
        squared = ((Z[:, None] - centres) ** 2).sum(axis=2)
        return np.asarray(heights * np.exp(-squared / 2 / 0.04**2))

    def gradient(Z: Array) -> Array:
        return np.einsum("mi,mid->md", bumps(Z), (centres - Z[:, None])) / 0.04**2

    surface = Slope(lambda Z: bumps(Z).sum(axis=1), gradient)
    for seed in range(3):
        seen = told(PLANE, rng.random((5, 2)))
        found = best_in_space(surface, PLANE, seen, EI, rng=np.random.default_rng(seed))
        grid = np.stack(np.meshgrid(*[np.linspace(0, 1, 201)] * 2), axis=-1).reshape(-1, 2)
        assert surface.value(found[None])[0] >= surface.value(grid).max()


def test_choices_and_whole_numbers_are_optimised_too() -> None:
    """The best configuration has one choice, one whole number and two real numbers right."""
    best = {"model": "net", "rate": 0.01, "layer": "dense", "width": 37, "alpha": 0.25}
    surface = hill(MODELS.encode([best])[0])
    for seed in range(3):
        seen = told(MODELS, MODELS.to_values([{"model": "tree", "depth": 3}]))
        found = best_in_space(surface, MODELS, seen, EI, rng=np.random.default_rng(seed))
        config = MODELS.from_values(found[None])[0]
        assert {**config, "rate": 0.01, "alpha": 0.25} == best
        assert config["rate"] == pytest.approx(0.01, rel=1e-3)
        assert config["alpha"] == pytest.approx(0.25, abs=1e-3)


@pytest.mark.parametrize("surrogate", [Gaussian(), Forest(trees=5)], ids=["gp", "rf"])
def test_proposals_are_valid_new_and_the_same_for_the_same_rng(surrogate: Gaussian | Forest) -> None:
    rng = np.random.default_rng(0)
    V = MODELS.sample_values(8, rng=rng)
    losses = rng.normal(size=8)
    model = surrogate.begin(MODELS, None, features=None, rng=rng)
    for _ in range(4):
        seen = told(MODELS, V, losses)
        posterior = model.fit(MODELS.encode_values(V), losses)
        found, again = (best_in_space(posterior, MODELS, seen, EI, rng=np.random.default_rng(5)) for _ in range(2))
        np.testing.assert_array_equal(found, again)
        MODELS.checked(found[None])
        assert found not in seen
        V, losses = np.vstack([V, found]), np.append(losses, rng.normal())


def test_running_trials_are_not_proposed_again() -> None:
    """Running trials have no loss, but they are told."""
    surface = hill(np.array([0.25, 0.75]))
    space = Space({"a": Int(0, 4), "b": Int(0, 4)})
    seen = told(space, space.to_values([{"a": 0, "b": 0}]))
    found = []
    for _ in range(space.size.__int__() - 1):
        v = best_in_space(surface, space, seen, EI, rng=np.random.default_rng(0))
        found.append(tuple(v))
        seen = seen.and_(v)
    assert found[0] == (1.0, 3.0)
    assert len(set(found)) == 24
    assert best_in_space(surface, space, seen, EI, rng=np.random.default_rng(0)) is None


def test_the_last_configurations_of_a_larger_space_are_found() -> None:
    space = Space({"a": Int(1, 40), "b": Int(1, 40)})
    assert space.size > LISTABLE
    grid = space.grid()
    left = grid[[17, 1234]]
    seen = told(space, np.delete(grid, [17, 1234], axis=0))
    surface = hill(np.array([0.5, 0.5]))
    first = best_in_space(surface, space, seen, EI, rng=np.random.default_rng(0))
    second = best_in_space(surface, space, seen.and_(first), EI, rng=np.random.default_rng(0))
    assert {tuple(first), tuple(second)} == {tuple(v) for v in left}
    nothing = seen.and_(first).and_(second)
    assert best_in_space(surface, space, nothing, EI, rng=np.random.default_rng(0)) is None


# -- the pieces ------------------------------------------------------------------------------------------


def test_climbing_reaches_the_maximum_inside_and_on_the_edge() -> None:
    """A quadratic with correlated axes: inside at A⁻¹b; on the edge where the gradient is held by the bound."""
    A = np.array([[2.0, 1.2, 0.0], [1.2, 3.0, -0.5], [0.0, -0.5, 50.0]])
    rng = np.random.default_rng(0)
    for top in (np.array([0.3, 0.6, 0.5]), np.array([1.3, 0.5, 0.2])):

        def scored(Z: Array, top: Array = top) -> tuple[Array, Array]:
            E = Z - top
            return -0.5 * np.einsum("ij,jk,ik->i", E, A, E), -E @ A

        starts = rng.random((6, 3))
        found = climb(scored, starts, np.ones(starts.shape, dtype=bool), steps=60)
        _, slope = scored(found)
        held = ((found == 1.0) & (slope > 0)) | ((found == 0.0) & (slope < 0))
        np.testing.assert_allclose(np.where(held, 0.0, slope), 0.0, atol=1e-3)
        np.testing.assert_allclose(found, np.tile(found[0], (6, 1)), atol=1e-3)


def test_climbing_never_descends_and_moves_only_what_may_move() -> None:
    rng = np.random.default_rng(0)

    def scored(Z: Array) -> tuple[Array, Array]:
        return np.sin(9 * Z).prod(axis=1), np.stack(
            [9 * np.cos(9 * Z[:, 0]) * np.sin(9 * Z[:, 1]), 9 * np.sin(9 * Z[:, 0]) * np.cos(9 * Z[:, 1])], axis=1
        )

    Z = rng.random((8, 2))
    movable = rng.random(Z.shape) < 0.5
    found = climb(scored, Z, movable)
    np.testing.assert_array_equal(found[~movable], Z[~movable])
    assert (scored(found)[0] >= scored(Z)[0]).all()
    assert ((found >= 0) & (found <= 1)).all()


def test_climbers_do_not_depend_on_each_other() -> None:
    rng = np.random.default_rng(0)
    Z = rng.random((5, 2))
    surface = hill(np.array([0.2, 0.4]))
    movable = np.ones(Z.shape, dtype=bool)
    together = climb(lambda at: surface.climb(at, EI), Z, movable)
    alone = [climb(lambda at: surface.climb(at, EI), z[None], movable[:1])[0] for z in Z]
    np.testing.assert_allclose(together, alone, atol=1e-5)


def test_neighbours_by_hand() -> None:
    space = Space(
        {
            "model": Categorical(["tree", "net", "line"]),
            "depth": Int(1, 9, when={"model": "tree"}),
            "rate": Float(0.01, 1.0, log=True, when={"model": "net"}),
            "share": Float(0.0, 1.0, step=0.25),
        }
    )
    start = space.to_values([{"model": "tree", "depth": 1, "share": 0.5}])
    assert space.from_values(neighbours(space, start)) == [
        {"model": "net", "rate": 0.1, "share": 0.5},
        {"model": "line", "share": 0.5},
        {"model": "tree", "depth": 2, "share": 0.5},
        {"model": "tree", "depth": 1, "share": 0.25},
        {"model": "tree", "depth": 1, "share": 0.75},
    ]
    assert len(neighbours(PLANE, np.array([[0.5, 0.5]]))) == 0


def test_completing_fills_chains_of_conditions() -> None:
    V = MODELS.to_values([{"model": "tree", "depth": 3}])
    V[0, 0] = 1.0  # net
    config = MODELS.from_values(completed(MODELS, V))[0]
    assert config == {"model": "net", "rate": 0.01, "layer": "dense", "width": 45, "alpha": 0.5}


def test_the_surroundings_keep_choices_and_conditions() -> None:
    V = MODELS.sample_values(6, rng=np.random.default_rng(2))
    cloud = around(MODELS, V, rng=np.random.default_rng(0))
    MODELS.checked(cloud)
    for v, rows in zip(V, np.split(cloud, len(V)), strict=True):
        assert (np.isnan(rows) == np.isnan(v)).all()
        choices = [j for j, name in enumerate(MODELS) if isinstance(MODELS[name], Categorical)]
        np.testing.assert_array_equal(rows[:, choices], np.tile(v[choices], (len(rows), 1)))


# -- thousands of choices --------------------------------------------------------------------------------------


def test_coordinates_that_never_move_take_no_part_in_a_climb():
    """H grows with the square of the coordinates; one choice of ten thousand would need gigabytes."""
    target = np.array([0.2, 0.7])

    def bowl(x: Array) -> tuple[Array, Array]:
        away = x[:, :2] - target
        return -(away**2).sum(axis=1), np.pad(-2 * away, ((0, 0), (0, x.shape[1] - 2)))

    Z = np.zeros((2, 3000))
    Z[:, :2], Z[:, 7] = [[0.5, 0.5], [0.9, 0.1]], 1.0
    movable = np.zeros(Z.shape, dtype=bool)
    movable[:, :2] = True
    tracemalloc.start()
    top = climb(bowl, Z, movable)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    np.testing.assert_array_equal(top[:, :2], climb(bowl, Z[:, :2], movable[:, :2]))
    np.testing.assert_array_equal(top[:, 2:], Z[:, 2:])
    assert peak < 10 * Z.nbytes


def test_of_very_many_choices_some_are_compared():
    space = Space({"word": Categorical([f"w{i}" for i in range(5000)]), "x": Float(0, 1)})
    rows = neighbours(space, np.array([[17.0, 0.5]]))
    assert 200 < len(rows) < 600
    assert len(np.unique(rows[:, 0])) == len(rows)
    assert 17.0 not in rows[:, 0]
    few = Space({"word": Categorical(list("abcde"))})
    assert neighbours(few, np.array([[2.0]]))[:, 0].tolist() == [0, 1, 3, 4]


# -- several at once -------------------------------------------------------------------------------------------


def test_several_proposals_differ_and_begin_with_the_best():
    rng = np.random.default_rng(0)
    V = PLANE.sample_values(12, rng=rng)
    told = Told(V, ((V - 0.4) ** 2).sum(axis=1))
    model = Gaussian().begin(PLANE, None, features=None, rng=np.random.default_rng(1))
    posterior = model.fit(PLANE.encode_values(V), told.losses)
    found = several_in_space(posterior, PLANE, told, EI, 5, rng=np.random.default_rng(2))
    best = best_in_space(posterior, PLANE, told, EI, rng=np.random.default_rng(2))
    np.testing.assert_array_equal(found[0], best)
    assert len(np.unique(found, axis=0)) == 5
    assert not any(v in told for v in found)
    listed = Candidates(PLANE, PLANE.sample_values(3, rng=rng))
    assert len(several_candidates(posterior, listed, told, EI, 5)) == 3
