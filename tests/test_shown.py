"""What reviewers see of a tree: what is withheld under one name is seen under none."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from prun_review import workspace
from prun_review.redaction import Masks, UnsearchedError
from prun_review.workspace import ReviewedTree
from tests import repokit
from tests.repokit import git

NEVER = ("**/.env", "**/*.pem")
KEY = "AKIA" + "Q7RT5DKE2ZX4WMPB"
CANARY = "canary-of-a-withheld-file"
HIDDEN = "".join(f"{CANARY} line {n}\n" for n in range(20))
EDITED = HIDDEN.replace("line 3\n", "line three\n") + "one more\n"
OTHER = "".join(f"nothing of this is like that, {n * n}\n" for n in range(20))


@pytest.fixture(autouse=True)
def _cache(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with repokit.cache_home() as path:
        monkeypatch.setenv("XDG_CACHE_HOME", str(path))
        yield


def commit(repo: Path, content: dict[str, str | None]) -> None:
    for name, text in content.items():
        if text is None:
            (repo / name).unlink()
        else:
            repokit.write(repo, {name: text})
    git(repo, "add", "-A")
    git(repo, "commit", "-q", "--allow-empty", "-m", "next")


def take(repo: Path, **options: object) -> ReviewedTree:
    return workspace.take(repo, **{"base": "main", "never": NEVER, "redact": Masks(), **options})  # type: ignore[arg-type]


def seen(tree: ReviewedTree) -> str:
    """Every name and every text that reviewers could open, and all that a prompt tells of the change."""
    told = []
    with tree.materialise() as shot:
        for top in (shot.path, shot.beside):
            for place in sorted(top.rglob("*")) if top else ():
                told.append(str(place.relative_to(top)))  # type: ignore[arg-type]
                if place.is_symlink():
                    told.append(os.readlink(place))
                elif place.is_file():
                    told.append(place.read_bytes().decode("latin-1"))
    told += [tree.slice_text([entry.path]) + entry.path for entry in tree.listing]
    return "\n".join([*told, *tree.names, *tree.base_names])


def kinds(tree: ReviewedTree) -> dict[str, str]:
    return {file.path: file.kind for file in tree.change.records()} if tree.change else {}


@pytest.mark.parametrize(
    ("old", "new", "withheld"),
    [
        ({"conf/.env": HIDDEN}, {"conf/.env": None, "open.txt": HIDDEN}, {"conf/.env", "open.txt"}),
        ({"conf/.env": HIDDEN}, {"conf/.env": None, "open.txt": EDITED}, {"conf/.env", "open.txt"}),
        ({".env": HIDDEN}, {"copy.txt": HIDDEN}, {"copy.txt"}),
        ({".env": HIDDEN}, {"one.txt": EDITED, "two.txt": EDITED + "2\n"}, {"one.txt", "two.txt"}),
        ({".env": HIDDEN, "a.txt": OTHER}, {"a.txt": EDITED}, {"a.txt"}),
        ({"open.txt": HIDDEN}, {"open.txt": None, ".env": EDITED}, {"open.txt", ".env"}),
        ({}, {".env": HIDDEN, "open.txt": EDITED}, {".env", "open.txt"}),
        ({"open.txt": HIDDEN}, {".env": HIDDEN}, {".env"}),
        ({"a": OTHER}, {".ENV": HIDDEN, "tls/server.PEM": HIDDEN}, {".ENV", "tls/server.PEM"}),
    ],
)
def test_what_is_withheld_is_seen_under_no_other_name(
    tmp_path: Path, old: dict[str, str | None], new: dict[str, str | None], withheld: set[str]
) -> None:
    repo = repokit.repository(tmp_path / "repo", {"src/a.py": "x = 1\n"})
    commit(repo, old)
    git(repo, "checkout", "-q", "-b", "topic")
    commit(repo, {**new, "src/b.py": OTHER})
    with take(repo) as tree:
        assert {name for name, kind in kinds(tree).items() if kind == "withheld"} == withheld
        assert CANARY not in seen(tree)
        assert kinds(tree)["src/b.py"] == "text"
        assert all(name in tree.left_out for name in withheld & {*new} if new[name])


def test_an_empty_file_that_is_withheld_takes_no_other_with_it(tmp_path: Path) -> None:
    repo = repokit.repository(tmp_path / "repo", {".env": "", "src/__init__.py": ""})
    with take(repo, base="") as tree:
        assert tree.names == ("src/__init__.py",)


def test_the_target_of_a_link_is_masked(tmp_path: Path) -> None:
    repo = repokit.repository(tmp_path / "repo")
    git(repo, "checkout", "-q", "-b", "topic")
    (repo / "link").symlink_to(f"src/{KEY}")
    git(repo, "add", "-A")
    with take(repo) as tree:
        assert kinds(tree) == {"link": "link"}
        assert "src/" + "*" * len(KEY) in seen(tree)
        assert KEY not in seen(tree)
        with tree.materialise() as shot:
            assert not tree.changed(shot)


def test_a_name_that_holds_a_secret_is_told_to_nobody(tmp_path: Path) -> None:
    repo = repokit.repository(tmp_path / "repo", {f"old/{KEY}.md": "was\n", "src/a.py": "x = 1\n"})
    git(repo, "checkout", "-q", "-b", "topic")
    commit(repo, {f"docs/{KEY}.md": OTHER, f"old/{KEY}.md": None, f"{KEY}/b.py": "y = 1\n"})
    git(repo, "update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},sub{KEY}")
    git(repo, "commit", "-q", "-m", "submodule")
    with take(repo) as tree:
        found = kinds(tree)
        assert list(found.values()) == ["withheld"] * 4
        assert all(name.startswith("withheld-") for name in found)
        assert tree.change
        assert {f.note for f in tree.change.records()} == {
            "withheld: sent to nobody, since its name holds what looks like a secret"
        }
        assert KEY not in seen(tree)
        assert {spot.file for spot in tree.redacted} == set(found)
    with take(repo, redact=None) as tree:
        assert f"docs/{KEY}.md" in tree.names


def test_no_file_can_stand_for_one_whose_name_is_not_told(tmp_path: Path) -> None:
    repo = repokit.repository(tmp_path / "repo", {f"docs/{KEY}.md": "one\n", "a": "a\n"})
    with take(repo, base="") as tree:
        [neutral] = [name for name in tree.left_out if name.startswith("withheld-")]
    commit(repo, {neutral: "mine\n"})
    with take(repo, base="") as tree:
        assert tree.names == ("a",)
        assert len([name for name in tree.left_out if name.startswith("withheld-")]) == 2


@dataclass
class Slow(Masks):
    """A search that does not end in time where a file says so."""

    def __post_init__(self) -> None:
        super().__init__()

    def __call__(self, name: str, blob: str, content: bytes) -> bytes:
        if b"slow" in content:
            raise UnsearchedError(f"{name} could not be searched")
        return super().__call__(name, blob, content)


def test_what_could_not_be_searched_in_time_is_withheld_and_never_sent(tmp_path: Path) -> None:
    repo = repokit.repository(tmp_path / "repo", {"src/a.py": "x = 1\n", "old.py": "slow then\n"})
    git(repo, "checkout", "-q", "-b", "topic")
    commit(repo, {"bomb.py": "slow\n", "twin.py": "slow\n", "old.py": "fast now\n", "src/a.py": "x = 2\n"})
    with take(repo, redact=Slow()) as tree:
        assert kinds(tree) == {
            "bomb.py": "withheld",
            "twin.py": "withheld",
            "old.py": "withheld",
            "src/a.py": "text",
        }
        assert "slow" not in seen(tree)
        assert "could not be searched for secrets in time" in tree.left_out["bomb.py"]
        assert tree.change
        notes = {f.path: f.note for f in tree.change.records()}
        assert "could not be searched for secrets in time" in notes["old.py"]
