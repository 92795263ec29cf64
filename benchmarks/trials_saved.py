"""Prints the README's table of trials saved, from the figures that `suite.py --write` kept; --write updates it there.

python benchmarks/trials_saved.py --write
"""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FAMILIES = {
    "mindware_gradient_boosting": "gradient boosting, scikit-learn",
    "mindware_libsvm_svc": "support vector machine, classification",
    "mindware_mae_libsvm_svr": "support vector machine, regression",
    "mindware_logistic_regression": "logistic regression",
    "mindware_random_forest": "random forest",
    "mindware_mae_lightgbm": "LightGBM, regression",
    "pimp_adaboost": "AdaBoost",
    "hpobench_mlp": "neural network for tables",
    "quantile_deepar": "DeepAR, time series",
    "taskset_adam8p": "Adam, training of many networks",
    "text_pipelines": "text classification pipeline",
}
TRIALS = (5, 10, 20)
PLACE = re.compile(r"(?<=<!-- evidence: begin -->\n).*(?=<!-- evidence: end -->)", re.DOTALL)


def table() -> str:
    found = json.loads((ROOT / "benchmarks" / "suite.json").read_text(encoding="utf-8"))
    header = ["what is tuned", "data sets", *(f"{t} trials replace" for t in TRIALS)]
    rows = [
        [text, str(found[name]["data sets"]), *(worth(found[name], t) for t in TRIALS)]
        for name, text in FAMILIES.items()
    ]
    return "".join(f"| {' | '.join(row)} |\n" for row in [header, ["---", *["--:"] * (len(header) - 1)], *rows])


def worth(figures: dict, trials: int) -> str:
    """The trials that random search needs to be as close to the best, on average."""
    reached = figures["auto"][str(trials)]
    for t, distance in enumerate(figures["random"], 1):
        if distance <= reached:
            return str(t)
    return f"over {len(figures['random'])}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="update the README")
    if parser.parse_args().write:
        readme = ROOT / "README.md"
        readme.write_text(PLACE.sub(table(), readme.read_text(encoding="utf-8")), encoding="utf-8")
    print(table(), end="")
