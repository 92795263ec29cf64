"""Files are written whole or not at all, leave nothing behind, and are never larger than they are."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import numpy as np
import pytest

from headstart._support import files
from headstart._support.files import TEMPORARY, read_arrays, replacing, understanding, write_arrays, write_json
from headstart.errors import FormatError
from program import environment


def test_a_missing_file_is_an_error_that_names_a_similar_one(tmp_path: Path) -> None:
    (tmp_path / "runs.csv").touch()
    with pytest.raises(FileNotFoundError, match=r"there is no file .*rums\.csv; did you mean 'runs\.csv'\?"):
        files.existing(tmp_path / "rums.csv")
    with pytest.raises(FileNotFoundError, match=r"there is no file .*other\.parquet$"):
        files.existing(tmp_path / "other.parquet")
    with pytest.raises(FileNotFoundError, match=r"the folder .*old does not exist"):
        files.existing(tmp_path / "old" / "runs.csv")


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    write_json(path, 1)
    with pytest.raises(FileExistsError), replacing(path) as temporary:
        (temporary.write_text("half"), temporary.mkdir())
    assert path.read_text() == "1\n"
    assert list(tmp_path.iterdir()) == [path]


def aged(path: Path, seconds: float) -> Path:
    path.write_text("half")
    os.utime(path, (time.time() - seconds,) * 2)
    return path


def dead_process() -> int:
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        pass
    return process.pid


@pytest.mark.skipif(os.name != "posix", reason="elsewhere, processes cannot be looked up")
def test_temporary_files_of_killed_processes_are_removed(tmp_path: Path) -> None:
    dead = dead_process()
    left = aged(tmp_path / f"{TEMPORARY}{dead}-0123456789ab.json", 120)
    fresh = aged(tmp_path / f"{TEMPORARY}{dead}-0123456789ac.json", 1)  # perhaps of another machine
    alive = aged(tmp_path / f"{TEMPORARY}{os.getpid()}-0123456789ad.json", 3600)
    ancient = aged(tmp_path / f"{TEMPORARY}{os.getpid()}-0123456789ae.json", 10**6)
    other = aged(tmp_path / ".headstart-notes.txt", 10**6)
    files._clean.cache_clear()
    write_json(tmp_path / "a.json", 1)
    there = set(tmp_path.iterdir())
    assert there == {fresh, alive, other, tmp_path / "a.json"}
    assert not {left, ancient} & there


def test_a_name_of_the_greatest_length_can_be_written(tmp_path: Path) -> None:
    path = tmp_path / ("x" * 250 + ".json")
    write_json(path, 1)
    assert path.read_text() == "1\n"


def test_what_goes_wrong_in_the_content_is_one_error() -> None:
    for error in (KeyError("a"), RecursionError(), MemoryError(), ValueError("b\n c")):
        with pytest.raises(FormatError, match=r"^a\.json is damaged: [^\n]+$"), understanding("a.json is damaged"):
            raise error
    with pytest.raises(FileNotFoundError), understanding("a.json is damaged"):
        raise FileNotFoundError


# -- arrays ------------------------------------------------------------------------------------------------------


def test_arrays_come_back_as_they_were(tmp_path: Path) -> None:
    arrays = {"a": np.arange(6.0).reshape(2, 3), "b": np.array([], dtype=np.int32), "c": np.float32(1.5)}
    write_arrays(tmp_path / "a.npz", {"x": 1}, arrays)
    header, found = read_arrays(tmp_path / "a.npz", "arrays")
    assert header == {"x": 1}
    assert list(found) == list(arrays)
    for name, array in arrays.items():
        np.testing.assert_array_equal(found[name], array)
        assert found[name].dtype == np.asarray(array).dtype


def npy(shape: str, dtype: str = "<f8") -> bytes:
    """An array of 8 bytes whose header claims another shape."""
    buffer = io.BytesIO()
    np.save(buffer, np.zeros(1))
    data = buffer.getvalue()
    claim = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}"
    return data[:10] + claim.ljust(117).encode() + b"\n" + data[128:]


@pytest.mark.parametrize("shape", ["(1000000000000,)", "(2, 10000000000)", "(0,)", "(-1,)", "(2,)"])
def test_an_array_that_claims_another_size_is_refused(shape: str, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("header.npy", npy(shape))
    with pytest.raises(FormatError, match=r"a\.npz is not a model, or it is damaged"):
        read_arrays(tmp_path / "a.npz", "a model")


def test_a_compressed_archive_is_refused_before_it_expands(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.npy", b"\0" * 10_000_000)
    assert (tmp_path / "a.npz").stat().st_size < 20_000
    with pytest.raises(FormatError, match="is compressed"):
        read_arrays(tmp_path / "a.npz", "a model")


def test_objects_are_never_unpickled(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", header=np.array([{"a": 1}], dtype=object))
    with pytest.raises(FormatError, match="damaged"):
        read_arrays(tmp_path / "a.npz", "a model")


@pytest.mark.skipif(os.name != "posix", reason="the limit on the size of a file is POSIX's")
@pytest.mark.parametrize("what", ["start", "history", "state", "page"])
def test_a_full_disk_is_an_error_that_names_the_file_and_leaves_the_old_one(what: str, tmp_path: Path) -> None:
    """A limit on the size of files stands for a disk without space: the same call fails in the same way."""
    names = {"start": "start.json", "history": "runs.parquet", "state": "arrays.npz", "page": "report.html"}
    path = tmp_path / names[what]
    path.write_text("the old one")
    writes = {
        "start": "hs.Start(hs.Space({'x': hs.Float(0, 1)}), [{'x': i / 999} for i in range(999)]).save(path)",
        "history": "hs.library.load('adaboost').save(path)",
        "state": "write_arrays(path, {}, {'a': np.zeros(9999)})",
        "page": "with replacing(path) as temporary: temporary.write_text('x' * 9999)",
    }
    program = f"""
import resource, sys
import numpy as np, headstart as hs
from headstart._support.files import replacing, write_arrays
path = sys.argv[1]
resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
try:
    {writes[what]}
except OSError as error:
    print(error.filename, error.strerror)
"""
    done = subprocess.run(
        [sys.executable, "-c", program, str(path)], capture_output=True, text=True, env=environment(), check=False
    )
    assert done.stdout == f"{path} cannot be written: File too large\n", done.stderr
    assert path.read_text() == "the old one"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device that is always full")
def test_a_full_device_is_an_error_that_names_it() -> None:
    with pytest.raises(OSError, match="cannot be written: No space left on device: '/dev/full'"):
        write_json("/dev/full", list(range(99_999)))
