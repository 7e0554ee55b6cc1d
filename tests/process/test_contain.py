"""A contained worker sees what its request names, and ends like any other; with real bubblewrap."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from prun_review.errors import LaunchError
from prun_review.model import Brief, Unit
from prun_review.ports import Command, Launch, Located, Request
from prun_review.process import contain
from prun_review.process.launch import ProcessLauncher
from tests import needing

from .trees import end_all, launch, new_tag, survivors, until


@pytest.fixture(scope="module", autouse=True)
def bubblewrap() -> None:
    needing.bubblewrap()


@pytest.fixture
def launcher() -> Iterator[ProcessLauncher]:
    with ProcessLauncher() as it:
        yield it


@pytest.fixture
def tag() -> Iterator[str]:
    it = new_tag()
    yield it
    end_all(it)


class Place:
    """Folders as a run has them, each with a file ``here``."""

    def __init__(self, root: Path) -> None:
        self.root = root
        for name in ("home", "tree", "beside", "run/own", "run/other", "state", "trusted"):
            (root / name).mkdir(parents=True)
            (root / name / "here").write_text(name)

    def request(self) -> Request:
        unit = Unit(id="u", slug="u", case="c", folder="f", executor="e", brief=Brief("p"))
        return Request(
            unit=unit,
            prompt="p",
            schema=None,
            tree=self.root / "tree",
            out=self.root / "run/own",
            state=self.root / "state",
            located=Located(("/bin/sh",), "PATH"),
            env={},
            beside=self.root / "beside",
            contained=True,
        )

    def launch(
        self,
        script: str,
        *,
        tag: str = "",
        env: Mapping[str, str] | None = None,
        readable: Sequence[Path] = (),
        writable: Sequence[Path] = (),
    ) -> Launch:
        """A shell script to be run contained."""
        plain = launch(self.root / "run/own", "/bin/sh", "-c", script, tag=tag)
        home = {"HOME": str(self.root / "home"), "PATH": "/usr/bin:/bin"}
        plain = replace(plain, env={**home, **(env or {})}, cwd=self.root / "tree")
        command = Command(
            plain.argv, plain.env, plain.cwd, readable=tuple(readable), writable=tuple(writable)
        )
        return contain.contained(self.request(), command, plain)

    def says(
        self,
        script: str,
        env: Mapping[str, str] | None = None,
        readable: Sequence[Path] = (),
        writable: Sequence[Path] = (),
    ) -> str:
        """What the script prints."""
        made = self.launch(script, env=env, readable=readable, writable=writable)
        done = subprocess.run(made.argv, env=dict(made.env), cwd=made.cwd, capture_output=True, timeout=30)
        return done.stdout.decode() + done.stderr.decode()


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path / "place")


def test_it_sees_what_the_request_names_and_no_more(place: Place) -> None:
    found = place.says(f"find {place.root} -name here | sort").split()
    assert found == [f"{place.root}/{name}/here" for name in ("beside", "run/own", "state", "tree")]
    assert set(place.says("ls -A /").split()) <= {
        *("bin", "dev", "etc", "lib", "lib32", "lib64", "libx32", "nix", "proc", "run", "sbin", "tmp", "usr"),
        place.root.parts[1],
    }
    assert place.says("find $HOME /var /root 2>/dev/null") == f"{place.root}/home\n"
    assert "shadow" not in place.says("ls -A /etc /etc/ssl").split()


def test_it_writes_its_own_folder_and_state_only(place: Place) -> None:
    folders = ("tree", "beside", "run/own", "state", "home")
    said = place.says("; ".join(f"echo x 2>/dev/null >{place.root}/{name}/new" for name in folders))
    there = [name for name in folders if (place.root / name / "new").exists()]
    assert there == ["run/own", "state"], said
    for name in ("tree", "run/own"):
        place.says(f"rm -f {place.root}/{name}/here")
    assert (place.root / "tree/here").exists()
    assert not (place.root / "run/own/here").exists()


def test_tmp_is_its_own(place: Place) -> None:
    name = f"/tmp/{new_tag()}"
    assert place.says(f"echo mine >{name}; cat {name}") == "mine\n"
    assert not Path(name).exists()


def test_it_sees_no_process_but_its_own(place: Place) -> None:
    environments = "cat /proc/[0-9]*/environ | tr '\\0' '\\n'"
    marks = os.environ.keys() & {"PYTEST_CURRENT_TEST"}
    assert marks, "this process has variables of its own"
    assert "PYTEST_CURRENT_TEST" not in place.says(environments)
    assert len(place.says("ls -d /proc/[0-9]*").split()) < 5


def test_root_inside_is_no_root_of_the_machine(place: Place) -> None:
    said = place.says("cat /proc/self/uid_map; chown 12345 $HOME; mknod $HOME/disk b 254 0")
    assert said.split()[2] == "1", "only one user is known inside"
    assert "chown: changing ownership" in said
    assert "mknod: " in said


def test_what_the_command_needs_beside_is_there(place: Place) -> None:
    login = place.root / "home" / "login"
    login.write_text("old")
    link = place.root / "state" / "link"
    link.symlink_to(login)
    said = place.says(
        f"cat {place.root}/trusted/here; echo new >{link}; ls $HOME",
        readable=[place.root / "trusted"],
        writable=[login],
    )
    assert said == "trustedlogin\n"
    assert login.read_text() == "new\n"
    place.says(f"echo x >{place.root}/trusted/here", readable=[place.root / "trusted"])
    assert (place.root / "trusted/here").read_text() == "trusted"


def test_a_program_behind_links_is_found(place: Place) -> None:
    real = place.root / "installed" / "program"
    real.parent.mkdir()
    real.write_text("#!/bin/sh\necho runs as $0\n")
    real.chmod(0o755)
    (place.root / "bin").mkdir()
    link = place.root / "bin" / "program"
    link.symlink_to("../installed/program")
    plain = launch(place.root / "run/own", str(link))
    command = Command(plain.argv, plain.env, plain.cwd)
    made = contain.contained(place.request(), command, plain)
    done = subprocess.run(made.argv, env=dict(made.env), capture_output=True, timeout=30)
    assert done.stdout.decode() == f"runs as {link}\n", done.stderr


def test_certificates_that_the_environment_names_are_there(place: Place) -> None:
    bundle = place.root / "trusted" / "here"
    assert place.says("cat $SSL_CERT_FILE", env={"SSL_CERT_FILE": str(bundle)}) == "trusted"


def test_an_interpreter_of_a_virtual_environment_runs(place: Place) -> None:
    plain = launch(
        place.root / "run/own", sys.executable, "-I", "-c", "import pytest; print(pytest.__name__)"
    )
    command = Command(plain.argv, plain.env, plain.cwd, readable=(Path(sys.prefix), Path(sys.base_prefix)))
    made = contain.contained(place.request(), command, plain)
    done = subprocess.run(made.argv, env={}, capture_output=True, timeout=30)
    assert done.stdout == b"pytest\n", done.stderr


def test_exit_status_and_streams_pass_through(place: Place, launcher: ProcessLauncher) -> None:
    made = place.launch("cat; echo err >&2; exit 7")
    made.stdin.write_bytes(b"asked")
    exit = launcher.start(made).wait()
    assert exit is not None
    assert (exit.code, exit.ended_by) == (7, "")
    assert made.stdout.read_bytes() == b"asked"
    assert made.stderr.read_bytes() == b"err\n"


def test_term_reaches_the_worker_and_what_it_had_written_stays(
    place: Place, launcher: ProcessLauncher, tag: str
) -> None:
    script = "trap 'echo bye; exit 0' TERM; echo answer; while :; do sleep 0.05; done"
    made = place.launch(script, tag=tag)
    process = launcher.start(made)
    until(lambda: made.stdout.exists() and b"answer" in made.stdout.read_bytes())
    process.stop("finished")
    exit = process.wait()
    assert exit is not None
    assert exit.ended_by == "finished"
    assert made.stdout.read_bytes() == b"answer\nbye\n"
    assert survivors(tag) == []


@pytest.mark.parametrize(
    "job",
    ["sleep 600", "setsid sleep 600", "setsid sh -c 'sleep 600 & sleep 600'"],
    ids=["job", "session", "tree"],
)
def test_what_a_worker_leaves_behind_is_ended(
    place: Place, launcher: ProcessLauncher, tag: str, job: str
) -> None:
    made = place.launch(f"{job} >/dev/null 2>&1 & echo done", tag=tag)
    exit = launcher.start(made).wait()
    assert exit is not None
    assert (exit.code, exit.ended_by) == (0, "")
    assert made.stdout.read_bytes() == b"done\n"
    assert survivors(tag) == []


@pytest.mark.parametrize("script", ["sleep 600", "trap '' TERM; while :; do sleep 0.05; done"])
def test_the_time_limit_ends_it(place: Place, launcher: ProcessLauncher, tag: str, script: str) -> None:
    made = replace(place.launch(script, tag=tag), timeout=0.3)
    exit = launcher.start(made).wait()
    assert exit is not None
    assert exit.ended_by == "timeout"
    assert survivors(tag) == []


def test_a_worker_that_ends_by_itself_is_not_said_to_have_left_anything(
    place: Place, launcher: ProcessLauncher
) -> None:
    notes = []
    for n in range(10):
        made = place.launch("exit 0")
        exit = launcher.start(replace(made, stdout=place.root / f"o{n}")).wait()
        notes.append(exit and exit.note)
    assert notes == [""] * 10


def test_without_bubblewrap(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contain, "PLACES", str(place.root / "tree"))
    assert "bubblewrap is not installed" in contain.unavailable.__wrapped__()
    with pytest.raises(LaunchError, match="bubblewrap is not installed"):
        place.launch("true")
    broken = place.root / "tree" / "bwrap"
    broken.write_text("#!/bin/sh\necho no permission here >&2; exit 1\n")
    broken.chmod(0o755)
    assert contain.unavailable.__wrapped__().endswith("no permission here")
