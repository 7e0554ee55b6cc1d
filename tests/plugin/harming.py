"""A stand-in reviewer that harms its surroundings where its prompt says ``first`` (``third`` where there is
a file FOLDER/late), and then answers.

    python harming.py FOLDER TREE

FOLDER/harm names what it does, and where: ``fill PLACE`` the disk to its last byte, ``crowd PLACE`` but
for 8 MiB, ``remove PLACE``, ``lock PLACE`` behind a read-only view, ``touch PLACE`` a file of the
snapshot TREE, ``branch PLACE`` the repository there, which the next call puts back; an empty file:
nothing.  Every call appends a line to FOLDER/calls.
"""

import json
import os
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

folder, tree = sys.argv[1:3]
prompt = sys.stdin.read()
word = "third" if os.path.exists(f"{folder}/late") else "first"
first = word in prompt
with open(f"{folder}/calls", "a", encoding="utf-8") as calls:
    calls.write(f"{'first' if first else 'other'}\n")
harm, _, place = Path(folder, "harm").read_text(encoding="utf-8").partition(" ")


def fill(disk: str, leave: int) -> None:
    """Take all but ``leave`` bytes of the disk."""
    room = os.statvfs(disk)
    fd = os.open(os.path.join(disk, "filler"), os.O_WRONLY | os.O_CREAT, 0o600)
    os.posix_fallocate(fd, 0, room.f_bavail * room.f_frsize - leave)  # at once, and none of it is written
    os.close(fd)


if first and harm == "fill":
    fill(place, 0)
elif first and harm == "crowd":
    fill(place, 8 << 20)
elif first and harm == "remove":
    with suppress(FileNotFoundError):  # another first reviewer was faster
        os.rename(place, f"{place}-removed")
        shutil.rmtree(f"{place}-removed")
elif first and harm == "lock":
    subprocess.run(["mount", "--bind", place, place], check=True)
    subprocess.run(["mount", "-o", "remount,bind,ro", place], check=True)
elif harm == "branch":
    subprocess.run(
        ["git", "-C", place, "branch", *([] if first else ["-D"]), "harm"], capture_output=True, check=False
    )
elif first and harm == "touch":
    path = Path(tree, place)
    path.chmod(0o644)
    path.write_text("# nothing to see here\n")
answer = {
    "conclusion": "Looked at the module.",
    "files": "src/app.py",
    "open_items": "none",
    "verification": "read line by line",
    "verdict": "approve",
    "examined": ["src/app.py"],
    "findings": [],
}
sys.stdout.write(json.dumps(answer))
