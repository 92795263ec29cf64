"""Do meta-features choose better configurations than none? python benchmarks/meta_features.py [NAME …]

Each data set of a shipped history is left out in turn. Without meta-features it gets the configuration that is best on
average over the others; with them, the one that is best on the data sets that resemble it. Only configurations that all
data sets tried are compared, so every score is measured. Scores are normal scores: 1 is about a third of the ranking.
`hs.defaults` uses meta-features where the gain is at least two standard errors.
"""

from __future__ import annotations

import sys

import numpy as np

import headstart as hs
from headstart.library.portfolios import feature_gains, helps

print(f"{'history':40} {'metric':15} {'data sets':>9} {'gain':>7} {'± error':>8} {'better':>7} {'worse':>6}  used")
for name in sys.argv[1:] or hs.library.names():
    for metric in hs.library.metrics(name) or [None]:
        history = hs.library.load(name, metric)
        gains = feature_gains(history)
        if not len(gains):
            continue
        error = gains.std(ddof=1) / np.sqrt(len(gains))
        shares = f"{(gains > 0).mean():7.0%} {(gains < 0).mean():6.0%}"
        used = "yes" if helps(history) else "no"
        print(f"{name:40} {metric or '':15} {len(gains):9} {gains.mean():+7.3f} {error:8.3f} {shares}  {used}")
