"""SARIF 2.1 logs as findings."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any
from urllib.parse import unquote

from prun_review.executors.reports import (
    MAX_RESULTS,
    Context,
    Report,
    at,
    finding_of,
    lines_of,
    list_at,
    relative,
    strict_json,
    text_of,
)
from prun_review.executors.rules import Kind
from prun_review.model import Finding

_MAX_BASES = 8
_UNPARSABLE = Kind("syntax error", "high", "correctness")


def sarif(data: bytes, context: Context) -> Report:
    """All runs of a SARIF log as one report."""
    log = strict_json(data)
    version = at(log, "version")
    if not isinstance(version, str) or not version.startswith("2."):
        raise ValueError(f"not a SARIF 2 log: version is {version!r:.40}")
    findings: list[Finding] = []
    suppressed: set[int] = set()
    failures: list[str] = []
    scanned: set[str] | None = None
    for n, run in enumerate(list_at(log, "runs", "runs")):
        reader = _Run(run, context)
        for result in list_at(run, "results", f"runs[{n}].results"):
            finding = reader.finding(result)
            if finding is None:
                continue
            if finding.rule == "E902":  # ruff and pycodestyle: the file could not be read
                failures.append(f"{finding.file}: {finding.title}")
                continue
            if reader.is_suppressed(result):
                suppressed.add(len(findings))
            findings.append(finding)
            if len(findings) > MAX_RESULTS:
                raise ValueError(f"more than {MAX_RESULTS} results")
        extra, broken = reader.notifications()
        findings += extra
        failures += broken
        metrics = at(run, "properties", "metrics")  # bandit's list of the files it went through
        if isinstance(metrics, dict):
            seen = (relative(name, context) for name in metrics if name != "_totals")
            scanned = (scanned or set()).union(name for name in seen if name)
    return Report(tuple(findings), frozenset(suppressed), tuple(failures), _frozen(scanned))


def _frozen(names: set[str] | None) -> frozenset[str] | None:
    return None if names is None else frozenset(names)


class _Run:
    """One run of a SARIF log."""

    def __init__(self, run: Any, context: Context) -> None:
        self._run = run
        # A log that nobody has the tree of: its absolute bases are all that can be taken away.
        self._context = context if context.roots else replace(context, roots=_bases(run))
        self._tool = text_of(at(run, "tool", "driver", "name")) or "analyser"
        rules = at(run, "tool", "driver", "rules")
        self._rules: list[Any] = rules if isinstance(rules, list) else []
        self._by_id = {r["id"]: r for r in self._rules if isinstance(at(r, "id"), str)}

    def finding(self, result: Any) -> Finding | None:
        """The finding of a result; None where it says that nothing is wrong (any more)."""
        if at(result, "kind") in ("pass", "notApplicable") or at(result, "baselineState") == "absent":
            return None
        rule = self._rule(result)
        rule_id = text_of(at(result, "ruleId")) or text_of(at(rule, "id")) or ""
        place = at(result, "locations", 0, "physicalLocation")
        region = at(place, "region")
        line, end = lines_of(at(region, "startLine"), at(region, "endLine"))
        snippet = at(region, "snippet", "text")
        return finding_of(
            tool=self._tool,
            rule=rule_id,
            name=text_of(at(rule, "properties", "name")) or text_of(at(rule, "name")) or "",
            message=self._message(result, rule),
            file=self._file(at(place, "artifactLocation")),
            line=line,
            end_line=end,
            quote=snippet if isinstance(snippet, str) else None,
            severities=self._context.severities,
            otherwise=_otherwise(rule, at(result, "level")),
        )

    def _rule(self, result: Any) -> Any:
        """The descriptor of the result's rule, by id or index."""
        for name in (at(result, "ruleId"), at(result, "rule", "id")):
            if isinstance(name, str) and name in self._by_id:
                return self._by_id[name]
        for index in (at(result, "ruleIndex"), at(result, "rule", "index")):
            if type(index) is int and 0 <= index < len(self._rules):
                return self._rules[index]
        return None

    def _message(self, result: Any, rule: Any) -> str:
        message = at(result, "message")
        text = text_of(at(message, "text")) or text_of(at(message, "markdown"))
        if not text:
            key = at(message, "id")
            text = text_of(at(rule, "messageStrings", key if isinstance(key, str) else "default", "text"))
        arguments = at(message, "arguments")
        values = [str(a)[:200] for a in arguments] if isinstance(arguments, list) else []
        return re.sub(
            r"\{(\d{1,3})\}", lambda m: values[int(m[1])] if int(m[1]) < len(values) else m[0], text or ""
        )

    def _file(self, location: Any) -> str | None:
        index = at(location, "index")
        uri = at(location, "uri")
        if not isinstance(uri, str) and type(index) is int and index >= 0:
            location = at(self._run, "artifacts", index, "location")
            uri = at(location, "uri")
        base = at(location, "uriBaseId")
        for _ in range(_MAX_BASES):
            if not isinstance(uri, str) or not isinstance(base, str):
                break
            above = at(self._run, "originalUriBaseIds", base)
            prefix = at(above, "uri")
            if isinstance(prefix, str):
                uri = prefix.rstrip("/") + "/" + uri
            base = at(above, "uriBaseId")
        if not isinstance(uri, str) or not uri or "\0" in uri:
            return None
        return relative(_path(uri), self._context)

    def is_suppressed(self, result: Any) -> bool:
        """Whether the report says so; a rejected or pending suppression does not count."""
        marks = at(result, "suppressions")
        return isinstance(marks, list) and any(
            isinstance(m, dict) and m.get("status", "accepted") == "accepted" for m in marks
        )

    def notifications(self) -> tuple[list[Finding], list[str]]:
        """Files that do not parse, as findings; and what else the tool says it could not do."""
        findings: list[Finding] = []
        failures: list[str] = []
        invocations = at(self._run, "invocations")
        for invocation in invocations if isinstance(invocations, list) else []:
            if at(invocation, "executionSuccessful") is False:
                failures.append(f"{self._tool} says that it did not succeed")
            for key in ("toolExecutionNotifications", "toolConfigurationNotifications"):
                notes = at(invocation, key)
                for note in notes if isinstance(notes, list) else []:
                    if at(note, "level") != "error":
                        continue
                    text = text_of(at(note, "message", "text")) or "an error without a message"
                    file = self._file(at(note, "locations", 0, "physicalLocation", "artifactLocation"))
                    if file and "syntax error" in text.lower():
                        findings.append(self._unparsable(file, text))
                    else:
                        failures.append(f"{file}: {text}" if file else text)
        return findings, failures

    def _unparsable(self, file: str, text: str) -> Finding:
        return finding_of(
            tool=self._tool,
            rule="syntax-error",
            name="",
            message=text,
            file=file,
            line=None,
            end_line=None,
            quote=None,
            severities=self._context.severities,
            otherwise=_UNPARSABLE,
        )


def _otherwise(rule: Any, level: Any) -> Kind:
    """What to think of a rule that no table of ours knows: its score, else its level, never high."""
    score = at(rule, "properties", "security-severity")
    try:
        value = float(score) if isinstance(score, (str, int, float)) else 0.0
    except ValueError:
        value = 0.0
    for least, severity in ((9.0, "critical"), (7.0, "high"), (4.0, "medium"), (0.1, "low")):
        if value >= least:
            return Kind("", severity, "security")
    if not isinstance(level, str):
        level = at(rule, "defaultConfiguration", "level")
    return Kind("", {"note": "low", "none": "info"}.get(str(level), "medium"), "other")


def _bases(run: Any) -> tuple[str, ...]:
    """The absolute directories that a run names as bases, the outermost first."""
    named = at(run, "originalUriBaseIds")
    uris = [at(base, "uri") for base in named.values()] if isinstance(named, dict) else []
    paths = {_path(uri).rstrip("/") for uri in uris if isinstance(uri, str)}
    return tuple(sorted((p for p in paths if p.startswith("/")), key=lambda p: (len(p), p)))


def _path(uri: str) -> str:
    """``file:///a%20b``, ``file://localhost/a%20b`` and ``file:/a%20b`` as ``/a b``."""
    if uri[:5].lower() == "file:":
        uri = re.sub(r"^//[^/]*", "", uri[5:])
    return unquote(uri, errors="surrogateescape")
