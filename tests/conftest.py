from __future__ import annotations

import signal
from pathlib import Path

import pytest

from headstart.space import Categorical, Float, Int, Space

# Programs started by a shell in the background ignore interrupts, and so would all that the tests start and interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def shared() -> Path:
    """The data of the papers' authors, which lies next to the repository and is no part of it."""
    path = Path(__file__).resolve().parents[2] / "shared"
    if not (path / "data").is_dir():
        pytest.skip("../shared is not there, so this check against the authors' data is skipped")
    return path


@pytest.fixture
def svm_space() -> Space:
    """The space of the README."""
    return Space(
        {
            "kernel": Categorical(["rbf", "poly", "linear"]),
            "C": Float(2**-5, 2**6, log=True),
            "gamma": Float(1e-4, 1e3, log=True, when={"kernel": "rbf"}),
            "degree": Int(2, 10, when={"kernel": "poly"}),
        }
    )
