"""The meta-data sets of the papers, as their authors published them.

Wistuba, Schilling, Schmidt-Thieme (2015, 2016). The SVM data is one file per data set with one line per configuration.
A line has 29 numbers: accuracy; indicators of the RBF, polynomial and linear kernel; log2(C)/6; log10(γ)/4 and
log10(degree), 0 where the kernel has none; 22 meta-features, scaled to [0, 1] over the data sets. The AdaBoost data is
one CSV file with the columns dataset, iterations, product_terms and error.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from headstart._support.types import Array, Mask
from headstart.errors import FormatError
from headstart.history.evaluations import Evaluations
from headstart.history.formats.csv_files import read_csv
from headstart.history.reading import Reading
from headstart.space import Categorical, Float, Int, Space

if TYPE_CHECKING:
    from headstart.history.history import History

# The files do not follow the order of Table I. This one was found from identities between the columns (log n, d/n,
# 1/classes … hold to 1e-15) and from rank correlation with meta-features of the same data sets from other sources.
FEATURES = (
    "class_cross_entropy",
    "number_of_classes",
    "class_probability_max",
    "class_probability_min",
    "class_probability_mean",
    "class_probability_std",
    "number_of_instances",
    "log_number_of_instances",
    "number_of_features",
    "log_number_of_features",
    "inverse_dataset_dimensionality",
    "log_inverse_dataset_dimensionality",
    "dataset_dimensionality",
    "log_dataset_dimensionality",
    "skewness_max",
    "skewness_min",
    "skewness_mean",
    "skewness_std",
    "kurtosis_max",
    "kurtosis_min",
    "kurtosis_mean",
    "kurtosis_std",
)

_KERNELS = ["rbf", "poly", "linear"]
_WIDTH = 7 + len(FEATURES)


def svm_space() -> Space:
    """The space of the SVM files, in native units."""
    return Space(
        {
            "kernel": Categorical(_KERNELS),
            "C": Float(2**-5, 2**6, log=True),
            "gamma": Float(1e-4, 1e3, log=True, when={"kernel": "rbf"}),
            "degree": Int(2, 10, when={"kernel": "poly"}),
        }
    )


def read_svm(folder: str | os.PathLike[str]) -> Evaluations:
    """The error rates in a folder of SVM files, with the meta-features under the names of Table I."""
    folder = Path(folder)
    if not folder.is_dir():
        raise FileNotFoundError(f"there is no folder {folder}")
    files = sorted(path for path in folder.iterdir() if path.is_file() and not path.name.startswith("."))
    if not files:
        raise FormatError(f"{folder} is empty; it should hold one file per data set")
    tables = {path.name: _read_table(path) for path in files}
    space = svm_space()
    rows = np.concatenate(list(tables.values()))
    return Evaluations(
        space,
        np.repeat(np.array(list(tables), dtype=object), [len(table) for table in tables.values()]),
        space.to_values(_native(rows)),
        np.round(1.0 - rows[:, 0], 10),
        np.ones(len(rows), dtype=np.int64),
        features={name: dict(zip(FEATURES, table[0, 7:].tolist(), strict=True)) for name, table in tables.items()},
        source=f"{folder.name} (error rates, and {len(FEATURES)} meta-features scaled to [0, 1] as published)",
    )


def _read_table(path: Path) -> Array:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise FormatError(f"{path.name} is not one of the SVM files: it is not text") from error
    if not lines:
        raise FormatError(f"{path.name} is empty")
    rows = []
    for number, line in enumerate(lines, start=1):
        try:
            rows.append([float(cell) for cell in line.split()])
        except ValueError as error:
            raise FormatError(f"{path.name}, line {number}: {error}") from error
        if len(rows[-1]) != _WIDTH:
            raise FormatError(
                f"{path.name}, line {number}: {len(rows[-1])} numbers instead of {_WIDTH}; "
                "the file is damaged or was cut off"
            )
    table = np.array(rows)
    if not np.isfinite(table).all() or (table[:, 1:4].sum(axis=1) != 1).any():
        raise FormatError(f"{path.name} is not one of the SVM files: a line must have one kernel and finite numbers")
    return table


def _native(rows: Array) -> pd.DataFrame:
    """Columns 1–6 in native units."""
    kernel = rows[:, 1:4].argmax(axis=1)
    gamma = [float(f"{10 ** (4 * x):.6g}") for x in rows[:, 5]]  # 0.05, not 0.049999999999999996
    degree = np.round(10 ** rows[:, 6])
    columns: dict[str, Any] = {
        "kernel": np.array(_KERNELS, dtype=object)[kernel],
        "C": [float(f"{2 ** (6 * x):.6g}") for x in rows[:, 4]],
        "gamma": np.where(kernel == 0, gamma, np.nan),
        "degree": np.where(kernel == 1, degree, np.nan),
    }
    return pd.DataFrame(columns)


def adaboost_space() -> Space:
    """The space of the AdaBoost table."""
    return Space({"iterations": Int(2, 10_000, log=True), "product_terms": Int(2, 30, log=True)})


def read_adaboost(path: str | os.PathLike[str], features: Any = None) -> Evaluations:
    """The error rates in the AdaBoost table. It has no meta-features; pass `features` to add some."""
    return read_csv(path, Reading(task="dataset", value="error", space=adaboost_space()), features=features)


def coarse(history: History) -> History:
    """Only the configurations on the coarse grid of the papers, the ones they see of the training data sets.

    The first paper has such a grid but does not say which. The rule is that of the program of its authors' later paper,
    Two-Stage Transfer Surrogate Model for Automatic Hyperparameter Optimization, ECML PKDD 2016 (wistuba/TST on GitHub:
    `SMBOMain.java`, option `-sparseGrid`). It keeps a configuration if each of its numeric columns is 0 or has an index
    of 1 modulo 3 among the sorted distinct values of that column. The column is the logarithm if the parameter has a
    log scale, and 0 where it is inactive; so C = 1 and γ = 1 are always kept. 50 of the 288 SVM configurations remain.
    That program comes without AdaBoost data, to which the same rule is applied.
    """
    keep: Mask = np.ones(len(history.V), dtype=bool)
    for j, parameter in enumerate(history.space.values()):
        if not isinstance(parameter, Categorical):
            v = history.V[:, j]
            column = np.where(np.isnan(v), 0.0, np.log(v) if parameter.log else v)
            index = np.unique(column, return_inverse=True)[1].reshape(-1)
            keep &= (column == 0) | (index % 3 == 1)
    return history.only_configs(keep)
