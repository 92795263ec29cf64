"""Hints in messages: which known name may be meant."""

from __future__ import annotations

import pytest

from headstart._support.wording import closest


@pytest.mark.parametrize(
    ("name", "names", "hint"),
    [
        ("atuo", ["auto", "ali", "rbi"], "; did you mean 'auto'?"),
        ("c", ["kernel", "C"], "; did you mean 'C'?"),
        ("xgboost", ["adaboost", "xgboost-regression"], "; did you mean 'xgboost-regression'?"),
        ("forest", ["forest-a", "ridge", "forest-b"], "; did you mean 'forest-a' or 'forest-b'?"),
        ("zzz", ["auto", "ali"], ""),
        ("anything", [], ""),
    ],
)
def test_hints_name_what_contains_the_word_or_is_about_as_similar_as_the_best(name, names, hint) -> None:
    assert closest(name, names) == hint
