"""A scikit-learn estimator's search space, and past runs with the names of its parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, is_classifier, is_regressor

from headstart._support.log import log
from headstart.adapters.known import metric_for, recognised
from headstart.adapters.steps import check_names, prefix_of
from headstart.datasets.features import FEATURE_NAMES
from headstart.errors import ArgumentError, HistoryError
from headstart.history import History, Store
from headstart.history.past import past_runs, required
from headstart.library.models import CLASSIFICATION, REGRESSION, features
from headstart.space import Space, as_space

# -- the search space and the past runs ------------------------------------------------------------------------


def resolve(
    estimator: BaseEstimator,
    space: Any,
    history: Any,
    store: Store | None = None,
    *,
    rename: Mapping[str, str] | None = None,
    fill: Mapping[str, Any] | None = None,
    scoring: Any = None,
    refit: Any = True,
) -> tuple[Space, History | None]:
    """The search space and the past runs, both with the names of the estimator's parameters.

    scoring, refit: as for `GridSearchCV`; they decide which metric of the library's history is used, if it is.
    """
    if space is None:
        if history is None:
            known = recognised(estimator)
            history, prefix = known.history(metric_for(known.model, scoring, refit)), known.prefix
            plain = known.model.space if history is None else history.space
        else:
            history = required(past_runs(history, rename=rename))
            prefix, plain = prefix_of(estimator, history.space), history.space
        found, rename = plain.renamed({name: prefix + name for name in plain}), None
    else:
        found = as_space(space)
        check_names(estimator, found)
    past = [one for one in (history, store) if one is not None]
    return found, _past(estimator, past, found, rename, fill) if past else None


def _past(
    estimator: BaseEstimator,
    past: Sequence[Any],
    space: Space,
    rename: Mapping[str, str] | None,
    fill: Mapping[str, Any] | None,
) -> History | None:
    """The past runs in the space. Their parameters may have its full names ("svc__C") or the short ones ("C")."""
    short = short_names(space)
    model = {"model": model_name(estimator, space)}
    full = {new: old for old, new in short.items()}
    if any(new != old for old, new in short.items()):
        renamed = {old: short.get(new, new) for old, new in (rename or {}).items()}
        filled = {short.get(name, name): value for name, value in (fill or {}).items()}
        try:
            found = past_runs(past, plain_names(space), rename=renamed, fill=filled, attributes=model)
            return found if found is None else found.renamed(full)
        except HistoryError:  # the runs have full names
            pass
    return past_runs(past, space, rename=rename, fill=fill, attributes=model)


def short_names(space: Space) -> dict[str, str]:
    """Each parameter's name without the prefix of its step, if no other parameter has the same: "svc__C" → "C"."""
    names = {name: name.rpartition("__")[2] for name in space}
    short = list(names.values())
    return {name: plain if short.count(plain) == 1 else name for name, plain in names.items()}


def plain_names(space: Space) -> Space:
    """The space with short names."""
    return space.renamed(short_names(space))


# -- what a store keeps of a search ----------------------------------------------------------------------------


def about(
    estimator: BaseEstimator, space: Space, scoring: Any, refit: Any, features: Mapping[str, float] | None
) -> dict[str, Any]:
    """The model, the metric and the meta-features of a search, as attributes of its study."""
    metric = scoring if isinstance(scoring, str) else refit if isinstance(refit, str) else None
    if metric is None:
        metric = getattr(scoring, "__name__", None) or ("accuracy" if is_classifier(estimator) else "score")
    found: dict[str, Any] = {"model": model_name(estimator, space), "headstart:metric": metric}
    known = {name: float(x) for name, x in (features or {}).items() if np.isfinite(x)}
    return {**found, "headstart:features": known} if known else found


def model_name(estimator: BaseEstimator, space: Space) -> str:
    """The class of the step whose parameters are searched, or of the whole estimator if there are several."""
    prefixes = {name.rpartition("__")[0] for name in space}
    step = estimator.get_params().get(min(prefixes), estimator) if len(prefixes) == 1 else estimator
    return type(step).__name__


# -- meta-features ---------------------------------------------------------------------------------------------


def has_features(history: History | None) -> bool:
    """Whether past tasks have meta-features that can be computed for the new one."""
    return history is not None and bool(set(history.feature_names) & set(FEATURE_NAMES))


def features_of(estimator: BaseEstimator, X: Any, y: Any) -> dict[str, float] | None:
    """The data set's meta-features; None if they cannot be computed."""
    kind = CLASSIFICATION if is_classifier(estimator) else REGRESSION if is_regressor(estimator) else None
    if kind is None or y is None:
        return None
    try:
        return features(kind, X, y)
    except (TypeError, ValueError) as error:  # such as texts; if X or y is invalid, scikit-learn will say so
        log.info("starting without meta-features: %s", error)
        return None


def by_metric(
    metric: Any, history: History | None, X: Any, y: Any, features: Mapping[str, float] | None
) -> tuple[History, dict[str, float]]:
    """The history with the embeddings of a learned distance, and the data set's features with its own.

    metric: a `siamese.Model`, or the path of its file.
    """
    from headstart.datasets.embedding import embed
    from headstart.datasets.siamese import Model

    if history is None:
        raise ArgumentError("metric compares the data set with those of past runs", "pass a history with {history}")
    model = metric if isinstance(metric, Model) else Model.load(metric)
    return model.describe(history), {**(features or {}), **embed(model, X, y)}
