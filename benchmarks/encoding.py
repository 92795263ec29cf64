"""How many configurations per second are encoded as a matrix: headstart and ConfigSpace.

python benchmarks/encoding.py [rows]
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import ConfigSpace as CS  # noqa: N817
import numpy as np
import pandas as pd

from headstart.adapters.configspace import to_configspace
from headstart.space import Categorical, Float, Int, Space

SPACE = Space(
    {
        "model": Categorical(["svm", "net", "forest"]),
        "kernel": Categorical(["rbf", "poly", "linear"], when={"model": "svm"}),
        "C": Float(2**-5, 2**6, log=True, when={"model": "svm"}),
        "gamma": Float(1e-4, 1e3, log=True, when={"kernel": ["rbf", "poly"]}),
        "degree": Int(2, 10, when={"kernel": "poly"}),
        "layers": Int(1, 4, when={"model": "net"}),
        "units": Int(8, 1024, log=True, when={"model": "net"}),
        "dropout": Float(0, 0.5, when={"layers": [2, 3, 4]}),
        "trees": Int(10, 1000, log=True, when={"model": "forest"}),
        "scaled": Categorical([True, False]),
    }
)


def frame_of(space: Space, V: Any) -> pd.DataFrame:
    """The table of a user: one typed column per parameter, empty where it is inactive."""
    columns: dict[str, Any] = {}
    for v, (name, parameter) in zip(V.T, space.items(), strict=True):
        if isinstance(parameter, Categorical):
            choices = np.array([*parameter.choices, None], dtype=object)
            columns[name] = pd.Series(choices[np.where(np.isnan(v), -1, v).astype(int)]).infer_objects()
        else:
            columns[name] = v
    return pd.DataFrame(columns)


def seconds(work: Callable[[], Any]) -> float:
    """CPU seconds, so that other load on the machine does not affect them; everything runs on one core."""
    start = time.process_time()
    work()
    return time.process_time() - start


def main(rows: int) -> None:
    V = SPACE.sample_values(rows, rng=np.random.default_rng(0))
    frame, configs = frame_of(SPACE, V), SPACE.from_values(V)
    theirs, few = to_configspace(SPACE), configs[: max(1, rows // 50)]

    def configspace() -> Any:
        return np.array([CS.Configuration(theirs, values=config).get_array() for config in few])

    np.testing.assert_array_equal(SPACE.encode(frame), SPACE.encode(configs))
    lines = [
        ("headstart, from a frame", rows, seconds(lambda: SPACE.encode(frame))),
        ("headstart, from a list of dictionaries", rows, seconds(lambda: SPACE.encode(configs))),
        ("headstart, back to dictionaries", rows, seconds(lambda: SPACE.decode(SPACE.encode_values(V)))),
        ("ConfigSpace, from a list of dictionaries", len(few), seconds(configspace)),
    ]
    print(f"{len(SPACE)} parameters, {sum(bool(p.conditions) for p in SPACE.values())} of them conditional\n")
    print("| encoding | rows | CPU seconds | rows per second |\n| --- | --: | --: | --: |")
    for what, n, took in lines:
        print(f"| {what} | {n:,} | {took:.2f} | {n / took:,.0f} |")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
