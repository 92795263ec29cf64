"""A scikit-learn search object that starts from past runs.

`HeadstartSearchCV` is a `BaseSearchCV`, so everything around the search (splitting, scoring, metadata routing,
refitting, `cv_results_`, cloning) is scikit-learn's own. What is ours: the candidates come one after another from
an `Optimizer`, and a support vector machine needs neither a space nor a history, since the library has both.
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
from headstart.errors import ArgumentError, ExhaustedError
from headstart.history import History
from headstart.search.optimizer import Optimizer, Trial
from headstart.space import Categorical, Config, Float, Int, Parameter, Space, as_space
from headstart.space.reconciliation import report

Results = dict[str, Any]

OURS = ("space", "history", "init", "surrogate", "acquisition")  # checked where they are used
COUNTS = ("n_trials", "n_init", "batch_size")


class HeadstartSearchCV(BaseSearchCV):  # type: ignore[misc]
    """Search over an estimator's parameters with cross-validation, started from what past runs learned.

    estimator: any scikit-learn estimator or pipeline.
    space: what to search: a Space (or what `as_space` takes) whose names are the estimator's parameters
        ("svc__C" in a pipeline), or a dict as `RandomizedSearchCV` takes it, of lists and of SciPy's uniform,
        loguniform and randint distributions. None: the history's.
    history: past runs: a History, or the name of one that ships with the package. Its parameters may lack the
        prefix of the pipeline's step. None: no past, except that an SVC without a space gets the library's `svm`.
    n_trials: how many candidates are cross-validated. n_init: how many of them are the start.
    batch_size: how many candidates are evaluated at once; `n_jobs` processes share their folds.
    init, surrogate, acquisition: as for `Optimizer`. random_state: the same number gives the same candidates.
    The others are those of `GridSearchCV`. With several metrics, the search follows the one that `refit` names,
    or else the first.

    The data set's meta-features are computed from X and y when the history has them. `cv_results_` gains the
    column `origin`: where each candidate came from ("strategy", "surrogate", "random" or "start"). A candidate
    that cannot be fitted on any fold is a failed trial with a score of `error_score`, and the search goes on.
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
        acquisition: str = "auto",
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
        """Search, then fit the best candidate on everything if `refit` says so."""
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
            direction="maximize",  # a score: greater is better
            seed=int(check_random_state(self.random_state).randint(2**31 - 1)),
        )
        self._failed: dict[int, str] = {}
        try:
            super().fit(X, y, **params)
            self.trials_: list[Trial] = self._optimizer.trials
            self._complete_results()
        finally:
            del self._optimizer, self._failed  # a fitted object holds results, not the machinery
        return self

    def _run_search(self, evaluate_candidates: Callable[..., Results]) -> None:
        opt = self._optimizer
        while len(opt.trials) < self.n_trials:
            batch = _ask(opt, min(self.batch_size, self.n_trials - len(opt.trials)))
            if not batch:
                log.info("the search ends after %d trials: there are no other candidates", len(opt.trials))
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
        """The mean test scores of some candidates; NaN for those that failed."""
        try:
            results = evaluate_candidates(batch)
        except ValueError as error:
            # scikit-learn gives up when every fit of a call fails; in a search that asks step by step, those
            # are one or a few bad candidates.
            if self.error_score == "raise" or not str(error).strip().startswith("All the"):
                raise
            begin = len(self._optimizer.trials)
            self._failed.update((begin + i, str(error).strip()) for i in range(len(batch)))
            return [np.nan] * len(batch)
        scores: Sequence[float] = results[f"mean_test_{_metric(self.refit, results)}"][-len(batch) :]
        return scores

    def _format_results(self, *args: Any) -> Results:
        with warnings.catch_warnings():  # said after every candidate, of all candidates before it
            warnings.filterwarnings("ignore", message=r"One or more of the (test|train) scores are non-finite")
            results: Results = super()._format_results(*args)
        return results

    def _complete_results(self) -> None:
        """Candidates that could not be fitted take their places in `cv_results_`; each says where it came from."""
        there = np.array([i for i in range(len(self.trials_)) if i not in self._failed])
        if self._failed:
            self.cv_results_ = with_failures(
                self.cv_results_, [trial.config for trial in self.trials_], there, float(self.error_score)
            )
            if hasattr(self, "best_index_"):
                self.best_index_ = int(there[self.best_index_])
        self.cv_results_["origin"] = np.array([trial.origin for trial in self.trials_])


def with_failures(results: Results, params: Sequence[Config], there: Any, error_score: float) -> Results:
    """`cv_results_` of the candidates at the places `there`, as one of all candidates `params`.

    The others have failed: their scores are `error_score`, their times unknown, their ranks last.
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
    """One parameter's values, masked where it is inactive."""
    column = np.ma.MaskedArray(np.empty(len(params), dtype=float if numeric else object), mask=True)
    for i, config in enumerate(params):
        if name in config:
            column[i] = config[name]
    return column


def _ask(opt: Optimizer, count: int) -> list[Config]:
    """Up to so many candidates; fewer when a finite space runs out."""
    batch: list[Config] = []
    with suppress(ExhaustedError):
        while len(batch) < count:
            batch.append(opt.ask())
    return batch


def _metric(refit: Any, results: Results) -> str:
    """The metric that the search follows."""
    names = [key.removeprefix("mean_test_") for key in results if key.startswith("mean_test_")]
    return refit if isinstance(refit, str) and refit in names else names[0]


# -- what to search, and what is known about it ----------------------------------------------------------------


def resolve(estimator: BaseEstimator, space: Any, history: History | str | None) -> tuple[Space, History | None]:
    """The space of the search and the past in it, both in the names of the estimator's parameters."""
    if space is None and history is None:
        prefix = _svc_prefix(estimator)
        if prefix is None:
            raise ArgumentError(
                f"{type(estimator).__name__} needs a space to search, or a history of past runs; "
                "only an SVC, alone or as a step of a pipeline, has both in the library"
            )
        history = library.load("svm")
        renamed = _prefixed(history.space, prefix)
        return renamed, _moved(history, renamed)
    past = library.load(history) if isinstance(history, str) else history
    if past is not None and not isinstance(past, History):
        raise ArgumentError(
            f"history must be a History, a shipped history's name ({_shipped()}) or None, got {history!r}"
        )
    if space is None:
        assert past is not None
        found = _prefixed(past.space, _prefix(estimator, past.space))
    else:
        found = read_space(space)
        _check_names(estimator, found)
    return found, None if past is None else _moved(past, found)


def _moved(history: History, space: Space) -> History:
    """The history in the space's names: one that ends in "__C" is the history's "C"."""
    if history.space == space:
        return history
    bare = {name.rpartition("__")[2]: name for name in space}
    rename = {name: bare[name] for name in history.space if name not in space and name in bare}
    moved, changes = history.moved_to(space, rename=rename)
    if any(change.action not in ("kept", "renamed") for change in changes):
        log.warning("the history has another space; brought over:\n%s", report(changes))
    return moved


def _shipped() -> str:
    return ", ".join(library.names())


def _steps(estimator: BaseEstimator) -> dict[str, Any]:
    """The estimator itself under "", and what is nested in it under "step__"."""
    nested = {f"{name}__": value for name, value in estimator.get_params().items() if hasattr(value, "get_params")}
    return {"": estimator, **nested}


def _svc_prefix(estimator: BaseEstimator) -> str | None:
    """Where the support vector machine is: "" for the estimator itself, "svc__" for a step; None: nowhere."""
    found = [prefix for prefix, step in _steps(estimator).items() if isinstance(step, SVC)]
    if len(found) > 1:
        raise ArgumentError(f"there are {len(found)} SVCs in the estimator ({', '.join(found)}); pass a space for them")
    return found[0] if found else None


def _prefix(estimator: BaseEstimator, space: Space) -> str:
    """The prefix under which the estimator has all of the space's parameters."""
    steps = _steps(estimator)
    found = [prefix for prefix, step in steps.items() if set(space) <= set(step.get_params())]
    if not found:
        _check_names(estimator, space)
    if len(found) > 1 and found[0] != "":
        raise ArgumentError(f"the history's parameters fit {' and '.join(found)}; pass a space with full names")
    return found[0]


def _check_names(estimator: BaseEstimator, space: Space) -> None:
    known = estimator.get_params()
    for name in space:
        if name not in known:
            hint = closest(name, sorted(known))
            raise ArgumentError(f"{type(estimator).__name__} has no parameter {name!r}{hint}")


def _prefixed(space: Space, prefix: str) -> Space:
    """The same space with longer names."""

    def renamed(parameter: Parameter) -> Parameter:
        when = {prefix + parent: values for parent, values in (parameter.when or {}).items()}
        return replace(parameter, when=when or None)

    return Space({prefix + name: renamed(space[name]) for name in space}) if prefix else space


def read_space(space: Any) -> Space:
    """What `as_space` reads, or a dict as for `RandomizedSearchCV`."""
    if isinstance(space, Mapping) and not isinstance(space, Space):
        return as_space({name: _parameter(name, entry) for name, entry in space.items()})
    return as_space(space)


def _parameter(name: str, entry: Any) -> Any:
    """Lists are choices; SciPy's uniform, loguniform and randint are ranges; the rest is for `as_space`."""
    if isinstance(entry, (list, tuple, np.ndarray)):
        return Categorical(np.asarray(entry).tolist() if isinstance(entry, np.ndarray) else list(entry))
    if not hasattr(entry, "dist"):
        return entry
    low, high = entry.support()
    kind = entry.dist.name
    if kind == "randint":
        return Int(int(low), int(high))
    if kind in ("uniform", "loguniform", "reciprocal"):
        return Float(float(low), float(high), log=kind != "uniform")
    raise ArgumentError(f"{name!r} is a {kind} distribution; uniform, loguniform and randint are understood")


def _features(estimator: BaseEstimator, history: History | None, X: Any, y: Any) -> dict[str, float] | None:
    """The data set's meta-features; None where the history has none or they mean nothing."""
    if history is None or not set(history.feature_names) & set(FEATURE_NAMES) or not is_classifier(estimator):
        return None
    if y is None:
        return None
    try:
        return metafeatures(X, y)
    except (TypeError, ValueError) as error:  # texts, say; scikit-learn says so if X and y are wrong
        log.info("the start does without meta-features: %s", error)
        return None
