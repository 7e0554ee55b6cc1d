"""The matrix of small repositories: what a change is, what two vendors say of it, what must come of it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests import repokit
from tests.change.kit import AUTH, BASE, PROBE, SHOP, Content, Done, Scene, defect

CHECK = '    if not request.get("token"):\n        raise PermissionError("who is it")\n'
UNCHECKED = AUTH.replace(CHECK, "")
"""The source without its check."""
FORGET = AUTH[AUTH.index("\n\ndef forget") :]
"""A function that can be moved."""
EVALUATED = AUTH.replace('{"name": user}', '{"name": eval(user)}')
POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:" + "4d" * 32 + "\nsize 12345\n"
SECRET = "AKIA" + "Q7JX2VWN4KDTR5PZ"
LATIN = b'"""Names."""\n\n# caf\xe9\nNAME = "x"\n\n\ndef name():\n    return NAME\n'

GONE = defect(
    "The token is not checked any more", "src/auth.py", 14, 'if not request.get("token"):', side="old"
)
CLEARED = defect("forget() clears what it returns", "src/auth.py", 22, "account.clear()", severity="critical")
EVAL = defect("A user's name is evaluated", "src/auth.py", 8, 'return {"name": eval(user)}', side="new")
CALLER = defect(
    "greet() calls load() without its realm",
    "src/shop.py",
    8,
    "account = load(name)",
    cause={"file": "src/auth.py", "line": 6},
)
GREETING = defect("greet() takes any name", "src/shop.py", 9, 'return "hello " + account["name"]')

Step = Callable[[Scene], Any]


@dataclass(frozen=True)
class Case:
    """One repository.  ``placed`` and ``blocking`` are complete; so is ``changed`` where it is given."""

    name: str
    head: Content | Step
    """What is committed on ``topic``, or what makes base and head."""
    outcome: str = "PASS"
    codes: frozenset[str] = frozenset()
    """All codes that forbid PASS."""
    told: tuple[Mapping[str, Any], ...] = ()
    """What both vendors tell."""
    other: tuple[Mapping[str, Any], ...] | None = None
    """What the second vendor tells instead."""
    placed: Mapping[str, tuple[str, bool]] = field(default_factory=dict)
    """Title -> placement, caused."""
    blocking: frozenset[str] = frozenset()
    changed: Mapping[str, tuple[str, str, str]] | None = None
    """File -> status, kind, old name."""
    further: Callable[[Scene, Done], None] = lambda scene, done: None
    """What else must hold."""
    base: Content = field(default_factory=dict)
    """Beside the usual files."""
    probe: str = PROBE
    config: str = ""
    workers: bool = False
    """It is also run with ``-n 2``."""

    def play(self, scene: Scene, *args: str) -> Done:
        """Make the change and review it."""
        if callable(self.head):
            self.head(scene)
        else:
            scene.commit(self.head)
        rules = [{"of": "right", "findings": self.other}] if self.other is not None else []
        scene.answers(*rules, {"findings": self.told})
        return scene.review(*args)


def named(*findings: Mapping[str, Any]) -> frozenset[str]:
    """Their titles."""
    return frozenset(str(f["title"]) for f in findings)


def edited(*names: str) -> dict[str, tuple[str, str, str]]:
    """Modified text files."""
    return {name: ("modified", "text", name) for name in names}


# --- what makes base and head where a table of files cannot --------------------------------------


def renamed(content: str) -> Step:
    """src/auth.py becomes src/access.py."""
    return lambda scene: scene.commit({"src/auth.py": None, "src/access.py": content})


def bumped(scene: Scene) -> None:
    """A submodule of the base moves on."""
    upstream = repokit.repository(scene.folder / "upstream", {"x.py": "one\n"})
    scene.git("checkout", "-q", "main")
    scene.git("submodule", "-q", "add", str(upstream), "lib/x")
    scene.commit()
    scene.git("checkout", "-q", "-B", "topic")
    scene.commit({"x.py": "two\n"}, where=scene.path / "lib/x")
    scene.commit({"src/auth.py": EVALUATED})


def linked(scene: Scene) -> None:
    """Links that leave the tree, and one that stays."""
    (scene.path / "src/secret.py").symlink_to("/etc/passwd")
    (scene.path / "src/up.py").symlink_to("../../home")
    (scene.path / "src/near.py").symlink_to("auth.py")
    scene.commit()


def merged(scene: Scene) -> None:
    """Both sides went on, and the head took the base in."""
    scene.commit({"src/auth.py": EVALUATED})
    scene.git("checkout", "-q", "main")
    scene.commit({"docs/guide.md": "# Guide\n\nHow to shop here.\n", "src/late.py": "LATE = 1\n"})
    scene.git("checkout", "-q", "topic")
    scene.git("merge", "-q", "--no-ff", "-m", "merge", "main")


def forked(scene: Scene) -> None:
    """The base went on alone: nothing of that belongs to the change."""
    scene.commit({"src/auth.py": EVALUATED})
    scene.git("checkout", "-q", "main")
    scene.commit({"src/late.py": "LATE = 1\n", "src/shop.py": SHOP.replace("hello", "good day")})
    scene.git("checkout", "-q", "topic")


def uncommitted(scene: Scene) -> None:
    """The head is the work tree as it is."""
    scene.write({"src/auth.py": EVALUATED})


def piped(scene: Scene) -> None:
    """A FIFO lies in the work tree."""
    scene.commit({"src/auth.py": EVALUATED})
    os.mkfifo(scene.path / "src/pipe.py")


def executable(scene: Scene) -> None:
    """Only a mode changed."""
    (scene.path / "src/shop.py").chmod(0o755)
    scene.commit()


# --- what else must hold --------------------------------------------------------------------------


def nothing_of_passwd(scene: Scene, done: Done) -> None:
    """No content from outside reached anybody, and no link leads out of what they saw."""
    outside = Path("/etc/passwd").read_text(encoding="utf-8").splitlines()[0]
    for call in scene.calls:
        assert outside not in call["prompt"]
        assert {n: k for n, k in call["tree"].items() if k == "link"}.keys() <= {"src/near.py"}
    for path in (scene.path / ".prun").rglob("*"):
        assert not path.is_file() or outside.encode() not in path.read_bytes(), path


def merge_base(revision: str) -> Callable[[Scene, Done], None]:
    """What the run pins are the SHAs of git."""

    def look(scene: Scene, done: Done) -> None:
        found = scene.report.document["revision"]
        assert found["base"] == scene.git("rev-parse", "main")
        assert found["merge_base"] == scene.git("rev-parse", revision)
        assert found["head"] == scene.git("rev-parse", "HEAD")

    return look


def says(words: str) -> Callable[[Scene, Done], None]:
    """Words of the verdict line."""

    def look(scene: Scene, done: Done) -> None:
        assert words in scene.report.line

    return look


def uncovers(*names: str) -> Callable[[Scene, Done], None]:
    """The files that no probe covers, all of them."""

    def look(scene: Scene, done: Done) -> None:
        assert scene.report.document["change"]["uncovered"] == sorted(names)
        for name in names:
            assert name in scene.report.text("uncovered")

    return look


def unsent(secret: str, *, masked: str = "") -> Callable[[Scene, Done], None]:
    """It stands in no prompt, no file that a vendor could open and nothing that was kept."""

    def look(scene: Scene, done: Done) -> None:
        assert scene.calls
        for call in scene.calls:
            assert secret not in str(call)
            assert masked in call["tree"]
        kept = [p for part in (".prun", "reports") for p in (scene.path / part).rglob("*") if p.is_file()]
        assert kept
        assert [p for p in kept if secret.encode() in p.read_bytes()] == []
        assert secret not in done.output

    return look


def noted(title: str) -> Callable[[Scene, Done], None]:
    """The harness says something about that finding."""

    def look(scene: Scene, done: Done) -> None:
        notes = [
            m["note"] for g in scene.report.document["findings"] for m in g["members"] if m["title"] == title
        ]
        assert notes
        assert all(notes)

    return look


def shown_beside(scene: Scene, done: Done) -> None:
    """The change lies beside the snapshot, read-only, with both numbers and the pre-images."""
    for call in scene.calls:
        beside = call["beside"]
        assert set(beside["names"]) >= {"CHANGE.diff", "CHANGED.tsv", "base/src/auth.py"}
        assert [n for n, kind in {**beside["names"], **call["tree"]}.items() if "writable" in kind] == []
        assert 'if not request.get("token"):' in beside["CHANGE.diff"]
        assert "src/auth.py" in beside["CHANGED.tsv"]
        assert not beside["top"].startswith(str(scene.path))
        assert not call["cwd"].startswith(str(scene.path))


def docs_probe(reads: str = "src/**") -> str:
    """A probe about source only."""
    return PROBE.replace('"**"', f'"{reads}"')


def tab(scene: Scene) -> None:
    """Names that git quotes, shells split and URIs end at."""
    scene.commit(dict.fromkeys(ODD, "import os\n\nos.system(input())\n"))


ODD = ("src/a b#c.py", "src/ünï.py", "src/q\"uote'.py", "src/-rf.py", "src/tab\there.py", "src/[x]*.py")
INPUT = defect("What is typed is run", "src/a b#c.py", 3, "os.system(input())")

CASES = (
    # --- placements
    Case(
        "a check is deleted",
        {"src/auth.py": UNCHECKED},
        "FAIL",
        frozenset({"consensus"}),
        (GONE, CLEARED | {"line": 20, "end_line": 20}),
        (GONE | {"side": "new"}, CLEARED | {"line": 20, "end_line": 20}),
        {GONE["title"]: ("deleted", False), CLEARED["title"]: ("pre-existing", False)},
        named(GONE),
        edited("src/auth.py"),
        shown_beside,
        workers=True,
    ),
    Case(
        "a check is deleted, and one vendor does not name the side",
        {"src/auth.py": UNCHECKED},
        "FAIL",
        frozenset({"consensus"}),
        (GONE,),
        (GONE | {"side": None},),
        {GONE["title"]: ("deleted", False)},
        named(GONE),
    ),
    Case(
        "a file is renamed and edited",
        renamed(EVALUATED),
        "FAIL",
        frozenset({"consensus"}),
        (
            EVAL | {"file": "src/access.py"},
            defect("The plain name is lost", "src/auth.py", 8, 'return {"name": user}', side="old"),
            CLEARED | {"file": "src/access.py"},
            defect("The check is weak", "src/auth.py", 15, 'raise PermissionError("who is it")', side="old"),
        ),
        placed={
            EVAL["title"]: ("added", False),
            "The plain name is lost": ("deleted", False),
            CLEARED["title"]: ("pre-existing", False),
            "The check is weak": ("pre-existing", False),
        },
        blocking=frozenset({str(EVAL["title"]), "The plain name is lost"}),
        changed={"src/access.py": ("renamed", "text", "src/auth.py")},
    ),
    Case(
        "a caller outside of the change is broken",
        {"src/auth.py": AUTH.replace("load(user):", "load(user, realm):")},
        "FAIL",
        frozenset({"consensus"}),
        (CALLER, GREETING),
        placed={CALLER["title"]: ("outside", True), GREETING["title"]: ("pre-existing", False)},
        blocking=named(CALLER),
    ),
    Case(
        "nobody says that the change caused it",
        {"src/auth.py": AUTH.replace("load(user):", "load(user, realm):")},
        told=(GREETING, CALLER | {"cause": {"file": "src/auth.py", "line": 22}}),
        placed={CALLER["title"]: ("pre-existing", False), GREETING["title"]: ("pre-existing", False)},
        further=says("2 high beside the change"),
    ),
    Case(
        "one of two says what caused it",
        {"src/auth.py": AUTH.replace("load(user):", "load(user, realm):")},
        "FAIL",
        frozenset({"consensus"}),
        (CALLER,),
        (CALLER | {"cause": None, "title": "load() is called by greet() without its realm"},),
        {
            CALLER["title"]: ("outside", True),
            "load() is called by greet() without its realm": ("pre-existing", False),
        },
        named(CALLER),
    ),
    Case(
        "a file is only renamed",
        renamed(AUTH),
        told=(CLEARED | {"file": "src/access.py"},),
        placed={CLEARED["title"]: ("pre-existing", False)},
        changed={"src/access.py": ("renamed", "text", "src/auth.py")},
        further=says("1 critical beside the change"),
    ),
    Case(
        "lines move unchanged to another file",
        {"src/auth.py": AUTH.replace(FORGET, ""), "src/shop.py": SHOP + FORGET},
        "FAIL",
        frozenset({"consensus"}),
        (CLEARED | {"file": "src/shop.py", "line": 15, "end_line": 15},),
        placed={CLEARED["title"]: ("added", False)},
        blocking=named(CLEARED),
        further=noted(str(CLEARED["title"])),
    ),
    Case(
        "it stands in the context of a hunk",
        {"src/auth.py": AUTH.replace('raise PermissionError("who is it")', 'raise PermissionError("who")')},
        "FAIL",
        frozenset({"consensus"}),
        (defect("Nobody is looked up", "src/auth.py", 16, "return load(user)"),),
        placed={"Nobody is looked up": ("context", False)},
        blocking=frozenset({"Nobody is looked up"}),
    ),
    Case(
        "a range touches an added line",
        {"src/auth.py": AUTH.replace('raise PermissionError("who is it")', "pass")},
        "FAIL",
        frozenset({"consensus"}),
        (
            defect(
                "Whoever has no token is let in",
                "src/auth.py",
                13,
                'user = request["user"]\n    if not request.get("token"):\n        pass',
                end_line=15,
            ),
        ),
        placed={"Whoever has no token is let in": ("added", False)},
        blocking=frozenset({"Whoever has no token is let in"}),
    ),
    Case(
        "a quote that stands nowhere",
        {"src/auth.py": EVALUATED},
        "INCOMPLETE",
        frozenset({"ungrounded"}),
        (GREETING | {"quote": "os.system(name)"},),
        placed={GREETING["title"]: ("outside", False)},
        blocking=named(GREETING),
    ),
    Case(
        "a file is deleted",
        {"src/shop.py": None},
        "FAIL",
        frozenset({"consensus"}),
        (defect("Nobody is greeted any more", "src/shop.py", 8, "account = load(name)", side="old"),),
        placed={"Nobody is greeted any more": ("deleted", False)},
        blocking=frozenset({"Nobody is greeted any more"}),
        changed={"src/shop.py": ("deleted", "text", "src/shop.py")},
    ),
    Case(
        "a file is added",
        {"src/new.py": "import os\n\nos.system(input())\n"},
        "FAIL",
        frozenset({"consensus"}),
        (INPUT | {"file": "src/new.py"},),
        placed={INPUT["title"]: ("added", False)},
        blocking=named(INPUT),
        changed={"src/new.py": ("added", "text", "")},
    ),
    # --- bases and heads
    Case(
        "nothing changed",
        {},
        "INCOMPLETE",
        frozenset({"empty-change"}),
        changed={},
    ),
    Case(
        "uncommitted edits are the head",
        uncommitted,
        "FAIL",
        frozenset({"consensus"}),
        (EVAL,),
        placed={EVAL["title"]: ("added", False)},
        blocking=named(EVAL),
        changed=edited("src/auth.py"),
        further=merge_base("main"),
    ),
    Case(
        "the head is a merge",
        merged,
        "FAIL",
        frozenset({"consensus"}),
        (EVAL,),
        placed={EVAL["title"]: ("added", False)},
        blocking=named(EVAL),
        changed=edited("src/auth.py"),
        further=merge_base("main"),
    ),
    Case("the base went on", forked, changed=edited("src/auth.py"), further=merge_base("main~1")),
    # --- files that are no text
    Case(
        "a binary file",
        {"assets/logo.bin": b"\x89PNG\0\0\1", "src/auth.py": EVALUATED},
        "INCOMPLETE",
        frozenset({"uncovered"}),
        changed={"assets/logo.bin": ("added", "binary", ""), **edited("src/auth.py")},
        further=uncovers("assets/logo.bin"),
    ),
    Case(
        "a binary file that needs nobody",
        {"assets/logo.bin": b"\x89PNG\0\0\1", "src/auth.py": EVALUATED},
        config='gate.uncovered = ["assets/**"]',
        workers=True,
    ),
    Case(
        "a pointer of Git LFS",
        {"model.bin": POINTER, "src/auth.py": EVALUATED},
        "INCOMPLETE",
        frozenset({"uncovered"}),
        base={".gitattributes": "*.bin filter=lfs diff=lfs merge=lfs -text\n"},
        changed={"model.bin": ("added", "lfs", ""), **edited("src/auth.py")},
        further=uncovers("model.bin"),
    ),
    Case(
        "a submodule moves on",
        bumped,
        "INCOMPLETE",
        frozenset({"uncovered"}),
        changed={"lib/x": ("modified", "submodule", "lib/x"), **edited("src/auth.py")},
        further=uncovers("lib/x"),
    ),
    Case(
        "links out of the tree",
        linked,
        changed={f"src/{name}.py": ("added", "link", "") for name in ("secret", "up", "near")},
        further=nothing_of_passwd,
    ),
    Case("only a mode", executable, changed={"src/shop.py": ("modified", "mode", "src/shop.py")}),
    Case(
        "line ends of Windows",
        {"src/win.py": "import os\r\n\r\nos.system(input())\r\n"},
        "FAIL",
        frozenset({"consensus"}),
        (INPUT | {"file": "src/win.py"},),
        placed={INPUT["title"]: ("added", False)},
        blocking=named(INPUT),
        base={"src/win.py": "import os\r\n\r\nos.getpid()\r\n"},
        changed=edited("src/win.py"),
    ),
    Case(
        "bytes that are no UTF-8",
        {"src/latin.py": LATIN.replace(b"return NAME", b"return eval(NAME)  # caf\xe9")},
        "FAIL",
        frozenset({"consensus"}),
        (defect("NAME is evaluated", "src/latin.py", 8, "return eval(NAME)"),),
        placed={"NAME is evaluated": ("added", False)},
        blocking=frozenset({"NAME is evaluated"}),
        base={"src/latin.py": LATIN},
        changed=edited("src/latin.py"),
    ),
    Case(
        "odd names",
        tab,
        "FAIL",
        frozenset({"consensus"}),
        (INPUT,),
        placed={INPUT["title"]: ("added", False)},
        blocking=named(INPUT),
    ),
    Case("a FIFO", piped, changed=edited("src/auth.py")),
    Case(
        "a file that is sent to nobody",
        {".env": f"KEY={SECRET}\n", "src/auth.py": EVALUATED},
        "INCOMPLETE",
        frozenset({"uncovered"}),
        changed={".env": ("added", "withheld", ""), **edited("src/auth.py")},
        further=unsent(SECRET, masked="src/auth.py"),
    ),
    Case(
        "a secret in a file",
        {"src/keys.py": f'aws_access_key_id = "{SECRET}"\n\nLENGTH = 20\n'},
        changed={"src/keys.py": ("added", "text", "")},
        further=unsent(SECRET, masked="src/keys.py"),
    ),
    # --- what is covered
    Case(
        "only documents, and nobody asks about them",
        {"docs/guide.md": "# Guide\n\nHow to shop here.\n"},
        "INCOMPLETE",
        frozenset({"uncovered", "nothing-asked"}),
        probe=docs_probe(),
        changed=edited("docs/guide.md"),
        further=uncovers("docs/guide.md"),
    ),
    Case(
        "only documents, and they need nobody",
        {"docs/guide.md": "# Guide\n\nHow to shop here.\n"},
        probe=docs_probe(),
        config='gate.uncovered = ["docs/**"]',
        further=says("nothing asked"),
        workers=True,
    ),
    Case(
        "code is moved aside",
        {"src/auth.py": UNCHECKED, "lib/auth.py": CHECK},
        "INCOMPLETE",
        frozenset({"uncovered"}),
        probe=docs_probe(),
        further=uncovers("lib/auth.py"),
    ),
)

assert BASE["src/auth.py"] == AUTH
