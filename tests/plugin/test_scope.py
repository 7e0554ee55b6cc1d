"""What is collected, when, and what never spends: every row is a real pytest run."""

from __future__ import annotations

import os

import pytest

from tests.plugin.conftest import ONE, Project, payload


@pytest.fixture
def audited(project: Project) -> Project:
    """A project whose two stand-ins approve."""
    project.probe(ONE)
    project.answers({"payload": payload()})
    project.commit()
    return project


@pytest.mark.parametrize(
    ("arguments", "folder"),
    [
        (("panels/",), "."),
        (("panels",), "."),
        (("panels/probe_app.py",), "."),
        (("panels/probe_app.py::probe_app",), "."),
        (("panels/", "panels/probe_app.py"), "."),
        (("{abs}/panels",), "."),
        (("link",), "."),
        (("@args.txt",), "."),
        ((".",), "panels"),
        (("--import-mode=importlib", "panels/"), "."),
    ],
)
def test_arguments_in_a_panels_folder_are_asked_once_per_executor(
    audited: Project, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], folder: str
) -> None:
    os.symlink(audited.path / "panels", audited.path / "link")
    audited.write("args.txt", "panels/\n")
    monkeypatch.chdir(audited.path / folder)
    result = audited.run(*(a.format(abs=audited.path) for a in arguments))
    result.assert_outcomes(passed=2)
    assert sorted(audited.calls()) == ["left", "right"]
    assert result.ret == 0


@pytest.mark.parametrize(
    ("arguments", "folder", "ini", "environment"),
    [
        ((), ".", "", ""),
        ((".",), ".", "", ""),
        (("{abs}",), ".", "", ""),
        (("panels/..",), ".", "", ""),
        ((), ".", 'testpaths = ["panels"]', ""),
        ((), ".", 'addopts = "panels"', ""),
        ((), ".", "", "panels"),
        ((), "panels", "", ""),
    ],
)
def test_a_bare_run_never_spends_and_says_what_was_not_run(
    audited: Project,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    folder: str,
    ini: str,
    environment: str,
) -> None:
    if ini:
        text = (audited.path / "pyproject.toml").read_text().replace('addopts = ""', ini)
        audited.write("pyproject.toml", text)
    if environment:
        monkeypatch.setenv("PYTEST_ADDOPTS", environment)
    monkeypatch.chdir(audited.path / folder)
    result = audited.run(*(a.format(abs=audited.path) for a in arguments))
    assert audited.calls() == []
    result.stdout.fnmatch_lines(["*1 probe file not run: pytest *"])
    assert "probe_app[" not in result.stdout.str()


@pytest.mark.parametrize(
    "arguments",
    [
        ("--collect-only",),
        ("--collect-only", "-n", "2"),
        ("--setup-plan",),
        ("--setup-only",),
        ("--fixtures",),
        ("--fixtures-per-test",),
    ],
)
def test_commands_that_only_look_dispatch_nothing(audited: Project, arguments: tuple[str, ...]) -> None:
    audited.run("panels/", *arguments)
    assert audited.calls() == []


def test_collect_only_names_case_and_executor(audited: Project) -> None:
    audited.probe(
        """
import pytest
from prun_review import brief

@brief(reads=["src/*.py"])
@pytest.mark.parametrize("module", ["auth", "billing"])
def probe_injection(result, module):
    '''Audit src/{module}.'''
""",
        "panels/security/probe_modules.py",
    )
    result = audited.run("panels/security", "--collect-only", "-q")
    ids = [line for line in result.outlines if "::" in line]
    prefix = "panels/security/probe_modules.py::probe_injection"
    assert ids == [
        f"{prefix}[auth-left]",
        f"{prefix}[auth-right]",
        f"{prefix}[billing-left]",
        f"{prefix}[billing-right]",
    ]


def test_a_probe_file_outside_every_panels_folder_is_a_usage_error(audited: Project) -> None:
    audited.probe(ONE, "other/probe_x.py")
    result = audited.run("other/probe_x.py")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(
        ["*other/probe_x.py is a probe file outside every panels folder*", "*remedy: *"]
    )


def test_a_probe_file_outside_panels_is_not_collected_beside_them(audited: Project) -> None:
    audited.probe(ONE, "other/probe_x.py")
    result = audited.run("panels/", "other/")
    result.assert_outcomes(passed=2)


def test_stepwise_is_a_usage_error(audited: Project) -> None:
    result = audited.pytester.runpytest_subprocess("panels/", "--sw")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert audited.calls() == []


def test_classes_and_tests_in_a_probe_file_are_warned_about(audited: Project) -> None:
    audited.probe(ONE + "\n\nclass ProbeThings:\n    pass\n\n\ndef test_something():\n    assert False\n")
    result = audited.run("panels/")
    result.assert_outcomes(passed=2, warnings=2)
    result.stdout.fnmatch_lines(["*class ProbeThings in a probe file is not run*"])
    result.stdout.fnmatch_lines(["*test test_something in a probe file is not run*"])


@pytest.mark.parametrize("workers", [(), ("-n", "2")])
def test_a_probe_file_that_does_not_import_stops_the_run_before_any_dispatch(
    audited: Project, workers: tuple[str, ...]
) -> None:
    audited.probe("import does_not_exist_anywhere\n", "panels/probe_broken.py")
    result = audited.run("panels/", *workers)
    assert result.ret != 0
    assert audited.calls() == []


@pytest.mark.parametrize("workers", [(), ("-n", "2")])
@pytest.mark.parametrize("mode", ["prepend", "importlib"])
def test_the_same_basename_in_two_folders_behaves_the_same_with_and_without_workers(
    audited: Project, workers: tuple[str, ...], mode: str
) -> None:
    audited.probe(ONE, "panels/a/probe_same.py")
    audited.probe(ONE, "panels/b/probe_same.py")
    result = audited.run("panels/a", "panels/b", f"--import-mode={mode}", *workers)
    if mode == "importlib":
        result.assert_outcomes(passed=4)
        assert result.ret == 0
    else:
        assert result.ret != 0
        assert audited.calls() == []


def test_assertions_in_probes_are_rewritten(audited: Project) -> None:
    audited.probe(ONE + "    value = len(result.findings)\n    assert value == 7\n")
    for mode in ("prepend", "importlib"):
        result = audited.run("panels/", f"--import-mode={mode}")
        result.stdout.fnmatch_lines(["*assert 0 == 7*"])


def test_a_project_without_panels_imports_the_standard_library_only(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        test_idle="""
import sys

def test_modules():
    ours = sorted(m for m in sys.modules if m.split(".")[0] == "prun_review")
    assert ours == ["prun_review", "prun_review.plugin", "prun_review.plugin.scope"]
    heavy = {"jsonschema", "tabulate", "xdist.dsession", "prun_review.config", "rpds", "referencing"}
    assert not heavy & set(sys.modules)
"""
    )
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider", "-p", "no:hypothesispytest")
    result.assert_outcomes(passed=1)
    assert "probe" not in result.stdout.str()
