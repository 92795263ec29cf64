"""Files are written to a temporary name and renamed, so that none is ever half there."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yields a temporary path in the same folder; it takes the place of `path` if the block succeeds."""
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
    except ValueError as error:  # JSON that does not parse, or bytes that are no text
        raise ValueError(f"{path} is not {what}: it is not JSON or was cut off ({error})") from error
