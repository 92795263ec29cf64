"""`History.from_mlflow` and its siblings: past runs as other tools recorded them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any

from headstart.history.evaluations import Evaluations
from headstart.history.imports.runs import Runs, Wanted, check_renames, read_runs

if TYPE_CHECKING:
    from headstart.history.history import History


class ReadsOtherTools:
    """The constructors of a `History` from other tools' records. None of the tools needs to be installed.

    past: a path, a frame or an object, as each constructor says; a list of several, or a dict {task: past}.
    space: the search space; None takes the recorded one, or infers it from the runs.
    task: a parameter or tag that names the task of a run; None is the tool's own unit, such as an experiment.
    value: the metric to learn from; None takes the one that the tool optimised, or the only one.
    direction: "minimize" or "maximize"; None takes the recorded one, or infers it from the name of the metric.
    cost: a metric, parameter or tag that is the cost; None takes the seconds, if they are recorded.
    ignore: recorded parameters that are not parameters of the search.
    tasks: names of tasks, or patterns such as "svm-*"; the others are left out, as runs of another model must be.
    rename: new names of parameters, old name → new name; the other arguments use the new ones.
    fill: values for parameters that some of the runs lack, or all of them if the space has them.

    Failed runs count as failed trials. Unfinished runs and runs without the metric are left out. The notes of the
    history say what was read and what was left out. Pickles are refused.
    """

    @classmethod
    @abstractmethod
    def from_evaluations(cls, runs: Evaluations) -> History:
        """A history from columns."""

    @classmethod
    def from_mlflow(
        cls,
        past: Any,
        space: Any = None,
        *,
        task: str | None = None,
        value: str | None = None,
        direction: str | None = None,
        cost: str | None = None,
        ignore: Collection[str] = (),
        tasks: Collection[str] | None = None,
        rename: Mapping[str, str] | None = None,
        fill: Mapping[str, Any] | None = None,
    ) -> History:
        """A history from MLflow.

        past: an `mlruns` folder, a tracking database (a SQLite file or URL), or a frame of `mlflow.search_runs`. The
        experiment is the task; the parents of nested runs are left out.
        """
        from headstart.history.imports import mlflow

        return cls._read(mlflow.read, past, Wanted(space, task, value, direction, cost, ignore, tasks, rename, fill))

    @classmethod
    def from_wandb(
        cls,
        past: Any,
        space: Any = None,
        *,
        task: str | None = None,
        value: str | None = None,
        direction: str | None = None,
        cost: str | None = None,
        ignore: Collection[str] = (),
        tasks: Collection[str] | None = None,
        rename: Mapping[str, str] | None = None,
        fill: Mapping[str, Any] | None = None,
    ) -> History:
        """A history from Weights & Biases.

        past: the runs table as a CSV or JSON file, or a frame with the columns `config` and `summary`. The file is one
        task, unless `task` names a parameter or a column.
        """
        from headstart.history.imports import wandb

        return cls._read(wandb.read, past, Wanted(space, task, value, direction, cost, ignore, tasks, rename, fill))

    @classmethod
    def from_ray(
        cls,
        past: Any,
        space: Any = None,
        *,
        task: str | None = None,
        value: str | None = None,
        direction: str | None = None,
        cost: str | None = None,
        ignore: Collection[str] = (),
        tasks: Collection[str] | None = None,
        rename: Mapping[str, str] | None = None,
        fill: Mapping[str, Any] | None = None,
    ) -> History:
        """A history from Ray Tune.

        past: an experiment folder, or a folder of several. The experiment is the task; the last result of a trial
        counts.
        """
        from headstart.history.imports import ray_tune

        return cls._read(ray_tune.read, past, Wanted(space, task, value, direction, cost, ignore, tasks, rename, fill))

    @classmethod
    def from_smac(
        cls,
        past: Any,
        space: Any = None,
        *,
        task: str | None = None,
        value: str | None = None,
        direction: str | None = None,
        cost: str | None = None,
        ignore: Collection[str] = (),
        tasks: Collection[str] | None = None,
        rename: Mapping[str, str] | None = None,
        fill: Mapping[str, Any] | None = None,
    ) -> History:
        """A history from SMAC3, versions 2.x.

        past: a folder with `runhistory.json`, or a folder of several. The scenario or the instance is the task. The
        space is read from `configspace.json`.
        """
        from headstart.history.imports import smac

        return cls._read(smac.read, past, Wanted(space, task, value, direction, cost, ignore, tasks, rename, fill))

    @classmethod
    def from_syne_tune(
        cls,
        past: Any,
        space: Any = None,
        *,
        task: str | None = None,
        value: str | None = None,
        direction: str | None = None,
        cost: str | None = None,
        ignore: Collection[str] = (),
        tasks: Collection[str] | None = None,
        rename: Mapping[str, str] | None = None,
        fill: Mapping[str, Any] | None = None,
    ) -> History:
        """A history from Syne Tune.

        past: an experiment folder with `results.csv.zip`, or a folder of several. The experiment is the task, unless
        `task` names an entry of its metadata; the last result of a trial counts.
        """
        from headstart.history.imports import syne_tune

        return cls._read(syne_tune.read, past, Wanted(space, task, value, direction, cost, ignore, tasks, rename, fill))

    @classmethod
    def from_keras_tuner(
        cls,
        past: Any,
        space: Any = None,
        *,
        task: str | None = None,
        value: str | None = None,
        direction: str | None = None,
        cost: str | None = None,
        ignore: Collection[str] = (),
        tasks: Collection[str] | None = None,
        rename: Mapping[str, str] | None = None,
        fill: Mapping[str, Any] | None = None,
    ) -> History:
        """A history from Keras Tuner.

        past: a project folder, or a folder of several. The project is the task, the score of a trial its value.
        """
        from headstart.history.imports import keras_tuner

        return cls._read(
            keras_tuner.read, past, Wanted(space, task, value, direction, cost, ignore, tasks, rename, fill)
        )

    @classmethod
    def from_search_cv(
        cls,
        past: Any,
        space: Any = None,
        *,
        task: str | None = None,
        value: str | None = None,
        direction: str | None = None,
        cost: str | None = None,
        ignore: Collection[str] = (),
        tasks: Collection[str] | None = None,
        rename: Mapping[str, str] | None = None,
        fill: Mapping[str, Any] | None = None,
    ) -> History:
        """A history from scikit-learn's grid, randomized and halving searches.

        past: a fitted search, its `cv_results_` as a dict or a frame, or that frame as a CSV file. To name the tasks,
        pass a dict: {"churn": search}.
        """
        from headstart.history.imports import search_cv

        return cls._read(search_cv.read, past, Wanted(space, task, value, direction, cost, ignore, tasks, rename, fill))

    @classmethod
    def from_hyperopt(
        cls,
        past: Any,
        space: Any = None,
        *,
        task: str | None = None,
        value: str | None = None,
        direction: str | None = None,
        cost: str | None = None,
        ignore: Collection[str] = (),
        tasks: Collection[str] | None = None,
        rename: Mapping[str, str] | None = None,
        fill: Mapping[str, Any] | None = None,
    ) -> History:
        """A history from hyperopt.

        past: a frame of the trials with the columns `loss` and `status`, or that frame as a CSV file. To name the
        tasks, pass a dict: {"churn": frame}.
        """
        from headstart.history.imports import hyperopt

        return cls._read(hyperopt.read, past, Wanted(space, task, value, direction, cost, ignore, tasks, rename, fill))

    @classmethod
    def from_ax(
        cls,
        past: Any,
        space: Any = None,
        *,
        task: str | None = None,
        value: str | None = None,
        direction: str | None = None,
        cost: str | None = None,
        ignore: Collection[str] = (),
        tasks: Collection[str] | None = None,
        rename: Mapping[str, str] | None = None,
        fill: Mapping[str, Any] | None = None,
    ) -> History:
        """A history from Ax.

        past: the JSON file of `Client.save_to_json_file`, or `client.summarize()` as a frame or a CSV file.
        """
        from headstart.history.imports import ax

        return cls._read(ax.read, past, Wanted(space, task, value, direction, cost, ignore, tasks, rename, fill))

    @classmethod
    def from_flaml(
        cls,
        past: Any,
        space: Any = None,
        *,
        task: str | None = None,
        value: str | None = None,
        direction: str | None = None,
        cost: str | None = None,
        ignore: Collection[str] = (),
        tasks: Collection[str] | None = None,
        rename: Mapping[str, str] | None = None,
        fill: Mapping[str, Any] | None = None,
    ) -> History:
        """A history from FLAML.

        past: a log of `AutoML.fit(log_file_name=…)`, or a folder of logs. The file is the task, the learner a
        parameter.
        """
        from headstart.history.imports import flaml

        return cls._read(flaml.read, past, Wanted(space, task, value, direction, cost, ignore, tasks, rename, fill))

    @classmethod
    def _read(cls, read: Callable[[Any], Runs], past: Any, wanted: Wanted) -> History:
        def checked(past: Any) -> Runs:
            found = read(past)
            check_renames(found, wanted.rename or ())
            return found

        return cls.from_evaluations(read_runs(checked, past, wanted))
