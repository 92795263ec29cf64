"""Files are written to a temporary name and renamed, so that none is ever half there.

Arrays are kept raw, with a JSON header: a NumPy archive (.npz) whose entry `header` is the text. Nothing is pickled.
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
    """Yields a temporary path in the same folder; it takes the place of `path` if the block succeeds.

    A device or a pipe, such as /dev/null, stays what it is: what was written goes into it.
    """
    if Path(path).exists() and not Path(path).is_file() and not Path(path).is_dir():
        with TemporaryDirectory() as folder:
            yield Path(folder) / Path(path).name
            with open(Path(folder) / Path(path).name, "rb") as source, open(path, "wb") as device:
                shutil.copyfileobj(source, device)
        return
    target = Path(path).resolve()
    if not target.parent.is_dir():
        raise FileNotFoundError(f"cannot write {path}: the folder {target.parent} does not exist")
    if target.is_dir():
        raise IsADirectoryError(f"cannot write {path}: it is a folder")
    temporary = target.with_name(f".{uuid4().hex[:12]}.{target.name}")
    try:
        yield temporary
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)


def existing(path: str | os.PathLike[str]) -> Path:
    """The path of a file that is to be read, once it is sure that there is one."""
    path = Path(path)
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder, not a file")
    if not path.exists():
        raise FileNotFoundError(f"there is no file {path}")
    return path


def write_json(path: str | os.PathLike[str], data: Any) -> None:
    """Readable JSON; NaN and infinity are refused rather than written as something nobody can read."""
    text = json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False)
    with replacing(path) as temporary:
        temporary.write_text(text + "\n", encoding="utf-8")


def read_json(path: str | os.PathLike[str], what: str) -> Any:
    """The content of a JSON file; `what` names it in the error when it is not one."""
    path = existing(path)
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:  # JSON that does not parse, or bytes that are no text
        raise FormatError(f"{path} is not {what}: it is not JSON or was cut off ({error})") from error


def write_arrays(
    path: str | os.PathLike[str], header: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]
) -> None:
    """Named arrays and a header of plain JSON in one file; the same content gives the same bytes."""
    text = json.dumps(header, ensure_ascii=False, allow_nan=False, sort_keys=True)
    with replacing(path) as temporary, open(temporary, "wb") as file:
        np.savez(file, allow_pickle=False, header=np.frombuffer(text.encode(), dtype=np.uint8), **arrays)


def read_arrays(path: str | os.PathLike[str], what: str) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
    """Header and arrays of a file; `what` names it in the error when it is another kind of file, or damaged."""
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
