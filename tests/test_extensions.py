"""Built-ins and extensions meet in one manager; a broken extension is an error with its name."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pluggy
import pytest

from prun_review import extensions, hookspecs
from prun_review.config import Config, ExecutorConfig
from prun_review.errors import ConfigError, ExecutorError
from prun_review.hookspecs import hookimpl
from prun_review.model import Finding


class Shout:
    """A renderer of three lines."""

    suffix = ".txt"

    def __init__(self, name: str = "shout") -> None:
        self.name = name

    def __call__(self, document: Any) -> str:
        return str(document.get("run_id", "")).upper()


class Renders:
    """An extension that answers ``prun_renderers`` with what it is given."""

    def __init__(self, answer: Callable[[], Any]) -> None:
        self.answer = answer

    @hookimpl
    def prun_renderers(self) -> Any:
        return self.answer()


def plugins(*further: object) -> pluggy.PluginManager:
    found = pluggy.PluginManager(hookspecs.PROJECT)
    found.add_hookspecs(hookspecs)
    for n, plugin in enumerate(further):
        found.register(plugin, f"extension-{n}")
    return found


def test_the_built_ins_register_through_the_hooks() -> None:
    found = extensions.manager()
    assert {"terminal", "markdown", "json"} <= set(extensions.renderers(found))
    assert {"findings", "choice", "prose"} <= set(extensions.contracts(found))
    assert {"codex", "sonnet", "ruff", "pylint", "bandit"} <= set(extensions.executors(found, Config()))


def test_the_later_registration_wins() -> None:
    first, second = Shout(), Shout()
    found = plugins(Renders(lambda: [first, Shout("other")]), Renders(lambda: (second,)))
    known = extensions.renderers(found)
    assert list(known) == ["shout", "other"]
    assert known["shout"] is second


def explode() -> Any:
    raise RuntimeError("no such luck")


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (explode, "prun_renderers of extension 'extension-0' failed: RuntimeError: no such luck"),
        (lambda: None, "prun_renderers of extension 'extension-0' gave NoneType, not Sequence"),
        (lambda: [Shout("")], "extension 'extension-0' registers something under the name ''"),
    ],
)
def test_a_broken_answer_names_its_extension(answer: Callable[[], Any], told: str) -> None:
    with pytest.raises(ConfigError) as caught:
        extensions.renderers(plugins(Renders(answer)))
    assert told in str(caught.value)


def test_an_extension_may_say_itself_what_is_wrong() -> None:
    class Picky:
        @hookimpl
        def prun_executors(self, config: Config) -> Any:
            raise ExecutorError("needs a table", remedy="write one")

    with pytest.raises(ExecutorError, match="needs a table"):
        extensions.executors(plugins(Picky()), Config())


class Poem:
    """A contract kind of somebody else, as far as its name goes."""

    kind = "poem"


class Knows:
    @hookimpl
    def prun_contracts(self) -> Any:
        return (Poem(),)


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        ("examinaton", "contracts names the unknown 'examinaton'\n  remedy: did you mean 'examination'?"),
        ("pom", "did you mean 'poem'?"),
        ("xyz", "remedy: known contracts: "),
    ],
)
def test_an_unknown_contract_names_the_nearest_known_one(kind: str, told: str) -> None:
    found = plugins(extensions.manager().get_plugin(extensions.BUILT_IN), Knows())

    def table(*kinds: str) -> dict[str, ExecutorConfig]:
        return {"beta": ExecutorConfig("beta", contracts=kinds), "gamma": ExecutorConfig("gamma")}

    extensions.check_contracts(found, table("findings", "choice", "prose", "examination", "poem"))
    with pytest.raises(ConfigError) as caught:
        extensions.check_contracts(found, table("findings", kind))
    assert told in str(caught.value)
    assert "[tool.prun_review.executor.beta]" in str(caught.value)


def test_an_unknown_report_format_names_the_known_ones() -> None:
    found = plugins(Renders(lambda: [Shout()]))
    extensions.check_reports(found, ["shout", "shout:out.txt"])
    with pytest.raises(ConfigError) as caught:
        extensions.check_reports(found, ["shout", "pdf:x.pdf"])
    assert str(caught.value) == "unknown report format 'pdf'\n  remedy: one of shout"


def test_same_finding_is_none_until_somebody_has_an_opinion() -> None:
    class Opinion:
        @hookimpl
        def prun_same_finding(self, left: Finding, right: Finding) -> bool | None:
            return None if left.title == "?" else left.title == right.title

    assert extensions.same_finding(plugins()) is None
    same = extensions.same_finding(plugins(Opinion()))
    assert same is not None
    assert [same(Finding(a), Finding("x")) for a in ("x", "y", "?")] == [True, False, None]


def distribution(folder: Path, value: str, source: str) -> dict[str, str]:
    """An installed distribution ``mine`` with one entry point; the environment that sees it."""
    info = folder / "mine-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[prun_review]\nmine = {value}\n")
    (folder / "mine_hooks.py").write_text(source)
    return {"PATH": os.defpath, "HOME": str(folder), "PYTHONPATH": str(folder)}


GOOD = """
from prun_review.hookspecs import hookimpl
class Shout:
    name, suffix = "shout", ".txt"
    def __call__(self, document):
        return "LOUD"
@hookimpl
def prun_renderers():
    return [Shout()]
"""
ASK = "from prun_review import extensions; print(*sorted(extensions.renderers(extensions.manager())))"


def ask(env: dict[str, str], cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", ASK], env=env, cwd=cwd, capture_output=True, text=True, timeout=60
    )


def test_an_installed_extension_is_found(tmp_path: Path) -> None:
    done = ask(distribution(tmp_path / "site", "mine_hooks", GOOD), tmp_path)
    assert (done.stdout, done.stderr) == ("adr json markdown shout terminal\n", "")


@pytest.mark.parametrize(
    ("value", "source", "told"),
    [
        (
            "mine_hooks",
            "import nothing_like_this",
            "ModuleNotFoundError: No module named 'nothing_like_this'",
        ),
        ("mine_hooks:missing", "", "AttributeError"),
        ("mine_hooks", GOOD.replace("prun_renderers", "prun_renderer"), "unknown hook 'prun_renderer'"),
        ("mine_hooks", "raise SystemError('::error::x')", "SystemError"),
    ],
)
def test_a_broken_extension_is_named_with_its_distribution(
    tmp_path: Path, value: str, source: str, told: str
) -> None:
    done = ask(distribution(tmp_path / "site", value, source), tmp_path)
    assert done.returncode == 1
    assert f"entry point prun_review: mine = {value}: extension 'mine' cannot be loaded: " in done.stderr
    assert told in done.stderr
    assert "remedy: mend or uninstall mine" in done.stderr
