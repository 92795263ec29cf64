"""A scikit-learn search object that starts from past runs.

`HeadstartSearchCV` is a `BaseSearchCV`, so scikit-learn does everything around the search: splitting, scoring, metadata
routing, refitting, `cv_results_` and cloning. The candidates come one by one from an `Optimizer`. A support vector
machine needs neither a space nor a history, because the library has both.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, is_classifier
from sklearn.exceptions import FitFailedWarning
from sklearn.model_selection._search import BaseSearchCV
from sklearn.svm import SVC
from sklearn.utils import check_random_state

from headstart import library
from headstart._support.arguments import whole
from headstart._support.log import log
from headstart._support.wording import closest
from headstart.datasets.features import FEATURE_NAMES, metafeatures
from headstart.errors import ArgumentError, ExhaustedError, SpaceError
from headstart.history import History
from headstart.search.optimizer import Optimizer
from headstart.search.trials import Trial
from headstart.space import Categorical, Config, Float, Int, Parameter, Space, as_space

Results = dict[str, Any]

OURS = ("space", "history", "init", "surrogate", "acquisition")  # checked by the code that uses them
COUNTS = ("n_trials", "n_init", "batch_size")


class HeadstartSearchCV(BaseSearchCV):  # type: ignore[misc]
    """Search over an estimator's parameters with cross-validation, starting from past runs.

    estimator: any scikit-learn estimator or pipeline.
    space: the search space: a Space (or anything that `as_space` takes) with the names of the estimator's parameters
        ("svc__C" in a pipeline), or a dict as for `RandomizedSearchCV`, of lists and of SciPy's uniform, loguniform and
        randint distributions. None: the history's space.
    history: past runs: a History, or the name of one that ships with the package. Its names may lack the prefix of the
        pipeline's step. None: no past runs, except that an SVC without a space gets the library's `svm`.
    n_trials: how many candidates are cross-validated.
    n_init: how many of them belong to the start.
    batch_size: how many candidates are evaluated at once; `n_jobs` processes share their folds.
    init, surrogate: as for `Optimizer`.
    acquisition: "ei" (default), "log_ei", "pi" or "lcb".
    random_state: the same number gives the same candidates.

    All other arguments are those of `GridSearchCV`. With several metrics, the search follows the one that `refit`
    names, or else the first.

    If the history has meta-features, those of the data set are computed from X and y. `cv_results_` has one more
    column, `origin`: where each candidate came from ("strategy", "surrogate", "random" or "start"). If a candidate
    cannot be fitted on any fold, it is a failed trial with the score `error_score`, and the search continues.
    """

    cv_results_: Results
    best_index_: int

    _parameter_constraints: dict[str, Any] = {  # noqa: RUF012  (scikit-learn's own form)
        **BaseSearchCV._parameter_constraints,
        **dict.fromkeys((*OURS, *COUNTS), "no_validation"),
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        estimator: BaseEstimator,
        space: Any = None,
        history: History | str | None = None,
        *,
        n_trials: int = 20,
        n_init: int = 10,
        init: Any = "auto",
        surrogate: Any = "auto",
        acquisition: str = "ei",
        batch_size: int = 1,
        scoring: Any = None,
        n_jobs: int | None = None,
        refit: Any = True,
        cv: Any = None,
        verbose: int = 0,
        pre_dispatch: Any = "2*n_jobs",
        random_state: Any = None,
        error_score: Any = np.nan,
        return_train_score: bool = False,
    ) -> None:
        super().__init__(
            estimator=estimator,
            scoring=scoring,
            n_jobs=n_jobs,
            refit=refit,
            cv=cv,
            verbose=verbose,
            pre_dispatch=pre_dispatch,
            error_score=error_score,
            return_train_score=return_train_score,
        )
        self.space = space
        self.history = history
        self.n_trials = n_trials
        self.n_init = n_init
        self.init = init
        self.surrogate = surrogate
        self.acquisition = acquisition
        self.batch_size = batch_size
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, **params: Any) -> HeadstartSearchCV:
        """Search, then fit the best candidate on all data if `refit` is set."""
        for name in COUNTS:
            whole(name, getattr(self, name), 1)
        space, history = resolve(self.estimator, self.space, self.history)
        features = _features(self.estimator, history, X, y)
        self._optimizer = Optimizer(
            space,
            history=history,
            init=self.init,
            n_init=min(self.n_init, self.n_trials),
            surrogate=self.surrogate,
            acquisition=self.acquisition,
            features=features,
            direction="maximize",  # scores: greater is better
            seed=int(check_random_state(self.random_state).randint(2**31 - 1)),
        )
        self._failed: dict[int, str] = {}
        try:
            super().fit(X, y, **params)
            self.trials_: list[Trial] = self._optimizer.trials
            self._complete_results()
        finally:
            del self._optimizer, self._failed  # keep fitted objects small and picklable
        return self

    def _run_search(self, evaluate_candidates: Callable[..., Results]) -> None:
        opt = self._optimizer
        while len(opt.trials) < self.n_trials:
            batch = _ask(opt, min(self.batch_size, self.n_trials - len(opt.trials)))
            if not batch:
                log.info("the search ends after %d trials: every candidate has been tried", len(opt.trials))
                break
            scores = self._scores(evaluate_candidates, batch)
            for config, score in zip(batch, scores, strict=True):
                opt.tell(config, score if np.isfinite(score) else None)
        reasons = list(self._failed.values())
        if len(reasons) == len(opt.trials):
            raise ArgumentError(f"none of the {len(reasons)} candidates could be fitted: {reasons[-1]}")
        if reasons:
            which = f"{len(reasons)} of {len(opt.trials)} candidates could not be fitted on any fold"
            warnings.warn(f"{which}; the last because: {reasons[-1]}", FitFailedWarning, stacklevel=2)

    def _scores(self, evaluate_candidates: Callable[..., Results], batch: Sequence[Config]) -> Sequence[float]:
        """The candidates' mean test scores; NaN for those that failed."""
        try:
            results = evaluate_candidates(batch)
        except ValueError as error:
            # scikit-learn gives up when every fit of a call fails. Here a call has only one or a few candidates, and
            # the search can go on without them. Only the message distinguishes this error from others.
            if self.error_score == "raise" or not str(error).strip().startswith("All the"):
                raise
            begin = len(self._optimizer.trials)
            self._failed.update((begin + i, str(error).strip()) for i in range(len(batch)))
            return [np.nan] * len(batch)
        scores: Sequence[float] = results[f"mean_test_{_metric(self.refit, results)}"][-len(batch) :]
        return scores

    def _format_results(self, *args: Any) -> Results:
        with warnings.catch_warnings():  # repeated after every candidate for all candidates before it
            warnings.filterwarnings("ignore", message=r"One or more of the (test|train) scores are non-finite")
            results: Results = super()._format_results(*args)
        return results

    def _complete_results(self) -> None:
        """Insert the candidates that could not be fitted into `cv_results_`, and add every candidate's origin."""
        there = np.array([i for i in range(len(self.trials_)) if i not in self._failed])
        if self._failed:
            self.cv_results_ = with_failures(
                self.cv_results_, [trial.config for trial in self.trials_], there, float(self.error_score)
            )
            if hasattr(self, "best_index_"):  # scikit-learn does not set it without refit
                self.best_index_ = int(there[self.best_index_])
        self.cv_results_["origin"] = np.array([trial.origin for trial in self.trials_])


def with_failures(results: Results, params: Sequence[Config], there: Any, error_score: float) -> Results:
    """`cv_results_` of the candidates at the positions `there`, extended to all candidates `params`.

    The others failed: their score is `error_score`, their times are unknown, and they rank last.
    """
    n = len(params)
    out: Results = {}
    for key, column in results.items():
        if key == "params":
            out[key] = list(params)
        elif key.startswith("param_"):
            out[key] = _parameter_column(key.removeprefix("param_"), params, numeric=column.dtype.kind in "iuf")
        elif key.startswith("rank_"):
            out[key] = np.full(n, column.max() + 1, dtype=column.dtype)
            out[key][there] = column
        else:
            out[key] = np.full(n, error_score if "_test_" in key or "_train_" in key else np.nan)
            out[key][there] = column
    return out


def _parameter_column(name: str, params: Sequence[Config], *, numeric: bool) -> Any:
    """The values of one parameter, masked where it is inactive."""
    column = np.ma.MaskedArray(np.empty(len(params), dtype=float if numeric else object), mask=True)
    for i, config in enumerate(params):
        if name in config:
            column[i] = config[name]
    return column


def _ask(opt: Optimizer, count: int) -> list[Config]:
    """The next `count` candidates; fewer if the space is exhausted."""
    batch: list[Config] = []
    with suppress(ExhaustedError):
        while len(batch) < count:
            batch.append(opt.ask())
    return batch


def _metric(refit: Any, results: Results) -> str:
    """The metric that the search follows."""
    names = [key.removeprefix("mean_test_") for key in results if key.startswith("mean_test_")]
    return refit if isinstance(refit, str) and refit in names else names[0]


# -- the search space and the history --------------------------------------------------------------------------


def resolve(estimator: BaseEstimator, space: Any, history: History | str | None) -> tuple[Space, History | None]:
    """The search space and the history, both with the names of the estimator's parameters.

    Ranges and choices of the history may still differ from the space. The optimiser converts them.
    """
    if space is None and history is None:
        renamed = _prefixed(library.load("svm"), _svc_prefix(estimator))
        return renamed.space, renamed
    known = _loaded(history)
    if space is None:
        assert known is not None
        renamed = _prefixed(known, _prefix(estimator, known.space))
        return renamed.space, renamed
    found = read_space(space)
    _check_names(estimator, found)
    return found, None if known is None else _with_full_names(known, found)


def _loaded(history: History | str | None) -> History | None:
    found = library.load(history) if isinstance(history, str) else history
    if found is not None and not isinstance(found, History):
        raise ArgumentError(
            f"history must be a History, the name of a shipped one ({', '.join(library.names())}) or None, "
            f"but got {history!r}"
        )
    return found


def _steps(estimator: BaseEstimator) -> dict[str, Any]:
    """The estimator itself with the prefix "", and every nested estimator with its prefix "step__"."""
    # scikit-learn itself recognises estimators by this method, since they need not inherit from BaseEstimator
    nested = {f"{name}__": value for name, value in estimator.get_params().items() if hasattr(value, "get_params")}
    return {"": estimator, **nested}


def _svc_prefix(estimator: BaseEstimator) -> str:
    """The prefix of the support vector machine: "" for the estimator itself, "svc__" for a step."""
    found = [prefix for prefix, step in _steps(estimator).items() if isinstance(step, SVC)]
    if not found:
        raise ArgumentError(
            f"{type(estimator).__name__} has no default search space: the library has one only for an SVC, alone or in "
            "a pipeline",
            "pass {space} or {history}",
        )
    if len(found) > 1:
        raise ArgumentError(f"the estimator has {len(found)} SVCs: {_listed(found)}", "pass {space} with full names")
    return found[0]


def _prefix(estimator: BaseEstimator, space: Space) -> str:
    """The prefix with which the estimator has all of the space's parameters."""
    steps = _steps(estimator)
    found = [prefix for prefix, step in steps.items() if set(space) <= set(step.get_params())]
    if not found:
        _check_names(estimator, space)
    if len(found) > 1 and found[0] != "":
        raise ArgumentError(
            f"several steps have the history's parameters: {_listed(found)}", "pass {space} with full names"
        )
    return found[0]


def _listed(prefixes: Sequence[str]) -> str:
    return ", ".join(prefix.removesuffix("__") for prefix in prefixes)


def _check_names(estimator: BaseEstimator, space: Space) -> None:
    known = estimator.get_params()
    for name in space:
        if name not in known:
            hint = closest(name, sorted(known))
            raise SpaceError(f"{type(estimator).__name__} has no parameter {name!r}{hint}")


def _prefixed(history: History, prefix: str) -> History:
    return _renamed(history, {name: prefix + name for name in history.space}) if prefix else history


def _with_full_names(history: History, space: Space) -> History:
    """The history with the space's names: if the space has "svc__C", that is the new name of "C"."""
    full = {name.rpartition("__")[2]: name for name in space}
    names = {name: full[name] for name in history.space if name not in space and name in full}
    return _renamed(history, {old: new for old, new in names.items() if new not in history.space})


def _renamed(history: History, names: Mapping[str, str]) -> History:
    """The same history with other names of parameters: old name → new name."""

    def renamed(parameter: Parameter) -> Parameter:
        when = {names.get(parent, parent): values for parent, values in parameter.conditions.items()}
        return replace(parameter, when=when or None)

    space = Space({names.get(name, name): renamed(parameter) for name, parameter in history.space.items()})
    return replace(history, space=space)


def read_space(space: Any) -> Space:
    """A space from anything that `as_space` takes, or from a dict as for `RandomizedSearchCV`."""
    if isinstance(space, Mapping) and not isinstance(space, Space):
        return as_space({name: _parameter(name, entry) for name, entry in space.items()})
    return as_space(space)


def _parameter(name: str, entry: Any) -> Any:
    """A list as choices, and SciPy's uniform, loguniform and randint as ranges; anything else is left to `as_space`."""
    if isinstance(entry, (list, tuple, np.ndarray)):
        return Categorical(np.asarray(entry).tolist() if isinstance(entry, np.ndarray) else list(entry))
    if not hasattr(entry, "dist"):  # SciPy's frozen distributions have no public class to test for
        return entry
    low, high = entry.support()
    kind = entry.dist.name
    if kind == "randint":
        return Int(int(low), int(high))
    if kind in ("uniform", "loguniform", "reciprocal"):
        return Float(float(low), float(high), log=kind != "uniform")
    raise SpaceError(f"{name!r} is a {kind} distribution", "use uniform, loguniform or randint")


def _features(estimator: BaseEstimator, history: History | None, X: Any, y: Any) -> dict[str, float] | None:
    """The data set's meta-features; None if the history has none or they cannot be computed."""
    if history is None or not set(history.feature_names) & set(FEATURE_NAMES) or not is_classifier(estimator):
        return None
    if y is None:
        return None
    try:
        return metafeatures(X, y)
    except (TypeError, ValueError) as error:  # such as texts; if X or y is invalid, scikit-learn will say so
        log.info("starting without meta-features: %s", error)
        return None
