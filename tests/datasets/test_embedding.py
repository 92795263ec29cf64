"""Embeddings as named features, and what works without torch."""

from __future__ import annotations

import numpy as np
import pytest

from headstart.datasets.naming import described, embedding_names, named
from histories import FLAT, embedded, make
from program import one_line, python


def test_embeddings_are_found_in_order_and_by_model():
    features = {**named(np.arange(12.0), "0a"), "size": 3.0, **named([5.0], "b1")}
    names = embedding_names(reversed(list(features)))
    assert set(names) == {"0a", "b1"}
    assert [features[name] for name in names["0a"]] == list(range(12))  # 2 before 10
    again = described(features, named([7.0], "c2"))
    assert again == {"size": 3.0, "metric c2 0": 7.0}


# -- without torch ---------------------------------------------------------------------------------------------

WITHOUT = """
import sys

class Gone:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("torch", "ot"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Gone())
import headstart as hs
"""


def test_a_history_with_embeddings_needs_no_torch(tmp_path):
    embedded(make(FLAT)).save(tmp_path / "h.parquet")
    code = WITHOUT + (
        "from headstart import *; h = History.load('h.parquet'); from headstart.transfer.models import task_distances; "
        "import numpy as np; D = task_distances(h, 'l1', rng=np.random.default_rng(0)); "
        "o = hs.Optimizer(h.space, history=h, init='metric', n_init=2, surrogate='prior', "
        "features={'metric 0a 0': .1}, seed=0)\n"
        "for _ in range(4): o.tell(o.ask(), 1.0 + len(o.trials))\n"
        "hs.metafeatures([[1.], [2.]], [0, 1]); print(len(o.trials), D.shape, len(hs.library.load('svm')) > 40)"
    )
    done = python(code, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "4 (6, 6) True\n"


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        ("hs.embed('model.npz', [[1.], [2.]], [0, 1])", "a Siamese network needs torch"),
        ("import headstart.datasets.siamese", "a Siamese network needs torch"),
        (
            "import numpy as np; from headstart.datasets.distances import emd; emd(np.eye(2), np.eye(2))",
            "the earth mover's distance needs POT",
        ),
    ],
)
def test_a_missing_package_names_the_extra(call, problem):
    done = python(WITHOUT + call)
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert last == f"headstart.errors.MissingPackageError: {problem}; pip install 'headstart[deep]'"


def test_building_a_metric_without_torch_is_reported_in_one_line():
    done = python(
        WITHOUT + "from headstart.cli.main import main; sys.exit(main(['build', 'metric', '--history', 'svm']))"
    )
    one_line(done, "torch")
    assert "pip install 'headstart[deep]'" in done.stderr
