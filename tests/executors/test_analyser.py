"""Real ruff, pylint and bandit over small hostile trees."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from prun_review.config import load
from prun_review.errors import BriefError, ConfigError
from prun_review.executors.analyser import built_in
from prun_review.model import Exit
from prun_review.ports import Located, Missing, Output
from tests.executors.analysing import PYTHON, answer, fs, run, told, write
from tests.executors.driving import Bench, bare_request

SHOP = """\
import os
import pickle


def load(data, rule, into=[]):
    try:
        into.append(pickle.loads(data))
    except:
        pass
    return eval(rule), total
"""

SEES = {
    "ruff": {("F401", 1), ("B006", 5), ("E722", 8), ("F821", 10)},
    "pylint": {("W0611", 1), ("W0102", 5), ("W0702", 8), ("W0123", 10), ("E0602", 10)},
    "bandit": {("B403", 2), ("B301", 7), ("B110", 8), ("B307", 10)},
}


@pytest.mark.parametrize("name", PYTHON)
def test_an_analyser_answers_with_located_quoted_rated_findings(tmp_path: Path, name: str) -> None:
    command, output, reading = run(tmp_path, name, {"shop/load.py": SHOP})
    assert (reading.status, output.exit.code != 0) == ("answered", True)
    assert told(reading.findings) == {(rule, "shop/load.py", line) for rule, line in SEES[name]}
    assert reading.examined == ("shop/load.py",)
    lines = SHOP.splitlines()
    for finding in reading.findings or ():
        assert finding.line is not None
        assert finding.quote is not None
        assert finding.quote.startswith(lines[finding.line - 1])
    assert not command.cwd.is_relative_to(tmp_path / "tree")
    assert {p.name for p in (tmp_path / "tree").rglob("*")} == {"shop", "load.py"}, "nothing is left behind"


def test_severity_category_and_lineage_come_from_the_rule(tmp_path: Path) -> None:
    found = {
        f.rule: (f.severity, f.category, f.lineage)
        for name in PYTHON
        for f in answer(tmp_path, name, {"load.py": SHOP}).findings or ()
    }
    assert found["F821"] == ("high", "correctness", "pyflakes")
    assert found["B006"] == ("medium", "correctness", "flake8-bugbear")
    assert found["E722"] == ("medium", "error-handling", "pycodestyle")
    assert found["E0602"] == ("high", "correctness", None)
    assert found["W0123"] == found["B307"] == ("high", "security", None)
    assert found["F401"][0] == found["W0611"][0] == "low"


def test_ported_rules_keep_their_lineage_when_somebody_switches_them_on(tmp_path: Path) -> None:
    reading = answer(tmp_path, "ruff", {"load.py": SHOP}, select=["S", "PLE", "PLW", "RUF"])
    lineages = {f.rule: f.lineage for f in reading.findings or ()}
    assert lineages["S307"] == "bandit"
    assert {f.severity for f in reading.findings or () if f.rule == "S307"} == {"high"}


SILENCERS = {
    "ruff.toml": 'exclude = ["*"]\n[lint]\nignore = ["ALL"]\nper-file-ignores = {"*" = ["ALL"]}\n',
    ".ruff.toml": '[lint.per-file-ignores]\n"*" = ["ALL"]\n',
    "pyproject.toml": (
        '[tool.ruff]\nexclude = ["*"]\n[tool.ruff.lint.per-file-ignores]\n"*" = ["ALL"]\n'
        '[tool.pylint.main]\ndisable = "all"\nignore = "load.py"\ninit-hook = "raise SystemExit(0)"\n'
        '[tool.bandit]\nexclude_dirs = ["."]\nskips = ["B301", "B307"]\n'
    ),
    ".pylintrc": "[MAIN]\ndisable=all\ninit-hook=raise SystemExit(0)\n",
    "pylintrc": "[MAIN]\ndisable=all\n",
    "setup.cfg": "[pylint.MAIN]\ndisable=all\n[flake8]\nignore=F,E\n[bandit]\nskips=B301,B307\n",
    "tox.ini": "[flake8]\nignore=F,E\n[bandit]\nskips=B301\n",
    ".bandit": "[bandit]\nskips=B301,B307\nexclude=.\n",
    ".gitignore": "*.py\n",
    ".ignore": "*.py\n",
    ".flake8": "[flake8]\nignore=F,E\n",
}


@pytest.mark.parametrize("name", PYTHON)
def test_configuration_in_the_reviewed_tree_changes_nothing(tmp_path: Path, name: str) -> None:
    configured = {f"{at}{file}": text for at in ("", "pkg/") for file, text in SILENCERS.items()}
    files = {"load.py": SHOP, "pkg/__init__.py": "", "pkg/load.py": SHOP, **configured}
    reading = answer(tmp_path, name, files)
    assert told(reading.findings) == {
        (rule, f"{at}load.py", line) for rule, line in SEES[name] for at in ("", "pkg/")
    }


TRAPS = [
    "isort",
    "dill",
    "tomlkit",
    "enchant",
    "json",
    "colorama",
    "platformdirs",
    "mccabe",
    "numpy",
    "six",
    "attr",
    "regex",
    "typing_extensions",
    "sitecustomize",
    "usercustomize",
    "gettext",
    "_tkinter",
    "bandit",
    "pylint",
    "astroid",
    "gi",
    "stevedore",
    "yaml",
    "rich",
    "encodings",
]


@pytest.mark.parametrize("name", PYTHON)
def test_no_module_of_the_reviewed_tree_is_imported(tmp_path: Path, name: str) -> None:
    """Without the seal in inprocess.py pylint imports ``gi`` here: astroid does so for Gtk users."""
    sprung = tmp_path / "sprung"
    sprung.mkdir()
    trap = f"open({str(sprung)!r} + '/' + __name__, 'w').close()\n"
    files: dict[str, str | bytes] = {f"{module}.py": trap for module in TRAPS}
    for module in ("astroid", "pylint", "bandit", "gi", "gi/repository", "gi/repository/Gtk"):
        files.pop(f"{module}.py", None)
        files[f"{module}/__init__.py"] = trap
    imports = "\n".join(f"import {module}" for module in TRAPS)
    files["main.py"] = f"{imports}\nfrom gi.repository import Gtk\nGtk.main()\nprint(nobody)\n"
    files["_lzma.cpython-311-x86_64-linux-gnu.so"] = b"\x7fELF, not really"
    reading = answer(tmp_path, name, files)
    assert list(sprung.iterdir()) == []
    assert reading.examined == tuple(sorted(f for f in files if f.endswith(".py")))
    copied = [p for p in (tmp_path / "state").rglob("*") if p.is_file() and "lzma" in p.name]
    assert copied == [], "only source text is copied"


@pytest.mark.parametrize("name", PYTHON)
def test_what_configuration_in_the_reviewed_tree_would_run_does_not_run(tmp_path: Path, name: str) -> None:
    sprung = tmp_path / "sprung"
    sprung.mkdir()
    hook = f"open({str(sprung / 'hook')!r}, 'w')"
    plugin = f"open({str(sprung)!r} + '/' + __name__, 'w')\ndef register(linter): pass\n"
    ini = f"[MAIN]\nload-plugins=trap,pkg.trap\ninit-hook={hook}\n"
    toml = f'[tool.pylint.main]\nload-plugins = ["trap"]\ninit-hook = "{hook}"\n'
    configured = {
        **dict.fromkeys(("pylintrc", ".pylintrc", "pkg/pylintrc"), ini),
        **dict.fromkeys(("pyproject.toml", "pylintrc.toml", ".pylintrc.toml"), toml),
        **{f: ini.replace("[MAIN]", "[pylint.MAIN]") for f in ("setup.cfg", "tox.ini")},
        **dict.fromkeys(("trap.py", "pkg/trap.py"), plugin),
    }
    reading = answer(tmp_path, name, {"load.py": SHOP, "pkg/__init__.py": "", **configured})
    assert {r for r, f, _ in told(reading.findings) if f == "load.py"} == {r for r, _ in SEES[name]}
    assert list(sprung.iterdir()) == []


HUSHED = """\
import os  # noqa
import re  # noqa: E501
# pylint: disable=undefined-variable
first  # pylint: disable=pointless-statement
eval("1")  # nosec B307
eval("2")  # nosec B301


def later():  # pylint: disable=eval-used
    return eval("3")  # nosec


eval("4")  # pylint: disable-next=W0123
eval("5")
"""

HIDDEN = {
    "ruff": {("F401", 1)},
    "pylint": {("E0602", 4), ("W0104", 4), ("W0123", 10), ("W0123", 14)},
    "bandit": {("B307", 5), ("B307", 10)},
}


@pytest.mark.parametrize("name", PYTHON)
def test_suppressions_are_listed_and_obeyed_only_on_demand(tmp_path: Path, name: str) -> None:
    hidden = {(rule, "a.py", line) for rule, line in HIDDEN[name]}
    bench = Bench(tmp_path)
    write(bench.tree, {"a.py": HUSHED})
    listing, obeying = (
        built_in(load({"executor": {name: {"obey_suppressions": obey}}}))[name] for obey in (False, True)
    )
    request = bench.request(listing)
    request = replace(request, unit=replace(request.unit, files=("a.py",)))
    _, output, reading = bench.run(listing, request)
    assert told(reading.suppressed) == hidden
    assert told(reading.findings) >= hidden
    assert listing.identity != obeying.identity
    obeyed = obeying.read(output, request)
    assert told(obeyed.suppressed) == hidden
    assert told(obeyed.findings) == told(reading.findings) - hidden
    assert "left out" in obeyed.text


@pytest.mark.parametrize(
    "head",
    [
        b"# pylint: skip-file\n",
        b"# pylint: disable=all\n",
        b"# pylint:disable=E\n",
        b"# ruff: noqa\n# flake8: noqa\n",
        b"# -*- coding: utf-7 -*-\n+ACM- pylint: skip-file\n",
        b"\xef\xbb\xbf# pylint: skip-file\r\n",
    ],
)
def test_no_comment_switches_a_whole_file_off(tmp_path: Path, head: bytes) -> None:
    for name in ("pylint",) if b"utf-7" in head else ("ruff", "pylint"):
        reading = answer(tmp_path, name, {"a.py": head + b"nobody\n"})
        assert {f.rule for f in reading.findings or ()} & {"F821", "E0602"}


@pytest.mark.parametrize("name", PYTHON)
def test_a_syntax_error_is_a_finding_and_the_other_files_go_on(tmp_path: Path, name: str) -> None:
    files = {"bad.py": "x = 1\ndef f(:\n", "cut.py": "y = (1,\n", "good.py": SHOP, "empty.py": ""}
    reading = answer(tmp_path, name, files)
    broken = [f for f in reading.findings or () if f.detail.startswith("Syntax error")]
    assert {f.file for f in broken} == {"bad.py", "cut.py"}
    assert {f.severity for f in broken} == {"high"}
    for finding in broken:
        assert finding.line is None or finding.line <= len(files[str(finding.file)].splitlines())
    assert len(told(reading.findings)) > len(told(broken))
    assert set(reading.examined) == set(files)


STRANGE = (
    b"sp ace.py",
    b"per%20cent#.py",
    b"latin-\xff-\xfe.py",
    b"back\\slash.py",
    b"new\nline.py",
    b"@list.py",
    b"-x.py",
    "ünï/cödé.py".encode(),
    b"\xe9\xe9/__init__.py",
    b"CVS/a.py",
    b".#lock.py",
    b".git-like/.tox/x.egg/a.py",
    b"same/name.py",
    b"other/name.py",
)


@pytest.mark.parametrize("name", PYTHON)
def test_every_name_that_a_file_system_takes_is_analysed_and_told_as_it_is(tmp_path: Path, name: str) -> None:
    reading = answer(tmp_path, name, {fs(raw): "eval(nobody)\n" for raw in STRANGE})
    wanted = {"ruff": "F821", "pylint": "W0123", "bandit": "B307"}[name]
    seen = {f.file for f in reading.findings or () if f.rule == wanted}
    assert seen == {fs(raw) for raw in STRANGE}


@pytest.mark.parametrize("name", ["ruff", "bandit"])
def test_more_names_than_an_argv_holds(tmp_path: Path, name: str) -> None:
    folder = "/".join(["d" * 240] * 6)
    files = {f"{folder}/m{n}.py": "" for n in range(1700)} | {f"{folder}/last.py": "eval(nobody)\n"}
    assert sum(len(f) for f in files) > 2 << 20, "more than Linux takes"
    reading = answer(tmp_path, name, files)
    assert len(reading.examined) == 1701
    assert {f.file for f in reading.findings or ()} == {f"{folder}/last.py"}


def test_bandit_looks_below_a_folder_named_like_git_s(tmp_path: Path) -> None:
    reading = answer(tmp_path / "x.git" / ".tox", "bandit", {"a.py": "eval(x)\n"})
    assert told(reading.findings) == {("B307", "a.py", 1)}


def test_pylint_checks_only_the_files_asked_about_and_knows_the_others(tmp_path: Path) -> None:
    files = {
        "pkg/__init__.py": "from pkg import helper\n",
        "pkg/helper.py": "def one(a):\n    return a\n\n\nnobody\n",
        "pkg/user.py": "from pkg import helper\n\nhelper.one()\nhelper.two(1)\n",
    }
    reading = answer(tmp_path, "pylint", files, asked=["pkg/__init__.py", "pkg/user.py"])
    assert reading.examined == ("pkg/__init__.py", "pkg/user.py")
    assert {f.file for f in reading.findings or ()} <= {"pkg/__init__.py", "pkg/user.py"}
    assert {("E1120", "pkg/user.py", 3), ("E1101", "pkg/user.py", 4)} <= told(reading.findings)


def test_links_lead_nowhere(tmp_path: Path) -> None:
    secret = tmp_path / "secret.py"
    secret.write_text("token = nobody\n")
    bench = Bench(tmp_path)
    write(bench.tree, {"a.py": SHOP})
    (bench.tree / "link.py").symlink_to(secret)
    reading = run(tmp_path, "pylint", {}, asked=["a.py", "link.py"])[2]
    assert (reading.status, reading.reason) == ("failed", "not-examined")
    assert "link.py" in reading.message
    assert "nobody" not in "".join(
        p.read_text() for p in (tmp_path / "state").rglob("*.py") if p.name != "a.py"
    )


# --- what is no answer ------------------------------------------------------------------------


@pytest.mark.parametrize("name", PYTHON)
def test_nothing_to_analyse_is_no_clean_answer(tmp_path: Path, name: str) -> None:
    reading = run(tmp_path, name, {"README.md": "hello"}, asked=["README.md"])[2]
    assert (reading.status, reading.reason) == ("failed", "nothing-to-analyse")
    assert reading.findings is None


@pytest.mark.parametrize("name", PYTHON)
def test_a_file_that_is_not_there_is_not_silently_passed(tmp_path: Path, name: str) -> None:
    reading = run(tmp_path, name, {"a.py": ""}, asked=["a.py", "gone.py"])[2]
    assert (reading.status, reading.reason) == ("failed", "not-examined")
    assert "gone.py" in reading.message


@pytest.mark.parametrize(
    ("name", "table"),
    [
        ("ruff", {"select": ["NOSUCH"]}),
        ("pylint", {"args": ["--no-such-option"]}),
        ("bandit", {"select": ["B999"]}),
    ],
)
def test_wrong_usage_is_a_failure(tmp_path: Path, name: str, table: dict[str, Any]) -> None:
    reading = run(tmp_path, name, {"a.py": SHOP}, **table)[2]
    assert (reading.status, reading.reason) == ("failed", "no-answer")
    assert "exit status" in reading.message


EMPTY_SARIF = b'{"version": "2.1.0", "runs": [{"results": []}]}'
EMPTY_PYLINT = b'{"messages": [], "statistics": {"modulesLinted": 1}}'


@pytest.mark.parametrize(
    ("name", "output", "reason"),
    [
        ("ruff", Output(Exit(0), b"", b""), "no-answer"),
        ("ruff", Output(Exit(0), EMPTY_SARIF[:-1], b""), "no-answer"),
        ("ruff", Output(Exit(1), b"All checks passed!", b""), "no-answer"),
        ("ruff", Output(Exit(2), EMPTY_SARIF, b"panicked"), "no-answer"),
        ("ruff", Output(Exit(101), EMPTY_SARIF, b"panicked"), "no-answer"),
        ("ruff", Output(Exit(0), EMPTY_SARIF, b"", cut="the end is missing"), "no-answer"),
        ("ruff", Output(Exit(-9), EMPTY_SARIF, b""), "killed"),
        ("ruff", Output(Exit(0, "timeout"), EMPTY_SARIF, b""), "timeout"),
        ("ruff", Output(Exit(None, "spawn"), b"", b""), "spawn-failed"),
        ("pylint", Output(Exit(32), EMPTY_PYLINT, b"usage"), "no-answer"),
        ("pylint", Output(Exit(70), EMPTY_PYLINT, b"refused"), "no-answer"),
        ("pylint", Output(Exit(0), b"[]", b""), "no-answer"),
    ],
)
def test_what_is_not_a_whole_report_is_a_failure(name: str, output: Output, reason: str) -> None:
    executor = built_in(load({}))[name]
    reading = executor.read(output, asked("a.py"))
    assert (reading.status, reading.reason, reading.findings) == ("failed", reason, None)


def test_pylint_that_crashed_on_a_file_has_not_examined_it() -> None:
    fatal = {
        "type": "fatal",
        "messageId": "F0002",
        "message": "RecursionError",
        "absolutePath": "/nowhere/a.py",
    }
    data = json.dumps({"messages": [fatal], "statistics": {"modulesLinted": 1}}).encode()
    reading = built_in(load({}))["pylint"].read(Output(Exit(1), data, b""), asked("a.py"))
    assert (reading.status, reading.reason) == ("failed", "not-examined")
    assert "a.py: RecursionError" in reading.message


def asked(*files: str) -> Any:
    """A request about files of a tree that is not there."""
    request = bare_request()
    return replace(request, unit=replace(request.unit, files=files))


# --- configuration ----------------------------------------------------------------------------


def test_the_longest_prefix_decides_the_severity(tmp_path: Path) -> None:
    severities = {"F": "info", "F8": "critical", "F82": "low", "E": "medium"}
    reading = answer(tmp_path, "ruff", {"a.py": SHOP}, severities=severities)
    found = {f.rule: f.severity for f in reading.findings or ()}
    assert (found["F401"], found["F821"], found["E722"], found["B006"]) == ("info", "low", "medium", "medium")


def test_select_and_ignore_speak_the_tool_s_own_words(tmp_path: Path) -> None:
    found = {
        name: {f.rule for f in answer(tmp_path / name, name, {"a.py": SHOP}, **table).findings or ()}
        for name, table in {
            "ruff": {"select": ["F"], "ignore": ["F401"]},
            "pylint": {"select": ["W"], "ignore": ["bare-except"]},
            "bandit": {"select": ["B307", "B301"]},
        }.items()
    }
    assert found == {"ruff": {"F821"}, "pylint": {"W0611", "W0102", "W0123"}, "bandit": {"B307", "B301"}}


def test_what_an_answer_depends_on_is_in_the_identity() -> None:
    tables: list[dict[str, Any]] = [
        {},
        {"select": ["F"]},
        {"ignore": ["F"]},
        {"args": ["--preview"]},
        {"severities": {"F": "low"}},
        {"obey_suppressions": True},
    ]
    assert len({built_in(load({"executor": {"ruff": t}}))["ruff"].identity for t in tables}) == len(tables)


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({"type": "analyser"}, "argv and reader"),
        ({"type": "analyser", "argv": ["x", "{file}"], "reader": "sarif"}, "{file}"),
        ({"type": "analyser", "argv": ["x", "--in={files}"], "reader": "sarif"}, "--in={files}"),
        ({"type": "analyser", "argv": ["x"], "reader": "sarif", "severities": {"F": "hihg"}}, "hihg"),
    ],
)
def test_a_table_that_cannot_work_is_refused(table: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=r"tool\.prun_review\.executor\.mine") as told_why:
        built_in(load({"executor": {"mine": table}}))
    assert words in str(told_why.value)
    assert "remedy" in str(told_why.value)


# --- any other analyser -----------------------------------------------------------------------

GREP = """\
#!{python}
import json, sys
out = sys.argv[1]
results = []
for path in sys.argv[2:]:
    for n, line in enumerate(open(path), 1):
        if "secret" in line:
            results.append({{
                "ruleId": "found-secret", "level": "error",
                "message": {{"text": "a secret"}},
                "suppressions": [{{"kind": "inSource"}}] if "allowed" in line else [],
                "locations": [{{"physicalLocation": {{
                    "artifactLocation": {{"uri": "file://" + path}}, "region": {{"startLine": n}}}}}}],
            }})
log = {{"version": "2.1.0", "runs": [{{"tool": {{"driver": {{"name": "Grep"}}}}, "results": results}}]}}
(sys.stdout if out == "-" else open(out, "w")).write(json.dumps(log))
sys.exit(1 if results else 0)
"""


@pytest.mark.parametrize("out", ["-", "{out}"])
def test_any_analyser_by_its_template(tmp_path: Path, out: str) -> None:
    program = tmp_path / "grep-secrets"
    program.write_text(GREP.format(python=sys.executable))
    program.chmod(0o755)
    table = {
        "type": "analyser",
        "vendor": "grep-people",
        "lineage": "grep",
        "reader": "sarif",
        "argv": [str(program), out, "{files}"],
        "severities": {"found-": "critical"},
    }
    files = {"a.txt": "one\n  my secret = 1\n", "b.py": "secret = 2  # allowed\n"}
    reading = answer(tmp_path, "mine", files, asked=["a.txt", "b.py"], **table)
    assert told(reading.findings) == {("found-secret", "a.txt", 2), ("found-secret", "b.py", 1)}
    assert told(reading.suppressed) == {("found-secret", "b.py", 1)}
    assert {(f.severity, f.lineage) for f in reading.findings or ()} == {("critical", None)}
    assert next(f.quote for f in reading.findings or ()) == "  my secret = 1"


def test_what_an_analyser_of_the_whole_tree_says_about_other_files_is_left_out(tmp_path: Path) -> None:
    program = tmp_path / "grep-tree"
    walk = GREP.replace("sys.argv[2:]", "[sys.argv[2] + f for f in ('/a.txt', '/b.txt')]")
    program.write_text(walk.format(python=sys.executable))
    program.chmod(0o755)
    table = {"type": "analyser", "reader": "sarif", "argv": [str(program), "-", "{tree}"]}
    files = {"a.txt": "secret\n", "b.txt": "secret\n"}
    reading = answer(tmp_path, "mine", files, asked=["a.txt"], **table)
    assert {f.file for f in reading.findings or ()} == {"a.txt"}
    assert "1 in files that were not asked about" in reading.text


def test_a_template_whose_files_do_not_fit_is_refused_with_a_remedy(tmp_path: Path) -> None:
    table = {"type": "analyser", "reader": "sarif", "argv": ["true", "{files}"]}
    names = [f"{'d' * 200}/{n}.c" for n in range(6000)]
    with pytest.raises(BriefError, match="narrow `reads`"):
        run(tmp_path, "mine", {}, asked=names, **table)


# --- finding the programs ---------------------------------------------------------------------


def test_the_programs_are_found_beside_the_running_python_without_path(tmp_path: Path) -> None:
    for name, executor in built_in(load({})).items():
        found = executor.locate({"PATH": ""}, [tmp_path])
        assert isinstance(found, Located), name
        assert os.path.isabs(found.argv[0])
        assert executor.login_argv(found) is None
        assert executor.version_argv(found)[0] == found.argv[0]


def test_a_program_of_the_reviewed_tree_is_never_started(tmp_path: Path) -> None:
    planted = tmp_path / "tree" / "ruff"
    planted.parent.mkdir()
    planted.write_text("#!/bin/sh\nexit 0\n")
    planted.chmod(0o755)
    for name in PYTHON:
        executor = built_in(load({"executor": {name: {"path": str(planted)}}}))[name]
        assert isinstance(executor.locate({}, [tmp_path / "tree"]), Missing)
    found = built_in(load({}))["ruff"].locate({"PATH": str(planted.parent)}, [tmp_path / "tree"])
    assert isinstance(found, Located)
    assert found.argv != (str(planted),)


def test_secrets_of_the_surroundings_do_not_reach_an_analyser(tmp_path: Path) -> None:
    executor = built_in(load({"executor": {"ruff": {"env": ["SHOWN"]}}}))["ruff"]
    bench = Bench(
        tmp_path, env={"OPENAI_API_KEY": "sk-1", "RUFF_SELECT": "X", "PYTHONPATH": "/x", "SHOWN": "y"}
    )
    env = executor.command(bench.request(executor)).env
    assert env["SHOWN"] == "y"
    assert not {"OPENAI_API_KEY", "RUFF_SELECT", "PYTHONPATH"} & set(env)
