"""The reports of static analysers as findings: SARIF 2.1 and pylint's ``json2``."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from prun_review.executors.reports import (
    MAX_RESULTS,
    UNKNOWN,
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
from prun_review.executors.sarif import sarif
from prun_review.model import Finding


def read_sarif(data: bytes) -> list[Finding]:
    """The findings of a SARIF file, suppressed ones included; ``ValueError`` when it is none."""
    return list(sarif(data, Context()).findings)


def pylint_json2(data: bytes, context: Context) -> Report:
    """pylint's ``--output-format=json2``."""
    report = strict_json(data)
    findings: list[Finding] = []
    failures: list[str] = []
    for message in list_at(report, "messages", "messages"):
        path = text_of(at(message, "absolutePath")) or text_of(at(message, "path"))
        file = relative(path, context) if path else None
        text = text_of(at(message, "message")) or ""
        if at(message, "type") == "fatal":
            failures.append(f"{file}: {text}")
            continue
        line, end = lines_of(at(message, "line"), at(message, "endLine"))
        findings.append(
            finding_of(
                tool="pylint",
                rule=text_of(at(message, "messageId")) or "",
                name=text_of(at(message, "symbol")) or "",
                message=text,
                file=file,
                line=line,
                end_line=end,
                quote=None,
                severities=context.severities,
                otherwise=UNKNOWN,
            )
        )
        if len(findings) > MAX_RESULTS:
            raise ValueError(f"more than {MAX_RESULTS} messages")
    return Report(tuple(findings), failures=tuple(failures))


READERS: Mapping[str, Callable[[bytes, Context], Report]] = {"sarif": sarif, "pylint-json2": pylint_json2}
"""By the names that the configuration uses."""
