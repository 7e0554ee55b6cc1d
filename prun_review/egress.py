"""What leaves the machine, and to whom: refused where nobody decided it, masked, and recorded.

``egress.json`` stands in the run directory, private as all of it.  It is written before the first
dispatch, with what is about to be within reach, and again at the end, with what was sent::

    schema_version  1
    run_id
    secrets         redact | refuse | send, as configured; ``send_to`` and ``never`` beside it
    executors       [{executor, vendor, paid, local, units, attempts, prompt_bytes, within_reach,
                      inlined: [{path, bytes, units}]}]   sorted by name
        local           True for an analyser: it runs here, and the tree stays on this machine
        attempts        dispatches whose prompt is on disk; 0 before the first
        prompt_bytes    of these prompts together
        within_reach    how many of the files below a worker of it could open and send
        inlined         files whose diff stands in its prompts, the bytes of that, in how many units
    files           [{path, bytes, blob}]    the snapshot, as it was masked; ``blob`` is git's id
    beside          [{path, bytes, sha256}]  the diff and the pre-images, in a review of a change
    withheld        [{path, why}]            what no reviewer could open
    masked          [{file, line, kind}]     where a secret was masked; never what it was

What a worker read of what was within its reach, and what its vendor keeps, this cannot say.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
import stat
import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from prun_review import files, secretrules
from prun_review.config import PLACE, Config
from prun_review.errors import ConfigError, RunDirError
from prun_review.git import Entry
from prun_review.model import Unit
from prun_review.ports import Executor, Redactor
from prun_review.redaction import Masks, Spot
from prun_review.rundir import RunDir
from prun_review.words import number

FILE = "egress.json"
"""Its name in the run directory."""
CACHE = "clean-blobs"
"""Below ``.prun/cache/``: a seal over the rest, what they were searched for, then ids of clean blobs."""
KEY = "cache.key"
"""Below ``$XDG_CACHE_HOME/prun_review/`` (``~/.cache/prun_review/``): what the seal is made with."""
KEPT = 200_000
"""Ids in it at most: 8 MB."""
LISTED = 20
"""Places named in one message."""

_EGRESS = f"{PLACE[:-1]}.egress]"


def under_ci(env: Mapping[str, str]) -> bool:
    """Whether this runs in continuous integration: ``CI`` is set, and not to ``0`` or ``false``."""
    return env.get("CI", "").strip().lower() not in ("", "0", "false")


# --- may it be sent at all ------------------------------------------------------------------


def check(
    config: Config,
    planned: Collection[str],
    executors: Mapping[str, Executor],
    env: Mapping[str, str],
    named: Collection[str] | None = None,
) -> None:
    """``ConfigError`` where a planned executor would be sent something that nobody decided to send it.

    ``planned`` are the executors of the plan's units.  With ``send_to``, those that are in it by name or
    by vendor.  Without, under CI, those that ``executors`` of the configuration or the command line
    names, or that were ``named`` for a run of waves: neither the built-in default nor a probe or a task alone
    spends and sends there.  Analysers send nothing.
    """
    send_to = config.egress.send_to
    _known(send_to, executors)
    if config.replay or config.dispatch != "auto":
        return
    paid = sorted(name for name in set(planned) if name in executors and executors[name].paid)
    told = ", ".join(
        f"{name} ({executors[name].vendor})"
        for name in paid
        if not _allowed(name, config, executors, named or ())
    )
    if told and send_to:
        raise ConfigError(
            f"nothing may be sent to {told}: send_to has neither the name nor the vendor",
            place=_EGRESS,
            remedy="add it to send_to, or leave it out with --prun-executors",
        )
    if told and under_ci(env):
        ways = f"--prun-executors A,B, or executors = [...] in {PLACE}"
        if named is not None:
            ways = f'--executor A, or executor = "..." in {PLACE[:-1]}.waves]'
        raise ConfigError(
            f"under CI nothing is sent to executors that nobody named: {told}",
            place=f"executors ({config.sources.get('executors', 'default')})" if named is None else "waves",
            remedy=f"{ways}, or send_to = [...] in {_EGRESS}"
            + ("; --prun-offline asks analysers only" if named is None else ""),
        )


def _allowed(name: str, config: Config, executors: Mapping[str, Executor], named: Collection[str]) -> bool:
    if config.egress.send_to:
        return not {name, executors[name].vendor}.isdisjoint(config.egress.send_to)
    if name in named:
        return True
    chosen, key = (
        (config.offline_executors, "offline_executors") if config.offline else (config.executors, "executors")
    )
    return name in chosen and config.sources.get(key, "default") != "default"


def _known(send_to: Sequence[str], executors: Mapping[str, Executor]) -> None:
    words = {*executors, *(e.vendor for e in executors.values())}
    unknown = sorted(set(send_to) - words)
    if unknown:
        raise ConfigError(
            f"send_to names {', '.join(map(repr, unknown))}, neither an executor nor a vendor",
            place=_EGRESS,
            remedy=f"known: {', '.join(sorted(words))}",
        )


# --- secrets --------------------------------------------------------------------------------


def masks(root: Path, config: Config) -> Redactor | None:
    """The redactor of a run in the trusted root ``root``; None where secrets are sent as they are."""
    if config.egress.secrets == "send":
        return None
    return Masks(_remembered(root), time.thread_time)


def _remembered(root: Path) -> Sequence[str]:
    """The ids of the cache, where it is ours: whoever is reviewed may have put a file there."""
    key = _key()
    if not key:
        return ()
    data = files.take_regular(root / ".prun" / "cache", CACHE, KEPT * 70).data
    seal, _, content = data.partition(b"\n")
    if not hmac.compare_digest(seal, _seal(key, root, content)):
        return ()
    lines = content.decode("ascii").split("\n")
    return lines[1:-1] if lines[0] == secretrules.digest() else ()


def _seal(key: bytes, root: Path, content: bytes) -> bytes:
    return hmac.new(key, os.fsencode(root.resolve()) + b"\0" + content, "sha256").hexdigest().encode()


def _key() -> bytes:
    """What seals caches: a private file that no checkout holds; made on the first call.

    Empty where there is no place for it, or somebody else could know it: then nothing is remembered.
    """
    home = os.environ.get("XDG_CACHE_HOME") or (os.environ.get("HOME", "") and f"{os.environ['HOME']}/.cache")
    if not home or not os.path.isabs(home):
        return b""
    place = Path(os.path.realpath(home)) / "prun_review"
    if any((folder / ".git").exists() for folder in (place, *place.parents)):
        return b""
    try:
        place.mkdir(mode=files.PRIVATE_DIR, parents=True, exist_ok=True)
        with suppress(FileExistsError):
            files.create(place / KEY, secrets.token_bytes(32))
        info = (place / KEY).lstat()
    except OSError:
        return b""
    private = stat.S_ISREG(info.st_mode) and info.st_uid == os.geteuid() and not info.st_mode & 0o077
    key = files.take_regular(place, KEY, 32).data if private else b""
    return key if len(key) == 32 else b""


def keep(root: Path, redactor: Redactor) -> None:
    """Remember the blobs in which nothing was found, so that the next run need not search them.

    Where that cannot be written nothing is lost but time.
    """
    if not isinstance(redactor, Masks):
        return
    key = _key()
    if not key:
        return
    content = "\n".join([secretrules.digest(), *sorted(redactor.used)[:KEPT], ""]).encode()
    place = root / ".prun" / "cache"
    with suppress(OSError):
        for folder in (place.parent, place):
            folder.mkdir(mode=files.PRIVATE_DIR, exist_ok=True)
        if not (place.parent / ".gitignore").exists():
            files.write(place.parent / ".gitignore", b"*\n")
        files.write(place / CACHE, _seal(key, root, content) + b"\n" + content, sync=False)


def refuse(config: Config, spots: Sequence[Spot]) -> None:
    """``ConfigError`` where ``secrets = "refuse"`` and there are any; it never shows one."""
    if config.egress.secrets != "refuse" or not spots:
        return
    told = "".join(f"\n  {s.file}:{s.line}: {s.kind}" for s in spots[:LISTED])
    more = f"\n  and {len(spots) - LISTED} more" if len(spots) > LISTED else ""
    raise ConfigError(
        f"the reviewed tree holds what looks like secrets, in {number(len(spots), 'place')}:{told}{more}",
        place=f'secrets = "refuse" in {_EGRESS}',
        remedy='take them out (and revoke them), name the files in never, or secrets = "redact"',
    )


# --- the record -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Reach:
    """What workers of a run could open."""

    tree: Mapping[str, Entry]
    """The files of the snapshot, as they were masked (:attr:`~prun_review.snapshot.Snapshot.entries`)."""
    diff: Callable[[Sequence[str]], str]
    """The text of the diff of changed files, as prompts hold it."""
    beside: Path | None = None
    """The directory with the diff and the pre-images, in a review of a change."""
    withheld: Mapping[str, str] = field(default_factory=dict)
    """Name -> why it was left out."""
    spots: Sequence[Spot] = ()


def record(
    store: RunDir,
    config: Config,
    units: Collection[Unit],
    executors: Mapping[str, Executor],
    reach: Reach,
) -> None:
    """Write ``egress.json``, over the one that is there, and its sha256 into the ledger.

    ``units`` are those that this run asks itself, not what it took over.  ``RunDirError``.
    """
    document = _document(store, config, units, executors, reach)
    data = json.dumps(document, indent=1, allow_nan=False).encode() + b"\n"
    store.append("egress", sha256=hashlib.sha256(data).hexdigest())
    with files.named(RunDirError, "the record of what is sent cannot be written", store.path / FILE):
        files.write(store.path / FILE, data)


def _document(
    store: RunDir,
    config: Config,
    units: Collection[Unit],
    executors: Mapping[str, Executor],
    reach: Reach,
) -> dict[str, Any]:
    tree = [
        {"path": name, "bytes": entry.size, "blob": entry.sha} for name, entry in sorted(reach.tree.items())
    ]
    beside = _beside(reach.beside)
    sizes: dict[str, int] = {}
    for name in sorted({name for unit in units for name in unit.inlined}):
        sizes[name] = len(reach.diff([name]).encode(errors="replace"))
    asked = sorted({unit.executor for unit in units} & set(executors))
    return {
        "schema_version": 1,
        "run_id": store.id,
        "secrets": config.egress.secrets,
        "send_to": list(config.egress.send_to),
        "never": list(config.egress.never),
        "executors": [
            _sent(
                store,
                executors[name],
                [u for u in units if u.executor == name],
                len(tree) + len(beside),
                sizes,
            )
            for name in asked
        ],
        "files": tree,
        "beside": beside,
        "withheld": [{"path": name, "why": why} for name, why in sorted(reach.withheld.items())],
        "masked": [{"file": s.file, "line": s.line, "kind": s.kind} for s in sorted(reach.spots)],
    }


def _sent(
    store: RunDir, executor: Executor, units: Sequence[Unit], count: int, sizes: Mapping[str, int]
) -> dict[str, Any]:
    prompts = [size for unit in units for size in _prompts(store.path / "units" / unit.slug)]
    inlined = Counter(name for unit in units for name in unit.inlined)
    return {
        "executor": executor.name,
        "vendor": executor.vendor,
        "paid": executor.paid,
        "local": not executor.paid,
        "units": len(units),
        "attempts": len(prompts),
        "prompt_bytes": sum(prompts),
        "within_reach": count,
        "inlined": [
            {"path": name, "bytes": sizes[name], "units": count} for name, count in sorted(inlined.items())
        ],
    }


def _prompts(folder: Path) -> list[int]:
    """The sizes of the prompts of a unit's attempts."""
    sizes = []
    for attempt in files.folders(folder):
        with suppress(OSError):  # an attempt that was not begun has none
            sizes.append((folder / attempt / "prompt.md").lstat().st_size)
    return sizes


def _beside(place: Path | None) -> list[dict[str, Any]]:
    """The ordinary files of a directory of ours."""
    found = []
    for path in sorted(place.rglob("*")) if place else ():
        if path.is_file() and not path.is_symlink():
            data = path.read_bytes()
            name = path.relative_to(place or path).as_posix()
            found.append({"path": name, "bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()})
    return found
