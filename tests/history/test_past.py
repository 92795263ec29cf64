"""One door: whatever names past runs is the same history everywhere."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import headstart as hs
from headstart.history import Reading, read_past
from program import headstart, one_line

optuna = pytest.importorskip("optuna", reason="Optuna is not installed")
optuna.logging.set_verbosity(optuna.logging.ERROR)

SPACE = hs.Space({"rate": hs.Float(0.01, 1, log=True), "depth": hs.Int(1, 8)})
ROWS = [
    {"task": task, "rate": rate, "depth": depth, "value": abs(depth - best) + rate}
    for best, task in enumerate(("a", "b", "c"), start=2)
    for rate in (0.01, 0.1, 1.0)
    for depth in (1, 4, 8)
]
FRAME = pd.DataFrame(ROWS)


def study_of(name: str, storage: Any = None) -> optuna.Study:
    study = optuna.create_study(study_name=name, storage=storage)
    distributions = hs.optuna.to_distributions(SPACE)
    for row in ROWS:
        if row["task"] == name:
            params = {"rate": row["rate"], "depth": row["depth"]}
            study.add_trial(optuna.create_trial(params=params, distributions=distributions, value=row["value"]))
    return study


def table(path: Path, frame: pd.DataFrame = FRAME) -> Path:
    frame.to_csv(path, index=False, sep="\t" if path.suffix == ".tsv" else ",")
    return path


def json_lines(path: Path, *, nested: bool) -> Path:
    lines = [{"task": r["task"], "params": {"rate": r["rate"], "depth": r["depth"]}, "value": r["value"]} for r in ROWS]
    path.write_text(
        "\n".join(json.dumps(line if nested else row) for line, row in zip(lines, ROWS, strict=True)) + "\n"
    )
    return path


def parquet(path: Path) -> Path:
    hs.History.from_frame(FRAME, SPACE).save(path)
    return path


def storage(path: Path) -> str:
    for name in "abc":
        study_of(name, f"sqlite:///{path}")
    return f"sqlite:///{path}"


def halves(folder: Path) -> Path:
    folder.mkdir()
    table(folder / "first.csv", FRAME[FRAME["task"] == "a"])
    table(folder / "second.tsv", FRAME[FRAME["task"] != "a"])
    return folder


KINDS: dict[str, Callable[[Path], Any]] = {
    "history": lambda p: hs.History.from_frame(FRAME, SPACE),
    "frame": lambda p: FRAME,
    "csv": lambda p: table(p / "runs.csv"),
    "csv as text": lambda p: str(table(p / "runs.csv")),
    "tsv": lambda p: table(p / "runs.tsv"),
    "json lines": lambda p: json_lines(p / "runs.jsonl", nested=False),
    "nested json lines": lambda p: json_lines(p / "runs.ndjson", nested=True),
    "parquet": lambda p: parquet(p / "runs.parquet"),
    "folder": lambda p: halves(p / "runs"),
    "url": lambda p: storage(p / "runs.db"),
    "path of a storage": lambda p: storage(p / "runs.db") and p / "runs.db",
    "storage": lambda p: optuna.storages.RDBStorage(storage(p / "runs.db")),
    "store": lambda p: storage(p / "runs.db") and hs.Store(p / "runs.db"),
    "studies": lambda p: [study_of(name) for name in "abc"],
    "a mixture": lambda p: [
        study_of("a"),
        [FRAME[FRAME["task"] == "b"], str(table(p / "c.csv", FRAME[FRAME["task"] == "c"]))],
    ],
}


@pytest.mark.parametrize("kind", KINDS)
def test_everything_that_names_past_runs_is_the_same_history(kind: str, tmp_path: Path) -> None:
    past = KINDS[kind](tmp_path)
    expected = hs.History.from_frame(FRAME, SPACE)
    found = read_past(past, into=SPACE)
    assert found is not None
    assert found.space == SPACE
    assert found.tasks == expected.tasks
    for name in expected.tasks:
        assert found.configs(name) == expected.configs(name)
        assert found[name].losses.tolist() == expected[name].losses.tolist()


@pytest.mark.parametrize("kind", ["frame", "csv", "url", "studies", "a mixture", "folder"])
def test_every_function_takes_it(kind: str, tmp_path: Path) -> None:
    past = KINDS[kind](tmp_path)
    reference = hs.History.from_frame(FRAME, SPACE)
    assert hs.learn(past, n=2, method="rbi", space=SPACE).configs == hs.learn(reference, n=2, method="rbi").configs
    table = hs.evidence(past, n=2, methods=["rbi"], space=SPACE).table
    pd.testing.assert_frame_equal(table, hs.evidence(reference, n=2, methods=["rbi"]).table)
    asked = [hs.Optimizer(SPACE, one, init="rbi", n_init=2, seed=0).ask() for one in (past, reference)]
    assert asked[0] == asked[1]
    first = []
    for one in (past, reference):
        sampler = hs.optuna.HeadstartSampler(one, init="rbi", n_init=2, seed=0, space=SPACE)
        study = optuna.create_study(sampler=sampler)
        study.optimize(lambda t: t.suggest_float("rate", 0.01, 1, log=True) + t.suggest_int("depth", 1, 8), n_trials=1)
        first.append(study.trials[0].params)
    assert first[0] == first[1] == asked[0]


def test_a_start_is_a_start_wherever_past_runs_are(tmp_path: Path) -> None:
    start = hs.learn(FRAME, n=2, method="rbi", space=SPACE)
    start.save(tmp_path / "start.json")
    for given in (start, tmp_path / "start.json"):
        result = hs.minimize(lambda c: c["rate"], SPACE, n_trials=2, n_init=2, history=given)
        assert [trial.config for trial in result.trials] == start.configs
        assert [trial.origin for trial in result.trials] == ["start", "start"]
    with pytest.raises(ValueError, match=r"history is a Start, which leaves nothing for init.*; leave out init="):
        hs.Optimizer(SPACE, start, init="rbi")
    with pytest.raises(ValueError, match="a Start has no runs to learn from"):
        hs.learn(start)


def test_names_and_values_are_reconciled_everywhere(tmp_path: Path) -> None:
    new = hs.Space({"learning_rate": SPACE["rate"], "depth": SPACE["depth"], "trees": hs.Int(10, 1000)})
    options: dict[str, Any] = {"rename": {"rate": "learning_rate"}, "fill": {"trees": 100}}
    for kind in ("history", "frame", "csv", "url", "a mixture"):
        folder = tmp_path / kind
        folder.mkdir()
        past = KINDS[kind](folder)
        start = hs.learn(past, n=2, method="rbi", space=new, **options)
        assert all(config["trees"] == 100 and "learning_rate" in config for config in start.configs)
        optimizer = hs.Optimizer(new, past, init="rbi", n_init=2, seed=0, **options)
        assert optimizer.ask()["trees"] == 100
        sampler = hs.optuna.HeadstartSampler(past, init="rbi", n_init=2, seed=0, space=new, **options)
        trial = optuna.create_study(sampler=sampler).ask(hs.optuna.to_distributions(new))
        assert trial.params["trees"] == 100
        for wrong, words in (
            ({"rename": {"rat": "learning_rate"}}, "cannot rename 'rat' to 'learning_rate': .* no .*'rat'|has 'rat'"),
            ({**options, "fill": {"tree": 1}}, "cannot fill 'tree': the new space has"),
        ):
            with pytest.raises(ValueError, match=words):
                hs.learn(past, n=2, method="rbi", space=new, **wrong)


def test_names_and_values_are_reconciled_by_commands(tmp_path: Path) -> None:
    table(tmp_path / "runs.csv")
    space = {"learning_rate": SPACE["rate"], "depth": SPACE["depth"], "trees": hs.Int(10, 1000)}
    (tmp_path / "space.json").write_text(json.dumps(hs.Space(space).to_json()))
    options = ("--rename", "rate=learning_rate", "--fill", "trees=100", "--space", "space.json")
    done = headstart("suggest", "runs.csv", *options, "-n", "2", "--method", "rbi", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert [config["trees"] for config in json.loads(done.stdout)] == [100, 100]
    both = headstart("import", "runs.csv", "--also", "runs.csv", "-o", "both.parquet", cwd=tmp_path)
    assert "wrote both.parquet: 3 tasks, 27 evaluations" in both.stdout, both.stderr
    wrong = headstart("learn", "runs.csv", "--rename", "rat=learning_rate", cwd=tmp_path)
    one_line(wrong, "no parameter 'rat'; did you mean 'rate'")


def test_the_direction_comes_from_the_name_of_the_column(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    scores = FRAME.assign(accuracy=-FRAME["value"]).drop(columns="value")
    for column, direction in (("accuracy", "maximize"), ("val_error", "minimize"), ("y", "minimize")):
        history = hs.History.from_frame(scores.rename(columns={"accuracy": column}), SPACE, value=column)
        assert history.direction == direction
        better = "higher" if direction == "maximize" else "lower"
        assert f"{better} is better" in history.notes[-1]
        assert ("as the name of the column says" in history.notes[-1]) == (column != "y")
    assert hs.History.from_frame(scores, SPACE, value="accuracy", direction="minimize").direction == "minimize"
    table(tmp_path / "runs.csv", scores)
    done = headstart("suggest", "runs.csv", "--value", "accuracy", "-n", "1", "--method", "rbi", cwd=tmp_path)
    assert "higher is better, as the name of the column says" in done.stderr
    unclear = scores.rename(columns={"accuracy": "accuracy_loss"})
    with pytest.raises(
        ValueError, match=r"'accuracy_loss' does not say .*; say 'minimize' or 'maximize' with direction="
    ):
        hs.History.from_frame(unclear, SPACE, value="accuracy_loss")


def test_options_must_apply_to_something() -> None:
    with pytest.raises(
        ValueError, match=r"'studies' applies only to Optuna storages and runs of other tools, not to the DataFrame"
    ):
        read_past(FRAME, Reading(studies=["a"]))
    both = read_past([FRAME, hs.History.from_frame(FRAME, SPACE)], Reading(value="value", task="task"))
    assert both is not None
    assert both["a"].counts.tolist() == [2] * 9


@pytest.mark.parametrize(
    ("past", "words"),
    [
        (None, "past runs must be a History, .* but got NoneType"),
        ([], "the list of past runs is empty"),
        ([FRAME, 3], "past runs must be .* but got int: 3"),
        ({"a": FRAME}, "past runs must be .* but got dict"),
        ("svn", "no history 'svn' ships with headstart; did you mean 'svm'"),
        ("nothing.csv", "there is no file nothing.csv"),
        ("nothing.db", "there is no storage 'nothing.db'"),
        ("nothing.jsonl", "there is no file nothing.jsonl"),
        (["svm", FRAME], "the past runs are of different models, with these parameters: "),
    ],
)
def test_bad_input(past: Any, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises((ValueError, FileNotFoundError), match=words):
        hs.learn(past, method="rbi")
    assert not list(tmp_path.iterdir())


def test_runs_that_share_nothing_with_the_space_are_rejected_at_once() -> None:
    with pytest.raises(ValueError, match=r"shares no parameter with the search space \(it has rate, depth; .*rename="):
        hs.Optimizer(hs.Space({"C": hs.Float(1, 2)}), FRAME)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "runs.jsonl is empty"),
        ('{"task": "a"', "runs.jsonl, line 1 is not a line of JSON or was cut off"),
        ('{"task": "a", "x": 1, "value": 2}\n[1]\n', "line 2: a line must be an object, but got"),
        ('{"task": "a", "x": 1, "params": {"x": 2}, "value": 2}\n', "line 1: 'x' occurs twice"),
        ('{"task": "a", "x": 1}\n', "runs.jsonl has no column 'value'"),
    ],
)
def test_damaged_json_lines(text: str, words: str, tmp_path: Path) -> None:
    (tmp_path / "runs.jsonl").write_text(text)
    with pytest.raises(ValueError, match=words):
        hs.learn(tmp_path / "runs.jsonl")
