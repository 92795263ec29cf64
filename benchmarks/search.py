"""ADTM of the whole search, start and surrogate, by the papers' protocol.

python benchmarks/search.py --history authors-svm
"""

from __future__ import annotations

import time

from protocol import arguments, curves, history_named, row

AT = (5, 10, 20, 30, 50)
METHODS = {
    "auto": {"init": "auto", "surrogate": "auto"},
    "auto, then prior": {"init": "auto", "surrogate": "prior"},
    "auto, then gp": {"init": "auto", "surrogate": "gp"},
    "ali, then prior": {"init": "ali", "surrogate": "prior"},
    "li, then gp": {"init": "li", "surrogate": "gp"},
    "li, then rf": {"init": "li", "surrogate": "rf"},
    "random, then gp": {"init": "random", "surrogate": "gp"},
}


def main() -> None:
    options = arguments(__doc__ or "").parse_args()
    history = history_named(options.history)
    print(f"| {options.history:<24} | " + " | ".join(map(str, AT)) + " | seconds |")
    print("| --- | " + " | ".join("---" for _ in AT) + " | --- |")
    for label, settings in METHODS.items():
        if options.methods and label not in options.methods:
            continue
        began = time.perf_counter()
        adtm = curves(
            history, max(AT), jobs=options.jobs, described=not options.without_features, n_init=5, **settings
        ).mean(axis=0)
        print(row(label, adtm, AT) + f" {time.perf_counter() - began:.0f} |", flush=True)


if __name__ == "__main__":
    main()
