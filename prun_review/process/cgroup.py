"""cgroup v2: a second net under each process tree, where the system lets us spread one.

A zygote makes a *nest* below the cgroup it was started in, and each shim a *cell* in it, into which
its worker is born.  ``cgroup.kill`` then ends a cell at once, fork storms included, and what stands
in a cell is found although its shim and its zygote were SIGKILLed and it emptied its environment:
the harness ends it, or, when that was killed as well, the next start.

It is only ever a help: it knows KILL alone, so TERM has gone before, and where a step is refused (no
cgroup v2, not delegated, read-only) the answer is an empty path and everybody does without.  A
worker with the same rights as ours can move out of its cell.  The zygote loads this module.
"""

from __future__ import annotations

import json
import os
import time

NAME = ("prun_review-", 12, ".nest")
"""How a nest is called: hexadecimal digits between two words, so that no other cgroup is taken for
one and ended."""
SETTLING = 0.05
"""Seconds that a cgroup may stay busy after its last process was collected."""


def home() -> str:
    """The directory of the cgroup that this process is in; empty where there is no cgroup v2."""
    try:
        with open("/proc/self/mountinfo") as mounts, open("/proc/self/cgroup") as own:
            return locate(mounts.read(), own.read())
    except OSError:
        return ""


def locate(mounts: str, own: str) -> str:
    """The same from the texts of ``/proc/self/mountinfo`` and ``/proc/self/cgroup``."""
    place = next((line[3:] for line in own.splitlines() if line.startswith("0::/")), "/..")
    if place.startswith("/.."):  # none, or one above what is mounted here
        return ""
    place = place.rstrip("/")
    for line in mounts.splitlines():
        left, _, right = line.partition(" - ")
        if right.startswith("cgroup2 "):
            root, point = (_unescaped(field).rstrip("/") for field in left.split(" ")[3:5])
            if place == root or place.startswith(root + "/"):
                return point + place[len(root) :]
    return ""


def _unescaped(field: str) -> str:
    """mountinfo writes white space and backslashes of a path as octal numbers."""
    for number, character in (("040", " "), ("011", "\t"), ("012", "\n"), ("134", "\\")):
        field = field.replace("\\" + number, character)
    return field


class Nest:
    """The cgroup of one zygote, locked for as long as the zygote or one of its shims lives."""

    __slots__ = ("_quoted", "lock", "path")

    def __init__(self, path: str, lock: int) -> None:
        self.path = path
        """Empty where there is none."""
        self.lock = lock
        """Descriptor; -1 where there is none."""
        self._quoted = json.dumps(path)[:-1].encode()

    def told(self, number: int) -> bytes:
        """The path of a cell as JSON; made up here, because each shim that used json's encoder would
        have 80 KiB more of its own."""
        return self._quoted + b'/%d"' % number

    def cell(self, number: int) -> str:
        """The path of a cell, whether it is there or not; empty where there is no nest."""
        return self.path and f"{self.path}/{number}"

    def enter(self, number: int) -> str:
        """Make a cell and move this process into it; its path, or empty."""
        cell = self.cell(number)
        if not cell or not _made(cell):
            return ""
        if _written(f"{cell}/cgroup.procs", b"0"):
            return cell
        remove(cell)
        return ""

    def try_out(self) -> bool:
        """Whether this process can go into a cell and come back."""
        cell = self.enter(0)
        back = bool(leave(cell))
        return remove(cell) and back

    def give_up(self) -> None:
        """Remove the nest, if nobody is in it, and let go of its lock."""
        remove(self.path)
        if self.lock >= 0:
            os.close(self.lock)


NONE = Nest("", -1)


def leave(cell: str) -> str:
    """Move this process out of its cell, to where its zygote is.  The cell, or empty where it was
    not let out: it must not be killed then, and goes on without."""
    if not cell:
        return ""
    above = os.path.dirname(os.path.dirname(cell))
    return cell if _written(f"{above}/cgroup.procs", b"0") else ""


def make_nest(place: str) -> Nest:
    """A nest in the cgroup directory ``place``, tried out; :data:`NONE` where that is refused."""
    begin, digits, end = NAME
    path = f"{place}/{begin}{os.urandom(digits // 2).hex()}{end}"
    if not place or not _made(path):
        return NONE
    nest = Nest(path, _locked(path))
    if nest.lock >= 0 and os.path.exists(f"{path}/cgroup.kill") and nest.try_out():
        return nest
    nest.give_up()
    return NONE


def deserted(place: str) -> list[Nest]:
    """Nests in ``place`` whose zygote and shims are all gone, but not all of their workers: locked
    for the caller, who is to end them.  Empty ones are removed on the way."""
    found = []
    for name in _names(place):
        path = f"{place}/{name}"
        lock = _locked(path) if _is_nest(name) else -1
        if lock < 0:
            continue
        if remove(path):
            os.close(lock)
        else:
            found.append(Nest(path, lock))
    return found


def members(path: str) -> list[int]:
    """The living processes in a cgroup and below it; empty when it is gone."""
    if not path:
        return []
    found = []
    for folder, _, _ in os.walk(path):
        try:
            with open(f"{folder}/cgroup.procs") as file:
                found += [int(line) for line in file]
        except OSError:
            continue  # removed meanwhile
    return [pid for pid in found if pid]  # 0 stands for a process outside our pid namespace


def kill(path: str) -> None:
    """KILL everything in a cgroup and below it, at once; nothing where there is no such cgroup."""
    if path:
        _written(f"{path}/cgroup.kill", b"1")


def remove(path: str) -> bool:
    """Remove a cgroup and those that a worker made below it; False when it is still in use."""
    deadline = time.monotonic() + SETTLING
    while path and os.path.isdir(path):
        for folder, _, _ in os.walk(path, topdown=False):
            try:
                os.rmdir(folder)
            except OSError:
                continue  # in use, or gone
        if members(path) or time.monotonic() >= deadline:
            return not os.path.isdir(path)
        time.sleep(0.001)
    return True


def _is_nest(name: str) -> bool:
    begin, digits, end = NAME
    middle = name.removeprefix(begin).removesuffix(end)
    return name == begin + middle + end and len(middle) == digits and set(middle) <= set("0123456789abcdef")


def _names(place: str) -> list[str]:
    try:
        return os.listdir(place) if place else []
    except OSError:
        return []


def _made(path: str) -> bool:
    try:
        os.mkdir(path)
    except OSError:
        return False
    return True


def _locked(path: str) -> int:
    """A descriptor that holds the lock of a nest; -1 when somebody has it, or removed the nest."""
    import fcntl  # not everywhere, and the harness imports this module on every platform

    try:
        lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        return -1
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.stat(path)
    except OSError:
        os.close(lock)
        return -1
    return lock


def _written(path: str, data: bytes) -> bool:
    try:
        file = os.open(path, os.O_WRONLY)
    except OSError:
        return False
    try:
        os.write(file, data)
    except OSError:
        return False
    finally:
        os.close(file)
    return True
