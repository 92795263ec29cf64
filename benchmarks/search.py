"""ADTM of the whole search, start and surrogate, by the papers' protocol.

python benchmarks/search.py --history authors-svm
"""

from __future__ import annotations

import time

from protocol import Method, arguments, curves, heading, history_named, row

AT = (5, 10, 20, 30, 50)
METHODS = {
    "auto": ("auto", "auto"),
    "auto, then prior": ("auto", "prior"),
    "auto, then gp": ("auto", "gp"),
    "ali, then prior": ("ali", "prior"),
    "li, then gp": ("li", "gp"),
    "li, then rf": ("li", "rf"),
    "random, then gp": ("random", "gp"),
}


def main() -> None:
    options = arguments(__doc__ or "").parse_args()
    history = history_named(options.history)
    print(heading(options.history, AT, "seconds"))
    for label, (init, surrogate) in METHODS.items():
        if options.methods and label not in options.methods:
            continue
        began = time.perf_counter()
        method = Method(init, 5, surrogate, described=not options.without_features)
        adtm = curves(history, method, max(AT), jobs=options.jobs).mean(axis=0)
        print(row(label, adtm, AT) + f" {time.perf_counter() - began:.0f} |", flush=True)


if __name__ == "__main__":
    main()
