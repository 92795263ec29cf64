"""Which model of the library an estimator is, and which of its histories and metrics a search uses.

A model is recognised by the package and the name of its class, so that no package is imported for it. A subclass of
one's own counts as the model that it extends; another class of the same package does not, even if it inherits from
the model (an ExtraTreeClassifier is not a DecisionTreeClassifier).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from sklearn.base import is_classifier, is_regressor

from headstart import library
from headstart._support.log import announce
from headstart._support.wording import some
from headstart.adapters.steps import listed, predictors
from headstart.errors import ArgumentError
from headstart.history import History
from headstart.library.models import CLASSIFICATION, MODELS, REGRESSION, SCORERS, Model
from headstart.starts.start import Start

MODEL_OF = {(model.estimator.partition(".")[0], model.class_name): model for model in MODELS.values()}
PACKAGES = {package for package, _ in MODEL_OF}

# Models that are the closest to others by what they do rather than by name; without "Classifier" and "Regressor".
KIN = {
    "Bagging": "RandomForest",
    "ExtraTree": "DecisionTree",
    "GradientBoosting": "HistGradientBoosting",
    "Lars": "ElasticNet",
    "Lasso": "ElasticNet",
    "LinearRegression": "Ridge",
    "LinearSVC": "SVC",
    "LinearSVR": "SVR",
    "PassiveAggressive": "LogisticRegression",
    "Perceptron": "LogisticRegression",
    "RadiusNeighbors": "KNeighbors",
    "XGBRF": "RandomForest",
}

# The nearest metric for scorers that the histories do not have. What is not here follows the default metric.
NEAREST = {
    "average_precision": "auc",
    "d2_brier": "log_loss",
    "d2_log_loss": "log_loss",
    "neg_brier": "log_loss",
    "neg_negative_likelihood_ratio": "balanced_error",
    "positive_likelihood_ratio": "balanced_error",
    "top_k_accuracy": "error",
    "cohen_kappa": "balanced_error",
    "matthews_corrcoef": "balanced_error",
    "d2_absolute_error": "mae",
    "d2_pinball": "mae",
    "explained_variance": "r2",
    "neg_mean_absolute_percentage_error": "mae",
    "neg_median_absolute_error": "mae",
}
PER_CLASS = ("f1", "precision", "recall", "jaccard")  # of one class, or averaged over the classes


@dataclass(frozen=True)
class Known:
    """A model of the library in an estimator; prefix: of its parameters, such as "" or "lgbmclassifier__"."""

    model: Model
    prefix: str
    step: Any

    def history(self, metric: str) -> History | None:
        """The shipped runs of the model with this metric; None if none ship."""
        name = self.history_name(metric)
        if name is None:
            announce(f"no runs of {self.model.class_name} ship with headstart; starting from its defaults")
            return None
        return library.load(name, metric if library.metrics(name) else None)

    def history_name(self, metric: str) -> str | None:
        """The name of the history to start from.

        An SVC keeps the grid of the first paper where that has the metric, which is the error rate.
        """
        there = library.names()
        if self.model.class_name == "SVC" and (metric == "error" or self.model.name not in there):
            return "svm"
        return self.model.name if self.model.name in there else None

    def first(self, n: int, columns: int, seed: int) -> Start:
        """A start for a model without past runs: the estimator's defaults, and n − 1 others spread over its space.

        columns: of the data set, on which a default may depend.
        """
        space = self.model.space
        configs = [self.model.default_for(columns), *space.sample(n - 1, seed=seed, method="sobol")]
        names = {name: self.prefix + name for name in space}
        return Start(space.renamed(names), [{names[key]: config[key] for key in config} for config in configs])


# -- the model -------------------------------------------------------------------------------------------------


def recognised(estimator: Any, otherwise: str = "pass {space} or {history}") -> Known:
    """The model of the library that the estimator is or has as a step; an error if there is none, or more than one.

    otherwise: what else to do with an estimator that the library does not know.
    """
    if isinstance(estimator, type) or not hasattr(estimator, "get_params"):
        given = f"the class {estimator.__name__}" if isinstance(estimator, type) else f"{estimator!r:.60}"
        remedy = f"pass {estimator.__name__}()" if isinstance(estimator, type) else "pass one such as Ridge()"
        raise ArgumentError(f"estimator must be an estimator of scikit-learn's kind, but got {given}", remedy)
    found: dict[str, Known] = {}
    for prefix, step in predictors(estimator).items():
        model = model_of(step)
        if model is not None and not any(prefix.startswith(outer) for outer in found):
            found[prefix] = Known(model, prefix, step)
    if not found:
        raise _unknown(estimator, otherwise)
    if len(found) > 1:
        classes = {known.model.class_name for known in found.values()}
        kind = f"{classes.pop()}s" if len(classes) == 1 else f"models ({', '.join(sorted(classes))})"
        raise ArgumentError(
            f"the estimator has {len(found)} {kind}: {listed(list(found))}", "pass {space} with full names"
        )
    return next(iter(found.values()))


def model_of(step: Any) -> Model | None:
    """The library's record of an estimator's class."""
    for kind in type(step).__mro__:
        package = kind.__module__.partition(".")[0]
        if package in PACKAGES and hasattr(kind, "fit"):
            return MODEL_OF.get((package, kind.__name__))
    return None


def _unknown(estimator: Any, otherwise: str) -> ArgumentError:
    """An error that names the closest model that the library knows."""
    step = list(predictors(estimator).values() or [estimator])[-1]
    name = type(step).__name__
    kinds = [kind for kind, test in ((CLASSIFICATION, is_classifier), (REGRESSION, is_regressor)) if test(step)]
    models = {_plain(m.class_name): m.class_name for m in MODELS.values() if m.kind in (kinds or [m.kind])}
    plain = _plain(name)
    near = [KIN[plain]] if KIN.get(plain) in models else get_close_matches(plain, models, n=1, cutoff=0.6)
    problem = f"{name} has no default search space: the library does not know this model"
    if near:
        return ArgumentError(problem, f"{otherwise}, or use {models[near[0]]}, the closest one that it knows")
    return ArgumentError(f"{problem} (it knows {some(sorted(models.values()), 30)})", otherwise)


def _plain(name: str) -> str:
    return name.removesuffix("Classifier").removesuffix("Regressor")


# -- the metric ------------------------------------------------------------------------------------------------


def metric_for(model: Model, scoring: Any = None, refit: Any = True) -> str:
    """The metric of a model's history that matches a scoring of scikit-learn; a nearest one is announced."""
    scorer = _followed(scoring, refit)
    if scorer is None:
        return "error" if model.kind == CLASSIFICATION else "r2"
    name = _scorer_name(scorer)
    if (exact := SCORERS.get(name, "")) in model.metrics:
        return exact
    nearest = _nearest(name.removesuffix("_score"), model)
    announce(f"the library has no runs scored by {name}; starting from those scored by {nearest}, the nearest to it")
    return nearest


def _followed(scoring: Any, refit: Any) -> Any:
    """The one scorer of several that the search follows."""
    if isinstance(scoring, Mapping):
        return scoring.get(refit) if isinstance(refit, str) else next(iter(scoring.values()), None)
    if isinstance(scoring, (list, tuple, set)):
        return refit if isinstance(refit, str) and refit in scoring else next(iter(scoring), None)
    return scoring


def _scorer_name(scorer: Any) -> str:
    """The name that scikit-learn gives to a scorer: "roc_auc" also for `make_scorer(roc_auc_score, …)`."""
    if isinstance(scorer, str):
        return scorer
    function = getattr(scorer, "_score_func", scorer)
    name = getattr(function, "__name__", type(function).__name__)
    plain = name.removesuffix("_score")
    if plain in SCORERS or getattr(scorer, "_sign", 1) > 0:
        return plain
    return f"neg_{name}"


def _nearest(name: str, model: Model) -> str:
    near = NEAREST.get(name, "")
    if name.startswith(PER_CLASS):
        near = "error" if name.endswith(("_micro", "_weighted")) else "balanced_error"
    return near if near in model.metrics else next(iter(model.metrics))
