"""Long jobs that survive an interruption: one result file per key, and a rerun does only what is missing.

A piece is a JSON file ``<key>-<digest of the signature>.json`` in the work directory. The signature says
which settings made it, so results of different settings can share a directory and never mix. Pieces are
written by the calling process under a temporary name and renamed, so a piece is complete or absent; one that
was damaged afterwards is computed again.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any
from urllib.parse import quote

from joblib import Parallel, delayed, effective_n_jobs
from joblib.parallel import get_active_backend

from headstart._support.files import replacing
from headstart._support.progress import Progress
from headstart.errors import ArgumentError

AT_ONCE = 4  # keys per process between two writings, where results only come as whole lists
Payload = Any
"""What JSON can hold: dicts with string keys, lists, strings, finite numbers, booleans, None."""


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
    """``{key: compute(key)}`` for all keys, in their order, taking finished pieces from ``work``.

    ``compute`` runs in joblib workers (wrap the call in ``joblib.parallel_config`` for another backend, such
    as Dask or Ray), one key per task. An interruption or an error leaves every finished piece in place.
    """
    twice = sorted(key for key, times in Counter(keys).items() if times > 1)
    if twice:
        raise ArgumentError(f"keys must differ, but {twice[0]!r} is there more than once")
    work = Path(work)
    work.mkdir(parents=True, exist_ok=True)
    done = {key: payload for key in keys if (payload := read(work, key, signature)) is not None}
    missing = [key for key in keys if key not in done]
    if progress and done:
        print(f"{len(done)} of {len(keys)} are already there", file=sys.stderr)
    try:
        with Progress(len(missing), label) if progress else nullcontext() as bar:
            for key, payload in _finished(compute, missing, jobs):
                done[key] = write(work, key, signature, payload)
                if bar is not None:
                    bar.advance(note=key)
    except KeyboardInterrupt:
        if progress:
            kept = f"{len(done)} of {len(keys)} are kept in {work}"
            print(f"stopped: {kept}; the same command goes on from there", file=sys.stderr)
        raise
    return {key: done[key] for key in keys}


def _finished(compute: Callable[[str], Payload], keys: Sequence[str], jobs: int) -> Iterator[tuple[str, Payload]]:
    """Keys and results as they come; one key per batch, so that a piece is on disk as soon as it is finished."""
    if get_active_backend()[0].supports_return_generator:
        parallel = Parallel(n_jobs=jobs, batch_size=1, return_as="generator_unordered")
        yield from parallel(delayed(_call)(compute, key) for key in keys)
        return
    some = AT_ONCE * effective_n_jobs(jobs)  # a backend that only returns whole lists, such as Ray's
    for i in range(0, len(keys), some):
        yield from Parallel(n_jobs=jobs, batch_size=1)(delayed(_call)(compute, key) for key in keys[i : i + some])


def path(work: str | Path, key: str, signature: Mapping[str, Any]) -> Path:
    """Where the piece of this key and these settings lives."""
    digest = hashlib.sha256(_canonical(signature).encode()).hexdigest()[:10]
    return Path(work) / f"{quote(key, safe='')}-{digest}.json"


def write(work: str | Path, key: str, signature: Mapping[str, Any], payload: Payload) -> Payload:
    """Store a piece atomically; returns the payload as a reader will see it."""
    if payload is None:
        raise ArgumentError(f"the result for {key!r} is None, which cannot be told from a missing piece")
    text = _canonical(payload)
    piece = {"key": key, "signature": signature, "sha256": _checksum(text), "payload": payload}
    with replacing(path(work, key, signature)) as temporary:
        temporary.write_text(_canonical(piece), encoding="utf-8")
    return json.loads(text)


def read(work: str | Path, key: str, signature: Mapping[str, Any]) -> Payload | None:
    """The stored payload, or None where there is none, it is damaged or other settings made it."""
    try:
        piece = json.loads(path(work, key, signature).read_text(encoding="utf-8"))
        text = _canonical(piece["payload"])
        if piece["key"] != key or _canonical(piece["signature"]) != _canonical(signature):
            return None
        return piece["payload"] if piece["sha256"] == _checksum(text) else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _call(compute: Callable[[str], Payload], key: str) -> tuple[str, Payload]:
    try:
        return key, compute(key)
    except Exception as error:
        raise RuntimeError(f"{key!r} failed: {type(error).__name__}: {error}") from error


def _canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True, allow_nan=False)


def _checksum(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
