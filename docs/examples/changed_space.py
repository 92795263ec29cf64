"""The search space has changed

Past runs called a parameter by another name, had narrower ranges, and lacked a
parameter that is new. Nothing is dropped silently.
"""

import numpy as np
import pandas as pd

import headstart as hs

rng = np.random.default_rng(0)
runs = pd.DataFrame(
    {
        "task": np.repeat(["a", "b", "c", "d"], 25),
        "lr": 10 ** rng.uniform(-4, -1, 100),
    }
)
runs["layers"] = rng.integers(1, 6, 100)
runs["value"] = (np.log10(runs["lr"]) + 2.5) ** 2 + 0.1 * runs["layers"]

space = hs.Space(
    {
        "learning_rate": hs.Float(1e-5, 1e-2, log=True),  # was lr, up to 0.1
        "layers": hs.Int(2, 8),  # was 1 to 5
        "dropout": hs.Float(0.0, 0.5),  # is new
    }
)
start = hs.learn(
    runs,
    n=3,
    space=space,
    rename={"lr": "learning_rate"},
    fill={"dropout": 0.0},
)
print(start)
figure = start.plot()
