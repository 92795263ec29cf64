"""The same configurations whatever the kernel of the BLAS library, that is, on any processor."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from program import ROOT, environment

KERNELS = ["Nehalem", "Haswell", "SkylakeX"]  # from old to new; a processor runs those of older ones

CODE = """
import json, sys
import numpy as np
import headstart as hs
from headstart.library.landmarks import landmarks
from headstart.library.models import MODELS, features as of_data
from headstart.library.portfolios import best_for
from histories import make, FLAT, MIXED
from sklearn.datasets import load_diabetes, load_wine
from threadpoolctl import threadpool_info

features = {"centre": 0.4, "noise": 0.0, "size": 20.0}
loss = lambda config: sum((z - 0.45) ** 2 * (1 + i % 3) + 0.05 * np.sin(9 * z) for i, z in enumerate(encode(config)))

found = {}
for space in (FLAT, MIXED):
    encode = lambda config: [float(z) for z in space.encode([config])[0]]
    history = make(space, tasks=4, evaluations=[12, 15, 10, 13], shared=False)
    for method in ("li", "auto"):
        start = hs.learn(history, n=4, method=method, features=features, seed=0)
        found[f"{len(space)} parameters, {method}"] = start.configs
    for init, surrogate in [("random", s) for s in ("gp", "rf", "scot", "mklgp", "prior", "auto")] + [("ali", "auto")]:
        opt = hs.Optimizer(
            space, history=history, init=init, n_init=3, surrogate=surrogate, features=features, seed=0
        )
        for _ in range(6):
            config = opt.ask()
            opt.tell(config, loss(config))
        found[f"{len(space)} parameters, {init}, then {surrogate}"] = [trial.config for trial in opt.trials]
    table = hs.evidence(history, n=3, methods=("random", "li", "auto"), seed=0).table
    found[f"{len(space)} parameters, evidence"] = table.round(12).astype(str).values.tolist()
for name in hs.library.names():
    if name in MODELS:
        kind = MODELS[name].kind
        X, y = (load_wine if kind == "classification" else load_diabetes)(return_X_y=True)
        X, y = X[::2], y[::2]  # a data set that no history has
        described = {**of_data(kind, X, y), **landmarks(kind, X, y)}
        found[f"no search, {name}"] = [best_for(name, metric, described) for metric in hs.library.metrics(name)]
kernels = {info["architecture"] for info in threadpool_info() if info["internal_api"] == "openblas"}
json.dump([sorted(kernels), found], sys.stdout)
"""


def found_with(kernel: str) -> tuple[list[str], dict[str, object]]:
    """The kernels that were really used, and all configurations."""
    env = environment()
    env = {**env, "OPENBLAS_CORETYPE": kernel, "PYTHONPATH": os.pathsep.join([env["PYTHONPATH"], str(ROOT / "tests")])}
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, env=env)
    if done.returncode < 0:
        pytest.skip(f"this processor cannot run the kernel {kernel}")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_configurations_do_not_depend_on_the_kernel_of_the_blas_library() -> None:
    results = {}
    for kernel in KERNELS:
        used, found = found_with(kernel)
        if not used:
            pytest.skip("NumPy's BLAS library is not OpenBLAS, whose kernel can be chosen")
        results[" ".join(used)] = found
    first, *others = results.values()
    for other in others:
        different = [name for name in first if first[name] != other[name]]
        assert not different, different
    if len(results) < len(KERNELS):
        pytest.skip(f"of OpenBLAS's kernels, only {', '.join(results)} can be used here")
