"""Static analysers as executors: ruff, pylint, bandit, and any other by an argv template.

    [tool.prun_review.executor.semgrep]
    type = "analyser"
    vendor = "semgrep"
    lineage = "semgrep"
    reader = "sarif"
    argv = ["semgrep", "scan", "--metrics=off", "--config", "/etc/rules.yml", "--sarif", "{files}"]

They look at the snapshot of the reviewed tree as data; for the built-in ones nothing in it is
configuration or code, and the comments with which it asks to be left alone are listed (see
:mod:`prun_review.executors.suppressions`) but not obeyed unless ``obey_suppressions`` is set.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from prun_review.config import Config, ExecutorConfig
from prun_review.errors import ConfigError
from prun_review.executors import environment, footprint, reasons, untrusted
from prun_review.executors.readers import READERS
from prun_review.executors.reports import Context, Report, relative
from prun_review.executors.sources import Sources
from prun_review.executors.suppressions import Suppressions
from prun_review.executors.tools import BUILT_IN, Start, Tool, template
from prun_review.model import SEVERITIES, Brief, Finding, Findings, Reading
from prun_review.ports import Command, Executor, Located, Missing, Output, Request, Seen, Sign, Supervision
from prun_review.words import number


def built_in(config: Config) -> dict[str, Executor]:
    """``ruff``, ``pylint``, ``bandit``, and every table with ``type = "analyser"``."""
    made: dict[str, Executor] = {
        name: Analyser(tool, config.executor(name)) for name, tool in BUILT_IN.items()
    }
    for name, table in config.executor_tables.items():
        if table.type == "analyser" and (name not in BUILT_IN or table.argv):
            made[name] = Analyser(template(table), table)
    return made


class Analyser:
    """An executor that answers ``findings`` by running a static analyser."""

    contracts = frozenset({"findings"})
    paid = False
    native = True
    provides: frozenset[str] = frozenset()
    supervision = Supervision(stall=0)  # it ends by itself, and is silent until then

    def __init__(self, tool: Tool, table: ExecutorConfig) -> None:
        for rule, severity in table.severities.items():
            if severity not in SEVERITIES:
                raise ConfigError(
                    f"{rule} is {severity!r}",
                    place=f"[tool.prun_review.executor.{table.name}.severities]",
                    remedy="one of " + ", ".join(SEVERITIES),
                )
        self._tool = tool
        self._table = table
        self.name = table.name
        self.vendor = table.vendor or tool.vendor
        self.lineage = table.lineage or tool.lineage
        self.limit = table.limit or None
        self.identity = _identity(table)
        self.suffix = tool.suffix

    def locate(self, env: Mapping[str, str], forbidden: Sequence[Path]) -> Located | Missing:
        """The program; for pylint and bandit the Python that has them."""
        return self._tool.locate(self._table, env, forbidden)

    def version_argv(self, located: Located) -> tuple[str, ...]:
        """The command that prints its version."""
        return (*located.argv, *self._tool.version)

    def sign(self, seen: Seen) -> Sign:
        """Nothing can be told before its end."""
        return Sign()

    def login_argv(self, located: Located) -> tuple[str, ...] | None:
        """None: nobody logs in to an analyser."""
        return None

    def child_env(self, env: Mapping[str, str]) -> dict[str, str]:
        """Base names and those that its table lists; no proxies, since it has nobody to call."""
        return environment.child_env(env, self._table.env, {"LC_ALL": "C.UTF-8"})

    def command(self, request: Request) -> Command:
        """The tool over the unit's files, in the attempt's directory."""
        files = self._files(request)
        # With nothing to analyse something harmless runs, and read() says why there is no answer.
        start = self._tool.start(request, self._table, files) if files else Start(self._tool.version, {})
        fixed = {
            "LC_ALL": "C.UTF-8",
            "HOME": str(request.state),
            "XDG_CACHE_HOME": str(request.state / "cache"),
            "TMPDIR": environment.temporary(request.out),
        }
        return Command(
            argv=(*request.located.argv, *start.argv),
            env=environment.child_env(request.env, self._table.env, fixed, (request.tree,)),
            cwd=request.out,
            files=start.files,
            outputs=(start.report,) if start.report else (),
            readable=(
                *footprint.of_program(request.located.argv[0], request.env.get("PATH", "")),
                *footprint.of_python(),
                *footprint.files(request.located.beside),
            ),
        )

    def read(self, output: Output, request: Request) -> Reading:
        """A whole report about all the files is an answer, whatever of 0 and 1 the exit status is."""
        stopped = reasons.ended(output.exit, reasons.line(reasons.decoded(output.stderr)[-2000:]))
        if stopped is not None:
            return stopped
        files = self._files(request)
        if not files:
            what = f"none of {number(len(request.unit.files), 'file')} ends with {self._tool.suffix}"
            return reasons.failed("nothing-to-analyse", what)
        start = self._tool.start(request, self._table, files)
        said = reasons.decoded(output.stderr).strip()[-1000:]
        if output.exit.code is None or not self._tool.answers(output.exit.code):
            return reasons.failed("no-answer", f"exit status {output.exit.code}: {said}")
        if output.cut:
            return reasons.failed("no-answer", f"the report was cut: {output.cut}")
        data = output.files.get(start.report, b"") if start.report else output.stdout
        try:
            report = READERS[self._tool.reader](data, self._context(request, start))
        except ValueError as e:
            return reasons.failed("no-answer", f"the {self._tool.reader} report: {e}; stderr: {said}")
        missing = sorted(set(files) - report.scanned) if report.scanned is not None else []
        unparsed = {f.file for f in report.findings if f.rule == "syntax-error"}
        failures = [*report.failures, *(f"{f}: left out" for f in missing if f not in unparsed)]
        if failures:
            return reasons.failed("not-examined", f"{len(failures)} not examined: {'; '.join(failures[:5])}")
        return self._answer(report, files, request)

    def _answer(self, report: Report, files: Sequence[str], request: Request) -> Reading:
        """The findings in these files; what a tool says about the rest of the tree was not asked."""
        sources = Sources(request.tree)
        asked = set(files)
        comments: dict[str | None, Suppressions] = {}
        kept: list[Finding] = []
        suppressed: list[Finding] = []
        elsewhere = 0
        for n, raw in enumerate(report.findings):
            if raw.file not in asked and sources.lines(raw.file):
                elsewhere += 1
                continue
            finding = sources.quoted(raw)
            if finding.lineage == self.lineage:
                finding = replace(finding, lineage=None)
            if finding.file not in comments:
                comments[finding.file] = Suppressions(self._tool.name, sources.lines(finding.file))
            hidden = n in report.suppressed or comments[finding.file].hide(finding)
            if hidden:
                suppressed.append(replace(finding, note="a comment in the code asks to hide it"))
            if not hidden or not self._table.obey_suppressions:
                kept.append(finding)
        text = f"{self.name}: {number(len(kept), 'finding')} in {number(len(files), 'file')}"
        if suppressed:
            text += f"; {len(suppressed)} that comments ask to hide are "
            text += "left out" if self._table.obey_suppressions else "among them"
        if elsewhere:
            text += f"; {elsewhere} in files that were not asked about are left out"
        return Reading(
            "answered",
            text=text,
            suppressed=tuple(suppressed),
            findings=Findings(kept),
            examined=tuple(files),
        )

    def exposes(self, brief: Brief, env: Mapping[str, str], *, contained: bool) -> tuple[str, ...]:
        """One that loads code or configuration from the tree runs what the tree's author wrote."""
        vouched = self._table.isolated
        found = untrusted.names(self._table.env)
        if not (self._tool.isolated or vouched):
            found = ("it loads code or configuration from the tree", *found)
        elif self._tool.isolated and not vouched and self._table.args:
            found = ("args can make it load what lies in the tree: isolated = true says they do not", *found)
        return found

    def _files(self, request: Request) -> tuple[str, ...]:
        return tuple(name for name in request.unit.files if name.endswith(self._tool.suffix))

    def _context(self, request: Request, start: Start) -> Context:
        roots = self._roots(request, start)
        if request.former:  # a stored report holds the paths of its own run
            then = replace(request, tree=request.former.tree, state=request.former.state)
            roots = (*roots, *self._roots(then, self._tool.start(then, self._table, self._files(then))))
        context = Context(tuple(dict.fromkeys(roots)), {}, self._table.severities)
        # ruff spells a name that is not UTF-8 with U+FFFD, and \ means / to most who write SARIF.
        spelled = {
            name: relative(os.fsencode(name).decode("utf-8", "replace"), context)
            for name in request.unit.files
        }
        return replace(context, names={there: name for name, there in spelled.items() if there != name})

    def _roots(self, request: Request, start: Start) -> tuple[str, ...]:
        tree = str(request.tree)
        return (tree, os.path.realpath(tree), *start.roots)


def _identity(table: ExecutorConfig) -> str:
    """What of the table an answer depends on."""
    rules = f"select={','.join(table.select) or 'default'} ignore={','.join(table.ignore) or 'default'}"
    rest = (table.args, table.argv, sorted(table.severities.items()), table.obey_suppressions)
    return f"{rules} {hashlib.sha256(repr(rest).encode()).hexdigest()[:8]}"
