"""How similar a shipped history is to the authors': rank correlation over the configurations, by data set.

python benchmarks/realism.py --history svm
python benchmarks/realism.py --history adaboost
"""

from __future__ import annotations

import argparse

import numpy as np
from scipy.stats import spearmanr

import headstart as hs
from protocol import history_named


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--history", choices=["svm", "adaboost"], default="svm")
    which = parser.parse_args().history
    theirs, ours = history_named(f"authors-{which}"), hs.library.load(which)
    common = [name for name in ours.tasks if name in theirs.tasks]
    correlations = {name: correlation(theirs, ours, name) for name in common}
    print("| data set | Spearman | best error, ours | best error, theirs |")
    print("| --- | --- | --- | --- |")
    for name, value in sorted(correlations.items(), key=lambda item: -item[1]):
        print(f"| {name} | {value:.2f} | {ours[name].losses.min():.3f} | {theirs[name].losses.min():.3f} |")
    print(
        f"\n{len(common)} common data sets: median {np.median(list(correlations.values())):.2f}, "
        f"lowest {min(correlations.values()):.2f}."
    )


def correlation(theirs: hs.History, ours: hs.History, name: str) -> float:
    """Over the configurations, which must be the same in both."""
    losses = []
    for history in (theirs, ours):
        keys = [
            tuple(sorted((k, round(v, 6) if isinstance(v, float) else v) for k, v in c.items()))
            for c in history.configs(name)
        ]
        losses.append(dict(zip(keys, history[name].losses.tolist(), strict=True)))
    assert losses[0].keys() == losses[1].keys(), f"{name}: the configurations differ"
    shared = sorted(losses[0], key=str)
    return float(spearmanr([losses[0][k] for k in shared], [losses[1][k] for k in shared]).statistic)


if __name__ == "__main__":
    main()
