"""Files are written under a temporary name and then renamed, so that no file is ever half written.

Arrays are stored in a NumPy archive (.npz) whose entry `header` is JSON. Nothing is pickled.
"""

from __future__ import annotations

import json
import os
import shutil
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from uuid import uuid4

import numpy as np
import numpy.typing as npt

from headstart.errors import FormatError


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yields a temporary path in the same folder, which replaces `path` if the block succeeds.

    A device or a pipe such as /dev/null is written to, not replaced.
    """
    if Path(path).exists() and not Path(path).is_file() and not Path(path).is_dir():
        with TemporaryDirectory() as folder:
            yield Path(folder) / Path(path).name
            with open(Path(folder) / Path(path).name, "rb") as source, open(path, "wb") as device:
                shutil.copyfileobj(source, device)
        return
    target = writable(path).resolve()
    temporary = target.with_name(f".{uuid4().hex[:12]}.{target.name}")
    try:
        yield temporary
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)


def writable(path: str | os.PathLike[str]) -> Path:
    """The path itself; an error if no file can be written there, to be raised before long work rather than after it."""
    path = Path(path)
    folder = path.parent
    if not folder.is_dir():
        raise FileNotFoundError(f"cannot write {path}: the folder {folder} does not exist")
    if path.is_dir():
        raise IsADirectoryError(f"cannot write {path}: it is a folder")
    if not os.access(folder, os.W_OK):
        raise PermissionError(f"cannot write {path}: the folder {folder} is read-only")
    return path


def existing(path: str | os.PathLike[str]) -> Path:
    """The path itself; an error unless it is the path of a file."""
    path = Path(path)
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder, not a file")
    if not path.exists():
        raise FileNotFoundError(f"there is no file {path}")
    return path


def write_json(path: str | os.PathLike[str], data: Any) -> None:
    """Write indented JSON; rejects NaN and infinity, which JSON does not have."""
    text = json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False)
    with replacing(path) as temporary:
        temporary.write_text(text + "\n", encoding="utf-8")


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
    try:
        with open(path, "rb") as file, np.load(file, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
        header = json.loads(arrays.pop("header").tobytes())
        if not isinstance(header, dict):
            raise FormatError("its header is not an object")
    except (ValueError, KeyError, EOFError, OSError, AttributeError, TypeError, zipfile.BadZipFile) as error:
        raise FormatError(f"{path} is not {what}, or it is damaged ({error})") from error
    return header, arrays
