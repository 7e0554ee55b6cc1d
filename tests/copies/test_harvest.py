"""What is taken of what workers did: real scripts, real git."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from prun_review import harvest
from tests.copies import kit
from tests.copies.kit import COMMIT, EDIT, Bench, applied, content, unit, work
from tests.repokit import git, repository, write

WORKERS: list[tuple[str, str, dict[str, str], int]] = [
    # name, script, path -> status, commits
    ("nothing", ":", {}, 0),
    ("edit", EDIT, {"src/a.py": "modified"}, 0),
    ("the same again", "cat src/a.py > x; cat x > src/a.py; rm x; touch README", {}, 0),
    ("of the same size and time",
     "cp -p README t; echo HELLO > README; touch -r t README; mv t src/a.py",
     {"README": "modified", "src/a.py": "modified"}, 0),
    ("staged", f"{EDIT} git add -A; echo five >> src/a.py; echo n > new",
     {"src/a.py": "modified", "new": "added"}, 0),
    ("committed", f"{EDIT} {COMMIT} one; echo n > new; {COMMIT} two",
     {"src/a.py": "modified", "new": "added"}, 2),
    ("amended", f"{EDIT} {COMMIT} one; echo n > new; git add -A; git commit -q --amend -m x",
     {"src/a.py": "modified", "new": "added"}, 1),
    ("on a branch", f"git checkout -q -b mine; {EDIT} {COMMIT} one", {"src/a.py": "modified"}, 1),
    ("rebased",
     f"echo n > new; {COMMIT} one; git checkout -q -b side HEAD~1; {EDIT} {COMMIT} two; git rebase -q prun",
     {"src/a.py": "modified", "new": "added"}, 2),
    ("merged",
     f"git checkout -q -b side; {EDIT} {COMMIT} one; git checkout -q prun; echo n > new; {COMMIT} two;"
     "git merge -q -m m side", {"src/a.py": "modified", "new": "added"}, 3),
    ("renamed", "git mv src/b.py c.py; mv src/a.py src/d.py", {"c.py": "renamed", "src/d.py": "renamed"}, 0),
    ("other case", "mv README ReadMe", {"ReadMe": "renamed"}, 0),
    ("mode", "chmod +x src/a.py", {"src/a.py": "mode"}, 0),
    ("binary", r"printf '\0\1' > data.bin; printf '\0' > n.bin",
     {"data.bin": "modified", "n.bin": "added"}, 0),
    ("empty", ": > none; : > README", {"none": "added", "README": "modified"}, 0),
    ("link", "ln -s src/a.py link; rm README; ln -s src README", {"link": "added", "README": "type"}, 0),
    ("folder for a file", "rm README; mkdir README; echo x > README/x",
     {"README": "deleted", "README/x": "added"}, 0),
    ("file for a folder", "rm -r src; echo x > src",
     {"src": "added", "src/a.py": "deleted", "src/b.py": "deleted"}, 0),
    ("there and back", "mv src s; mkdir src; mv s/* src; rmdir s", {}, 0),
    ("not UTF-8", r"echo x > $(printf 'caf\351'); rm README", {"caf%E9": "added", "README": "deleted"}, 0),
    ("odd but possible", "echo x > ' a b\"c$'; echo x > é", {' a b"c$': "added", "é": "added"}, 0),
    ("stashed and back", f"{EDIT} git stash -q; git stash pop -q", {"src/a.py": "modified"}, 0),
    ("stale lock", f"{EDIT} : > .git/index.lock", {"src/a.py": "modified"}, 0),
    ("locked files", "echo n > new; chmod 000 new src/a.py; mkdir d; echo x > d/x; chmod 000 d",
     {"new": "added", "d/x": "added"}, 0),
    ("repacked", f"{EDIT} git gc -q", {"src/a.py": "modified"}, 0),
    ("ignored", "echo x > a.log; mkdir build; echo x > build/x", {}, 0),
    ("left by programs", "mkdir .claude .codex; echo x > .claude/x; : > .claude-task-complete", {}, 0),
]  # fmt: skip


@pytest.mark.parametrize(("name", "script", "files", "commits"), WORKERS, ids=[w[0] for w in WORKERS])
def test_what_a_worker_did_is_taken_whole(
    bench: Bench, tmp_path: Path, name: str, script: str, files: dict[str, str], commits: int
) -> None:
    patch = bench.work(script)
    assert {file.path: file.status for file in patch.files} == files
    assert patch.breaches == ()
    assert patch.commits == commits
    text = bench.text() if files else b""
    assert (patch.digest, patch.size) == (hashlib.sha256(text).hexdigest() if text else "", len(text))
    assert applied(tmp_path, bench.repo, patch, text) == patch.tree
    assert bench.vault.store_patch(bench.base, text) == patch.tree


GIT = "git-directory"
BREACHES: list[tuple[str, str, set[tuple[str, str]]]] = [
    ("git deleted", f"{EDIT} rm -rf .git", {(GIT, ".git")}),
    ("git is a link", "mv .git g; ln -s g .git", {(GIT, ".git"), ("nested-repository", "g")}),
    ("git is a file", "rm -rf .git; echo 'gitdir: /x' > .git", {(GIT, ".git")}),
    ("git made anew",
     "rm -rf .git; git init -q; git -c user.name=x -c user.email=x commit -q --allow-empty -m x",
     {(GIT, ".git/config"), ("lost-commit", "")}),
    ("config", "git config user.name x", {(GIT, ".git/config")}),
    ("hook", "mkdir .git/hooks; echo x > .git/hooks/pre-commit", {(GIT, ".git/hooks/pre-commit")}),
    ("attributes", "echo x >> .git/info/attributes", {(GIT, ".git/info/attributes")}),
    ("alternates", "echo /x > .git/objects/info/alternates", {(GIT, ".git/objects/info/alternates")}),
    ("odd HEAD", "echo 'ref: ../../x' > .git/HEAD", {(GIT, ".git/HEAD")}),
    ("remote", "git remote add o /x", {(GIT, ".git/config")}),
    ("nested", "git init -q inner; echo x > inner/x", {("nested-repository", "inner")}),
    ("nested by a file", "mkdir d; echo 'gitdir: /x' > d/.git", {("nested-repository", "d")}),
    ("link to passwd", "rm README; ln -s /etc/passwd README", {("escaping-link", "README")}),
    ("link out", "ln -s ../../x src/up; ln -s ../README src/in", {("escaping-link", "src/up")}),
    ("git in another case", "mkdir .Git; echo x > .Git/config", {("odd-name", ".Git/config")}),
    ("git as NTFS has it", "mkdir 'src/git~1'; echo x > 'src/git~1/config'",
     {("odd-name", "src/git~1/config")}),
    ("git as HFS has it", r"d=$(printf '.g\342\200\214it'); mkdir $d; echo x > $d/x",
     {("odd-name", ".g%E2%80%8Cit/x")}),
    ("git with a backslash", "echo x > '.git\\x'", {("odd-name", ".git%5Cx")}),
    ("link for gitmodules", "ln -s README .gitmodules", {("odd-name", ".gitmodules")}),
    ("line end in a name", "echo x > \"a\nb\"", {("odd-name", "a%0Ab")}),
    ("FIFO", "mkfifo pipe", {("odd-file", "pipe")}),
    ("committed and reset", f"{EDIT} {COMMIT} x; git reset -q --hard HEAD~1", {("lost-commit", "")}),
    ("committed elsewhere", f"git checkout -qb o; {EDIT} {COMMIT} x; git checkout -q prun",
     {("lost-commit", "")}),
    ("committed, checked out", f"{EDIT} {COMMIT} x; git checkout -q HEAD~1 -- .", {("lost-commit", "")}),
    ("committed, packed", f"{EDIT} {COMMIT} x; git gc -q; git reset -q --hard HEAD~1", {("lost-commit", "")}),
    ("gitmodules", "echo x > .gitmodules", {("submodule", ".gitmodules")}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "script", "breaches"), BREACHES, ids=[b[0] for b in BREACHES])
def test_what_a_worker_must_not_do_is_told(
    bench: Bench, name: str, script: str, breaches: set[tuple[str, str]]
) -> None:
    found = {(breach.code, breach.path) for breach in bench.work(script).breaches}
    assert found >= breaches
    assert {code for code, _ in found} == {code for code, _ in breaches}


def test_a_commit_that_was_taken_back_by_another_is_not_lost(bench: Bench) -> None:
    patch = bench.work(f"{EDIT} {COMMIT} x; git revert --no-edit HEAD >/dev/null")
    assert (patch.empty, patch.commits, patch.breaches) == (True, 2, ())


def test_the_content_of_what_a_link_leads_to_is_never_taken(bench: Bench) -> None:
    bench.work("rm README; ln -s /etc/passwd README")
    assert b"/etc/passwd" in bench.text()
    assert b"root:" not in bench.text()


def test_files_keep_their_bytes_whatever_attributes_say(tmp_path: Path) -> None:
    attributes = "* text=auto eol=crlf ident -diff filter=lfs export-ignore merge=union\n"
    repo = repository(tmp_path / "repo", {"a": "$Id$\nx\n", "crlf": "a\r\nb\r\n"})
    write(repo, {".gitattributes": attributes})
    git(repo, "add", ".gitattributes")
    git(repo, "commit", "-qm", "attributes")
    bench = kit.bench_of(repo, tmp_path)
    with bench.copies:
        copy = bench.open()
        assert {n: (copy.path / n).read_bytes() for n in ("a", "crlf")} == {
            "a": b"$Id$\nx\n",
            "crlf": b"a\r\nb\r\n",
        }
        assert git(copy.path, "status", "--short") == ""
        work(
            copy.path,
            r"printf 'c\r\n' >> crlf; printf 'lf\n' >> a; git add -A; git commit -qm x; git checkout -q .",
        )
        patch = copy.harvest(unit())
        found = content(bench.vault, patch.tree)
        assert found["crlf"][1] == b"a\r\nb\r\nc\r\n"
        assert found["a"][1] == b"$Id$\nx\nlf\n"
        assert not any(file.binary for file in patch.files)


# --- scope ---


@pytest.mark.parametrize(
    ("writes", "spares", "outside"),
    [
        ((), (), set()),
        (("src/**",), (), {"README", "new.txt"}),
        (("src/a.py", "new.txt"), (), {"README", "src/d.py", "src/b.py"}),
        ((), ("README",), {"README"}),
        (("**",), ("src",), {"src/a.py", "src/b.py", "src/d.py"}),
    ],
)
def test_the_scope(bench: Bench, writes: tuple[str, ...], spares: tuple[str, ...], outside: set[str]) -> None:
    script = f"{EDIT} echo x >> README; echo x > new.txt; mv src/b.py src/d.py"
    patch = bench.work(script, writes=writes, spares=spares)
    assert {b.path for b in patch.breaches if b.code == "outside-scope"} == outside
    assert len(patch.breaches) == len(outside)


def test_what_is_ignored_counts_where_the_scope_names_it(bench: Bench) -> None:
    script = "echo x > a.log; mkdir build .claude; echo x > build/x; echo x > .claude/settings; rm -f none"
    patch = bench.work(script, writes=["build/**", ".claude/**"])
    assert {file.path for file in patch.files} == {"build/x", ".claude/settings"}
    assert patch.notes == ("1 ignored or left by the program, no part of the change: a.log",)


def test_ignored_repositories_are_no_breach(bench: Bench) -> None:
    assert bench.work("mkdir build; git init -q build/cloned; mkfifo x.log").breaches == ()


def test_a_marker_of_the_base_is_none(tmp_path: Path) -> None:
    bench = kit.bench(tmp_path, {harvest.MARKER: "old\n"})
    with bench.copies:
        copy = bench.open()
        assert copy.marker is None
        work(copy.path, f"echo new > {harvest.MARKER}")
        assert copy.marker == "new\n"


def test_the_marker(bench: Bench) -> None:
    copy = bench.open()
    work(copy.path, f"echo all done > {harvest.MARKER}")
    patch = copy.harvest(unit())
    copy.close()
    assert patch.empty
    assert copy.marker == "all done\n"
    assert bench.open().marker is None
