"""Writing a run directory: every file appears whole, and what counts is in the ledger first."""

from __future__ import annotations

import hashlib
import json
import os
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any

from prun_review import files, masking
from prun_review.codec import encode
from prun_review.errors import DiskFullError, RunDirError
from prun_review.ledger import Ledger
from prun_review.locks import Lock
from prun_review.model import Brief, Exit, Plan, Result, Unit
from prun_review.ports import Command, Launch, Output, Seen
from prun_review.rowtexts import RowTexts
from prun_review.rulings import Examination
from prun_review.runview import (
    DOCUMENT,
    EXAMINATION,
    LEDGER,
    LOCK,
    PATCH,
    PLAN,
    RESULT,
    WAVES,
    RunView,
    checked_slug,
)

STREAM_CAP = 32 << 20
"""Bytes kept of a stream or output file, from its end: event streams put the answer last."""


LOOK_CAP = 64 << 10
"""Bytes looked at of a stream while its attempt runs."""

FLOOR = 64 << 20
"""Free bytes without which no run and no attempt starts: room for the results of what runs."""
FLOOR_FILES = 1000
"""Free inodes, alike."""

COPY_CAP = 256 << 20
"""Bytes of one attempt that are taken over into another run."""
COPY_FILES = 2000
"""Files, alike."""

STREAMS = ("tail", "stderr")
"""Standard output and standard error of an attempt."""


class RunDir(RunView):
    """The writer of one run; implements :class:`~prun_review.ports.Store`.  Safe in threads."""

    def __init__(self, path: Path) -> None:
        """Use :func:`prun_review.rundir.create`."""
        super().__init__(path)
        self._lock_held = Lock(path / LOCK)
        self._log = Ledger(path / LEDGER)
        self._guard = threading.Lock()
        self._attempts: dict[Path, Unit] = {}
        self._streams: dict[Path, dict[str, tuple[int, int]]] = {}
        self._seen: dict[Path, Seen] = {}
        """What was last seen of attempts that run."""
        self._finished: set[str] = set()
        self._secrets: frozenset[str] = frozenset()
        self._rows = RowTexts()
        self.again = False
        """True in a replay: its results took no time and cost nothing that another run has not told."""

    @property
    def id(self) -> str:
        """The run id."""
        return self.path.name

    def release(self) -> None:
        """Give up the lock: from now on readers know that no further result will come."""
        self._lock_held.release()

    def close(self) -> None:
        """Write nothing more, and :meth:`release`.  May be called twice."""
        self._log.close()
        self.release()

    def discard(self) -> None:
        """Close it and remove the directory, for a session that planned nothing."""
        self.close()
        with files.named(RunDirError, "the run directory cannot be removed", self.path):
            files.remove_tree(self.path)

    def append(self, event: str, **fields: Any) -> None:
        """One ledger line; ``fields`` are JSON-able."""
        self._note(event, fields)

    def _note(self, event: str, fields: Mapping[str, Any], *, durable: bool = False) -> None:
        with files.named(RunDirError, "the ledger cannot be written", self.path / LEDGER):
            self._log.append(event, masking.masked(fields, self._secrets), durable=durable)

    def _vouch(self, name: str, value: Any, event: str, *, durable: bool = True, **fields: Any) -> None:
        """Write a JSON file after its sha256 is in the ledger."""
        self._vouch_text(name, _json(masking.masked(value, self._secrets)), event, durable=durable, **fields)

    def _vouch_text(self, name: str, data: bytes, event: str, *, durable: bool, **fields: Any) -> None:
        self._note(event, {**fields, "sha256": hashlib.sha256(data).hexdigest()}, durable=durable)
        with files.named(RunDirError, "the run directory cannot be written", self.path / name):
            files.write(self.path / name, data, sync=durable)

    def write_plan(self, plan: Plan) -> None:
        """Write ``plan.json``."""
        self._vouch(PLAN, encode(plan), "plan", units=len(plan.units))

    def write_document(self, document: Mapping[str, Any]) -> None:
        """Replace ``run.json``; secrets in it are masked."""
        reasons = (document.get("facts") or {}).get("integrity") or ()
        broken = sorted({r["code"] for r in reasons if r["outcome"] != "PASS"})
        self._vouch(DOCUMENT, document, "document", status=document.get("status"), integrity=broken)

    def write_waves(self, document: Mapping[str, Any], *, durable: bool) -> None:
        """Replace ``waves.json``; secrets in it are masked.  ``durable``: wait for the disk."""
        data = self._rows(document, "tasks", self._secrets)
        self._vouch_text(WAVES, data, "waves", durable=durable, status=document.get("status"))

    def share_patch(self, source: str, target: str) -> None:
        """Let the unit of slug ``target`` have the change that the unit of slug ``source`` made."""
        found = self.path / "units" / checked_slug(source) / PATCH
        place = self._unit_folder(target) / PATCH
        with files.named(RunDirError, "a change cannot be shared", place):
            place.unlink(missing_ok=True)
            if found.is_file():
                os.link(found, place)

    def write_examination(self, examination: Examination) -> None:
        """Replace ``examination.json``: what is asked and of whom; its results stand with their units."""
        asked = replace(examination, results=())
        self._vouch(
            EXAMINATION,
            encode(asked),
            "examination",
            questions=len(asked.questions),
            units=len(asked.plan.units),
            left_out=len(asked.left_out),
        )

    def finish(self, result: Result) -> None:
        """Write the terminal result and its ledger entry; a second call for a unit is refused."""
        self._finish(result, durable=True, again=self.again)

    def kept(self, result: Result) -> Result | None:
        """The terminal result that is on disk of the unit that ``result`` is of; None: there is none."""
        told = Unit(
            *(result.unit, result.slug, result.case, result.folder, result.executor, Brief("")),
            repeat=result.repeat,
            fingerprint=result.fingerprint,
        )
        return self.result_of(told)

    def _finish(self, result: Result, *, durable: bool, again: bool) -> None:
        slug = checked_slug(result.slug)
        with self._guard:
            if slug in self._finished:
                raise RunDirError(f"{result.unit} has its terminal result already", place=str(self.path))
            self._finished.add(slug)
        try:
            self._unit_folder(slug)
            self._vouch(
                f"units/{slug}/{RESULT}",
                encode(result),
                "result",
                durable=durable,
                slug=slug,
                unit=result.unit,
                case=result.case,
                executor=result.executor,
                status=result.status,
                reason=result.reason,
                attempts=result.attempts,
                seconds=round(result.seconds, 3),
                cost_usd=result.usage.cost_usd,
                **({"again": True} if again else {}),
            )
        except BaseException:
            with self._guard:
                self._finished.discard(slug)
            raise

    def adopt(self, unit: Unit, result: Result, source: RunView, events: Sequence[Mapping[str, Any]]) -> None:
        """Take a unit over from another run: its attempts, its ``events``, and last its result.

        Of an attempt only ordinary files are copied, within :data:`COPY_CAP` and :data:`COPY_FILES`; of
        one longer than :data:`STREAM_CAP` the end, behind a hole.  The patch of one that writes code is
        taken whole, and ``RunDirError`` where it is not what the result says.  A unit whose copy was cut
        short by a SIGKILL has no result that this run's ledger vouches for.  The disk is not waited for:
        what a power failure undoes here, the other run still has.
        """
        folder = self._unit_folder(unit.slug)
        stored = source.path / "units" / checked_slug(unit.slug)
        with files.named(RunDirError, "a unit cannot be taken over", folder):
            files.write(folder / "unit.json", _json(encode(unit)), sync=False)
            for attempt in files.folders(stored):
                if attempt.isdecimal():
                    files.copy_tree(
                        stored / attempt, folder / attempt, each=STREAM_CAP, size=COPY_CAP, count=COPY_FILES
                    )
            if patch := source.patch_of(result):
                files.write(folder / PATCH, patch, sync=False)
        for event in events:
            self.append(event["event"], **{k: v for k, v in event.items() if k not in ("event", "at")})
        self.append("taken-over", unit=unit.id, slug=unit.slug, run=source.path.name)
        self._finish(result, durable=False, again=True)

    def state(self, executor: str) -> Path:
        """The directory of an executor for the whole run, made on the first call."""
        with files.named(RunDirError, "no state directory can be made", self.path / "state"):
            return _ensure(_ensure(self.path / "state") / checked_slug(executor))

    def _unit_folder(self, slug: str) -> Path:
        with files.named(RunDirError, "no unit directory can be made", self.path / "units"):
            return _ensure(_ensure(self.path / "units") / checked_slug(slug))

    # --- attempts ---------------------------------------------------------------------------

    def new_attempt(self, unit: Unit) -> Path:
        """A fresh private directory ``units/<slug>/<n>`` for the next attempt.

        ``DiskFullError`` where less than :data:`FLOOR` is free.
        """
        refuse_full(self.path)
        folder = self._unit_folder(unit.slug)
        # No lock: a unit is in one thread at a time, and 128 of them begin together.
        with files.named(RunDirError, "no attempt directory can be made", folder):
            if not (folder / "unit.json").exists():
                files.write(folder / "unit.json", _json(encode(unit)), sync=False)
            number = 1 + max((int(p.name) for p in folder.iterdir() if p.name.isdecimal()), default=0)
            out = files.make_private(folder / str(number))
            files.make_private(out / "work")
        with self._guard:
            self._attempts[out] = unit
        return out

    def record(self, out: Path, prompt: str, command: Command) -> Launch:
        """Write prompt, argv and input files into the attempt; the launch that belongs to it.

        Only the names of the environment are stored; values that look like secrets are masked in
        everything that is stored from now on.
        """
        unit = self._attempts[out]
        with self._guard:
            self._secrets |= masking.secrets_of(command.env)
        text = prompt.encode(errors="replace")
        told = {"argv": list(command.argv), "cwd": str(command.cwd), "env": sorted(command.env)}
        inputs = {
            "prompt.md": text,
            "argv.json": _json(masking.masked(told, self._secrets)),
            "result-file": os.fsencode(out.parent / RESULT) + b"\n",
            "dispatch-pid": b"%d\n" % os.getpid(),
            "timestamp": b"%d\n" % time.time(),
            "pre-mtime": b"0\n",  # the result of this attempt cannot be older than its directory
        }
        if command.stdin != text:
            inputs["stdin"] = command.stdin
        with files.named(RunDirError, "the attempt cannot be recorded", out):
            for name, data in (*inputs.items(), *command.files.items()):
                target = out / _below(name)
                for parent in reversed(target.relative_to(out).parents[:-1]):
                    _ensure(out / parent)
                files.create(target, data)
            self._streams[out] = {name: _made(out / name) for name in STREAMS}
        return Launch(
            argv=command.argv,
            env=command.env,
            cwd=command.cwd,
            stdin=out / ("stdin" if "stdin" in inputs else "prompt.md"),
            stdout=out / "tail",
            stderr=out / "stderr",
            timeout=unit.brief.timeout,
            tag=f"{self.id}/{unit.slug}/{out.name}",
        )

    def look(self, out: Path, command: Command) -> Seen:
        """What the attempt has written so far; never raises.

        While it writes only the sizes are told: what stands beyond them would otherwise pass for an end.
        """
        sizes = _sizes(out, command)
        before = self._seen.get(out)
        if before is not None and before.sizes == sizes:  # 64 silent dispatches are looked at each second
            return before
        ends = [files.take_regular(out, name, LOOK_CAP).data for name in STREAMS]
        if _sizes(out, command) != sizes:
            return Seen(sizes, b"", b"")
        seen = self._seen[out] = Seen(sizes, *ends)
        return seen

    def collect(
        self, out: Path, command: Command, exit: Exit, upto: Mapping[str, int] | None = None
    ) -> Output:
        """Read back what the attempt left, capped; never raises, whatever a worker put there.

        ``upto``: only so many bytes of each file count; the rest is cut off on disk too.  ``cut``
        speaks of standard output and output files, ``notes`` of standard error and of outputs that
        were refused.
        """
        cut: list[str] = []
        notes: list[str] = []
        found: dict[str, bytes] = {}
        values = [s.encode(errors="surrogateescape") for s in masking.longest_first(self._secrets)]
        made = self._streams.pop(out, {})
        self._seen.pop(out, None)
        for name in dict.fromkeys((*STREAMS, *command.outputs)):
            if name in made and _identity(out / name) != made[name]:
                notes.append(f"{name} was replaced while the attempt ran; it is not read")
                continue
            if upto is not None:
                files.shorten(out, name, upto.get(name, 0))
            files.blot(out, name, values)
            taken = files.take_regular(out, name, STREAM_CAP)
            if not taken.refused:
                found[name] = masking.mask_bytes(taken.data, values)
            if taken.note:
                (notes if taken.refused or name == "stderr" else cut).append(taken.note)
        stdout, stderr = found.get("tail", b""), found.get("stderr", b"")
        outputs = {name: data for name, data in found.items() if name in command.outputs}
        return Output(exit, stdout, stderr, outputs, "; ".join(cut), tuple(notes))


def refuse_full(path: Path) -> None:
    """``DiskFullError`` where less than :data:`FLOOR` is free."""
    with files.named(RunDirError, "the free space cannot be looked at", path):
        disk = os.statvfs(path)
    free = disk.f_bavail * disk.f_frsize
    if free < FLOOR or (disk.f_files and disk.f_favail < FLOOR_FILES):  # btrfs counts no files
        raise DiskFullError(
            f"nothing is begun with {free >> 20} MiB and {disk.f_favail} files free",
            place=str(path),
            remedy=f"free {FLOOR >> 20} MiB on this file system, then --prun-resume",
        )


def _sizes(out: Path, command: Command) -> dict[str, int]:
    """Bytes by name of what an attempt writes."""
    sizes = {}
    for name in dict.fromkeys((*STREAMS, *command.outputs)):
        with suppress(OSError):
            sizes[name] = (out / name).lstat().st_size
    return sizes


def _made(path: Path) -> tuple[int, int]:
    """Make a stream's file before its process starts, so that another one in its place is noticed."""
    files.create(path, b"")
    return _identity(path)


def _identity(path: Path) -> tuple[int, int]:
    try:
        info = path.lstat()
    except OSError:
        return (0, 0)
    return (info.st_dev, info.st_ino)


def _ensure(path: Path) -> Path:
    """The directory, private and made if it is not there."""
    with suppress(FileExistsError):
        files.make_private(path)
    return path


def _below(name: str) -> PurePosixPath:
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or not path.parts:
        raise RunDirError(f"an executor wants the file {name!r}, which is not below its attempt")
    return path


def _json(value: Any) -> bytes:
    """Pure ASCII, so that lone surrogates of an answer survive as escapes."""
    return json.dumps(value, indent=1, allow_nan=False).encode() + b"\n"
