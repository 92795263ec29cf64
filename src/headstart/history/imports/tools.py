"""Recognises the tool that wrote a file or folder, so that past runs can be named by their path alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headstart._support.files import expanded
from headstart.errors import FormatError
from headstart.history.imports import (
    ax,
    flaml,
    hyperopt,
    keras_tuner,
    mlflow,
    ray_tune,
    search_cv,
    smac,
    syne_tune,
    wandb,
)
from headstart.history.imports.runs import PICKLES, Runs


@dataclass(frozen=True)
class Tool:
    """A reader: what it recognises, and how it reads."""

    name: str
    recognises: Callable[[Path], bool]
    read: Callable[[Any], Runs]


TOOLS = (
    Tool("SMAC", smac.recognises, smac.read),
    Tool("Syne Tune", syne_tune.recognises, syne_tune.read),
    Tool("Keras Tuner", keras_tuner.recognises, keras_tuner.read),
    Tool("Ray Tune", ray_tune.recognises, ray_tune.read),
    Tool("MLflow", mlflow.recognises, mlflow.read),
    Tool("Ax", ax.recognises, ax.read),
    Tool("scikit-learn", search_cv.recognises, search_cv.read),
    Tool("Weights & Biases", wandb.recognises, wandb.read),
    Tool("FLAML", flaml.recognises, flaml.read),
    Tool("hyperopt", hyperopt.recognises, hyperopt.read),
)


def tool_of(name: str) -> Tool | None:
    """The tool that wrote what a path or a URL of SQLite names; None if it is not one of those here.

    A pickle is refused: it could run any code when it is opened.
    """
    path = expanded(mlflow.database_path(str(name)))
    if path.suffix.lower() in PICKLES:
        remedy = f"export the runs as text; for hyperopt, {hyperopt.TWO_LINES}"
        raise FormatError(f"{name} is a pickle, which could run any code when it is opened", remedy)
    try:
        found = [tool for tool in TOOLS if tool.recognises(path)] if path.is_file() or path.is_dir() else []
    except OSError:  # such as a folder that must not be listed; whoever reads it will say so
        return None
    if len(found) > 1:
        names = " and of ".join(tool.name for tool in found)
        raise FormatError(f"{name} holds runs of {names}", "name one of the folders or files in it")
    return found[0] if found else None
