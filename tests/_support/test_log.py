"""Messages: one switch for how many are shown, and none twice."""

from __future__ import annotations

import pytest

import headstart as hs
from program import python

WARNING = "n_init=3 is more than n_trials=2"
ABOUT = "No past runs. 2 of 2 trials are the start"
SEARCH = 'hs.minimize(lambda c: c["x"], {"x": (0.0, 1.0)}, n_trials=2, n_init=3, seed=0)'
MESSAGES = f"from headstart._support.log import log; log.warning({WARNING!r}); log.info({ABOUT!r})"  # of such a search


def messages(before: str, code: str = MESSAGES) -> str:
    done = python(f"import headstart as hs\n{before}\n{code}")
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    return done.stderr


@pytest.mark.parametrize(
    ("before", "warned", "about"),
    [
        ("", 1, 0),
        ("hs.set_verbosity('info')", 1, 1),
        ("hs.set_verbosity('INFO'); hs.set_verbosity('info')", 1, 1),
        ("hs.set_verbosity('warning')", 1, 0),
        ("hs.set_verbosity('error')", 0, 0),
        ("import logging; hs.set_verbosity(logging.ERROR)", 0, 0),
        ("import logging; logging.basicConfig(); hs.set_verbosity('info')", 1, 1),  # none twice
        ("import logging; hs.set_verbosity('error'); logging.basicConfig(level=logging.INFO)", 0, 0),
    ],
)
def test_the_switch_decides_what_is_shown(before, warned, about):
    text = messages(before)
    assert (text.count(WARNING), text.count(ABOUT)) == (warned, about), text


def test_a_search_logs_its_warnings_and_what_it_begins_with():
    text = messages("hs.set_verbosity('info')", SEARCH)
    assert (text.count(WARNING), text.count(ABOUT)) == (1, 1), text


def test_the_level_can_be_read_back_and_is_checked():
    code = "import headstart as hs, logging; {}; print(hs.get_verbosity() == logging.{})"
    assert python(code.format("pass", "WARNING")).stdout == "True\n"
    assert python(code.format("hs.set_verbosity('debug')", "DEBUG")).stdout == "True\n"
    with pytest.raises(hs.errors.ArgumentError, match=r"no verbosity 'inof'; did you mean 'info'"):
        hs.set_verbosity("inof")
    with pytest.raises(hs.errors.ArgumentError, match="a verbosity is a name such as 'info' or a number"):
        hs.set_verbosity(None)
