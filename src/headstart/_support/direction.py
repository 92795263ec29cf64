"""Minimise or maximise. Everything inside minimises; `turned` converts values where they enter and leave."""

from __future__ import annotations

import re
import unicodedata
from typing import Any, TypeVar

from headstart._support.wording import closest
from headstart.errors import ArgumentError

DIRECTIONS = ("minimize", "maximize")
OPPOSITE = {"minimize": "maximize", "maximize": "minimize"}
VERBS = {"minimize": "minimises", "maximize": "maximises"}

T = TypeVar("T")


# Words in the name of a metric, as scikit-learn and others use them.
SCORES = {
    "acc", "accuracy", "ap", "auc", "auprc", "auroc", "bleu", "corr", "corrcoef", "dice", "explainedvariance", "f1",
    "fbeta", "gini", "iou", "jaccard", "kappa", "likelihood", "map", "mcc", "miou", "mrr", "ndcg", "pearson",
    "precision", "profit", "r2", "recall", "return", "reward", "rouge", "sensitivity", "silhouette", "spearman",
    "specificity",
}  # fmt: skip
LOSSES = {
    "brier", "cer", "cost", "crossentropy", "deviance", "distance", "err", "error", "hinge", "latency", "loss", "mae",
    "mape", "mse", "nll", "perplexity", "regret", "risk", "rmse", "rmsle", "seconds", "smape", "time", "wer",
}  # fmt: skip
NEGATIONS = {"neg", "negative"}


def direction_in(metric: str) -> str | None:
    """The direction that the name of a metric implies: "roc_auc" is maximised, "val_loss" minimised.

    None if the name has no meaning, such as "value"; "unclear" if it has two, such as "accuracy_loss".
    """
    plain = unicodedata.normalize("NFKC", metric)  # R² is R2
    words = re.findall(r"[a-z]+[0-9]*|[0-9]+", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", plain).lower())
    if words[:1] == ["d2"]:  # the share of a loss that a model explains
        return "maximize"
    better = SCORES.intersection([*words, "".join(words)]) or any(w.endswith(("accuracy", "auc")) for w in words)
    worse = LOSSES.intersection(words) or any(word.endswith(("loss", "error")) for word in words)
    if better and worse:
        return "unclear"
    if not worse and not better:
        return "maximize" if "score" in words else None
    turns = sum(word in NEGATIONS for word in words)
    return DIRECTIONS[(bool(better) + turns) % 2]


def checked_direction(direction: Any) -> str:
    """The direction itself; an error if it is neither of the two."""
    if direction not in DIRECTIONS:
        hint = closest(direction, DIRECTIONS) if isinstance(direction, str) else ""
        raise ArgumentError(f"direction must be 'minimize' or 'maximize', but got {direction!r}{hint}")
    return str(direction)


def turned(values: T, direction: str) -> T:
    """The user's values as losses, or losses as the user's values: negated to maximise, unchanged to minimise."""
    return values if direction == "minimize" else -values  # type: ignore[operator]
