"""The histories that ship with the package: their list, and suggestions from them that need no learning."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Any

from headstart.cli.options import READING, add_json, command, option_names
from headstart.errors import ArgumentError

if TYPE_CHECKING:
    from headstart.cli.options import Commands
    from headstart.starts.start import Start

PAPERS = {"svm": "support vector machine", "adaboost": "AdaBoost of decision products", "resnet": "residual network"}
"""The histories of the papers' models, which are not in the table of estimators."""


def list_(commands: Commands) -> None:
    parser = command(commands, "list", "list the histories that ship with the package", "headstart list --json")
    add_json(parser, "the list")
    parser.set_defaults(run=run_list)


def run_list(args: argparse.Namespace) -> None:
    from headstart import library
    from headstart.cli import terminal

    rows = [_about(name) for name in library.names()]
    if args.json:
        print(json.dumps(rows, indent=2))
        return
    header = ["name", "model", "data sets", "evaluations", "metrics"]
    shown = [
        [row["name"], row["model"], f"{row['data_sets']:,}", f"{row['evaluations']:,}", ", ".join(row["metrics"])]
        for row in rows
    ]
    terminal.table(header, shown, left=(0, 1, 4))


def _about(name: str) -> dict[str, Any]:
    from headstart import library
    from headstart.library.models import MODELS

    history = library.load(name)
    return {
        "name": name,
        "model": MODELS[name].class_name if name in MODELS else PAPERS.get(name, ""),
        "estimator": MODELS[name].estimator if name in MODELS else None,
        "data_sets": len(history),
        "evaluations": sum(map(len, history)),
        "metrics": _metrics(name),
    }


def _metrics(name: str) -> list[str]:
    """What a shipped history measures, the default first; those of the papers hold the error rate alone."""
    from headstart import library

    return list(library.metrics(name)) or ["error"]


def default_metric(name: str) -> str:
    """The metric that a shipped history is loaded with; nothing for other past runs."""
    from headstart import library

    return _metrics(name)[0] if name in library.names() else ""


def suggested_by_name(args: argparse.Namespace, features: dict[str, float] | None) -> Start | None:
    """The stored suggestions of a shipped history; None if the options ask for something that must be learned."""
    from headstart import library
    from headstart.library.portfolios import suggested

    changed = [name for name in ("method", "seed", "also", *READING) if _is_set(args, name)]
    if args.history in library.names() and not changed:
        return suggested(args.history, args.n or 5, args.metric, features)
    if args.metric is not None:
        why = f"not with {option_names(args.parser)[changed[0]]}" if changed else f"not to {args.history}"
        raise ArgumentError(f"--metric applies to a history that ships with the package, {why}")
    return None


def _is_set(args: argparse.Namespace, name: str) -> bool:
    return bool(getattr(args, name) != args.parser.get_default(name))


def as_python(history: str, start: Start) -> str:
    """The configurations as Python, one line each: the estimator of a model of the library, else a dictionary."""
    from headstart.library.models import MODELS

    if history not in MODELS:
        return "\n".join(map(repr, start.configs))
    name = MODELS[history].class_name
    return "\n".join(f"{name}({', '.join(f'{key}={value!r}' for key, value in c.items())})" for c in start.configs)
