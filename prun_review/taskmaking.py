"""A :class:`~prun_review.tasks.Task` of what the manifest, its task file and its prompt say.  Pure.

An *agent* is the name of a persona, with or without the plugin it comes from, and no list of all personas
exists anywhere: so a warning is told where the name is malformed, and where it is nearly that of others (see
:mod:`prun_review.taskrules`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from prun_review import taskprompts
from prun_review.manifestfields import Fields, Problems
from prun_review.manifestfiles import CONTEXT, PROMPTS, Files, below
from prun_review.paths import suspicious
from prun_review.taskfiles import TaskFile
from prun_review.taskids import Ids, same
from prun_review.tasks import Scope, Task
from prun_review.wavelists import Listed

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_AGENT = re.compile(r"[A-Za-z0-9][\w.-]*(?::[A-Za-z0-9][\w.-]*)?")
_EXECUTOR = re.compile(r"[A-Za-z0-9][\w.-]*")
ACCESSES = ("write", "full")
NOT_PROMPTS = ("agent-prompts.md",)
"""What lies beside the prompts and is none."""


@dataclass(frozen=True)
class Joined:
    """A task with the places that it is made of."""

    task: Task
    listed: Listed
    file: TaskFile | None

    @property
    def place(self) -> tuple[str, int | None]:
        """File and line that list it."""
        return (self.listed.fields.file, self.listed.line)

    def where(self, key: str) -> tuple[str, int | None]:
        """File and line of one of its keys, wherever it stands."""
        if key in self.listed.fields.values:
            return (self.listed.fields.file, self.listed.fields.lines(key))
        if self.file and key in self.file.fields.values:
            return (self.file.name, self.file.fields.lines(key))
        return self.place


@dataclass(frozen=True)
class Shelf:
    """The task files of a directory, to be found by id."""

    files: Mapping[str, TaskFile]
    stems: Ids
    said: Ids
    """By the id in their frontmatter."""

    @classmethod
    def of(cls, files: Mapping[str, TaskFile]) -> Shelf:
        """All of these, by name."""
        said = ((file.fields.values.get("id"), name) for name, file in files.items())
        named = ((value.strip(), name) for value, name in said if isinstance(value, str))
        return cls(files, Ids((file.stem, name) for name, file in files.items()), Ids(named))

    def find(self, listed: Listed, problems: Problems) -> TaskFile | None:
        """A task's own: of the same name, else the only one with the same short id; None where none is."""
        if listed.task_file:
            return self.files[listed.task_file]
        near = {*self.stems.same(listed.id), *self.said.same(listed.id)}
        found = self.stems.equal(listed.id) or sorted(near)
        if len(found) > 1:
            told = f"{listed.fields.what}: several task files may be meant: {', '.join(found)}"
            problems.error("ambiguous-task-file", listed.fields.file, listed.line, told)
        return self.files[found[0]] if len(found) == 1 else None


def make(listed: Listed, file: TaskFile | None, directory: str, problems: Problems) -> Joined:
    """The task without prompt and dependencies; what the manifest says goes before the frontmatter."""
    nothing = Fields({}, listed.fields.file, lambda _: None, problems, "the frontmatter")
    front = file.fields if file else nothing
    both = (listed.fields, front)
    task = Task(
        id=listed.id,
        wave=listed.wave,
        agent=_first(both, "agent").text("agent"),
        title=listed.fields.text("title") or (file.title if file else "") or front.text("title"),
        component=_first(both, "component").text("component"),
        scope=file.scope if file else Scope(),
        contracts=tuple(below(name, directory) for name in front.texts("contracts", split=",")),
        skills=front.texts("skills", split=","),
        task_file=file.name if file else "",
        executor=_word(_first(both, "executor"), "executor", _EXECUTOR, "the name of an executor"),
        access=_access(_first(both, "access")),
        verify=_first(both, "verify").texts("verify"),
        timeout=_first(both, "timeout").seconds("timeout"),
    )
    joined = Joined(task, listed, file)
    _check_ids(joined, problems)
    _check_agent(joined, problems)
    return joined


def _first(both: tuple[Fields, Fields], key: str) -> Fields:
    return both[0] if both[0].has(key) else both[1]


def _word(fields: Fields, key: str, form: re.Pattern[str], what: str) -> str:
    value = fields.text(key)
    if value and not form.fullmatch(value):
        told = f"{fields.what}: {key} is {value[:60]!r}, which is not {what}"
        fields.problems.error("bad-value", fields.file, fields.lines(key), told)
        return ""
    return value


def _access(fields: Fields) -> str:
    value = fields.text("access")
    if value and value not in ACCESSES:
        told = f"{fields.what}: access is {value[:60]!r}, one of {', '.join(ACCESSES)}"
        fields.problems.error("bad-value", fields.file, fields.lines("access"), told)
        return ""
    return value


def _check_ids(joined: Joined, problems: Problems) -> None:
    listed, file = joined.listed, joined.file
    raw = listed.fields.values.get("id", listed.id)
    if isinstance(raw, str) and not _ID.fullmatch(raw):
        told = f"the id {raw[:60]!r} may hold letters, digits, '-', '_' and '.' only, and no blanks"
        problems.error("bad-id", *joined.place, told)
    if not file or not file.fields.values:
        return
    said = file.fields.text("id")
    if not said:
        problems.warning("missing-field", file.name, 1, "its frontmatter has no id")
        return
    line = file.line_of("id")
    if not same(said, listed.id):
        told = f"its id is {said!r}, and the manifest calls the task {listed.id!r}"
        problems.error("id-mismatch", file.name, line, told)
    if not same(said, file.stem):
        problems.error("id-mismatch", file.name, line, f"its id is {said!r}, and its name says {file.stem!r}")


def _check_agent(joined: Joined, problems: Problems) -> None:
    agent = joined.task.agent
    if agent and not _AGENT.fullmatch(agent):
        told = f"task {joined.task.id!r}: {agent[:60]!r} is not the name of an agent"
        problems.warning("unknown-agent", *joined.where("agent"), told, "agent: <name>, or <plugin>:<name>")
    said = joined.file.fields.text("agent") if joined.file else ""
    if joined.file and said.rpartition(":")[2] != agent.rpartition(":")[2] and said:
        told = f"its agent is {said!r}, and the manifest says {agent!r}, which counts"
        problems.warning("agent-differs", joined.file.name, joined.file.line_of("agent"), told)


def prompts(
    joined: Sequence[Joined], files: Files, directory: str, problems: Problems
) -> Mapping[str, tuple[str, str]]:
    """Of every task (by id) the name of its prompt's file and the text of the prompt.

    Where no prompt is there at all (the folder is ignored by git in many projects) all are built, and the
    names are empty.
    """
    kept = _has_prompts(PROMPTS, files)
    context = files.text(CONTEXT)  # part of the digest, also where no prompt is built
    found = {}
    for each in joined:
        name = _prompt_file(each, files, directory, problems, kept)
        text = files.text(name) if name else None
        contracts = _contracts(each, files, problems, built=text is None)
        if text is None:
            found[each.task.id] = ("", _built(each, context, contracts, problems))
            continue
        _check_prompt(name, text, problems)
        found[each.task.id] = (name, text)
    return found


def _has_prompts(folder: str, files: Files) -> bool:
    return any(n.startswith(f"{folder}/") and n.rpartition("/")[2] not in NOT_PROMPTS for n in files.names)


def _prompt_file(joined: Joined, files: Files, directory: str, problems: Problems, kept: bool) -> str:
    """Its name; empty where it has to be built, or is missing, which is told."""
    named = joined.listed.fields.text("prompt_file")
    task = joined.task
    if named:
        name = below(named, directory)
        if suspicious(name):
            told = f"task {task.id!r}: prompt_file {named[:80]!r}: {suspicious(name)}"
            problems.error("leaves-directory", *joined.where("prompt_file"), told)
            return ""
        kept = kept or _has_prompts(name.rpartition("/")[0], files)
        choices = [name]
    else:
        choices = [f"{PROMPTS}/{stem}{end}" for stem in (task.id, task.short) for end in (".txt", ".md")]
    found = next((name for name in choices if name in files.names), "")
    if not found and not named:
        longer = [n for n in files.below(PROMPTS, (".txt", ".md")) if n.startswith(f"{PROMPTS}/{task.id}-")]
        found = longer[0] if len(longer) == 1 else ""
    if not found and kept:
        remedy = "make it, or take all prompts away: then they are built of the task files"
        told = f"the prompt of task {task.id!r} is not there: {choices[0]}"
        problems.error("prompt-missing", *joined.where("prompt_file"), told, remedy)
    return found


def _check_prompt(name: str, text: str, problems: Problems) -> None:
    if not text.strip():
        problems.error("empty-prompt", name, 1, "the prompt is empty")
        return
    lacking = taskprompts.missing(text)
    if lacking:
        problems.warning("prompt-section", name, 1, f"sections are missing: {', '.join(lacking)}")
    if taskprompts.MARKER not in text:
        told = (
            f"it does not tell the worker to create {taskprompts.MARKER}: the task will count as unfinished"
        )
        problems.warning("prompt-marker", name, 1, told)


def _contracts(joined: Joined, files: Files, problems: Problems, *, built: bool) -> Mapping[str, str]:
    """The texts of its contracts; one that is not there is an error where the prompt is to hold it."""
    found = {}
    for index, name in enumerate(joined.task.contracts):
        text = files.text(name)
        if text is not None:
            found[name] = text
        elif name not in files.names and joined.file:
            line = joined.file.fields.lines(f"contracts/{index}") or joined.file.line_of("contracts")
            tell = problems.error if built else problems.warning
            tell("contract-missing", joined.file.name, line, f"the contract {name!r} is not in the directory")
    return found


def _built(joined: Joined, context: str | None, contracts: Mapping[str, str], problems: Problems) -> str:
    task = joined.task
    if not joined.file:
        told = f"task {task.id!r} has neither a prompt nor a task file"
        problems.error("task-file-missing", *joined.place, told, f"make tasks/{task.id}.md")
    if context is None:
        problems.warning("no-context", CONTEXT, None, "there is no context.md to put into the prompts")
    return taskprompts.build(task, joined.file, context or "", contracts)


def unfiled(joined: Sequence[Joined], problems: Problems) -> None:
    """A warning for every task that has a prompt and no task file: nothing is known of its scope."""
    for each in joined:
        if not each.file and each.task.prompt_file:
            told = f"task {each.task.id!r} has no task file: its scope and dependencies are not known"
            problems.warning("task-file-missing", *each.place, told, f"make tasks/{each.task.id}.md")
