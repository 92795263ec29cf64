"""Several spaces at once: unions, and which spaces belong together."""

from __future__ import annotations

from typing import Any

import pytest

import headstart as hs
from headstart.space.unions import families, related, shared, union, united


@pytest.mark.parametrize(
    ("kinds", "expected"),
    [
        ([hs.Float(0, 1), hs.Float(0.5, 3)], hs.Float(0, 3)),
        ([hs.Float(1e-3, 1, log=True), hs.Float(0.01, 10)], hs.Float(1e-3, 10, log=True)),
        ([hs.Float(1e-3, 1, log=True), hs.Float(-1, 10)], hs.Float(-1, 10)),
        ([hs.Int(1, 5), hs.Int(3, 9)], hs.Int(1, 9)),
        ([hs.Int(0, 8, step=2), hs.Int(4, 12, step=2)], hs.Int(0, 12, step=2)),
        ([hs.Int(0, 8, step=2), hs.Int(1, 11, step=2)], hs.Int(0, 11)),
        ([hs.Int(1, 5), hs.Float(0, 3)], hs.Float(0, 5)),
        ([hs.Categorical(["a", "b"]), hs.Categorical(["b", "c"])], hs.Categorical(["a", "b", "c"])),
        ([hs.Categorical([True, False]), hs.Categorical([1, 0])], hs.Categorical([True, False, 1, 0])),
        ([hs.Categorical([16, 32]), hs.Int(8, 128, log=True)], hs.Int(8, 128, log=True)),
        ([hs.Categorical([0.5, 256]), hs.Int(8, 128)], hs.Float(0.5, 256)),
        ([hs.Categorical([3]), hs.Int(1, 2)], hs.Int(1, 3)),
        ([hs.Categorical(["auto", 4]), hs.Int(1, 2)], hs.Int(1, 4)),
    ],
)
def test_united_parameters_take_every_value(kinds: list[Any], expected: Any) -> None:
    assert united(kinds) == expected
    assert united(kinds[::-1]).size == expected.size


def test_the_union_of_spaces_keeps_conditions_on_which_all_agree() -> None:
    a = hs.Space({"k": hs.Categorical(["rbf"]), "C": hs.Float(1, 10), "g": hs.Float(0, 1, when={"k": "rbf"})})
    b = hs.Space({"k": hs.Categorical(["rbf", "poly"]), "C": hs.Float(5, 20), "g": hs.Float(0, 2, when={"k": "rbf"})})
    c = hs.Space({"C": hs.Float(1, 2), "g": hs.Float(0, 3)})
    both = union([a, b])
    assert both == hs.Space(
        {"k": hs.Categorical(["rbf", "poly"]), "C": hs.Float(1, 20), "g": hs.Float(0, 2, when={"k": "rbf"})}
    )
    assert not union([a, b, c])["g"].conditions
    assert union([a]) is a


LIGHTGBM = {"learning_rate": hs.Float(1e-3, 0.3, log=True), "num_leaves": hs.Int(4, 256), "bagging": hs.Float(0.3, 1)}
SVM = {"kernel": hs.Categorical(["rbf", "linear"]), "C": hs.Float(1e-2, 1e2, log=True)}
NETWORK = {"learning_rate": hs.Float(1e-5, 0.1, log=True), "layers": hs.Int(1, 5)}


@pytest.mark.parametrize(
    ("ours", "theirs", "expected"),
    [
        (LIGHTGBM, LIGHTGBM, True),
        (LIGHTGBM, SVM, False),
        (LIGHTGBM, NETWORK, False),  # they share only the learning rate
        (LIGHTGBM, {**LIGHTGBM, "max_depth": hs.Int(1, 9), "l1": hs.Float(0, 1)}, True),
        (LIGHTGBM, {"learning_rate": LIGHTGBM["learning_rate"]}, True),  # one third, and all of the smaller one
        ({f"p{i}": hs.Int(0, 9) for i in range(5)}, {"p0": hs.Int(0, 9)}, False),  # a fifth of the larger one
        (SVM, {"kernel": hs.Categorical(["poly"]), "C": hs.Float(200, 300)}, False),  # no value in common
        ({"n": hs.Int(1, 9)}, {"n": hs.Categorical([8, 16])}, True),
        ({"n": hs.Int(1, 9)}, {"n": hs.Categorical(["few", "many"])}, False),
        ({"n": hs.Int(1, 9)}, {"n": hs.Float(9, 20)}, True),  # the ranges touch
    ],
)
def test_spaces_are_related_by_names_kinds_and_ranges(ours: Any, theirs: Any, expected: bool) -> None:
    assert related(ours, theirs) is related(theirs, ours) is expected


def test_shared_parameters() -> None:
    assert shared(LIGHTGBM, NETWORK) == ["learning_rate"]
    assert shared(SVM, {"kernel": hs.Categorical(["poly"]), "C": hs.Float(1, 2)}) == ["C"]


def test_families_are_chains_of_related_spaces() -> None:
    wide = {**LIGHTGBM, "l1": hs.Float(0, 1), "l2": hs.Float(0, 1)}
    later = {"bagging": LIGHTGBM["bagging"], "l1": hs.Float(0, 1), "l2": hs.Float(0, 1)}
    assert not related({k: LIGHTGBM[k] for k in ("learning_rate", "num_leaves")}, later)
    spaces = {"a": SVM, "b": LIGHTGBM, "c": later, "d": wide, "e": SVM, "f": NETWORK}
    assert sorted(map(sorted, families(spaces))) == [["a", "e"], ["b", "c", "d"], ["f"]]
    assert sorted(families(spaces)[0]) == ["b", "c", "d"]
    assert families({}) == []
