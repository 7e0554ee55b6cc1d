"""``brief(needs=...)``: who is asked, who is not, and what stops a run before it begins."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prun_review.probes import Shape, route
from tests.cli.test_plan import plan
from tests.plugin.conftest import ONE, Project, payload

HAS = {"codex": [], "sonnet": ["web"], "session": ["web", "mcp:gmail"], "other": ["mcp:gmail"]}


@pytest.mark.parametrize(
    ("named", "needs", "chosen", "restricted", "asked", "left_out"),
    [
        (None, (), ("codex", "sonnet"), False, ["codex", "sonnet"], {}),  # in doubt, the configured ones
        (("session",), (), ("codex",), False, ["session"], {}),
        (None, ("web",), ("codex", "sonnet"), False, ["sonnet"], {"codex": "needs"}),
        (
            None,
            ("mcp:gmail",),
            ("codex", "sonnet"),
            False,
            ["session", "other"],
            {"codex": "needs", "sonnet": "needs"},
        ),
        (("sonnet",), ("mcp:gmail", "web"), ("codex",), False, ["session"], {"sonnet": "needs"}),
        (("session", "codex"), ("web",), ("codex",), False, ["session"], {"codex": "needs"}),
        (
            None,
            ("web",),
            ("codex",),
            True,
            [],
            {"codex": "needs", "sonnet": "restricted", "session": "restricted"},
        ),
        (("codex", "session"), (), ("codex",), True, ["codex"], {"session": "restricted"}),
        (None, ("mcp:gmail",), ("session",), True, ["session"], {}),
        (("cdx",), (), ("codex",), False, ["cdx"], {}),  # an unknown name fails later, by name
    ],
)
def test_routing(
    named: tuple[str, ...] | None,
    needs: tuple[str, ...],
    chosen: tuple[str, ...],
    restricted: bool,
    asked: list[str],
    left_out: dict[str, str],
) -> None:
    found = route(Shape(executors=named, needs=needs), chosen, HAS, restricted=restricted)
    assert list(found.asked) == asked
    assert {name: reason for name, reason, _ in found.left_out} == left_out
    assert found.unmet == ""


@pytest.mark.parametrize(
    ("needs", "told"),
    [
        (("mcp:calendar",), "needs mcp:calendar, which no executor declares"),
        (("web", "a", "b"), "needs a, b, which no executor declares"),
    ],
)
def test_a_need_that_nobody_declares(needs: tuple[str, ...], told: str) -> None:
    for restricted in (False, True):
        found = route(Shape(needs=needs), ("codex",), HAS, restricted=restricted)
        assert (found.asked, found.unmet) == ((), told)


def test_needs_that_nobody_declares_together() -> None:
    found = route(Shape(needs=("x", "y")), ("a",), {"a": ["x"], "b": ["y"]}, restricted=False)
    assert found.unmet == "needs x, y together, and no executor declares all of them"


_NAMES = st.sampled_from("abcd")


@given(
    st.dictionaries(_NAMES, st.sets(st.sampled_from("xyz")), min_size=1),
    st.lists(st.sampled_from("xyz"), unique=True),
    st.none() | st.lists(_NAMES, min_size=1),
    st.lists(_NAMES, min_size=1),
    st.booleans(),
)
def test_who_is_asked_has_what_is_needed(
    has: dict[str, set[str]], needs: list[str], named: list[str] | None, chosen: list[str], restricted: bool
) -> None:
    wanted = Shape(executors=tuple(named) if named else None, needs=tuple(needs))
    found = route(wanted, chosen, has, restricted=restricted)
    for name in found.asked:
        assert not needs or set(needs) <= has[name]
        assert not restricted or name in chosen
    left = [name for name, _, _ in found.left_out]
    assert not set(left) & set(found.asked)
    assert len({*left}) == len(left)
    assert len({*found.asked}) == len(found.asked)
    assert found.asked or left or found.unmet


MAIL = '''
from prun_review import brief

@brief(needs=["mcp:gmail"])
def probe_mail(result):
    """Look into the mail."""
'''


def provide(project: Project, *names: str) -> None:
    """Let executors declare the mail."""
    for name in names:
        text = (project.path / "pyproject.toml").read_text()
        table = f"[tool.prun_review.executor.{name}]\n"
        project.write("pyproject.toml", text.replace(table, f'{table}provides = ["mcp:gmail"]\n'))


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["n0", "n2"])
def test_a_probe_goes_to_whoever_declares_what_it_needs(project: Project, workers: tuple[str, ...]) -> None:
    provide(project, "right")
    project.probe(ONE)
    project.probe(MAIL, "panels/probe_mail.py")
    project.answers({"payload": payload()})
    project.run("panels/", *workers)
    assert sorted(project.calls()) == ["left", "right", "right"]
    report = project.report()
    assert [(n["executor"], n["reason"]) for n in report["not_asked"]] == [("left", "needs")]
    assert {u["id"].rpartition("::")[2] for u in report["units"]} == {
        "probe_app[left]",
        "probe_app[right]",
        "probe_mail[right]",
    }


@pytest.mark.parametrize(
    ("rule", "outcome", "codes"), [("single", "PASS", set()), ("consensus", "INCOMPLETE", {"one-vendor"})]
)
def test_who_lacks_a_need_that_others_meet_is_no_hole(
    project: Project, rule: str, outcome: str, codes: set[str]
) -> None:
    project.config(f'gate.rule = "{rule}"', tables={"right": 'provides = ["mcp:gmail"]'})
    project.probe(MAIL)
    project.answers({"payload": payload()})
    project.run("panels/")
    verdict = project.report()["verdict"]
    assert verdict["outcome"] == outcome
    assert {r["code"] for r in verdict["reasons"] if r["outcome"] != "PASS"} == codes
    remark = next(r["text"] for r in verdict["reasons"] if r["code"] == "needs")
    assert "left does not declare mcp:gmail" in remark


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["n0", "n2"])
def test_a_need_that_nobody_declares_stops_the_whole_run(project: Project, workers: tuple[str, ...]) -> None:
    project.probe(ONE)
    project.probe(MAIL, "panels/probe_mail.py")
    project.answers({"payload": payload()})
    result = project.run("panels/", *workers)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    said = result.stderr.str()
    assert "panels/probe_mail.py::probe_mail (panels/probe_mail.py:4) needs mcp:gmail" in said
    assert "remedy: declare it in the table of an executor that has it" in said
    assert project.calls() == []


def test_looking_at_such_a_probe_is_possible_and_plan_says_what_is_wrong(project: Project) -> None:
    project.probe(MAIL)
    looked = project.run("panels/", "--collect-only", "-q")
    assert looked.ret == 0
    looked.stdout.fnmatch_lines(["*probe_mail[[]not-asked]*"])
    done = plan(project)
    assert done.returncode == 2
    assert "needs mcp:gmail, which no executor declares" in done.stderr
    assert "remedy" in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_plan_shows_needs_and_sources(project: Project) -> None:
    provide(project, "right")
    project.probe(MAIL + SOURCES)
    done = plan(project)
    assert done.returncode == 0, done.stderr
    assert "findings, access read, the whole tree, at most 900 s, needs mcp:gmail" in done.stdout
    assert "findings with sources, access full, 1 file, at most 900 s" in done.stdout
    assert "probe_mail left: left does not declare mcp:gmail" in done.stdout


def test_a_probe_that_is_skipped_needs_nothing(project: Project) -> None:
    project.probe(ONE)
    project.probe(
        MAIL.replace("@brief", "import pytest\n@pytest.mark.skip('later')\n@brief"), "panels/probe_mail.py"
    )
    project.answers({"payload": payload()})
    project.run("panels/")
    assert sorted(project.calls()) == ["left", "right"]
    assert [n["reason"] for n in project.report()["not_asked"]] == ["skipped"]


def test_the_command_line_restricts_also_who_is_needed(project: Project) -> None:
    provide(project, "right")
    project.probe(MAIL)
    project.answers({"payload": payload()})
    result = project.run("panels/", "--prun-executors", "left")
    assert result.ret == 1
    assert project.calls() == []
    told = {(n["executor"], n["reason"]) for n in project.report()["not_asked"]}
    assert told == {("left", "needs"), ("right", "restricted")}
    holes = {r["code"] for r in project.report()["verdict"]["reasons"] if r["outcome"] == "INCOMPLETE"}
    assert {"not-asked:needs", "not-asked:restricted"} <= holes
    assert project.report()["verdict"]["outcome"] != "PASS"


BAD = """
import pytest

@brief(needs="mcp:gmail")
def probe_needs():
    '''x'''

@pytest.mark.parametrize("x", [pytest.param(1, marks=brief(needs=["a"]))])
def probe_place(x):
    '''x'''

@brief(sources=True)
def probe_access():
    '''x'''

@brief(sources=True, access="full", contract="prose")
def probe_prose():
    '''x'''

@brief(sources="yes", access="full")
def probe_word():
    '''x'''
"""


def test_a_malformed_one_fails_its_items_only(project: Project) -> None:
    project.probe(ONE + BAD)
    project.answers({"payload": payload()})
    result = project.run("panels/")
    outcomes = result.parseoutcomes()
    assert (result.ret, outcomes["passed"], outcomes["failed"]) == (1, 2, 11)  # two items each, and the gate
    for message in (
        "needs is 'mcp:gmail'",
        "needs stands in pytest.param",
        "sources are asked for with access 'read'",
        "a prose answer has none",
        "sources is 'yes'",
    ):
        result.stdout.fnmatch_lines([f"*{message}*"])
    assert sorted(project.calls()) == ["left", "right"]
    assert project.report()["verdict"]["outcome"] == "INCOMPLETE"


SOURCES = '''
from prun_review import brief

@brief(reads=["src/*.py"], sources=True, access="full")
def probe_web(result):
    """Is os.system still advised against?"""
'''


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["n0", "n2"])
def test_sources_reach_the_document_and_a_replay(project: Project, workers: tuple[str, ...]) -> None:
    pages = [
        {"url": "https://docs.python.org/3/library/os.html", "status": 200, "via": "WebFetch"},
        {"url": "https://blocked.example/x", "status": None, "via": "curl"},
    ]
    project.probe(SOURCES)
    project.answers(
        {"of": "left", "payload": payload(sources=pages)},
        {"of": "right", "payload": payload(sources=pages[1:])},
    )
    assert project.run("panels/", *workers).ret == 1
    first = project.report()
    units = {u["executor"]: u for u in first["units"]}
    assert (units["left"]["status"], units["left"]["sources"]) == ("valid", pages)
    assert units["right"]["status"] == "broken"
    assert [v["code"] for v in units["right"]["violations"]] == ["all-blocked"]
    calls = project.calls()
    project.run("panels/", "--prun-replay", first["run_id"], *workers)
    assert [u["sources"] for u in project.report()["units"]] == [u["sources"] for u in first["units"]]
    assert project.calls() == calls
