"""``pytest panels/`` over the example shop with the real codex and claude, against our model server.

The whole flow: two vendors are asked the same questions, agree on some findings, differ on others,
one answers malformed and one is refused by its service.  Nothing but 127.0.0.1 is reached.
"""

from __future__ import annotations

import html
import json
import re
from collections import Counter
from pathlib import Path

import pytest

from prun_review.document import validate
from prun_review.foldergate import WORTH
from prun_review.ports import Located
from tests.modelserver import Call, Reply, Rule
from tests.real.scripted import (
    AGAIN,
    APPROVED,
    CASES,
    COOKIE,
    FIGURES,
    INVOICES,
    MIXED,
    ORDERING,
    PASSWORDS,
    ROLES,
    SEARCH,
    STORAGE,
    VISITORS,
    of,
)
from tests.real.shop import CANARY, KEYS, PLANTED, Run, Shop, answer

SECURITY, BEHAVIOUR = "panels/security", "panels/correctness"
VENDOR = {"codex": "openai", "sonnet": "anthropic"}
FENCE = re.compile(r"\b[0-9a-f]{16}\b")
"""The random marker around names of the reviewed tree."""


@pytest.fixture(scope="module", params=[("-n0",), ("-n", "4")], ids=["n0", "n4"])
def mixed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Shop, Run]:
    """A run in which the vendors agree, differ, break the contract and fail; programs from the packages.

    What one of them alone holds stays open: tests/real/test_real_examination.py puts it before the other.
    """
    shop = Shop(tmp_path_factory.mktemp("mixed"))
    return shop, shop.review(MIXED, "--prun-cross-examine", "off", *request.param)


def test_verdict_exit_status_and_reasons(mixed: tuple[Shop, Run]) -> None:
    _, run = mixed
    verdict = run.report["verdict"]
    assert (run.code, verdict["outcome"]) == (1, "FAIL"), run.output
    assert verdict["folders"] == {SECURITY: "FAIL", BEHAVIOUR: "INCOMPLETE"}
    assert run.codes("FAIL", SECURITY) == ["consensus", "consensus"]
    assert run.codes("INCOMPLETE", SECURITY) == ["contested", "unresolved", "unresolved"]
    assert run.codes("INCOMPLETE", BEHAVIOUR) == [
        "contract",
        "failed:over-capacity",
        "one-vendor",
        "one-vendor",
        "unresolved",
    ]
    assert run.codes("FAIL", BEHAVIOUR) == run.codes("FAIL", "") == run.codes("INCOMPLETE", "") == []
    assert f"VERDICT: {verdict['line']}" in " ".join(run.output.split())


def test_gate_derives_the_same_from_the_files(mixed: tuple[Shop, Run]) -> None:
    shop, run = mixed
    code, told = shop.gate()
    verdict = run.report["verdict"]
    assert (code, told["outcome"], told["folders"]) == (1, "FAIL", verdict["folders"])
    assert {(r["code"], r["text"]) for r in told["reasons"]} == {
        (r["code"], r["text"]) for r in verdict["reasons"]
    }
    assert told["counts"] == verdict["counts"]


def test_classes_of_findings_and_pairs(mixed: tuple[Shop, Run]) -> None:
    _, run = mixed
    by_place = {(p["file"], p["line"]): name for name, p in PLANTED.items()}
    found = {
        by_place[f["file"], f["line"]]: (f["class"], f["severity"], set(f["executors"]), f["blocking"])
        for f in run.report["findings"]
    }
    both = {"codex", "sonnet"}
    assert found == {
        "pickle-cookie": ("consensus", "high", both, True),
        "sql-search": ("consensus", "critical", both, True),
        "md5-password": ("contested", "critical", both, True),
        "role-or": ("single", "high", {"sonnet"}, True),
        "path-invoice": ("single", "high", {"codex"}, True),
        "last-day": ("single", "medium", {"codex"}, False),
        "eval-discount": ("single", "high", {"sonnet"}, True),
    }
    assert len(run.report["findings"]) == len(found)
    members = [m for f in run.report["findings"] for m in f["members"]]
    assert {m["grounding"] for m in members} == {"exact"}
    titles = {m["id"]: m["title"] for m in members}
    matches = [p for p in run.report["pairs"] if p["outcome"] == "match"]
    assert {frozenset(titles[p[side]["id"]] for side in ("left", "right")) for p in matches} == {
        frozenset(f["title"] for f in told) for told in (COOKIE, SEARCH, PASSWORDS)
    }
    assert {p[side]["executor"] for p in matches for side in ("left", "right")} == both
    assert all(p["independent"] for p in run.report["pairs"])
    alone = [p["left"] or p["right"] for p in run.report["pairs"] if p["outcome"] == "alone"]
    assert sorted(titles[end["id"]] for end in alone) == sorted([INVOICES["title"], ROLES["title"]])
    assert len(run.report["pairs"]) == len(matches) + len(alone)


def test_units_and_their_items(mixed: tuple[Shop, Run]) -> None:
    _, run = mixed
    broken, refused = run.unit(ORDERING, "codex"), run.unit(FIGURES, "sonnet")
    assert (broken["status"], broken["reason"], broken["attempts"]) == ("broken", "contract", 2)
    assert {(v["code"], v["where"]) for v in broken["violations"]} == {
        ("schema", "/verdict"),
        ("schema", "/examined"),
        ("lost-finding", "/findings/0"),
        ("nothing-examined", "/examined"),
    }
    assert (refused["status"], refused["reason"], refused["attempts"]) == ("failed", "over-capacity", 2)
    [cause] = [c for c in run.report["causes"] if c["executor"] == "sonnet"]
    assert (cause["reason"], cause["failed"], cause["title"]) == ("over-capacity", 1, "over capacity")
    others = [u for u in run.report["units"] if u["id"] not in (broken["id"], refused["id"])]
    assert [(u["status"], u["reason"], u["attempts"], u["violations"]) for u in others] == 6 * [
        ("valid", "ok", 1, [])
    ]
    assert all(u["examined"] for u in others)
    assert "codex broke the contract (4 violations)" in run.output
    for violation in broken["violations"]:
        assert f"[{violation['code']}] {violation['where']}: {violation['text']}" in run.output
    assert "sonnet gave no answer: over-capacity" in run.output
    for unit in (broken, refused):
        assert f"FAILED {unit['id']}" in run.output
    assert "FAILED prun_review::gate" in run.output
    assert re.search(r"= 3 failed, 6 passed in ", run.output)


def test_number_of_requests_and_the_one_that_asks_again(mixed: tuple[Shop, Run]) -> None:
    _, run = mixed
    # Four units each: codex is asked once more; claude tries a refused request two more times, and it
    # is started once more.
    assert {vendor: len(run.of(vendor)) for vendor in VENDOR.values()} == {"openai": 5, "anthropic": 9}
    [again] = [call for call in run.calls if AGAIN in call.prompt]
    assert (again.vendor, of(ORDERING) in again.prompt) == ("openai", True)
    for violation in run.unit(ORDERING, "codex")["violations"]:
        assert f"- [{violation['code']}] {violation['where']}: {violation['text']}" in again.prompt
    asked = [call for call in run.calls if call is not again]
    assert Counter((call.vendor, case) for call in asked for case in CASES if of(case) in call.prompt) == {
        ("openai", VISITORS): 1,
        ("openai", STORAGE): 1,
        ("openai", ORDERING): 1,
        ("openai", FIGURES): 1,
        ("anthropic", VISITORS): 1,
        ("anthropic", STORAGE): 1,
        ("anthropic", ORDERING): 1,
        ("anthropic", FIGURES): 6,
    }


def test_both_vendors_get_the_same_question(mixed: tuple[Shop, Run]) -> None:
    _, run = mixed
    questions: dict[str, list[str]] = {case: [] for case in CASES}
    for executor in VENDOR:
        for attempt in run.attempts(executor):
            prompt = (attempt / "prompt.md").read_text()
            sent = [c for c in run.of(VENDOR[executor]) if prompt.strip() in c.prompt]
            assert sent, f"{attempt} was not sent as it is stored"
            if attempt.name == "1":
                [case] = [case for case in CASES if of(case) in prompt]
                questions[case].append(FENCE.sub("FENCE", prompt.replace(attempt.parent.name, "UNIT")))
    for case, (left, right) in questions.items():
        assert left == right, case
        assert left.count("FENCE") == 3
        assert left.count("UNIT") == 1
    assert len(set(map(schema_of, run.calls))) == 1


def schema_of(call: Call) -> str:
    """The schema of the answer as a vendor was given it."""
    tools = [t["input_schema"] for t in call.body["tools"] if t.get("name") == "StructuredOutput"]
    [schema] = tools or [call.body["text"]["format"]["schema"]]
    return json.dumps(schema, sort_keys=True)


def test_nothing_of_the_reviewed_tree_instructs_or_runs(mixed: tuple[Shop, Run]) -> None:
    shop, run = mixed
    assert not shop.marker.exists(), "a hook or an MCP server of the reviewed tree was started"
    for call in run.calls:
        body = json.dumps(call.body)
        assert CANARY not in body
        helper = str(run.path / "state" / "codex" / "codex" / "tmp")  # codex tells what its shell may read
        assert str(shop.repository) not in body.replace(helper, ""), "the repository is nobody's business"
        assert [tool for tool in call.tool_names if "web" in tool.lower()] == []
        assert [tool for tool in call.tool_names if "canary" in tool.lower()] == []
    assert all("exec_command" in call.tool_names for call in run.of("openai"))
    assert all({"Read", "Grep", "Glob"} <= set(call.tool_names) for call in run.of("anthropic"))


def test_a_vendors_key_is_not_given_to_the_other(mixed: tuple[Shop, Run]) -> None:
    _, run = mixed
    names = {"codex": {"MOCK_KEY", "OPENAI_API_KEY"}, "sonnet": {"ANTHROPIC_API_KEY"}}
    for executor, own in names.items():
        attempts = run.attempts(executor)
        assert len(attempts) == 5
        for attempt in attempts:
            seen = set(json.loads((attempt / "argv.json").read_text())["env"])
            assert seen & set(KEYS) == own
            assert ("ANTHROPIC_BASE_URL" in seen) == (executor == "sonnet")
            assert "GIT_CEILING_DIRECTORIES" in seen
        for call in run.of(VENDOR[executor]):
            sent = json.dumps([dict(call.headers), call.body])
            assert {name for name, value in KEYS.items() if value in sent} == own - {"OPENAI_API_KEY"}
    values = [value.encode() for value in KEYS.values()]
    for folder in (run.path, run.reports):
        files = [path for path in folder.rglob("*") if path.is_file()]
        assert files
        for path in files:
            data = path.read_bytes()
            assert not [value for value in values if value in data], f"{path} holds a key"
    assert not [value for value in KEYS.values() if value in run.output]


def test_report_files_and_what_it_cost(mixed: tuple[Shop, Run]) -> None:
    _, run = mixed
    report = run.report
    assert validate(report) == []
    assert run.reports.is_symlink()
    assert run.reports.readlink() == Path(report["run_id"])
    assert sorted(path.name for path in run.reports.iterdir()) == ["report.json", "report.md"]
    assert json.loads((run.path / "run.json").read_text()) == report
    codex, sonnet = (report["usage"][name] for name in VENDOR)
    assert codex == {
        "input_tokens": 5 * 120,
        "cached_tokens": 5 * 20,
        "output_tokens": 5 * 30,
        "cost_usd": None,
        "units": 4,
        "units_without_cost": 4,
    }
    costs = [u["usage"]["cost_usd"] for u in report["units"] if u["executor"] == "sonnet"]
    assert sorted(cost > 0 for cost in costs) == [False, True, True, True]
    assert sonnet == {
        "input_tokens": 3 * 140,
        "cached_tokens": 3 * 20,
        "output_tokens": 3 * 30,
        "cost_usd": pytest.approx(sum(costs)),
        "units": 4,
        "units_without_cost": 0,
    }
    markdown = (run.reports / "report.md").read_text()
    assert markdown.startswith("# Review: FAIL")
    for text in (run.output, html.unescape(markdown)):
        assert re.search(r"codex[ |]+4[ |]+600[ |]+100[ |]+150[ |]+not said", text)
        assert re.search(rf"sonnet[ |]+4[ |]+420[ |]+60[ |]+90[ |]+\${sonnet['cost_usd']:.4f}", text)
    for finding in (COOKIE[0], SEARCH[0], PASSWORDS[0], ROLES, INVOICES):
        assert str(finding["title"]) in run.output


def test_nothing_is_left_afterwards(mixed: tuple[Shop, Run]) -> None:
    _, run = mixed
    assert run.left == []
    snapshots = {json.loads((a / "argv.json").read_text())["cwd"] for e in VENDOR for a in run.attempts(e)}
    assert len(snapshots) == 1, "all look at one snapshot"
    assert not Path(snapshots.pop()).exists()


def test_programs_are_found_in_the_packages_of_the_vendors_extra(mixed: tuple[Shop, Run]) -> None:
    _, run = mixed
    executors = {e["name"]: e for e in run.report["facts"]["executors"]}
    assert {name: e["where"] for name, e in executors.items()} == {
        "codex": "codex_cli_bin",
        "sonnet": "claude_agent_sdk",
    }
    assert all(e["version"] and re.fullmatch("[0-9a-f]{64}", e["sha256"]) for e in executors.values())
    for executor in VENDOR:
        for attempt in run.attempts(executor):
            program = Path(json.loads((attempt / "argv.json").read_text())["argv"][0])
            assert executors[executor]["where"] in program.parts


def test_both_approve(tmp_path: Path, programs: dict[str, Located]) -> None:
    """Programs on PATH; claude contradicts itself once, and both look around in the snapshot first."""
    shop = Shop(tmp_path / "shop", {"codex": programs["codex"], "claude": programs["sonnet"]})
    run = shop.review(APPROVED)
    verdict = run.report["verdict"]
    assert (run.code, verdict["outcome"], verdict["line"]) == (0, "PASS", "PASS"), run.output
    code, told = shop.gate()
    assert (code, told["outcome"], told["reasons"]) == (0, "PASS", [])
    assert run.report["findings"] == run.report["pairs"] == []
    assert re.search(r"= 8 passed in ", run.output)
    mended = run.unit(STORAGE, "sonnet")
    assert [(u["status"], u["attempts"]) for u in run.report["units"] if u["id"] != mended["id"]] == 7 * [
        ("valid", 1)
    ]
    assert (mended["status"], mended["attempts"], mended["usage"]["input_tokens"]) == ("valid", 2, 2 * 140)
    assert {vendor: len(run.of(vendor)) for vendor in VENDOR.values()} == {"openai": 5, "anthropic": 6}
    assert {e["where"] for e in run.report["facts"]["executors"]} == {"PATH"}
    assert run.left == []

    [shell] = [c.tool_results[0] for c in run.of("openai") if c.tool_results]
    [listed] = [c.tool_results[0] for c in run.of("anthropic") if c.tool_results]
    for name in ("CLAUDE.md", "AGENTS.md"):  # they are there to be reviewed, and yet instruct nobody
        assert name in shell
        assert name in listed
    assert not re.search(r"panels|\.prun|reports|\.git\b", listed)
    assert "no repository" in shell
    snapshot = json.loads((run.attempts("codex")[0] / "argv.json").read_text())["cwd"]
    assert f"GIT_CEILING_DIRECTORIES={Path(snapshot).parent}" in shell
    assert f"PRUN_DISPATCH={run.report['run_id']}/" in shell
    assert "KEY=" not in shell
    assert not shop.marker.exists()
    assert CANARY not in json.dumps([call.body for call in run.calls])


def test_one_vendor_only(tmp_path: Path) -> None:
    shop = Shop(tmp_path / "shop")
    run = shop.review([Rule("", Reply(answer()))], "--prun-executors", "codex")
    verdict = run.report["verdict"]
    assert (run.code, verdict["outcome"]) == (1, "INCOMPLETE"), run.output
    for folder in (SECURITY, BEHAVIOUR):
        assert run.codes("INCOMPLETE", folder) == ["one-vendor"]
    assert len(verdict["reasons"]) == 2
    assert all(WORTH in reason["text"] for reason in verdict["reasons"])
    assert {vendor: len(run.of(vendor)) for vendor in VENDOR.values()} == {"openai": 4, "anthropic": 0}
    assert {u["status"] for u in run.report["units"]} == {"valid"}
    assert [e["name"] for e in run.report["facts"]["executors"]] == ["codex"]
    code, told = shop.gate()
    assert (code, told["outcome"], {r["code"] for r in told["reasons"]}) == (1, "INCOMPLETE", {"one-vendor"})
    assert run.left == []
