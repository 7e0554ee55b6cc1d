"""Random work in a copy: what is taken is what plain git takes of the same folder."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.copies.kit import Bench, applied, unit
from tests.repokit import git

NAMES = st.sampled_from(
    ["README", "src", "src/a.py", "src/b.py", "src/x/y", "new", "New", "src/b.py/z", "\u00e9 \\"]
)
TEXTS = st.sampled_from(["", "one\n", "one\ntwo\nthree\n", "a\r\nb", "\0\1", "hello\n"])
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("write"), NAMES, TEXTS),
        st.tuples(st.just("remove"), NAMES, st.just("")),
        st.tuples(st.just("move"), NAMES, NAMES),
        st.tuples(st.just("link"), NAMES, st.sampled_from(["README", "src/a.py", "nowhere"])),
        st.tuples(st.just("mode"), NAMES, st.just("")),
        st.tuples(st.just("commit"), NAMES, st.just("")),
    ),
    max_size=8,
)


def clear(path: Path) -> None:
    """Whatever stands there is gone."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def step(top: Path, what: str, name: str, more: str) -> None:
    """One thing that a worker does; what cannot be done is left."""
    path, to = top / name, top / more
    above = [p for p in path.parents if p.is_relative_to(top)]
    if any(p.is_symlink() or (p.exists() and not p.is_dir()) for p in above):
        return
    if what in ("write", "link"):
        clear(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(more) if what == "link" else path.write_bytes(more.encode())
    elif what == "remove":
        clear(path)
    elif what == "move" and path.exists() and not to.exists() and to.parent.is_dir():
        if not to.is_relative_to(path):
            path.rename(to)
    elif what == "mode" and path.is_file() and not path.is_symlink():
        path.chmod(path.stat().st_mode ^ 0o100)
    elif what == "commit":
        git(top, "add", "-A")
        git(top, "commit", "-q", "--allow-empty", "-m", "x")


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS)
def test_the_tree_is_that_of_plain_git(
    bench: Bench, tmp_path: Path, steps: list[tuple[str, str, str]]
) -> None:
    copy = bench.open()
    for what, name, more in steps:
        step(copy.path, what, name, more)
    patch = copy.harvest(unit())
    theirs = tmp_path / "theirs"
    clear(theirs)
    git(tmp_path, "clone", "-q", "--no-checkout", str(bench.repo), str(theirs))
    git(theirs, f"--work-tree={copy.path}", "add", "-A")
    assert git(theirs, "write-tree") == patch.tree
    assert {breach.code for breach in patch.breaches} <= {"escaping-link", "lost-commit"}
    with tempfile.TemporaryDirectory() as folder:
        text = bench.text() if patch.files else b""
        assert applied(Path(folder), bench.repo, patch, text) == patch.tree
    copy.close()
