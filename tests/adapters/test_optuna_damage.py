"""Storages that are only read stay as they are, and damage in them is bad input: one error that names the place."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy

import headstart as hs

optuna = pytest.importorskip("optuna", reason="Optuna is not installed")

from headstart.adapters.optuna import account_of, databases, store  # noqa: E402
from headstart.adapters.optuna.damage import Damage  # noqa: E402
from headstart.adapters.optuna.storages import open_storage, place  # noqa: E402
from past_studies import fill, svm  # noqa: E402
from postgres import server  # noqa: E402
from program import headstart, one_line  # noqa: E402

optuna.logging.set_verbosity(optuna.logging.ERROR)
TRIALS = 6


def journal(path: Path) -> Any:
    return optuna.storages.JournalStorage(optuna.storages.journal.JournalFileBackend(str(path)))


@pytest.fixture(scope="module")
def originals(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three past studies, as a database and as a journal."""
    folder = tmp_path_factory.mktemp("originals")
    fill(f"sqlite:///{folder}/runs.db", n=3, trials=TRIALS)
    fill(journal(folder / "runs.log"), n=3, trials=TRIALS)
    return folder


@pytest.fixture
def database(originals: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(originals / "runs.db", tmp_path))


@pytest.fixture
def log(originals: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(originals / "runs.log", tmp_path))


def execute(path: Path, statement: str, *values: Any) -> None:
    connection = sqlite3.connect(path)
    with connection:
        connection.execute(statement, values)
    connection.close()


# -- reading never writes --------------------------------------------------------------------------------------


def content(folder: Path) -> dict[str, tuple[bytes, int]]:
    return {p.name: (p.read_bytes(), p.stat().st_mtime_ns) for p in folder.iterdir()}


@pytest.mark.parametrize(
    "statements",
    [
        ["CREATE TABLE studies (id INTEGER, title TEXT)", "INSERT INTO studies VALUES (1, 'a clinical trial')"],
        ["CREATE TABLE studies (study_id INTEGER, study_name TEXT)"],
        ["CREATE TABLE studies (study_id INTEGER, study_name TEXT)", "CREATE TABLE trials (x)"],
    ],
)
def test_a_foreign_database_with_studies_stays_untouched(statements: list[str], tmp_path: Path) -> None:
    path = tmp_path / "clinic.db"
    for statement in statements:
        execute(path, statement)
    before = content(tmp_path)
    for past in (path, f"sqlite:///{path}", f"sqlite:///file:{path}?mode=rwc&uri=true"):
        with pytest.raises(hs.errors.FormatError, match="not an Optuna storage"):
            hs.History.from_optuna(past)
        with pytest.raises(hs.errors.FormatError, match="not an Optuna storage"):
            hs.optuna.HeadstartSampler(past)
    one_line(headstart("learn", "sqlite:///clinic.db", cwd=tmp_path), "not an Optuna storage")
    one_line(headstart("check", "clinic.db", "mine", cwd=tmp_path), "not an Optuna storage")
    assert content(tmp_path) == before


def test_optunas_tables_without_their_version_stay_untouched(database: Path) -> None:
    execute(database, "DELETE FROM alembic_version")
    before = content(database.parent)
    with pytest.raises(hs.errors.FormatError, match=r"not a complete .* its table alembic_version is empty"):
        hs.History.from_optuna(database)
    assert content(database.parent) == before


@pytest.mark.parametrize("name", ["runs.db", "runs.log"])
def test_a_past_is_read_without_a_trace(name: str, originals: Path, tmp_path: Path) -> None:
    shutil.copy(originals / name, tmp_path)
    before = content(tmp_path)
    assert len(hs.History.from_optuna(tmp_path / name)) == 3
    sampler = hs.optuna.HeadstartSampler(str(tmp_path / name), n_init=2)
    optuna.create_study(sampler=sampler).optimize(svm(1.2), n_trials=2)
    assert headstart("check", name, "past-0", cwd=tmp_path).returncode == 1  # no trial comes from a start
    assert content(tmp_path) == before


def test_a_past_without_write_permission_is_read(database: Path) -> None:
    database.chmod(0o444)
    database.parent.chmod(0o555)
    try:
        assert len(hs.History.from_optuna(database)) == 3
    finally:
        database.parent.chmod(0o755)


@pytest.fixture(scope="module")
def postgres() -> Iterator[str]:
    with server() as url:
        fill(url, n=2, trials=TRIALS)
        yield url


def writes(storage: Any) -> None:
    optuna.create_study(storage=storage, study_name="new")


@pytest.mark.parametrize("kind", ["sqlite", "journal", "postgresql"])
def test_a_storage_opened_as_a_past_refuses_to_be_written(
    kind: str, database: Path, log: Path, request: pytest.FixtureRequest
) -> None:
    urls = {"sqlite": f"sqlite:///{database}", "journal": str(log)}
    where = urls.get(kind) or request.getfixturevalue("postgres")
    with (
        pytest.raises(Exception, match=r"read-?\s?only|reading only"),
        open_storage(where, Damage(where)) as storage,
    ):
        writes(storage)
    assert "new" not in hs.History.from_optuna(where).tasks


def test_the_place_of_a_storage_is_the_same_however_it_is_opened(tmp_path: Path) -> None:
    """A study is never part of its own past, even if its path has odd characters."""
    path = tmp_path / "runs of 50% #1.db"
    theirs = optuna.storages.RDBStorage(f"sqlite:///{path}")
    with open_storage(str(path), Damage("")) as ours:
        assert place(ours) == place(theirs)


def test_a_database_that_a_killed_writer_left_is_repaired_by_sqlite(database: Path) -> None:
    """A hot journal: the pages that a transaction has overwritten lie beside the file until somebody opens it."""
    connection = sqlite3.connect(database, isolation_level=None)
    connection.execute("PRAGMA cache_size = 2")
    connection.execute("BEGIN")
    connection.execute("UPDATE trial_params SET distribution_json = hex(randomblob(3000))")
    other = database.parent / "copy.db"
    shutil.copy(database, other)
    shutil.copy(f"{database}-journal", f"{other}-journal")
    connection.close()
    assert len(hs.History.from_optuna(other)) == 3


# -- damage ------------------------------------------------------------------------------------------------------

DAMAGE = {
    "a state": ("UPDATE trials SET state = 'DONE' WHERE trial_id = 8", "trial 1 of the study 'past-1'"),
    "a time": ("UPDATE trials SET datetime_start = 'noon' WHERE trial_id = 8", "trial 1 of the study 'past-1'"),
    "a value": ("UPDATE trial_values SET value = 'low' WHERE trial_id = 8", "trial 1 of the study 'past-1'"),
    "a distribution": ("UPDATE trial_params SET distribution_json = '{' WHERE trial_id = 8", "trial 1 .*'past-1'"),
    "a choice": ("UPDATE trial_params SET param_value = 1e9 WHERE trial_id = 8", "trial 1 of the study 'past-1'"),
    "no number": ("UPDATE trial_params SET param_value = 9e999 WHERE trial_id = 8", "trial 1 of the study 'past-1'"),
    "a direction": ("UPDATE study_directions SET direction = 'UP' WHERE study_id = 2", "the study 'past-1'"),
    "no direction": ("DELETE FROM study_directions WHERE study_id = 2", "the study 'past-1'"),
    "a name": ("UPDATE studies SET study_name = x'00ff' WHERE study_id = 2", "the study b"),
    "an attribute": ("INSERT INTO study_user_attributes VALUES (1, 2, 'a', '{')", "the study 'past-1'"),
}


@pytest.mark.parametrize(("statement", "named"), DAMAGE.values(), ids=DAMAGE)
def test_damage_in_a_database_is_named_or_skipped(statement: str, named: str, database: Path) -> None:
    execute(database, statement)
    with pytest.raises(hs.errors.FormatError, match=f"is damaged: {named}.*leave out .*skip_damaged=True") as info:
        hs.History.from_optuna(database)
    assert str(database) in str(info.value)
    history = hs.History.from_optuna(database, skip_damaged=True)
    trial = "trial" in named
    assert history.tasks == (["past-0", "past-1", "past-2"] if trial else ["past-0", "past-2"])
    assert f"1 damaged {'trial' if trial else 'study'}" in history.notes[1]
    assert sum(map(len, history)) == 3 * TRIALS - (1 if trial else TRIALS)
    sampler = hs.optuna.HeadstartSampler(str(database), n_init=2, skip_damaged=True)
    optuna.create_study(sampler=sampler).optimize(svm(1.2), n_trials=1)


def test_the_command_line_says_how_to_skip_damage(database: Path) -> None:
    execute(database, "UPDATE trials SET state = 'DONE' WHERE trial_id = 8")
    one_line(headstart("learn", "runs.db", cwd=database.parent), "leave out what is damaged with --skip-damaged")
    done = headstart("learn", "runs.db", "-n", "2", "--skip-damaged", cwd=database.parent)
    assert done.returncode == 0, done.stderr
    assert "1 damaged trial" in done.stderr
    one_line(headstart("learn", "svm", "--skip-damaged", cwd=database.parent), "applies only to Optuna storages")


def changed(path: Path, change: Callable[[list[dict[str, Any]]], None]) -> None:
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    change(lines)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def parameters_of(lines: list[dict[str, Any]], trial: int) -> list[dict[str, Any]]:
    return [line for line in lines if line["op_code"] == 5 and line["trial_id"] == trial]


def test_a_damaged_line_of_a_journal_costs_its_trial(log: Path) -> None:
    changed(log, lambda lines: parameters_of(lines, 7)[0].update(distribution="nonsense"))
    with pytest.raises(hs.errors.FormatError, match="trial 1 of the study 'past-1' cannot be read"):
        hs.History.from_optuna(log)
    history = hs.History.from_optuna(log, skip_damaged=True)
    assert sum(map(len, history)) == 3 * TRIALS - 1
    assert "1 damaged trial" in history.notes[1]


def test_the_account_of_a_damaged_study_leaves_out_what_cannot_be_read(database: Path, log: Path) -> None:
    execute(database, "UPDATE trial_params SET distribution_json = '{' WHERE trial_id = 8")
    changed(log, lambda lines: parameters_of(lines, 7)[0].update(distribution="nonsense"))
    for path in (database, log):
        command = ["check", path.name, "past-1"]
        one_line(headstart(*command, cwd=path.parent), "leave out what is damaged with --skip-damaged")
        done = headstart(*command, "--skip-damaged", "--json", cwd=path.parent)
        assert done.returncode == 1, done.stderr  # no trial comes from a start
        assert json.loads(done.stdout)["skipped"] == ["1 damaged trial"]
        found = account_of(str(path), "past-1", skip_damaged=True)
        assert found.trials == TRIALS - 1
        assert "skipped 1 damaged trial" in str(found)


def test_behind_a_line_that_is_lost_no_number_is_certain(log: Path) -> None:
    lines = log.read_text().splitlines()
    second = next(i for i, line in enumerate(lines) if "past-1" in line)
    lines[second + 8] = lines[second + 8][:20]
    log.write_text("\n".join(lines) + "\n")
    with pytest.raises(hs.errors.FormatError, match=rf"line {second + 9} cannot be read \(JSONDecodeError"):
        hs.History.from_optuna(log)
    history = hs.History.from_optuna(log, skip_damaged=True)
    assert len(history.drop("past-1") if "past-1" in history.tasks else history) == 1
    assert f"{len(lines) - second - 8} lines from the first damaged one on" in history.notes[1]


def test_a_line_that_is_being_written_is_not_damage(log: Path) -> None:
    with log.open("a") as file:
        file.write('{"op_code": 4, "wor')
    assert sum(map(len, hs.History.from_optuna(log))) == 3 * TRIALS


def test_deeply_nested_json_is_damage(database: Path) -> None:
    execute(database, "INSERT INTO study_user_attributes VALUES (1, 2, 'a', ?)", "[" * 100_000)
    with pytest.raises(hs.errors.FormatError, match=r"past-1.*RecursionError"):
        hs.History.from_optuna(database)


def test_a_torn_database_is_damage(database: Path) -> None:
    size = os.path.getsize(database)
    with database.open("r+b") as file:
        file.truncate(size // 2)
    for skip in (False, True):
        with pytest.raises(hs.errors.HeadstartError, match=r"runs\.db"):
            hs.History.from_optuna(database, skip_damaged=skip)


# -- tables that show more than they hold ------------------------------------------------------------------------

ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i AS trial_id, i AS number FROM n"
COMPUTING = {
    "view": ("trials", f"CREATE VIEW trials AS {ENDLESS}"),
    "view, other case": ("trials", f"CREATE VIEW Trials AS {ENDLESS}"),
    "generated": (
        "study_user_attributes",
        "CREATE TABLE study_user_attributes (study_user_attribute_id, study_id, key, n, "
        "value_json TEXT GENERATED ALWAYS AS (hex(zeroblob(n))))",
    ),
    "virtual": ("trial_values", "CREATE VIRTUAL TABLE trial_values USING rtree(a, b, c)"),
}


@pytest.mark.parametrize("kind", COMPUTING)
def test_a_table_that_computes_what_it_shows_is_refused(kind: str, database: Path) -> None:
    table, instead = COMPUTING[kind]
    with sqlite3.connect(database) as connection:
        connection.execute("PRAGMA legacy_alter_table = ON")
        connection.execute(f"ALTER TABLE {table} RENAME TO before")
        connection.execute(instead)
    with pytest.raises(hs.errors.FormatError, match=rf"(?i)its table {table} computes what it shows"):
        hs.History.from_optuna(f"sqlite:///{database}")


def test_a_view_that_a_user_has_added_does_no_harm(database: Path) -> None:
    with sqlite3.connect(database) as connection:
        connection.execute("CREATE VIEW trial_overview AS SELECT number, state FROM trials")
    assert len(hs.History.from_optuna(f"sqlite:///{database}")) == 3


def test_looking_for_a_store_creates_nothing(tmp_path: Path) -> None:
    """SQLite creates a file as soon as it is opened, unless it is told not to."""
    for where in (tmp_path / "a.db", f"sqlite:///{tmp_path}/b.db", f"sqlite:///file:{tmp_path}/c.db?uri=true"):
        assert hs.Store(where).history() is None
        hs.optuna.HeadstartSampler(str(where))
    assert not list(tmp_path.iterdir())


def test_a_database_that_cannot_be_created_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any, **__: Any) -> Any:
        statement = "\nCREATE TABLE studies (\n)"
        raise sqlalchemy.exc.OperationalError(statement, {}, sqlite3.OperationalError("database or disk is full"))

    monkeypatch.setattr(store, "RDBStorage", full)
    monkeypatch.setattr(store, "ATTEMPTS", 1)
    with pytest.raises(hs.errors.FormatError, match=r"runs\.db cannot be created or opened: database or disk is full$"):
        store.created(str(tmp_path / "runs.db"))


def test_wal_mode_in_a_folder_that_is_read_only(database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What SQLite says on a read-only file system, where its log cannot be created."""
    with sqlite3.connect(database) as connection:
        connection.execute("PRAGMA journal_mode = WAL")

    def opened(*_: Any) -> Any:
        raise sqlalchemy.exc.OperationalError("", {}, sqlite3.OperationalError("unable to open database file"))

    monkeypatch.setattr(databases, "_opened", opened)
    with pytest.raises(hs.errors.FormatError, match="is in WAL mode, and its folder is read-only; copy it, with"):
        hs.History.from_optuna(f"sqlite:///{database}")
