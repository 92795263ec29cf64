"""A scikit-learn search object that starts from past runs.

`HeadstartSearchCV` is a `BaseSearchCV`, so scikit-learn does everything around the search: splitting, scoring, metadata
routing, refitting, `cv_results_` and cloning. The candidates come one by one from an `Optimizer`. The models of the
library (`headstart.library.models`) need neither a space nor a history, because the library has both.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import FitFailedWarning
from sklearn.model_selection._search import BaseSearchCV
from sklearn.utils import check_random_state

from headstart._support.arguments import whole
from headstart._support.log import announce, log
from headstart.adapters.checks import check_data, say_if_unlike
from headstart.adapters.estimators import (
    about,
    by_metric,
    features_of,
    has_features,
    plain_names,
    resolve,
    short_names,
)
from headstart.adapters.known import recognised
from headstart.errors import ArgumentError, ExhaustedError
from headstart.history.store import Recorder
from headstart.search.arguments import sorted_past, without_past
from headstart.search.budget import Limit, checked_seconds
from headstart.search.loop import checked_store
from headstart.search.optimizer import Optimizer
from headstart.search.trials import Trial
from headstart.space import Config
from headstart.starts.learning import MOST

__all__ = ["HeadstartSearchCV", "resolve", "with_failures"]

Results = dict[str, Any]

OURS = (
    "space",
    "history",
    "store",
    "task",
    "init",
    "surrogate",
    "acquisition",
    "rename",
    "fill",
    "metric",
    "n_trials",
    "cost",
    "budget",
)  # checked by the code that uses them
COUNTS = ("batch_size",)
TRIALS = 20  # of a search that has no budget


class HeadstartSearchCV(BaseSearchCV):  # type: ignore[misc]
    """Search over an estimator's parameters with cross-validation, starting from past runs.

    estimator: any scikit-learn estimator or pipeline.
    space: the search space: a Space, or anything that `as_space` takes, such as the dict of lists and distributions
        for `RandomizedSearchCV`, with the names of the estimator's parameters ("svc__C" in a pipeline). None: the
        history's space.
    history: past runs, in any form that `hs.learn` takes. Their names may lack the prefix of the pipeline's step. None:
        no past runs; but if there is no space either, those of the library, for a model that it knows, alone or as a
        step. Their metric is the one that matches `scoring`.
    store: a `Store`, or where it is, such as "runs.db". Its runs of the same model are past runs, too, and every trial
        of this search is added to it under the name `task`. It need not exist yet.
    task: the name of the data set, for the store.
    rename, fill: to convert past runs to the space, as for `hs.reconcile`.
    metric: a learned distance between data sets: a `hs.siamese.Model` or its file. The search then starts from the data
        sets nearest to X and y (init="metric"), unless `init` names another strategy.
    n_trials: how many candidates are cross-validated (default: 20, or as many as the budget allows if there is one).
    cost: "seconds" prefers candidates that gain much in little time, as for `Optimizer`.
    budget: end the search after this time: seconds, or text such as "30 min". This implies cost="seconds". The time to
        refit the best one is not part of it.
    n_init: how many of them belong to the start; "auto" learns the number, as for `Optimizer`.
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
        **dict.fromkeys((*OURS, *COUNTS, "n_init"), "no_validation"),
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        estimator: BaseEstimator,
        space: Any = None,
        history: Any = None,
        store: Any = None,
        task: str | None = None,
        n_trials: int | None = None,
        *,
        n_init: int | str = 10,
        init: Any = "auto",
        surrogate: Any = "auto",
        acquisition: str = "ei",
        rename: Mapping[str, str] | None = None,
        fill: Mapping[str, Any] | None = None,
        metric: Any = None,
        cost: str | None = None,
        budget: float | str | None = None,
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
        self.store = store
        self.task = task
        self.n_trials = n_trials
        self.n_init = n_init
        self.init = init
        self.surrogate = surrogate
        self.acquisition = acquisition
        self.rename = rename
        self.fill = fill
        self.metric = metric
        self.cost = cost
        self.budget = budget
        self.batch_size = batch_size
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, **params: Any) -> HeadstartSearchCV:
        """Search, then fit the best candidate on all data if `refit` is set."""
        for name in COUNTS:
            whole(name, getattr(self, name), 1)
        self._limit = limit = Limit.of(self.n_trials, checked_seconds(self.cost, self.budget), TRIALS)
        store = checked_store(self.store, self.task)
        given, init = sorted_past(self.history, self.init)
        known = recognised(self.estimator) if self.space is None and given is None else None
        if known is not None:
            check_data(known, self.estimator, X, y)
        space, history = resolve(
            self.estimator,
            self.space,
            given,
            store,
            rename=self.rename,
            fill=self.fill,
            scoring=self.scoring,
            refit=self.refit,
        )
        surrogate, seed = self.surrogate, int(check_random_state(self.random_state).randint(2**31 - 1))
        n_init = self.n_init if self.n_init == "auto" else limit.rest(whole("n_init", self.n_init, 1))
        if history is None and (store is not None or known is not None):  # there are none yet
            init, surrogate = without_past(init, surrogate)
            if known is not None and self.init == "auto":
                n = limit.rest(MOST) if isinstance(n_init, str) else n_init
                init = known.first(n, _columns(X), seed)
        features = features_of(self.estimator, X, y) if store or has_features(history) else None
        if known is not None and history is not None:
            say_if_unlike([task.features for task in history], features)
        given_features = features if has_features(history) else None
        if self.metric is not None:
            history, given_features = by_metric(self.metric, history, X, y, given_features)
            init = "metric" if isinstance(init, str) and init == "auto" else init
        self._optimizer = Optimizer(
            space,
            history=history,
            init=init,
            n_init=n_init,
            surrogate=surrogate,
            acquisition=self.acquisition,
            features=given_features,
            direction="maximize",  # scores: greater is better
            seed=seed,
            cost=self.cost,
            budget=self.budget,
        )
        announce(self._optimizer.about(limit.trials))
        self._failed: dict[int, str] = {}
        self._from_library = known is not None
        self._recorder: Recorder | None = None
        if store is not None:
            attributes = about(self.estimator, space, self.scoring, self.refit, features)
            self._recorder = store.record(
                str(self.task), plain_names(space), direction="maximize", attributes=attributes
            )
        try:
            super().fit(X, y, **params)
            self.trials_: list[Trial] = self._optimizer.trials
            self._complete_results()
        finally:
            if self._recorder is not None:
                self._recorder.close()
            # keep fitted objects small and picklable
            del self._optimizer, self._failed, self._recorder, self._limit, self._from_library
        return self

    def _run_search(self, evaluate_candidates: Callable[..., Results]) -> None:
        opt = self._optimizer
        for done in self._limit.counted(self.batch_size):
            batch = _ask(opt, self._limit.rest(self.batch_size, done))
            if not batch:
                log.info("the search ends after %d trials: every candidate has been tried", len(opt.trials))
                break
            began = time.monotonic()
            scores = self._scores(evaluate_candidates, batch)
            seconds = (time.monotonic() - began) / len(batch)
            for config, score in zip(batch, scores, strict=True):
                opt.tell(config, score if np.isfinite(score) else None, seconds if opt.cost is not None else None)
                self._record(opt.trials[-1], seconds)
        reasons = list(self._failed.values())
        if len(reasons) == len(opt.trials):
            raise ArgumentError(f"none of the {len(reasons)} candidates could be fitted: {reasons[-1]}")
        if reasons:
            which = f"{len(reasons)} of {len(opt.trials)} candidates could not be fitted on any fold"
            warnings.warn(f"{which}; the last because: {reasons[-1]}", FitFailedWarning, stacklevel=2)

    def _record(self, trial: Trial, seconds: float) -> None:
        if self._recorder is not None:
            short = short_names(self._optimizer.space)
            config = {short[name]: value for name, value in trial.config.items()}
            self._recorder.add(config, trial.value, trial.origin, seconds, trial.why)

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
            reason = str(error).strip()
            if self._from_library and not begin:  # its configurations are valid, so the rest would fail as well
                raise ArgumentError(f"the estimator cannot be fitted: {reason.splitlines()[-1]}") from error
            self._failed.update((begin + i, reason) for i in range(len(batch)))
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


def _columns(X: Any) -> int:
    shape = np.shape(X)
    return shape[1] if len(shape) == 2 else 1


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
