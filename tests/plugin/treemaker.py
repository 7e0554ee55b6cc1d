"""A stand-in reviewer for tests of endings: it makes a process tree, says so, and hangs or answers.

    python -I -S treemaker.py KIND TAG LOG THEN WAIT ANSWER

KIND names the tree.  Every process has TAG in its command line.  LOG gets one line per event:
``called``, ``pid N BIRTH`` for each process of the tree (BIRTH is the kernel's word), ``ready``.
THEN is ``hang`` or ``answer``; the kinds "leader exits first" and "reads to the end" answer in any
case, "fails" exits with 9 once LOG says ``ready`` WAIT times.
"""

import os
import signal
import subprocess
import sys
import time

kind, tag, log, then, wait, answer = sys.argv[1:7]
DEAF = "import signal, time; [signal.signal(n, signal.SIG_IGN) for n in (1, 2, 15)]; time.sleep(600)"
CHAIN = """
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
while True:
    if os.fork():
        os._exit(0)
    time.sleep(0.005)
"""


def say(words: str) -> None:
    """One event, in one write, so that those of other processes do not fall into it."""
    with open(log, "a", encoding="utf-8") as file:
        file.write(words + "\n")


def said(words: str) -> int:
    """How often it was said so far, by anybody."""
    with open(log, encoding="utf-8") as file:
        return file.read().splitlines().count(words)


def note(pid: int) -> None:
    """A process of the tree, so that it can be told from a later one with its number."""
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        say(f"pid {pid} {file.read().rpartition(')')[2].split()[19]}")


def python(code: str) -> list[str]:
    """The command line of a process of the tree."""
    return [sys.executable, "-I", "-S", "-c", code, tag]


def child(
    code: str, *, session: bool = False, output: bool = False, env: "dict[str, str] | None" = None
) -> None:
    """A process of the tree; ``output``: it keeps the reviewer's standard output open."""
    quiet = subprocess.DEVNULL
    process = subprocess.Popen(
        python(code), stdout=None if output else quiet, stderr=quiet, start_new_session=session, env=env
    )
    note(process.pid)


def daemon() -> None:
    """A process of the tree that has lost its parent.  It is noted before this returns, or the tree
    would be called ready before it stands."""
    noted, written = os.pipe()
    if os.fork():
        os.close(written)
        os.read(noted, 1)
        os.close(noted)
        return
    os.setsid()
    if os.fork():
        os._exit(0)
    note(os.getpid())
    os.write(written, b".")
    os.execv(sys.executable, python(DEAF))


def reply() -> None:
    """The whole answer, and the end of the leader."""
    print(answer, flush=True)
    say("ready")
    os._exit(0)


say("called")
note(os.getpid())
if kind == "plain":
    child("import time; time.sleep(600)", output=True)
elif kind == "ignores TERM":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    child(DEAF)
elif kind == "setsid grandchild":
    child(DEAF, session=True, output=True)
elif kind == "other environment":
    child(DEAF, session=True, env={})
elif kind == "double fork":
    daemon()
elif kind == "leader exits first":
    child(DEAF, session=True, output=True)
    reply()
elif kind == "fork storm":
    child(CHAIN)
elif kind == "closes its streams":
    for number in range(3):
        os.close(number)
elif kind == "reads to the end":
    sys.stdin.read()
    reply()
elif kind == "fails":
    while said("ready") < int(wait):
        time.sleep(0.02)
    say("ready")
    os._exit(9)
if then == "answer" and kind != "closes its streams":
    reply()
say("ready")
if kind == "stops itself":
    os.kill(os.getpid(), signal.SIGSTOP)
while True:
    time.sleep(600)
