"""Short forms of parameters: pairs, lists, distributions."""

from __future__ import annotations

import re

import numpy as np
import pytest

import headstart as hs
from headstart import Categorical, Float, Int, Space


@pytest.mark.parametrize(
    ("entry", "parameter"),
    [
        ((1, 20), Int(1, 20)),
        ((np.int64(1), np.int64(20)), Int(1, 20)),
        ((0.0, 1.0), Float(0, 1)),
        ((0, 1.5), Float(0, 1.5)),
        ((1e-4, 1.0, "log"), Float(1e-4, 1, log=True)),
        ((1, 100, "log-uniform"), Int(1, 100, log=True)),
        ([1, 20], Categorical([1, 20])),
        (["rbf", None], Categorical(["rbf", None])),
        (("rbf", "poly"), Categorical(["rbf", "poly"])),
        ((1, 2, 4), Categorical([1, 2, 4])),
        ((True, False), Categorical([True, False])),
        (np.array([0.1, 0.2]), Categorical([0.1, 0.2])),
        (range(3), Categorical([0, 1, 2])),
        (Float(0, 1, when={"k": 1}), Float(0, 1, when={"k": 1})),
    ],
)
def test_a_short_form_is_its_parameter(entry, parameter):
    others = {"k": [1, 2]}
    assert Space({**others, "x": entry})["x"] == parameter
    assert hs.as_space({**others, "x": entry})["x"] == parameter


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ((20, 1), "parameter 'x': low must be below high, but got low=20, high=1"),
        ((0, 1, "log"), "parameter 'x': a log scale needs bounds above 0"),
        ([], "parameter 'x': choices must not be empty"),
        ([[1], [2]], "parameter 'x': a choice must be text"),
        (3, "'x' must be a Float, Int or Categorical, but got 3; a pair such as (0.0, 1.0) is a range"),
        ("abc", "'x' must be a Float, Int or Categorical, but got 'abc'"),
        ((0, float("inf")), "parameter 'x': high must be a finite number"),
    ],
)
def test_a_misfit_is_an_error_that_names_the_parameter(entry, words):
    with pytest.raises(hs.errors.SpaceError, match=re.escape(words)):
        Space({"x": entry})


def test_a_search_takes_short_forms_and_finds_the_same_as_with_parameters():
    def loss(config):
        return (config["x"] - 0.3) ** 2 + (config["kind"] != "good") + config["k"] / 100

    short = {"x": (0.0, 1.0), "k": (1, 9), "kind": ["good", "bad"]}
    long = Space({"x": Float(0, 1), "k": Int(1, 9), "kind": Categorical(["good", "bad"])})
    runs = [hs.minimize(loss, space, n_trials=8, n_init=5, seed=0).trials for space in (short, long)]
    assert runs[0] == runs[1]
