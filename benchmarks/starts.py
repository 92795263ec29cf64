"""ADTM of every strategy after 1, 3, 5 and 10 trials, by the papers' protocol.

python benchmarks/starts.py --history authors-svm
python benchmarks/starts.py --history authors-adaboost
python benchmarks/starts.py --history svm
"""

from __future__ import annotations

import time

import numpy as np

from headstart.history.task import scale
from headstart.starts.measures import expected_random
from headstart.strategies import AdaptiveLearnedInit, LearnedInit
from protocol import Method, arguments, curves, heading, history_named, row

AT = (1, 3, 5, 10)
METHODS = {
    "rbi": ("rbi", 20),
    "nbi": ("nbi", 1),
    "pbi": ("pbi", 1),
    "apbi": ("apbi", 1),
    "aapbi": ("aapbi", 1),
    "li": ("li", 1),
    "li, paper's recipe": (LearnedInit(recipe="paper"), 1),
    "li, printed gradient": (LearnedInit(recipe="paper", gradient="printed"), 1),
    "ali": ("ali", 1),
    "ali, printed weights": (AdaptiveLearnedInit(weights="printed"), 1),
    "auto": ("auto", 1),
}


def main() -> None:
    options = arguments(__doc__ or "").parse_args()
    history = history_named(options.history)
    print(heading(options.history, AT, "seconds"))
    random = np.mean([expected_random(scale(task.losses), max(AT)) for task in history], axis=0)
    print(row("random (expectation)", random, AT) + "  |")
    for label, (init, repeats) in METHODS.items():
        if options.methods and label not in options.methods:
            continue
        if label in ("nbi", "pbi", "apbi", "aapbi") and not history.feature_names:
            print(f"| {label:<24} | needs meta-features, which this history does not have |")
            continue
        began = time.perf_counter()
        method = Method(init, max(AT), described=not options.without_features)
        adtm = curves(history, method, max(AT), repeats=repeats, jobs=options.jobs).mean(axis=0)
        print(row(label, adtm, AT) + f" {time.perf_counter() - began:.0f} |", flush=True)


if __name__ == "__main__":
    main()
