"""Files are written under a temporary name and then renamed, so that no file is ever half written.

Arrays are stored in a NumPy archive (.npz) whose entry `header` is JSON. Nothing is pickled.
"""

from __future__ import annotations

import errno
import json
import math
import os
import shutil
import time
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import lru_cache
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from uuid import uuid4

import numpy as np
import numpy.typing as npt

from headstart._support.wording import closest
from headstart.errors import FormatError

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
TEMPORARY = ".headstart-"  # how the names of temporary files begin; then come the process and a random number
MOST_NAMES = 2000  # of a folder that are compared with the name of a file that is not there
CELLS, PER_BYTE = 10_000_000, 16  # values that a packed table may always hold, and for each of its bytes
TEXT, EXPANDS = 2**26, 50  # bytes that packed text may always become, and how many times its size
PATIENCE = 2.0  # seconds in which a program begins to read from a pipe that is written to
YOUNG, OLD = 60.0, 86_400.0  # seconds after which a temporary file is left over: of a dead process, and of any


@contextmanager
def replacing(path: str | os.PathLike[str], *, durable: bool = True) -> Iterator[Path]:
    """Yields a temporary path in the same folder, which replaces `path` if the block succeeds.

    durable: wait until the file is on the disk; not needed for what can be computed again. A device or a pipe such as
    /dev/null is written to, not replaced.
    """
    if is_special(path):
        with TemporaryDirectory() as folder, _naming(path):
            yield Path(folder) / Path(path).name
            with open(Path(folder) / Path(path).name, "rb") as source, open(path, "wb", opener=_soon) as device:
                shutil.copyfileobj(source, device)
        return
    target = writable(path).resolve()
    _clean(target.parent)
    temporary = target.with_name(f"{TEMPORARY}{os.getpid()}-{uuid4().hex[:12]}{target.suffix[:20]}")
    try:
        with _naming(path):
            yield temporary
            if durable:
                _reach_the_disk(temporary)
            os.replace(temporary, target)
            if durable:
                _reach_the_disk(target.parent)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def _naming(path: str | os.PathLike[str]) -> Iterator[None]:
    """A disk that is full, or a file that grows beyond a limit, becomes an error that names the file."""
    try:
        yield
    except OSError as error:
        if error.errno not in (*FULL, errno.ENXIO):
            raise
        why = "nothing reads from it" if error.errno == errno.ENXIO else os.strerror(error.errno)
        raise OSError(error.errno, f"cannot be written: {why}", os.fspath(path)) from error


def _soon(path: str, flags: int) -> int:
    """Open a device or a pipe; an error if nobody begins to read the pipe within a moment."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            handle = os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
            break
        except OSError as error:
            if error.errno != errno.ENXIO or time.monotonic() > end:
                raise
            time.sleep(0.02)
    if os.name == "posix":
        os.set_blocking(handle, True)
    return handle


def _reach_the_disk(path: Path) -> None:
    """Return when a file, or the list of files in a folder, is on the disk, so that it outlives a power cut."""
    with suppress(PermissionError, IsADirectoryError):  # Windows cannot do it for folders, and need not
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


@lru_cache(maxsize=1024)
def _clean(folder: Path) -> None:
    """Remove the temporary files of processes that were killed, once in each folder."""
    for path in folder.glob(f"{TEMPORARY}[0-9]*-*"):
        with suppress(OSError):  # another process is faster, or may do what this one may not
            age = time.time() - path.stat().st_mtime
            pid = int(path.name.removeprefix(TEMPORARY).partition("-")[0])
            if age > (OLD if _is_running(pid) else YOUNG):
                path.unlink()


def _is_running(pid: int) -> bool:
    """Whether there may be a process with this number."""
    if os.name != "posix":
        return True  # elsewhere, asking would end it
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def writable(path: str | os.PathLike[str]) -> Path:
    """The path itself; an error if no file can be written there, to be raised before long work rather than after it."""
    path = Path(path)
    folder = path.parent
    if is_special(path):
        return path
    if folder.exists() and not folder.is_dir():
        raise NotADirectoryError(f"cannot write {path}: {folder} is not a folder")
    if not folder.is_dir():
        raise FileNotFoundError(f"cannot write {path}: the folder {folder} does not exist")
    if path.is_dir():
        raise IsADirectoryError(f"cannot write {path}: it is a folder")
    if leads_nowhere := broken_link(path):
        raise FileNotFoundError(f"cannot write {path}: {leads_nowhere}")
    if not os.access(folder, os.W_OK):
        raise PermissionError(f"cannot write {path}: the folder {folder} is read-only")
    return path


def is_special(path: str | os.PathLike[str]) -> bool:
    """Whether this is a device, a pipe or a socket, which may have no end, or nobody at its other one."""
    return Path(path).exists() and not Path(path).is_file() and not Path(path).is_dir()


def broken_link(path: Path) -> str:
    """Why no file can be where a link points to; empty if one can, or if it is no link."""
    if not path.is_symlink() or path.exists():
        return ""
    try:
        target = path.resolve()
    except (RuntimeError, OSError):  # a loop, before Python 3.13
        target = path
    if target.is_symlink():
        return "it is a link that leads back to itself"
    return "" if target.parent.is_dir() else f"it is a link to {target}, whose folder does not exist"


def nearby(path: Path) -> str:
    """What may be meant by the path of a file that does not exist: a similar name beside it, or no such folder."""
    if path.is_symlink():
        return f": it is a link to {os.readlink(path)}, which does not exist"
    try:
        names = sorted(entry.name for entry in os.scandir(path.parent) if not entry.name.startswith("."))
    except OSError:
        return f": the folder {path.parent} does not exist" if not path.parent.exists() else ""
    return closest(path.name, names[:MOST_NAMES], 0.7)


def existing(path: str | os.PathLike[str]) -> Path:
    """The path itself; an error unless it is the path of a file. A pipe or a device could be read for ever."""
    path = Path(path)
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder, not a file")
    if is_special(path):
        raise FormatError(f"{path} is a device, a pipe or a socket, not a file", "copy its content into a file first")
    if not path.exists():
        raise FileNotFoundError(f"there is no file {path}{nearby(path)}")
    return path


def expanded(path: str | os.PathLike[str]) -> Path:
    """The path with ~ as the home directory; as it is if there is no such user."""
    return Path(os.path.expanduser(path))


def check_cells(cells: int, size: int) -> None:
    """An error if a packed table claims more values than one of so many bytes may have; real ones need bytes for each.

    To be asked before it is read: a long run of equal values is short.
    """
    if cells > max(CELLS, PER_BYTE * size):
        raise FormatError(f"it claims {cells:,} values in {size:,} bytes, more than headstart reads from such a file")


def most_text(size: int) -> int:
    """How many bytes of text headstart unpacks from so many."""
    return max(TEXT, EXPANDS * size)


def write_json(path: str | os.PathLike[str], data: Any) -> None:
    """Write indented JSON; rejects NaN and infinity, which JSON does not have."""
    text = json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False)
    with replacing(path) as temporary:
        temporary.write_text(text + "\n", encoding="utf-8")


@contextmanager
def understanding(problem: str) -> Iterator[None]:
    """Whatever goes wrong in the block becomes a FormatError: the problem, as in "a.json is damaged", and the reason.

    For content that comes from outside, where any value may be of any kind.
    """
    try:
        yield
    except (FileNotFoundError, PermissionError, IsADirectoryError):
        raise
    except MemoryError as error:
        raise FormatError(f"{problem}: it needs more memory than there is") from error
    except Exception as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise FormatError(f"{problem}: {reason:.300}") from error


def read_json(path: str | os.PathLike[str], what: str) -> Any:
    """The content of a JSON file. `what` names the expected content in errors."""
    path = existing(path)
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:  # ValueError: invalid JSON, or bytes that are not UTF-8
        raise FormatError(f"{path} is not {what}: it is not JSON or was cut off ({error})") from error


def write_arrays(
    path: str | os.PathLike[str], header: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]
) -> None:
    """Write named arrays and a JSON header to one file. The same content gives the same bytes."""
    text = json.dumps(header, ensure_ascii=False, allow_nan=False, sort_keys=True)
    with replacing(path) as temporary, open(temporary, "wb") as file:
        np.savez(file, allow_pickle=False, header=np.frombuffer(text.encode(), dtype=np.uint8), **arrays)


def read_arrays(path: str | os.PathLike[str], what: str) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
    """The header and the arrays of a file. `what` names the expected content in errors."""
    path = existing(path)
    problem = f"{path} is not {what}, or it is damaged"
    with understanding(problem), open(path, "rb") as file, zipfile.ZipFile(file) as archive:
        arrays = {entry.filename.removesuffix(".npy"): _array(archive, entry) for entry in archive.infolist()}
        header = json.loads(arrays.pop("header").tobytes())
        if not isinstance(header, dict):
            raise ValueError("its header is not an object")
    return header, arrays


def _array(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> npt.NDArray[Any]:
    """One array of an archive. It is never larger than the file: what claims to be is refused before it is read."""
    if entry.compress_type != zipfile.ZIP_STORED or entry.file_size != entry.compress_size:
        raise ValueError(f"its entry {entry.filename!r} is compressed")
    data = BytesIO(archive.read(entry))
    version = np.lib.format.read_magic(data)
    read_header = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    shape, _, dtype = read_header[version](data)
    size = math.prod(shape) * dtype.itemsize
    if dtype.hasobject or size != len(data.getvalue()) - data.tell():
        raise ValueError(f"its entry {entry.filename!r} claims {size:,} bytes, but has another size")
    data.seek(0)
    return np.lib.format.read_array(data, allow_pickle=False)
