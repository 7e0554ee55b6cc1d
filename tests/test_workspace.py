"""The reviewed tree on real repositories: what is in it, how it is read, and whether it stayed so."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from prun_review import contents, patterns, snapshot
from prun_review.errors import BriefError, TreeError
from prun_review.git import find
from prun_review.ports import Missing, Reader
from prun_review.publicnames import public_name
from prun_review.scratch import Scratch
from prun_review.shadow import Shadow
from prun_review.snapshot import Snapshot, stays_inside
from prun_review.workspace import ReviewedTree, take

from .repokit import cache_home, git, repository, write

AS_GIT_HAS_THEM = "taken as git has them and not from disk (by a filter, ident or working-tree-encoding)"


@pytest.fixture(autouse=True, scope="module")
def home() -> Iterator[Path]:
    with cache_home() as path, pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(path))
        yield path


def trees(home: Path) -> set[str]:
    """The private directories there are."""
    return {p.name for p in (home / "prun_review/trees").glob("*")}


class TestWhatIsTaken:
    def test_edits_staged_files_and_deletions_but_nothing_untracked_or_ignored(self, tmp_path: Path) -> None:
        repo = repository(tmp_path, {"a": "1\n", "b": "2\n", "gone": "3\n", ".gitignore": "*.log\n"})
        with take(repo) as tree:
            assert not tree.revision.dirty
            assert tree.revision.tree == git(repo, "rev-parse", "HEAD^{tree}")
            assert tree.revision.commit == git(repo, "rev-parse", "HEAD")
        write(repo, {"a": "edited\n", "staged": "s\n", "intended": "i\n", "untracked": "u\n", "x.log": "l\n"})
        git(repo, "add", "staged")
        git(repo, "add", "-N", "intended")
        write(repo, {"staged": "edited after\n"})
        (repo / "gone").unlink()
        with take(repo) as tree:
            assert tree.names == (".gitignore", "a", "b", "intended", "staged")
            assert [tree.read(n) for n in ("a", "staged", "intended")] == [
                ("edited",),
                ("edited after",),
                ("i",),
            ]
            assert tree.revision.dirty
            assert tree.revision.files == 5
        with take(repo, include_untracked=True) as tree:
            assert "untracked" in tree.names
            assert "x.log" not in tree.names

    def test_untracked_files_alone_do_not_make_it_dirty(self, tmp_path: Path) -> None:
        repo = repository(tmp_path)
        write(repo, {"new": "n\n"})
        with take(repo, include_untracked=True) as tree:
            assert "new" in tree.names
            assert not tree.revision.dirty

    @pytest.mark.parametrize(
        "home",
        [
            {".gitconfig": "[core]\n\texcludesFile = ~/ignored\n", "ignored": "*.key\n"},
            {".config/git/config": "[core]\n\texcludesFile = ~/ignored\n", "ignored": "*.key\n"},
            {".config/git/ignore": "*.key\n"},
        ],
        ids=["gitconfig", "xdg", "ignore"],
    )
    def test_what_the_user_ignores_everywhere_is_not_sent(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, home: dict[str, str]
    ) -> None:
        repo = repository(tmp_path / "repo")
        write(repo, {"secret.key": "k\n", "i.xml": "i\n", "new.py": "n\n", ".git/info/exclude": "i.xml\n"})
        write(tmp_path / "home", home)
        monkeypatch.setenv("HOME", str(tmp_path / "home"))
        monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
        with take(repo, include_untracked=True) as tree:
            assert tree.names == ("README", "new.py", "src/a.py")

    def test_exclusions_are_left_out_and_named(self, tmp_path: Path) -> None:
        content = {
            ".prun/x": "x",
            "sub/.prun/x": "x",
            "reports/r": "x",
            "sub/reports/r": "kept",
            "panels/probe_a.py": "x",
            "more/panels/probe_b.py": "x",
            "vendored/deep/v.py": "x",
            "a.min.js": "x",
            "a.py": "x",
        }
        repo = repository(tmp_path, content)
        with take(
            repo, exclude=["vendored", "*.min.js"], panels=["panels", repo / "more/panels", "/else"]
        ) as tree:
            assert tree.names == ("a.py", "sub/reports/r")
            assert tree.revision.excluded == (
                ".prun/",
                "reports/",
                "panels/",
                "more/panels/",
                "vendored",
                "*.min.js",
            )
            assert tree.revision.notes == (
                "7 left out (excluded): .prun/x, a.min.js, more/panels/probe_b.py, panels/probe_a.py, "
                "reports/r and 2 more",
            )
            assert not tree.revision.dirty

    def test_a_folder_of_a_larger_repository_is_the_root_of_the_tree(self, tmp_path: Path) -> None:
        repo = repository(tmp_path, {"app/src/a.py": "1\n", "app/panels/p.py": "p\n", "other/b.py": "2\n"})
        write(repo, {"other/b.py": "edited\n"})
        with take(repo / "app", panels=["panels"]) as tree:
            assert tree.names == ("src/a.py",)
            assert not tree.revision.dirty, "an edit outside the folder is none of this tree's"
            assert tree.expand(["src"]) == ("src/a.py",)
        with pytest.raises(TreeError, match="nothing to review"):
            take(repo / "app/panels", exclude=["**"])

    def test_an_edit_in_the_tick_of_the_last_add_is_looked_for(self, tmp_path: Path) -> None:
        """Git re-reads what is not older than the index file, so our copy must not look younger."""
        repo = repository(tmp_path / "repo", {"a": "old\n"})
        os.utime(repo / ".git/index", ns=(5, 1_600_000_000_000_000_007))
        shadow = Shadow(tmp_path / "shadow", find(repo), "sha1")
        assert (shadow.path / "index").stat().st_mtime_ns == 1_600_000_000_000_000_007

    def test_a_sparse_checkout_keeps_what_is_not_on_disk(self, tmp_path: Path) -> None:
        repo = repository(tmp_path, {"in/a": "1\n", "out/b": "2\n"})
        git(repo, "sparse-checkout", "set", "in")
        assert not (repo / "out").exists()
        with take(repo) as tree:
            assert tree.read("out/b") == ("2",)
            assert not tree.revision.dirty
            assert tree.revision.notes == ("1 not on disk (sparse checkout), taken as git has them: out/b",)

    @pytest.mark.parametrize("mark", ["--assume-unchanged", "--skip-worktree"])
    def test_no_mark_of_the_index_hides_an_edit(self, tmp_path: Path, mark: str) -> None:
        repo = repository(tmp_path, {"a": "old\n", "gone": "x\n"})
        git(repo, "update-index", mark, "a")
        write(repo, {"a": "edited\n"})
        (repo / "gone").unlink()
        with take(repo) as tree:
            assert tree.read("a") == ("edited",)
            assert tree.names == ("a",)
            assert tree.revision.dirty

    @pytest.mark.parametrize(
        ("attribute", "text"),
        [("working-tree-encoding=UTF-16LE", "evil()\n\n"), ("ident", "$Id: evil() $\n")],
    )
    @pytest.mark.parametrize("where", [".gitattributes", ".git/info/attributes"])
    @pytest.mark.parametrize("committed", [True, False])
    def test_what_git_converts_is_taken_as_git_has_it_and_said_to_be(
        self, tmp_path: Path, attribute: str, text: str, where: str, committed: bool
    ) -> None:
        """The two forms differ as the author likes, and what is merged is git's."""
        repo = repository(tmp_path, {"a": "old\n"})
        write(repo, {where: f"a {attribute}\n", "a": text})
        if committed:
            git(repo, "add", "-A")
            git(repo, "commit", "-qm", "under the attribute")
            assert git(repo, "cat-file", "blob", "HEAD:a") != text.strip()
        held = subprocess.run(
            ["git", "cat-file", "blob", "HEAD:a"], cwd=repo, capture_output=True, check=True
        ).stdout.decode("utf-8", "replace")
        with take(repo) as tree:
            assert tree.read("a") == tuple(held.splitlines())
            assert any("not from disk" in note and note.endswith("a") for note in tree.revision.notes)
            assert tree.repository_changed() == ()

    def test_a_conflict_is_reviewed_as_it_lies_there(self, tmp_path: Path) -> None:
        repo = repository(tmp_path, {"a": "base\n"})
        git(repo, "checkout", "-q", "-b", "other")
        write(repo, {"a": "theirs\n"})
        git(repo, "commit", "-qam", "theirs")
        git(repo, "checkout", "-q", "-")
        write(repo, {"a": "ours\n"})
        git(repo, "commit", "-qam", "ours")
        git(repo, "merge", "other", check=False)
        with take(repo) as tree:
            lines = tree.read("a")
            assert isinstance(lines, tuple)
            assert lines[0].startswith("<<<<<<<")

    def test_edited_files_with_a_filter_are_taken_as_git_has_them(self, tmp_path: Path) -> None:
        repo = repository(
            tmp_path, {".gitattributes": "*.key filter=git-crypt\n", "a.key": "\0GITCRYPT", "b": "b\n"}
        )
        write(repo, {"a.key": "PLAIN SECRET", "b": "edited\n", "new.key": "PLAIN SECRET"})
        with take(repo, include_untracked=True) as tree, tree.materialise() as shot:
            assert (shot.path / "a.key").read_bytes() == b"\0GITCRYPT"
            assert tree.read("b") == ("edited",)
            assert "new.key" not in tree.names
            assert tree.revision.notes == (
                "1 left out (untracked, and its form on disk is not the one that git stores): new.key",
                f"1 {AS_GIT_HAS_THEM}: a.key",
            )

    @pytest.mark.parametrize(
        ("attributes", "committed", "on_disk"),
        [
            (b"*.py ident\n", b'V = "$Id:";evil();"$"\n', b"$Id: "),
            (b"*.py working-tree-encoding=UTF-16\n", b"evil()\n", "e".encode("utf-16-le")),
            (b"[attr]m ident\n*.py m\n", b'V = "$Id:";evil();"$"\n', b"$Id: "),
            # what they say is not to be read on disk, and an ordinary checkout went by it
            (
                b"*.py ident\n.gitattributes working-tree-encoding=UTF-16\n",
                b'V = "$Id:";evil();"$"\n',
                b"$Id: ",
            ),
        ],
        ids=["ident", "encoding", "macro", "hidden"],
    )
    def test_what_a_checkout_converts_is_taken_as_committed(
        self, tmp_path: Path, attributes: bytes, committed: bytes, on_disk: bytes
    ) -> None:
        source = repository(tmp_path / "source", {"README": "r\n"})
        names = {"a.py": committed, ".gitattributes": attributes}
        for name, content in names.items():
            sha = git(source, "hash-object", "-w", "--no-filters", "--stdin", stdin=content)
            git(source, "update-index", "--add", "--cacheinfo", f"100644,{sha},{name}")
        git(source, "commit", "-q", "-m", "hidden")
        git(tmp_path, "clone", "-q", str(source), "clone")
        repo = tmp_path / "clone"
        assert on_disk in (repo / "a.py").read_bytes()
        with take(repo, exclude=[".gitattributes"]) as tree, tree.materialise() as shot:
            assert (shot.path / "a.py").read_bytes() == committed
            assert not tree.revision.dirty
            assert f"1 {AS_GIT_HAS_THEM}: a.py" in tree.revision.notes
            assert tree.repository_changed() == ()

    def test_an_edit_that_a_commit_would_convert_is_told_until_it_is_staged(self, tmp_path: Path) -> None:
        repo = repository(tmp_path, {"a.c": "/* $Id$ */\n", "b.c": "b\n"})
        write(repo, {".git/info/attributes": "*.c ident\n", "a.c": "/* $Id$ */\nint edited;\n"})
        write(repo, {"new.c": "n\n"})
        with take(repo, include_untracked=True) as tree:
            assert tree.read("a.c") == ("/* $Id$ */",)
            assert tree.names == ("a.c", "b.c")
            assert tree.revision.notes == (
                "1 left out (untracked, and its form on disk is not the one that git stores): new.c",
                f"1 {AS_GIT_HAS_THEM}: a.c",
            )
        git(repo, "add", "a.c")
        with take(repo) as tree:
            assert tree.read("a.c") == ("/* $Id$ */", "int edited;")
            assert tree.revision.notes == ()

    def test_submodules_and_nested_repositories_are_named_not_taken(self, tmp_path: Path) -> None:
        repo = repository(tmp_path / "repo")
        inner = repository(tmp_path / "inner", {"x": "x\n"})
        git(repo, "submodule", "--quiet", "add", str(inner), "sub")
        repository(repo / "nested", {"y": "y\n"})
        with take(repo, include_untracked=True) as tree:
            assert not [n for n in tree.names if n.startswith(("sub", "nested"))]
            assert tree.revision.notes == (
                "1 left out (a repository of its own): nested",
                "1 left out (a submodule): sub",
            )
            assert tree.read("sub") == Missing("left out of the reviewed tree (a submodule)")

    def test_a_blob_that_is_not_here_is_named(self, tmp_path: Path) -> None:
        repo = repository(tmp_path, {"a": "1\n", "b": "2\n"})
        blob = git(repo, "rev-parse", "HEAD:b")
        (repo / ".git/objects" / blob[:2] / blob[2:]).unlink()
        git(repo, "update-index", "--skip-worktree", "b")  # as a sparse partial clone has it
        (repo / "b").unlink()
        with take(repo) as tree, tree.materialise() as shot:
            assert tree.names == ("a",)
            assert tree.revision.notes == ("1 left out (its content is not here (partial clone)): b",)
            assert tree.changed(shot) == ()

    def test_odd_names(self, tmp_path: Path) -> None:
        names = [b"caf\xe9.py", b"new\nline", "naïve ü.py".encode(), b"back\\slash", b" :x*[?]", b"caf%E9.py"]
        repo = repository(tmp_path, {})
        for name in names:
            Path(os.fsdecode(os.path.join(os.fsencode(repo), name))).write_text("x\n")
        git(repo, "add", "-A")
        expected = (" :x*[?]", "back%5Cslash", "caf%E9.py", "caf%E9.py~", "naïve ü.py", "new%0Aline")
        with take(repo) as tree, tree.materialise() as shot:
            assert tree.names == expected
            assert all(tree.read(n) == ("x",) for n in tree.names)
            assert sorted(p.name for p in shot.path.iterdir()) == sorted(expected)
            assert "3 with names that cannot be printed" in tree.revision.notes[-1]
            assert tree.changed(shot) == ()

    def test_names_that_become_too_long_are_shortened(self, tmp_path: Path) -> None:
        deep = "/".join("\n" * 80 for _ in range(20)) + "/deep.py"
        long = {"\n" * 200 + ".py": "2\n", "\n" * 201 + ".py": "3\n", deep: "4\n", "é" * 127: "5\n"}
        repo = repository(tmp_path, {"a": "1\n", **long})
        with take(repo) as tree, tree.materialise() as shot:
            assert {tree.read(name) for name in tree.names} == {(str(n),) for n in range(1, 6)}
            assert "é" * 127 in tree.names
            assert sum(name.endswith(".py") for name in tree.names) == 3
            assert tree.revision.notes[0].startswith("3 with names that cannot be printed or are too long")
            assert len([p for p in shot.path.rglob("*") if p.is_file()]) == 5
            assert tree.changed(shot) == ()

    @given(st.binary())
    def test_a_public_name_prints_and_plain_ones_stay(self, raw: bytes) -> None:
        name = public_name(raw)
        assert name.isprintable()
        assert name.encode().decode() == name
        assert "\\" not in name
        if raw.isalnum():
            assert name.encode() == raw


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory, home: Path) -> Iterator[ReviewedTree]:
    content: dict[str, str | bytes] = {
        "src/auth/login.py": "def login():\r\n    pass\n",
        "src/auth/deep/util.py": "x = 1",
        "src/app.py": "\ufeffimport os\n\x0c\n\u2028\n",
        "app/[id]/page.tsx": "export\n",
        "empty": "",
        "logo.png": b"\x89PNG\0\0",
        "latin": b"caf\xe9\n",
        "big": b"x\n" * (contents.READ_CAP // 2 + 1),
    }
    repo = repository(tmp_path_factory.mktemp("reading"), content)
    (repo / "link").symlink_to("src/app.py")
    git(repo, "add", "-A")
    with take(repo, exclude=["latin2"]) as taken:
        yield taken


class TestReading:
    @pytest.mark.parametrize(
        ("name", "lines"),
        [
            ("src/auth/login.py", ("def login():", "    pass")),
            ("src/auth/deep/util.py", ("x = 1",)),
            ("src/app.py", ("import os", "\x0c", "\u2028")),
            ("empty", ()),
            ("latin", ("caf\ufffd",)),
        ],
    )
    def test_lines_end_at_line_feeds_only(
        self, tree: ReviewedTree, name: str, lines: tuple[str, ...]
    ) -> None:
        read: Reader = tree.read
        assert read(name) == lines

    @pytest.mark.parametrize(
        ("name", "why"),
        [
            ("logo.png", "a binary file"),
            ("big", f"too large: {contents.READ_CAP + 2} bytes"),
            ("link", "a symbolic link"),
            ("src", "not in the reviewed tree"),
            ("../escape", "not in the reviewed tree"),
            ("/etc/passwd", "not in the reviewed tree"),
            ("\ud83d", "not in the reviewed tree"),
        ],
    )
    def test_what_cannot_be_read_says_why(self, tree: ReviewedTree, name: str, why: str) -> None:
        answer = tree.read(name)
        assert isinstance(answer, Missing)
        assert answer.why.startswith(why)

    def test_an_absent_file_names_the_nearest(self, tree: ReviewedTree) -> None:
        answer = tree.read("src/auth/logim.py")
        assert answer == Missing("not in the reviewed tree", "nearest: src/auth/login.py")


class TestExpand:
    @pytest.mark.parametrize(
        ("wanted", "found"),
        [
            ([], ()),
            (["src/**/*.py"], ("src/app.py", "src/auth/deep/util.py", "src/auth/login.py")),
            (["src/*.py"], ("src/app.py",)),
            (["src/auth"], ("src/auth/deep/util.py", "src/auth/login.py")),
            (["./src/auth/"], ("src/auth/deep/util.py", "src/auth/login.py")),
            (["*/auth/*"], ("src/auth/login.py",)),
            (["**/deep"], ("src/auth/deep/util.py",)),
            (["app/[id]/page.tsx"], ("app/[id]/page.tsx",)),
            (["app/[id]"], ("app/[id]/page.tsx",)),
            (["src/a[!z]p.py", "src/app.py"], ("src/app.py",)),
            (["**/l?gin.py"], ("src/auth/login.py",)),
        ],
    )
    def test_patterns(self, tree: ReviewedTree, wanted: list[str], found: tuple[str, ...]) -> None:
        assert tree.expand(wanted) == found

    @pytest.mark.parametrize(
        ("pattern", "message", "remedy"),
        [
            ("src/auth/logn.py", "'src/auth/logn.py' matches no file", "did you mean 'src/auth/login.py'?"),
            ("scr/auth", "matches no file", "did you mean 'src/auth'?"),
            ("link", "matches no file", ""),
            ("../other/*.py", "leaves the reviewed tree", "without '..'"),
            ("src/../../x", "leaves the reviewed tree", "without '..'"),
            ("/etc/passwd", "leaves the reviewed tree", "relative"),
            ("~/x", "leaves the reviewed tree", "relative"),
            ("", "names nothing", "'**'"),
            ("./", "names nothing", "'**'"),
            ("src/[z-a].py", "malformed", "[abc]"),
        ],
    )
    def test_a_pattern_that_names_nothing(
        self, tree: ReviewedTree, pattern: str, message: str, remedy: str
    ) -> None:
        with pytest.raises(BriefError) as caught:
            tree.expand(["src/app.py", pattern])
        assert message in caught.value.message
        assert remedy in caught.value.remedy

    def test_one_that_names_only_what_is_left_out_says_so(self, tmp_path: Path) -> None:
        repo = repository(tmp_path, {"a": "1\n", "panels/p.py": "2\n"})
        with (
            take(repo, panels=["panels"]) as tree,
            pytest.raises(BriefError, match=r"panels/p\.py exists but is left out"),
        ):
            tree.expand(["panels/*.py"])

    @example("[?--]", "a")
    @example("[a--]", "a")
    @given(st.text("a*?[]!-/."), st.text("a-]/"))
    def test_any_pattern_matches_or_is_refused_and_literal_names_match(self, pattern: str, name: str) -> None:
        try:
            matches = patterns.matcher([pattern])
        except BriefError:
            return
        assert matches(name) in (True, False)
        if not set(pattern) & set("*?[./"):
            assert matches(pattern)

    def test_many_stars_do_not_take_for_ever(self) -> None:
        assert not patterns.matcher(["*" * 60 + "b"])("a" * 200)


def test_content_hash_follows_names_modes_and_contents(tmp_path: Path) -> None:
    repo = repository(tmp_path, {"a": "1\n", "b": "2\n"})

    def hashes() -> tuple[str, str, str]:
        with take(repo) as tree:
            assert tree.content_hash(("b", "a", "a")) == tree.content_hash(("a", "b"))
            return tree.content_hash(("a",)), tree.content_hash(("b",)), tree.content_hash()

    first = hashes()
    assert hashes() == first
    write(repo, {"b": "3\n"})
    second = hashes()
    assert second[0] == first[0]
    assert second[1] != first[1]
    assert second[2] != first[2]
    (repo / "a").chmod(0o755)
    assert hashes()[0] != first[0]


class TestSnapshot:
    def test_files_as_they_are_in_the_tree_read_only_and_gone_afterwards(
        self, tmp_path: Path, home: Path
    ) -> None:
        others = trees(home)
        repo = repository(
            tmp_path, {"a": "1\r\n", "run": "#!/bin/sh\n", "d/e/f": b"\0\1", ".gitattributes": "* eol=crlf\n"}
        )
        (repo / "run").chmod(0o755)
        git(repo, "commit", "-qam", "mode")
        with take(repo) as tree:
            with tree.materialise() as shot:
                assert shot.path.is_relative_to(home)
                assert (shot.path / "d/e/f").read_bytes() == b"\0\1"
                assert (shot.path / ".gitattributes").read_bytes() == b"* eol=crlf\n"
                modes = {n: stat.S_IMODE((shot.path / n).stat().st_mode) for n in ("a", "run", "d/e", ".")}
                assert modes == {"a": 0o444, "run": 0o555, "d/e": 0o555, ".": 0o555}
                assert not (shot.path / ".git").exists()
            assert not shot.path.exists()
            assert trees(home) != others
        tree.close()
        assert trees(home) == others

    def test_it_appears_whole(self, tmp_path: Path) -> None:
        """While it is written there is only the other name, and a failure leaves nothing."""
        repo = repository(tmp_path, {f"f{i}": f"{i}\n" for i in range(5)})
        with take(repo) as tree:
            target = tree._scratch.path / "tree"
            seen: list[bool] = []

            def blobs(entries: object) -> list[bytes]:
                seen.append(target.exists())
                raise TreeError("the disk died")

            with pytest.raises(TreeError, match="the disk died"):
                snapshot.write(target, tree._shown.entries, blobs)
            assert seen == [False]
            assert not target.exists()
            with pytest.raises(TreeError, match="File exists"), tree.materialise():
                raise AssertionError("the half-made one is not taken for whole")
            with tree.materialise() as shot:
                assert len(list(shot.path.iterdir())) == 5

    @pytest.mark.parametrize(
        ("name", "target", "inside"),
        [
            ("l", b"a", True),
            ("d/l", b"../a", True),
            ("d/l", b"./.././a", True),
            ("d/l", b"..", True),
            ("l", b"..", False),
            ("l", b"../a", False),
            ("d/l", b"../../a", False),
            ("l", b"/etc/passwd", False),
            ("l", b"//etc", False),
            ("l", b"d/../../a", False),
            ("d/l", b"sub/../a", False),
            ("l", b"", False),
            ("l", b"a\0b", False),
        ],
    )
    def test_links_that_leave_the_tree(self, name: str, target: bytes, inside: bool) -> None:
        assert stays_inside(name, target) is inside

    @given(st.data())
    def test_no_set_of_accepted_links_leads_outside(self, data: st.DataObject) -> None:
        parts = st.sampled_from([b"..", b".", b"a", b"b", b"c"])
        names = st.sampled_from(["a", "b", "c", "d/a", "d/b", "d/e/c"])
        targets = st.lists(parts, min_size=1, max_size=5).map(b"/".join)
        links = data.draw(st.dictionaries(names, targets, max_size=6))
        made = {n: t for n, t in links.items() if stays_inside(n, t)}
        for name in made:
            assert _resolve(made, name) is not None

    def test_links_are_made_or_noted(self, tmp_path: Path) -> None:
        repo = repository(tmp_path / "repo", {"d/a": "1\n"})
        for name, target in (
            ("good", "d/a"),
            ("d/up", "../d"),
            ("abs", "/etc/passwd"),
            ("out", "../outside"),
        ):
            (repo / name).symlink_to(target)
        git(repo, "add", "-A")
        with take(repo) as tree, tree.materialise() as shot:
            assert tree.names == ("d/a",)
            assert (shot.path / "good").read_text() == "1\n"
            assert (shot.path / "d/up/a").read_text() == "1\n"
            assert not os.path.lexists(shot.path / "abs")
            assert shot.notes == ("abs: a link that leaves the tree", "out: a link that leaves the tree")
            assert tree.changed(shot) == ()


def _resolve(links: dict[str, bytes], name: str) -> str | None:
    """Where a path leads when all ``links`` are made; None when that is outside."""
    place: list[str] = []
    todo = name.split("/")
    for _ in range(200):
        if not todo:
            return "/".join(place)
        part, *todo = todo
        if part == "..":
            if not place:
                return None
            place.pop()
        elif part != ".":
            place.append(part)
            target = links.get("/".join(place))
            if target is not None:
                place.pop()
                todo = target.decode().split("/") + todo
    return ""  # a loop leads nowhere


def rewrite(path: Path, data: bytes) -> None:
    path.chmod(0o644)
    path.write_bytes(data)
    path.chmod(0o444)


def rewrite_and_back(path: Path) -> None:
    rewrite(path, b"x\n")
    rewrite(path, b"1\n")


def replace_by(make: Callable[[Path], object]) -> Callable[[Path], None]:
    def change(root: Path) -> None:
        (root / "a").unlink()
        make(root / "a")

    return change


def retarget(root: Path) -> None:
    (root / "l").unlink()
    (root / "l").symlink_to("d")


def move_away(root: Path) -> None:
    root.rename(root.with_name("moved"))


CHANGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "content": (
        lambda p: rewrite(p / "a", b"evil\n"),
        "content changed in the snapshot of the reviewed tree: a",
    ),
    "and back": (lambda p: rewrite_and_back(p / "a"), "rewritten with the same content"),
    "mode": (lambda p: (p / "a").chmod(0o755), "mode changed"),
    "removed": (lambda p: (p / "a").unlink(), "removed in the snapshot of the reviewed tree: a"),
    "added": (
        lambda p: write(p, {"CLAUDE.md": "x"}),
        "added in the snapshot of the reviewed tree: CLAUDE.md",
    ),
    "folder": (lambda p: (p / "new").mkdir(), "added in the snapshot of the reviewed tree: new"),
    "nested": (lambda p: (p / "d/.codex").mkdir(), "added in the snapshot of the reviewed tree: d/.codex"),
    "link": (replace_by(lambda p: p.symlink_to("/etc/passwd")), "replaced"),
    "fifo": (replace_by(os.mkfifo), "replaced"),
    "other link": (retarget, "content changed"),
    "config": (lambda p: write(p, {".codex/config": "x"}), "added"),
    "gone": (move_away, "cannot be read"),
}


@pytest.mark.parametrize(("change", "text"), CHANGES.values(), ids=CHANGES)
def test_a_touched_snapshot_is_told(tmp_path: Path, change: Callable[[Path], object], text: str) -> None:
    repo = repository(tmp_path, {"a": "1\n", "d/b": "2\n"})
    (repo / "l").symlink_to("a")
    git(repo, "add", "-A")
    with take(repo) as tree, tree.materialise() as shot:
        shot.path.chmod(0o755)
        change(shot.path)
        reasons = tree.changed(shot)
        assert [r.code for r in reasons] == ["snapshot-changed"]
        assert reasons[0].outcome == "INCOMPLETE"
        assert text in reasons[0].text


def test_empty_directories_that_codex_leaves_are_no_change_and_stay_while_it_works(tmp_path: Path) -> None:
    repo = repository(tmp_path, {"a": "1\n", ".agents/kept": "2\n"})
    with take(repo) as tree, tree.materialise() as shot:
        shot.path.chmod(0o755)
        for name in (".codex", ".aws", ".git"):
            (shot.path / name).mkdir()
        assert tree.changed(shot) == ()
        assert sorted(p.name for p in shot.path.iterdir()) == [".agents", ".aws", ".codex", ".git", "a"]
        (shot.path / ".codex/hooks.json").touch()
        assert "added" in tree.changed(shot)[0].text


def test_many_changes_are_counted(tmp_path: Path) -> None:
    repo = repository(tmp_path, {f"f{i}": "1\n" for i in range(8)})
    with take(repo) as tree, tree.materialise() as shot:
        for i in range(8):
            rewrite(shot.path / f"f{i}", b"evil\n")
        [reason] = tree.changed(shot)
        assert reason.text.endswith(": f0, f1, f2, f3, f4 and 3 more")


def test_an_edit_of_the_work_tree_is_a_remark_and_a_commit_is_not(tmp_path: Path) -> None:
    repo = repository(tmp_path)
    with take(repo) as tree:
        assert tree.repository_changed() == ()
        write(repo, {"README": "edited\n"})
        [remark] = tree.repository_changed()
        assert (remark.code, remark.outcome) == ("worktree-changed", "PASS")
        git(repo, "commit", "-qam", "meanwhile")
        reasons = tree.repository_changed()
        assert [r.outcome for r in reasons] == ["INCOMPLETE", "PASS"]
        (repo / ".git").rename(repo / "away")
        [reason] = tree.repository_changed()
        assert (reason.code, reason.outcome) == ("repository-changed", "INCOMPLETE")


class TestPlace:
    """Where the private directory lies, and that none is left behind."""

    @pytest.mark.parametrize("cache", ["", "relative", "/tmp/cache", "/proc/nowhere"])
    def test_an_unfit_cache_is_passed_over(
        self, cache: str, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("XDG_CACHE_HOME", cache)
        monkeypatch.setenv("HOME", str(home))
        scratch = Scratch(tmp_path)
        assert scratch.path.parent == home / ".cache/prun_review/trees"
        assert stat.S_IMODE(scratch.path.stat().st_mode) == 0o700
        scratch.close()

    def test_a_home_under_tmp_or_none_leads_to_var_tmp(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.delenv("XDG_CACHE_HOME")
        for value in (str(tmp_path), "/nonexistent/home", ""):
            monkeypatch.setenv("HOME", value)
            if value.startswith("/nonexistent") and os.geteuid() == 0:
                continue  # root can make it
            scratch = Scratch(tmp_path / "repo")
            assert scratch.path.parent == Path(f"/var/tmp/prun_review-{os.geteuid()}-trees")
            scratch.close()

    def test_never_inside_the_repository(self, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        repo = repository(home / "repo")
        monkeypatch.setenv("XDG_CACHE_HOME", str(repo / "cache"))
        monkeypatch.setenv("HOME", str(home))
        with take(repo / "src") as tree, tree.materialise() as shot:
            assert not shot.path.is_relative_to(repo)

    def test_no_fit_place_is_an_error(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("XDG_CACHE_HOME", "/var/tmp/x")
        monkeypatch.delenv("HOME", raising=False)
        with pytest.raises(TreeError, match="set XDG_CACHE_HOME"):
            Scratch(Path("/var/tmp"))

    def test_what_a_killed_run_left_is_swept_and_a_living_one_is_not(
        self, tmp_path: Path, home: Path
    ) -> None:
        repo = repository(tmp_path)
        script = (
            "import sys, time; from pathlib import Path; from prun_review.workspace import take\n"
            f"tree = take(Path({str(repo)!r})); held = tree.materialise(); shot = held.__enter__()\n"
            "print(shot.path, flush=True); time.sleep(60)"
        )
        env = {**os.environ, "XDG_CACHE_HOME": str(home)}
        with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, env=env) as child:
            assert child.stdout is not None
            left = Path(os.fsdecode(child.stdout.readline()).strip())
            try:
                take(repo).close()
                assert left.is_dir()
            finally:
                child.kill()
        assert left.is_dir()
        take(repo).close()
        assert not left.parent.exists()


def test_a_failed_take_leaves_nothing_behind(tmp_path: Path, home: Path) -> None:
    others = trees(home)
    (tmp_path / "repo").mkdir()
    git(tmp_path / "repo", "init", "-q")
    with pytest.raises(TreeError):
        take(tmp_path / "repo")
    assert trees(home) == others


def test_a_stamp_that_is_equal_is_not_read_again(tmp_path: Path) -> None:
    """The check of 20,000 untouched files must not read 300 MB; a stale stamp makes it read."""
    repo = repository(tmp_path, {"a": "1\n"})
    with take(repo) as tree, tree.materialise() as shot:
        lying = {"a": replace(shot.entries["a"], sha="0" * 40)}
        assert tree.changed(Snapshot(shot.path, (), lying, shot.stamps)) == ()
        [reason] = tree.changed(Snapshot(shot.path, (), lying, {"a": (0,) * 6}))
        assert "replaced" in reason.text
