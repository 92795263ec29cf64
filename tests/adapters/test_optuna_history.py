"""Past studies as a history: every storage, every state of a trial, spaces that changed, and bad input."""

from __future__ import annotations

import math
import sqlite3
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headstart as hs

optuna = pytest.importorskip("optuna", reason="Optuna is not installed")

import sqlalchemy  # noqa: E402
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution  # noqa: E402
from optuna.trial import TrialState, create_trial  # noqa: E402

from headstart.adapters.optuna.conditions import inferred, joined, placed, possible_parents, shapes  # noqa: E402
from headstart.adapters.optuna.distributions import fitted  # noqa: E402
from past_studies import SPACE, fill, memory  # noqa: E402
from postgres import server  # noqa: E402
from program import headstart, one_line, python  # noqa: E402

optuna.logging.set_verbosity(optuna.logging.ERROR)


def journal(path: Path) -> optuna.storages.JournalStorage:
    return optuna.storages.JournalStorage(optuna.storages.journal.JournalFileBackend(str(path)))


def same_space(a: hs.Space, b: hs.Space) -> bool:
    return dict(a) == dict(b)


# -- storages ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["memory", "sqlite", "rdb object", "file", "journal", "journal file", "list", "study"])
def test_every_kind_of_source_gives_the_same_history(kind: str, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/runs.db"
    path = tmp_path / "journal.log"
    there = {"memory": optuna.storages.InMemoryStorage(), "journal": journal(path), "journal file": journal(path)}
    if kind in ("list", "study"):
        there[kind] = optuna.storages.InMemoryStorage()
    storage = fill(there.get(kind, url), n=2, trials=8)
    studies = [optuna.load_study(study_name=f"past-{i}", storage=storage) for i in range(2)]
    past: Any = {
        "rdb object": optuna.storages.RDBStorage(url) if kind == "rdb object" else None,
        "file": tmp_path / "runs.db",
        "journal file": path,
        "list": studies,
        "study": studies[0],
    }.get(kind, storage)
    history = hs.History.from_optuna(past)
    assert history.tasks == ["past-0"] if kind == "study" else ["past-0", "past-1"]
    for name in history.tasks:
        complete = {tuple(sorted(t.params.items())): t.value for t in studies[int(name[-1])].trials}
        mine = zip(history.configs(name), history[name].losses, strict=True)
        assert {tuple(sorted(config.items())): loss for config, loss in mine} == complete
        assert np.isfinite(history[name].costs).all()


def test_a_postgresql_storage_is_read() -> None:
    with server() as url:
        fill(url, n=2, trials=5)
        history = hs.History.from_optuna(url)
    assert history.tasks == ["past-0", "past-1"]
    assert [len(task) for task in history] == [5, 5]


def test_the_space_is_inferred_from_the_trials() -> None:
    history = hs.History.from_optuna(memory(n=3, trials=20))
    assert same_space(history.space, SPACE)


def test_patterns_choose_studies() -> None:
    storage = fill(memory(n=2), n=2, name="other")
    assert hs.History.from_optuna(storage, "past-*").tasks == ["past-0", "past-1"]
    assert hs.History.from_optuna(storage, ["past-0", "other-?"]).tasks == ["other-0", "other-1", "past-0"]


def test_studies_of_one_name_in_two_storages_are_two_tasks() -> None:
    studies = [optuna.load_study(study_name="past-0", storage=memory(n=1)) for _ in range(2)]
    assert hs.History.from_optuna(studies).tasks == ["past-0", "past-0 (2)"]


# -- trials --------------------------------------------------------------------------------------------------


def test_complete_failed_pruned_and_running_trials() -> None:
    study = optuna.create_study()
    wide = {"x": FloatDistribution(0, 1), "y": IntDistribution(0, 9)}
    study.add_trials(
        [
            create_trial(params={"x": 0.1, "y": 1}, distributions=wide, value=3.0),
            create_trial(params={"x": 0.2, "y": 2}, distributions=wide, value=1.0),
            create_trial(params={"x": 0.3, "y": 3}, distributions=wide, value=math.inf),
            create_trial(params={"x": 0.4, "y": 4}, distributions=wide, state=TrialState.FAIL),
            create_trial(params={"x": 0.5}, distributions={"x": wide["x"]}, state=TrialState.FAIL),
            create_trial(params={"x": 0.6, "y": 6}, distributions=wide, value=0.5, state=TrialState.PRUNED),
            create_trial(params={"x": 0.7, "y": 7}, distributions=wide, state=TrialState.RUNNING),
        ]
    )
    history = hs.History.from_optuna(study)
    (task,) = history
    assert [config["x"] for config in history.configs(task.name)] == [0.1, 0.2, 0.3, 0.4]
    assert task.losses[:2].tolist() == [3.0, 1.0]
    assert np.isnan(task.losses[2:]).all()
    assert task.scaled().tolist() == [1.0, 0.0, 1.0, 1.0]
    read, skipped = history.notes
    assert "4 trials of 1 study" in read
    assert "2 failed trials counted as the worst seen" in read
    for words in ("1 trial pruned", "1 trial not finished", "1 trial failed before suggesting every parameter"):
        assert words in skipped


def test_losses_of_a_study_that_maximises_are_minimised() -> None:
    storage = memory(n=2, direction="maximize")
    history = hs.History.from_optuna(storage)
    study = optuna.load_study(study_name="past-1", storage=storage)
    assert history.direction == "maximize"
    assert history.best("past-1") == study.best_params
    assert history["past-1"].losses.min() == -study.best_value


def test_studies_without_a_complete_trial_and_with_several_objectives_are_skipped_and_named() -> None:
    storage = memory(n=2)
    optuna.create_study(storage=storage, study_name="empty")
    optuna.create_study(storage=storage, study_name="two", directions=["minimize", "maximize"])
    history = hs.History.from_optuna(storage)
    assert history.tasks == ["past-0", "past-1"]
    assert "1 study with several objectives (two)" in history.notes[1]
    assert "1 study without a complete trial (empty)" in history.notes[1]


# -- features ------------------------------------------------------------------------------------------------


def test_features_of_the_data_set_are_written_and_read() -> None:
    storage = memory(n=2)
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 3)), np.arange(40) % 2
    study = optuna.load_study(study_name="past-0", storage=storage)
    written = hs.optuna.describe(study, X, y)
    history = hs.History.from_optuna(storage)
    assert dict(history["past-0"].features or {}) == written
    assert written == pytest.approx({k: v for k, v in hs.metafeatures(X, y).items() if math.isfinite(v)})
    assert history["past-1"].features is None


def test_invalid_features_are_skipped_and_named() -> None:
    storage = memory(n=1)
    optuna.load_study(study_name="past-0", storage=storage).set_user_attr("headstart:features", {"rows": "many"})
    history = hs.History.from_optuna(storage)
    assert history["past-0"].features is None
    assert "'past-0', which is not a dict of finite numbers" in history.notes[1]


# -- spaces that changed -------------------------------------------------------------------------------------


def test_ranges_and_choices_of_several_studies_are_united() -> None:
    storage = memory(n=2)

    def wider(trial: optuna.Trial) -> float:
        trial.suggest_categorical("kernel", ["rbf", "sigmoid"])
        trial.suggest_categorical("shrinking", [True, False])
        return trial.suggest_float("C", 1e-4, 1.0, log=True)

    study = optuna.create_study(storage=storage, study_name="wider", sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(wider, n_trials=20)
    history = hs.History.from_optuna(storage)
    assert set(history.space["kernel"].choices) == {"rbf", "poly", "linear", "sigmoid"}
    assert (history.space["C"].low, history.space["C"].high) == (1e-4, 2**6)
    assert history.space["degree"].conditions == {"kernel": ("poly",)}
    assert history.space["shrinking"].conditions == {}  # in all trials of the only study that has it
    assert "'shrinking', missing in 30 trials, where it takes the middle of its range" in history.notes[1]
    assert {config["C"] for config in history.configs("wider")} == {trial.params["C"] for trial in study.trials}


def test_choices_that_are_objects_are_left_to_optuna() -> None:
    with pytest.warns(UserWarning, match="Choices for a categorical distribution"):
        layers = CategoricalDistribution([(8, 8), (16,)])
    study = optuna.create_study()
    kinds = {"layers": layers, "x": FloatDistribution(0, 1)}
    study.add_trial(create_trial(params={"layers": (16,), "x": 0.5}, distributions=kinds, value=1.0))
    assert hs.History.from_optuna(study).space.names == ["x"]


@pytest.mark.parametrize(
    ("trials", "expected"),
    [
        ([{"k": "a", "x": 1}, {"k": "b", "y": 1}], {"x": {"k": ("a",)}, "y": {"k": ("b",)}}),
        ([{"k": "a", "x": 1}, {"k": "b", "x": 1}], {}),
        # an integer parent, as in "units of layer i"
        ([{"n": 1}, {"n": 2, "u": 1}, {"n": 3, "u": 1, "w": 1}], {"u": {"n": (2, 3)}, "w": {"n": (3,)}}),
        # nested: the inner parent is enough
        (
            [{"k": "a", "m": "p", "x": 1}, {"k": "a", "m": "q"}, {"k": "b"}],
            {"m": {"k": ("a",)}, "x": {"m": ("p",)}},
        ),
        # two parents at once
        (
            [{"k": "a", "m": "p", "x": 1}, {"k": "a", "m": "q"}, {"k": "b", "m": "p"}, {"k": "b", "m": "q"}],
            {"x": {"k": ("a",), "m": ("p",)}},
        ),
        # nothing determines it: no condition
        ([{"k": "a", "x": 1}, {"k": "a"}, {"k": "b", "x": 1}], {}),
        ([{"b": True, "x": 1}, {"b": False}], {"x": {"b": (True,)}}),
        ([{"k": None, "x": 1}, {"k": "b"}], {"x": {"k": (None,)}}),
    ],
)
def test_conditions_determine_exactly_which_trials_have_a_parameter(
    trials: list[dict[str, Any]], expected: dict[str, Any]
) -> None:
    parameters = {
        "k": hs.Categorical(["a", "b", None]),
        "m": hs.Categorical(["p", "q"]),
        "b": hs.Categorical([True, False]),
        "n": hs.Int(1, 3),
        **{name: hs.Float(0, 2) for name in "xyuw"},
    }
    found = inferred([shapes(trials, parameters, possible_parents(parameters))], parameters)
    assert {name: conditions for name, conditions in found.items() if conditions} == expected
    hs.Space({name: replace(parameters[name], when=found[name]) for name in parameters})  # conditions form no cycle


def test_trials_correct_the_space_of_past_studies() -> None:
    seen = {"kernel": hs.Categorical(["rbf", "sigmoid"]), "C": hs.Float(1, 10), "new": hs.Float(0, 1)}
    trials = [{"kernel": "rbf", "C": 2.0, "new": 0.5}]
    space = joined(SPACE, seen, shapes(trials, {*seen, *SPACE}, possible_parents(seen, SPACE)))
    assert space is not None
    assert dict(space) == seen  # a trial with rbf lacks gamma, and degree's poly is gone
    assert joined(SPACE, {}, []) == SPACE
    assert joined(None, {}, []) is None


def test_rows_are_clipped_filled_or_rejected() -> None:
    V, fits, filled = placed(SPACE, [{"kernel": "rbf", "C": 1e9}, {"kernel": "sigmoid", "C": 1.0}, {"C": 1.0}])
    assert fits.tolist() == [True, False, True]
    assert V[0, 1] == 2**6
    assert filled.tolist() == [[False, False, True, False], [False] * 4, [True, False, True, False]]


def test_a_value_is_moved_into_a_distribution_or_rejected() -> None:
    assert fitted(5.0, FloatDistribution(0, 1)) == 1.0
    assert fitted(2, IntDistribution(1, 9, step=2)) in (1, 3)
    assert type(fitted(2.0, IntDistribution(1, 9))) is int
    assert fitted(None, CategoricalDistribution([None, "a"])) is None
    for value, distribution in (
        ("c", CategoricalDistribution(["a", "b"])),
        ("c", FloatDistribution(0, 1)),
        (1, CategoricalDistribution([True, False])),
        (None, CategoricalDistribution(["a"])),
    ):
        with pytest.raises(ValueError, match="is not in"):
            fitted(value, distribution)


# -- bad input -----------------------------------------------------------------------------------------------


def refused(past: Any, words: str, **settings: Any) -> None:
    """Both the reader and the sampler raise this error."""
    with pytest.raises(ValueError, match=words):
        hs.History.from_optuna(past, **settings)
    with pytest.raises(ValueError, match=words):
        hs.optuna.HeadstartSampler(past, **settings)


def test_a_missing_storage_is_rejected_and_not_created(tmp_path: Path) -> None:
    for past in (f"sqlite:///{tmp_path}/nothing.db", str(tmp_path / "nothing.log")):
        with pytest.raises(ValueError, match=r"there is no storage .*nothing"):
            hs.History.from_optuna(past)
        hs.optuna.HeadstartSampler(past)  # which may be the first to run
    assert not list(tmp_path.iterdir())
    with pytest.raises(FileNotFoundError, match=r"the folder .*nowhere does not exist"):
        hs.optuna.HeadstartSampler(f"sqlite:///{tmp_path}/nowhere/runs.db")
    refused("postgresql+psycopg2://nobody@/nothing?host=/nowhere", "cannot be read: .*nowhere")


def test_a_storage_that_is_empty_is_rejected(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/empty.db"
    optuna.storages.RDBStorage(url)
    (tmp_path / "empty.log").touch()
    for past in (url, tmp_path / "empty.log", optuna.storages.InMemoryStorage()):
        with pytest.raises(
            hs.errors.EmptyHistoryError, match=r"(empty.db|empty.log|the InMemoryStorage) holds no study"
        ):
            hs.History.from_optuna(past)
        hs.optuna.HeadstartSampler(past)
    refused([], "(past|the list of past runs) is (an )?empty")


def test_a_file_of_something_else_is_rejected_and_not_changed(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "mine.db") as connection:
        connection.execute("CREATE TABLE mine (x)")
    connection.close()
    before = (tmp_path / "mine.db").read_bytes()
    refused(f"sqlite:///{tmp_path}/mine.db", "not an Optuna storage: it has no table of studies")
    assert (tmp_path / "mine.db").read_bytes() == before
    (tmp_path / "text.db").write_text("not a database, but long enough to look like one" * 100)
    refused(f"sqlite:///{tmp_path}/text.db", "cannot be read as a database: file is not a database")
    refused(tmp_path / "text.db", "neither an SQLite database nor a journal")


def test_a_locked_storage_is_rejected(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    fill(f"sqlite:///{path}", n=1, trials=2)
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("BEGIN EXCLUSIVE")
    try:
        with pytest.raises(ValueError, match=r"runs.db.* is locked by another program"):
            hs.History.from_optuna(f"sqlite:///{path}?timeout=0.1")
    finally:
        connection.close()


def test_a_wrong_scheme_is_rejected_with_the_right_one() -> None:
    refused("sqllite:///runs.db", "unknown scheme 'sqllite'; did you mean 'sqlite'")
    refused("redis://localhost", "unknown scheme 'redis'; use sqlite, postgresql")
    refused("postgresql+nodriver://me:secret@host/runs", r"^(?!.*secret).*(driver|dialect|plugin)")


def test_a_study_that_is_not_there_is_rejected_with_the_closest_names() -> None:
    refused(memory(n=2, trials=2), r"holds no study 'pst-1'; did you mean 'past-1'", studies="pst-1")
    refused(
        memory(n=2, trials=2), r"holds no study 'svm-\*'; its studies are past-0, past-1", studies=["past-*", "svm-*"]
    )


def test_each_study_keeps_its_direction() -> None:
    storage = fill(memory(n=1, trials=3), n=2, trials=3, name="up", direction="maximize")
    both = hs.History.from_optuna(storage)
    assert {name: both.direction_of(name) for name in both.tasks} == {
        "past-0": "minimize",
        "up-0": "maximize",
        "up-1": "maximize",
    }
    assert both.best("past-0") == both.best("up-0")  # the same objective, once with its sign turned
    history = hs.History.from_optuna(storage, direction="maximize")
    assert history.tasks == ["up-0", "up-1"]
    assert "1 study with direction 'minimize' (past-0)" in history.notes[1]
    with pytest.raises(ValueError, match="holds only studies with direction 'minimize', none with 'maximize'"):
        hs.History.from_optuna(storage, "past-*", direction="maximize")
    with pytest.raises(ValueError, match="direction must be"):
        hs.History.from_optuna(storage, direction="up")


def test_a_storage_without_a_complete_trial_is_an_empty_history() -> None:
    storage = optuna.storages.InMemoryStorage()
    with pytest.raises(hs.errors.EmptyHistoryError, match=r"holds no study$"):
        hs.History.from_optuna(storage)
    optuna.create_study(storage=storage, study_name="first")
    with pytest.raises(hs.errors.EmptyHistoryError, match=r"no study with a complete trial: 1 study .* \(first\)"):
        hs.History.from_optuna(storage)


def test_studies_without_a_common_parameter_are_rejected() -> None:
    storage = memory(n=2, trials=3)
    boosting = optuna.create_study(storage=storage, study_name="boosting")
    boosting.optimize(lambda trial: trial.suggest_float("eta", 0, 1), n_trials=2)
    with pytest.raises(
        ValueError,
        match=r"studies of different models: past-0, past-1 with C, .*; boosting with eta; choose with studies=",
    ):
        hs.History.from_optuna(storage)
    assert hs.History.from_optuna(storage, "past-*").tasks == ["past-0", "past-1"]


def test_something_else_is_rejected() -> None:
    refused(3, "past (must be|runs must be .*) a storage URL or object.*int")
    refused([3], "past (must consist of storages and studies|runs must be .*), but got int")


def test_an_old_optuna_is_rejected() -> None:
    code = "import optuna; optuna.__version__ = '3.6.2'; import headstart as hs; hs.optuna"
    done = python(code)
    assert "headstart needs Optuna 4 or newer, but found 3.6.2" in done.stderr.splitlines()[-1]


def test_a_missing_optuna_names_the_extra(tmp_path: Path) -> None:
    code = "import sys; sys.modules['optuna'] = None; from headstart.cli.main import main; sys.exit(main(sys.argv[1:]))"
    done = python(code.replace("sys.argv[1:]", "['learn', 'sqlite:///runs.db']"), cwd=tmp_path)
    one_line(done, "pip install 'headstart[optuna]'")


# -- the command line ----------------------------------------------------------------------------------------


def test_learn_reads_a_storage(tmp_path: Path) -> None:
    fill(f"sqlite:///{tmp_path}/runs.db", n=3, trials=10)
    done = headstart("learn", "sqlite:///runs.db", "-n", "2", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count('"kernel"') == 2


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("learn", "sqlite:///nothing.db"), "there is no storage sqlite:///nothing.db"),
        (("check", "sqlite:///nothing.db", "churn"), "there is no storage sqlite:///nothing.db"),
        (("check", "sqllite:///runs.db"), "did you mean 'sqlite'"),
    ],
)
def test_bad_input_on_the_command_line_is_one_line(tmp_path: Path, arguments: tuple[str, ...], words: str) -> None:
    one_line(headstart(*arguments, cwd=tmp_path), words)


# -- concurrent writers, and parameters that a space cannot express -------------------------------------------------


def test_a_trial_that_completes_while_the_storage_is_read_is_not_taken_for_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between two queries, a running trial completes with the best value and another one begins."""
    storage = fill(f"sqlite:///{tmp_path}/runs.db", n=1, trials=6)
    study = optuna.load_study(study_name="past-0", storage=storage)
    running = study.ask()
    running.suggest_categorical("kernel", ["rbf", "poly", "linear"])
    running.suggest_float("C", 2**-5, 2**6, log=True)
    execute = sqlalchemy.Connection.execute
    queries: list[str] = []

    def meanwhile(self: Any, query: Any, *arguments: Any, **settings: Any) -> Any:
        if "study_id = :study" in str(query):
            queries.append(str(query))
            if len(queries) == 2:
                study.tell(running, -1.0)
                study.ask().suggest_float("C", 2**-5, 2**6, log=True)
        return execute(self, query, *arguments, **settings)

    monkeypatch.setattr(sqlalchemy.Connection, "execute", meanwhile)
    history = hs.History.from_optuna(storage)
    assert len(queries) >= 3
    assert "failed" not in " ".join(history.notes)
    assert np.isfinite(history["past-0"].losses).all()
    assert hs.History.from_optuna(storage)["past-0"].losses.min() == -1.0


@pytest.mark.filterwarnings("ignore:Choices for a categorical distribution")
@pytest.mark.parametrize("where", ["memory", "sqlite"])
def test_a_parameter_that_a_space_cannot_express_is_skipped_and_named(where: str, tmp_path: Path) -> None:
    storage = optuna.storages.InMemoryStorage() if where == "memory" else f"sqlite:///{tmp_path}/runs.db"

    def objective(trial: optuna.Trial) -> float:
        trial.suggest_categorical("layers", [(64,), (64, 32)])
        trial.suggest_int("seed", 0, 2**62)
        return trial.suggest_float("x", 0, 1)

    optuna.create_study(storage=storage, study_name="a").optimize(objective, n_trials=4)
    history = hs.History.from_optuna(storage)
    assert list(history.space) == ["x"]
    notes = " ".join(history.notes)
    assert "the parameter 'layers' of a, which a space cannot express" in notes
    assert "the parameter 'seed' of a" in notes


@pytest.mark.filterwarnings("ignore:Choices for a categorical distribution")
@pytest.mark.parametrize("where", ["memory", "sqlite"])
def test_a_study_with_choices_that_a_space_cannot_express_keeps_its_other_parameters(
    where: str, tmp_path: Path
) -> None:
    """The choices changed from tuples to text."""
    storage = optuna.storages.InMemoryStorage() if where == "memory" else f"sqlite:///{tmp_path}/runs.db"
    for name, choices in {"new": ["small", "large"], "old": [(64,), (64, 32)]}.items():
        study = optuna.create_study(storage=storage, study_name=name, sampler=optuna.samplers.RandomSampler(seed=0))
        study.optimize(
            lambda trial, choices=choices: (
                trial.suggest_float("x", 0, 1) + len(trial.suggest_categorical("l", choices))
            ),
            n_trials=4,
        )
    history = hs.History.from_optuna(storage)
    assert history.tasks == ["new", "old"]
    assert len(history["old"]) == 4
    assert history.space["l"] == hs.Categorical(["small", "large"])
    assert "the parameter 'l' of old, which a space cannot express" in " ".join(history.notes)
    study = optuna.create_study(storage=storage, study_name="next")
    study.sampler = hs.optuna.HeadstartSampler(storage, n_init=2, seed=0)
    study.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=3)


@pytest.mark.filterwarnings("ignore:Choices for a categorical distribution")
def test_a_study_whose_complete_trials_have_no_usable_parameter_is_skipped() -> None:
    storage = memory(n=1, trials=3)
    study = optuna.create_study(storage=storage, study_name="odd")
    lists = {"l": CategoricalDistribution([(64, [32]), (8, [4])])}
    study.add_trial(create_trial(params={"l": (8, [4])}, distributions=lists, value=1.0))
    study.add_trial(
        create_trial(params={"C": 1.0}, distributions={"C": FloatDistribution(0, 2)}, state=TrialState.FAIL)
    )
    history = hs.History.from_optuna(storage)
    assert history.tasks == ["past-0"]
    assert "the parameter 'l' of odd, which a space cannot express" in " ".join(history.notes)


@pytest.mark.filterwarnings("ignore:Choices for a categorical distribution")
def test_a_space_cannot_express_nested_choices() -> None:
    study = optuna.create_study(sampler=hs.optuna.HeadstartSampler(None, seed=0))
    study.optimize(
        lambda trial: trial.suggest_float("x", 0, 1) + trial.suggest_categorical("l", [(64, [32]), (8, [4])])[0],
        n_trials=3,
    )
    assert list(hs.History.from_optuna(study).space) == ["x"]


def test_a_file_that_only_looks_like_a_journal_is_rejected(tmp_path: Path) -> None:
    for text in ('{"a": 1}\n', '{"op_code": 99}\n', '{"op_code": 0, "worker_id": "x"}\n'):
        (tmp_path / "runs.log").write_text(text)
        with pytest.raises(ValueError, match=r"runs\.log"):
            hs.History.from_optuna(tmp_path / "runs.log")
        one_line(headstart("learn", "runs.log", cwd=tmp_path), "runs.log")
