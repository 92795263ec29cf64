"""Long jobs that survive an interruption: one result file per key, and a rerun computes only the missing ones.

A piece is a JSON file `<key>-<digest of the signature>.json` in the work folder. The signature holds the settings that
the piece was computed with, so results of different settings can share a folder without mixing. The calling process
writes pieces under a temporary name and renames them, so a piece is complete or absent. A piece that was damaged later
is computed again.

When all is done, thousands of pieces fit into one compressed file beside the folder, `<folder>.jsonl.xz` (`pack`). Its
first line holds the signatures by their digests, and each further line one piece: digest, key and payload. Such pieces
are read like the others, so a run can be continued from there.
"""

from __future__ import annotations

import hashlib
import json
import lzma
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from functools import lru_cache
from pathlib import Path
from typing import IO, Any
from urllib.parse import quote

from joblib import delayed, effective_n_jobs
from joblib.parallel import get_active_backend

from headstart._support.files import most_text, replacing
from headstart._support.processes import Child, parallel
from headstart._support.progress import Progress
from headstart.errors import ArgumentError

AT_ONCE = 4  # keys per process between two writes, on a backend that returns only whole lists
LONGEST = 200  # characters of a key in the name of a file
Payload = Any
"""Plain JSON: dicts with string keys, lists, strings, finite numbers, booleans, None."""


def run(
    keys: Sequence[str],
    compute: Callable[[str], Payload],
    work: str | Path,
    *,
    signature: Mapping[str, Any],
    jobs: int = -1,
    progress: bool = True,
    label: str = "building",
) -> dict[str, Payload]:
    """`{key: compute(key)}` for all keys, in their order; finished pieces are read from `work`.

    `compute` runs in joblib workers, one key per task; wrap the call in `joblib.parallel_config` for another backend,
    such as Dask or Ray. An interruption or an error leaves every finished piece in place.
    """
    twice = sorted(key for key, times in Counter(keys).items() if times > 1)
    if twice:
        raise ArgumentError(f"keys must differ, but {twice[0]!r} occurs more than once")
    work = Path(work)
    work.mkdir(parents=True, exist_ok=True)
    done = {key: payload for key in keys if (payload := read(work, key, signature)) is not None}
    missing = [key for key in keys if key not in done]
    if progress and done:
        print(f"{len(done)} of {len(keys)} are already done", file=sys.stderr)
    try:
        with Progress(len(missing), label) if progress else nullcontext() as bar:
            for key, payload in _finished(compute, missing, jobs):
                done[key] = write(work, key, signature, payload)
                if bar is not None:
                    bar.advance(note=key)
    except KeyboardInterrupt:
        if progress:
            kept = f"{len(done)} of {len(keys)} are kept in {work}"
            print(f"stopped: {kept}; the same command continues from there", file=sys.stderr)
        raise
    return {key: done[key] for key in keys}


def _finished(compute: Callable[[str], Payload], keys: Sequence[str], jobs: int) -> Iterator[tuple[str, Payload]]:
    """Keys and results as they finish; one key per batch, so that every piece is written as soon as it is computed."""
    call = delayed(Child(_call))
    if get_active_backend()[0].supports_return_generator:
        work = parallel(n_jobs=jobs, batch_size=1, return_as="generator_unordered")
        yield from work(call(compute, key) for key in keys)
        return
    some = AT_ONCE * effective_n_jobs(jobs)  # a backend that returns only whole lists, such as Ray's
    for i in range(0, len(keys), some):
        yield from parallel(n_jobs=jobs, batch_size=1)(call(compute, key) for key in keys[i : i + some])


def path(work: str | Path, key: str, signature: Mapping[str, Any]) -> Path:
    """The file of the piece with this key and these settings."""
    name = quote(key, safe="")
    if len(name) > LONGEST:  # file systems allow about 255
        name = f"{name[: LONGEST - 17]}-{hashlib.sha256(key.encode()).hexdigest()[:16]}"
    return Path(work) / f"{name}-{_digest(signature)}.json"


def write(work: str | Path, key: str, signature: Mapping[str, Any], payload: Payload) -> Payload:
    """Store a piece atomically; returns the payload as `read` will."""
    if payload is None:
        raise ArgumentError(f"the result for {key!r} is None, which is reserved for missing pieces")
    text = _canonical(payload)
    piece = {"key": key, "signature": signature, "sha256": _checksum(text), "payload": payload}
    with replacing(path(work, key, signature), durable=False) as temporary:
        temporary.write_text(_canonical(piece), encoding="utf-8")
    return json.loads(text)


def read(work: str | Path, key: str, signature: Mapping[str, Any]) -> Payload | None:
    """The stored payload, packed or not; None if it is missing, damaged or from other settings."""
    found = _read_file(path(work, key, signature))
    if found is not None and found[0] == key and _canonical(found[1]) == _canonical(signature):
        return found[2]
    return _packed(packed(work)).get((_digest(signature), key))


def _read_file(file: Path) -> tuple[str, Mapping[str, Any], Payload] | None:
    """Key, signature and payload; None if the file is missing or damaged."""
    try:
        piece = json.loads(file.read_text(encoding="utf-8"))
        key, signature, payload = piece["key"], piece["signature"], piece["payload"]
        return (key, signature, payload) if piece["sha256"] == _checksum(_canonical(payload)) else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


# -- many pieces in one file ----------------------------------------------------------------------------------


def packed(work: str | Path) -> Path:
    """The compressed file beside this folder."""
    work = Path(work)
    return work.with_name(f"{work.name}.jsonl.xz")


def pack(work: str | Path) -> Path:
    """Move all pieces of a folder into the compressed file beside it. Damaged ones are left out."""
    work, file = Path(work), packed(work)
    signatures, lines = _contents(file)
    files = sorted(work.glob("*.json"))
    for one in files:
        found = _read_file(one)
        if found is not None:
            key, signature, payload = found
            signatures[_digest(signature)] = signature
            lines[_digest(signature), key] = payload
    text = [signatures, *([digest, key, lines[digest, key]] for digest, key in sorted(lines))]
    with replacing(file) as temporary, lzma.open(temporary, "wt", encoding="utf-8", newline="\n") as stream:
        stream.writelines(json.dumps(line, separators=(",", ":"), allow_nan=False) + "\n" for line in text)
    for one in files:
        one.unlink(missing_ok=True)
    with suppress(OSError):  # something else lies there
        work.rmdir()
    return file


def _packed(file: Path) -> Mapping[tuple[str, str], Payload]:
    """The payloads of a compressed file by digest and key."""
    try:
        about = file.stat()
    except OSError:
        return {}
    return _unpacked(file, about.st_mtime_ns, about.st_size)


@lru_cache(maxsize=1)
def _unpacked(file: Path, changed: int, size: int) -> Mapping[tuple[str, str], Payload]:
    """As `_packed`; what the file was like when it was read is part of the question, so the answer never ages."""
    return _contents(file)[1]


def _contents(file: Path) -> tuple[dict[str, Any], dict[tuple[str, str], Payload]]:
    """Signatures and payloads. Of a damaged file, what can still be read is kept."""
    signatures: dict[str, Any] = {}
    lines: dict[tuple[str, str], Payload] = {}
    with (
        suppress(OSError, EOFError, lzma.LZMAError, ValueError, TypeError),
        lzma.open(file, "rt", encoding="utf-8") as text,
    ):
        lines_of_text = _lines(text, most_text(file.stat().st_size))
        first = json.loads(next(lines_of_text, "{}"))
        signatures = {digest: one for digest, one in first.items() if _digest(one) == digest}
        for line in lines_of_text:
            digest, key, payload = json.loads(line)
            if digest in signatures:
                lines[digest, key] = payload
    return signatures, lines


def _lines(text: IO[str], most: int) -> Iterator[str]:
    """The lines of a text, as long as it has no more characters than this."""
    while line := text.readline(most + 1):
        most -= len(line)
        if most < 0:
            raise ValueError("it expands to more text than headstart unpacks")
        yield line


def _call(compute: Callable[[str], Payload], key: str) -> tuple[str, Payload]:
    try:
        return key, compute(key)
    except Exception as error:
        raise RuntimeError(f"{key!r} failed: {type(error).__name__}: {error}") from error


def _canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True, allow_nan=False)


def _digest(signature: Mapping[str, Any]) -> str:
    return hashlib.sha256(_canonical(signature).encode()).hexdigest()[:10]


def _checksum(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
