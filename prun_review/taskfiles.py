"""One task file (``tasks/task-001-users.md``): frontmatter, title, sections, scope.  Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from prun_review import frontmatter, scopetext
from prun_review.manifestfields import Fields, Problems
from prun_review.tasks import Scope

KEYS = (
    *("id", "component", "wave", "deps", "blocks", "agent", "skills", "tech_spec", "contracts"),
    *("title", "verify", "executor", "timeout", "access"),
)
"""Keys of a frontmatter that mean something; the last four are ours."""
SCOPE = "scope"
_HEADING = re.compile(r"(#{1,2})\s+(.*?)\s*#*\s*$")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_TITLE_ID = re.compile(r"^task-\d+[\w-]*\s*[:.\u2013\u2014-]?\s*", re.I)


@dataclass(frozen=True)
class Section:
    """What stands below a heading ``##``."""

    heading: str
    line: int
    """Of the heading."""
    lines: tuple[tuple[int, str], ...]

    @property
    def text(self) -> str:
        """Without blank lines around it."""
        return "\n".join(text for _, text in self.lines).strip("\n").rstrip()


@dataclass(frozen=True)
class TaskFile:
    """A task file that was read."""

    name: str
    """Relative to the directory."""
    fields: Fields
    title: str = ""
    """Of the first ``#`` heading, without the id before it."""
    sections: Mapping[str, Section] = field(default_factory=dict)
    """By heading in lower case, in their order; ``""`` is what stands before the first."""
    scope: Scope = field(default_factory=Scope)
    entries: tuple[scopetext.Entry, ...] = ()
    """The scope's patterns with their lines."""

    @property
    def stem(self) -> str:
        """Its name without folder and ending."""
        return self.name.rpartition("/")[2].removesuffix(".md")

    def line_of(self, key: str) -> int:
        """The line of a key of the frontmatter; 1 where it is not there."""
        return self.fields.lines(key) or 1

    def section(self, *headings: str) -> str:
        """The text of the first of these sections that is there and not empty; empty where none is."""
        texts = (self.sections[h].text for h in headings if h in self.sections)
        return next(filter(None, texts), "")


def parse(name: str, text: str, problems: Problems) -> TaskFile:
    """Read a task file; everything that is wrong with it is told to ``problems``."""
    front = frontmatter.read(text)
    for code, line, told in front.faults:
        problems.error(code, name, line, told)
    if not front.there:
        remedy = "begin it with '---', lines such as 'id: task-001' and 'wave: 1', and '---'"
        problems.warning("no-frontmatter", name, 1, "the task file has no frontmatter", remedy)
    fields = Fields(front.values, name, front.lines.get, problems, "the frontmatter")
    fields.known(KEYS)
    title, sections = _sections(front)
    entries: tuple[scopetext.Entry, ...] = ()
    if SCOPE in sections:
        entries, faults = scopetext.read(sections[SCOPE].lines)
        for fault in faults:
            tell = problems.error if fault.level == "error" else problems.warning
            tell(fault.code, name, fault.line, fault.text, fault.remedy)
    scope = scopetext.scope_of(entries)
    if not scope.stated:
        line = sections[SCOPE].line if SCOPE in sections else 1
        told = "it does not say what it creates or modifies, so it may touch everything but its boundary"
        problems.warning("no-scope", name, line, told, "add '## Scope' with 'CREATE:' and 'MODIFY:'")
    return TaskFile(name, fields, title, sections, scope, entries)


def _sections(front: frontmatter.Front) -> tuple[str, dict[str, Section]]:
    title, heading, begun = "", "", front.body_line
    held: dict[str, list[tuple[int, str]]] = {"": []}
    begins: dict[str, tuple[str, int]] = {"": ("", begun)}
    for number, line, code in _numbered(front.body, front.body_line):
        found = None if code else _HEADING.match(line)
        if found and found[1] == "#" and not title:
            title = _TITLE_ID.sub("", found[2])
        elif found:
            heading = found[2].strip().lower()
            begins.setdefault(heading, (found[2].strip(), number))
            held.setdefault(heading, [])
        else:
            held[heading].append((number, line))
    return title, {key: Section(*begins[key], tuple(lines)) for key, lines in held.items()}


def _numbered(body: str, first: int) -> Iterator[tuple[int, str, bool]]:
    """Number and text of every line, and whether it stands in a fenced block."""
    fence = ""
    for number, line in enumerate(body.split("\n"), first):
        mark = _FENCE.match(line)
        yield number, line, bool(fence or mark)
        if mark and not fence:
            fence = mark[1]
        elif mark and mark[1].startswith(fence) and not line.strip().strip(fence[0]):
            fence = ""
