"""An estimator with the configuration that the library's runs support, without any search."""

from __future__ import annotations

from typing import Any, TypeVar

from sklearn.base import clone

from headstart import library
from headstart.adapters.checks import check_data, say_if_unlike
from headstart.adapters.estimators import features_of
from headstart.adapters.known import metric_for, recognised
from headstart.errors import ArgumentError
from headstart.history.shipped import task_features
from headstart.library.landmarks import landmarks
from headstart.library.portfolios import best_for

E = TypeVar("E")


def defaults(estimator: E, X: Any, y: Any, *, scoring: Any = None) -> E:
    """A copy of the estimator, not fitted, with the configuration that past runs of its model support for (X, y).

    estimator: a model of the library, alone or as a step of a pipeline. Its other settings are kept.
    scoring: as for `GridSearchCV`; the configuration is chosen by the metric that matches it best.

    It takes milliseconds: the estimator is not trained. The configuration is the one that is expected to beat the
    estimator's own defaults most probably and by most, judged by past data sets; those with similar meta-features and
    landmarks (errors of a linear model, of kernels and of neighbours) count more. If none does, the defaults stay.

    >>> model = defaults(LGBMClassifier(), X, y).fit(X, y)  # doctest: +SKIP
    """
    known = recognised(estimator, "tune it with HeadstartSearchCV and a space")
    check_data(known, estimator, X, y)
    metric = metric_for(known.model, scoring)
    name = known.model.name if known.model.name in library.names() else known.history_name(metric)
    if name is None:
        raise ArgumentError(
            f"no runs of {known.model.class_name} ship with headstart",
            "tune it with HeadstartSearchCV, which needs none",
        )
    features = features_of(estimator, X, y)
    say_if_unlike(task_features(name).values(), features)
    if features is not None and known.model.name == name:
        features |= landmarks(known.model.kind, X, y)
    config = best_for(name, metric if library.metrics(name) else None, features)
    found: E = clone(estimator)
    found.set_params(**{known.prefix + key: value for key, value in config.items()})  # type: ignore[attr-defined]
    return found
