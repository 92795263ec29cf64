"""Which metric of the runs is the value, and whether it is minimised or maximised."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headstart._support.direction import VERBS
from headstart._support.wording import closest, counted, some
from headstart.errors import HistoryError
from headstart.history.reading import Reading

# Words in the name of a metric that tell its direction; "neg" turns it round, as in scikit-learn's scores.
_LOWER = "loss logloss error err cost rmse mse mae mape smape rmsle perplexity nll deviance regret wer cer brier"
_HIGHER = (
    "accuracy acc auc auroc auprc roc f1 fbeta r2 score precision recall sensitivity specificity ap map ndcg mrr iou "
    "miou jaccard dice bleu rouge reward kappa mcc likelihood"
)
DIRECTION_OF_WORD = dict.fromkeys(_LOWER.split(), "minimize") | dict.fromkeys(_HIGHER.split(), "maximize")
OPPOSITE = {"minimize": "maximize", "maximize": "minimize"}


@dataclass(frozen=True)
class Choice:
    """The metric that is the value, its direction, and a note if that was inferred."""

    metric: str
    direction: str
    note: str = ""


def choose(
    source: str,
    finished: Sequence[Mapping[str, Any]],
    optimised: str | None,
    directions: Mapping[str, str],
    value: str | None,
    direction: str | None,
) -> Choice:
    """The metric and direction that the user names, or the source, or that are beyond doubt.

    finished: the metrics of each finished run. optimised, directions: what the source recorded.
    """
    counts = Counter(name for metrics in finished for name, number in metrics.items() if number is not None)
    metric = _metric(source, counts, optimised, value)
    recorded = directions.get(metric)
    if recorded is not None:
        if direction not in (None, recorded):
            raise HistoryError(
                f"{source} {VERBS[recorded]} {metric!r}, so it cannot be read with direction {direction!r}",
                "leave out {direction}",
            )
        return Choice(metric, recorded)
    if direction is not None:
        return Choice(metric, direction)
    inferred = direction_of(metric)
    if inferred is None:
        raise HistoryError(
            f"{source} does not record whether {metric!r} was minimised or maximised", "choose with {direction}"
        )
    return Choice(metric, inferred, f"by its name, this source {VERBS[inferred]} {metric!r}")


def _metric(source: str, counts: Mapping[str, int], optimised: str | None, value: str | None) -> str:
    there = ", ".join(f"{name!r} ({counted(n, 'run')})" for name, n in sorted(counts.items())[:20])
    if value is not None:
        if value not in counts:
            raise HistoryError(
                f"no finished run of {source} has the metric {value!r}{closest(value, list(counts))} "
                f"(metrics: {there or 'none'})",
                "name another one with {value}",
            )
        return value
    if optimised is not None:
        return optimised
    if len(counts) == 1 or Reading.value in counts:
        return Reading.value if Reading.value in counts else next(iter(counts))
    if not counts:
        raise HistoryError(f"no finished run of {source} has a metric")
    raise HistoryError(f"the runs of {source} have several metrics: {there}", "name the one to learn from with {value}")


def direction_of(metric: str) -> str | None:
    """The direction that the name of a metric tells: "val/roc_auc" is maximised; None if it tells nothing."""
    words = re.findall(r"[a-z]+[0-9]*|[0-9]+", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", metric).lower())
    found = {DIRECTION_OF_WORD[word] for word in words if word in DIRECTION_OF_WORD}
    if len(found) != 1:
        return None
    direction = found.pop()
    return OPPOSITE[direction] if {"neg", "negative"} & set(words) else direction


def listed(names: Sequence[str]) -> str:
    """Names for a note, quoted."""
    return some([repr(name) for name in names], 8)
