"""What must hold between the waves and tasks of a manifest: numbers, dependencies, counts.  Pure.

None of it stops at the first fault.
"""

from __future__ import annotations

import difflib
from collections import Counter, deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from prun_review.manifestfields import Fields, Problems, near
from prun_review.manifestfiles import MANIFEST
from prun_review.strictjson import shown
from prun_review.taskids import Ids, short
from prun_review.taskmaking import Joined
from prun_review.wavelists import Listing

_ALIKE = 0.9
"""Likeness from which an agent that one task names counts as a slip of one that several do."""
_NONE = frozenset({"none", "-", "n/a", "[]"})


def unique(joined: Sequence[Joined], problems: Problems) -> tuple[Joined, ...]:
    """The tasks without those whose id was there before, which are told."""
    first: dict[str, Joined] = {}
    for each in joined:
        known = first.setdefault(each.task.id.casefold(), each)
        if known is not each:
            file, line = known.place
            case = "" if known.task.id == each.task.id else " (they differ in case only)"
            told = f"the id {each.task.id!r} stands at {file}:{line} already{case}"
            problems.error("duplicate-id", *each.place, told)
    return tuple(first.values())


def numbers(listing: Listing, joined: Sequence[Joined], problems: Problems) -> None:
    """Waves are numbered 1, 2, 3... in order, each once, and each has a task."""
    places = _wave_places(listing, joined)
    for number, (file, line) in sorted(places.items()):
        if number > 1 and number - 1 not in places:
            before = max((n for n in places if n < number), default=0)
            gap = f"wave {before + 1}" if number - before == 2 else f"waves {before + 1} to {number - 1}"
            problems.error("wave-gap", file, line, f"wave {number} is there, and {gap} not")
    held = {each.task.wave for each in joined}
    for wave in listing.waves:
        if wave.number not in held:
            problems.error("empty-wave", MANIFEST, wave.line, f"wave {wave.number} has no task")
    seen: dict[int, int | None] = {}
    for wave in listing.waves:
        if wave.number in seen:
            told = f"wave {wave.number} stands at line {seen[wave.number]} already"
            problems.error("duplicate-wave", MANIFEST, wave.line, told)
        elif any(number > wave.number for number in seen):
            told = (
                f"wave {wave.number} stands behind wave {max(seen)}; they run in the order of their numbers"
            )
            problems.warning("wave-order", MANIFEST, wave.line, told)
        seen.setdefault(wave.number, wave.line)


def _wave_places(listing: Listing, joined: Sequence[Joined]) -> dict[int, tuple[str, int | None]]:
    places: dict[int, tuple[str, int | None]] = {}
    for wave in listing.waves:
        places.setdefault(wave.number, (MANIFEST, wave.line))
    for each in joined:
        places.setdefault(each.task.wave, each.where("wave"))
    return places


def same_waves(joined: Sequence[Joined], problems: Problems) -> None:
    """A warning where the frontmatter has another wave than the manifest, which counts."""
    for each in joined:
        said = each.file.fields.number("wave") if each.file and each.listed.fields.values else None
        if each.file and said is not None and said != each.task.wave:
            told = f"its wave is {said}, and the manifest has it in wave {each.task.wave}, which counts"
            problems.warning("wave-differs", each.file.name, each.file.line_of("wave"), told)


def dependencies(joined: Sequence[Joined], problems: Problems) -> Mapping[str, tuple[str, ...]]:
    """Of every task the ids that it depends on, sorted; what it ``blocks`` depends on it just as well."""
    known = {each.task.id: each for each in joined}
    ids = Ids((name.casefold(), name) for name in known)
    found: dict[str, set[str]] = {name: set() for name in known}
    for each in joined:
        for name, file, line in _named(each, "deps", known, ids, problems):
            found[each.task.id].add(name)
            _earlier(each, known[name], file, line, problems)
    for each in joined:
        for name, file, line in _named(each, "blocks", known, ids, problems):
            if each.task.id in found[name]:
                continue
            told = f"it blocks {name!r}, whose deps do not name {each.task.id!r}; it counts as a dependency"
            problems.warning("one-sided", file, line, told)
            found[name].add(each.task.id)
            if known[name].task.wave <= each.task.wave:
                told = f"it blocks {name!r} of wave {known[name].task.wave}, and is in wave {each.task.wave}"
                problems.error("late-dependency", file, line, told)
    for cycle in cycles(found):
        each = known[cycle[0]]
        problems.error("cycle", *each.where("deps"), f"a cycle: {' -> '.join(cycle)}")
    return {name: tuple(sorted(deps)) for name, deps in found.items()}


def _named(
    each: Joined, key: str, known: Mapping[str, Joined], ids: Ids, problems: Problems
) -> Iterator[tuple[str, str, int | None]]:
    """Id, file and line of all tasks that a key names; a fault for those that are none."""
    fields = [each.listed.fields, *([each.file.fields] if each.file else [])]
    for source in fields:
        for index, said in enumerate(source.texts(key, split=",")):
            if said.lower() in _NONE:
                continue
            line = source.lines(f"{key}/{index}") or source.lines(key)
            meant = _meant(said, known, ids)
            if len(meant) == 1:
                yield meant[0], source.file, line
            elif meant:
                told = f"{key}: {shown(said)} may be {', '.join(meant)}"
                problems.error("ambiguous-dependency", source.file, line, told, "write the whole id")
            else:
                tell = problems.warning if key == "blocks" else problems.error
                told = f"{key}: there is no task {shown(said)}"
                tell("unknown-dependency", source.file, line, told, near(said, known))


def _meant(said: str, known: Mapping[str, Joined], ids: Ids) -> list[str]:
    if said in known:
        return [said]
    folded = said.casefold()
    return ids.equal(folded) or ids.same(folded)


def _earlier(each: Joined, other: Joined, file: str, line: int | None, problems: Problems) -> None:
    if each is other or other.task.wave < each.task.wave:
        return  # one on itself is told as a cycle
    where = "the same wave" if other.task.wave == each.task.wave else f"a later one, {other.task.wave}"
    told = f"{each.task.id!r} of wave {each.task.wave} depends on {other.task.id!r} of {where}"
    problems.error("late-dependency", file, line, told, "a dependency must be in an earlier wave")


def cycles(edges: Mapping[str, Iterable[str]]) -> tuple[tuple[str, ...], ...]:
    """A shortest cycle through the smallest node of every knot, its first node once more at its end."""
    graph = {node: sorted(after) for node, after in edges.items()}
    graph |= {node: [] for after in list(graph.values()) for node in after if node not in graph}
    return tuple(_way_back(min(knot), graph, knot) for knot in sorted(_knots(graph), key=min))


def _way_back(node: str, graph: Mapping[str, Sequence[str]], knot: Collection[str]) -> tuple[str, ...]:
    before = {node: node}
    work = deque([node])
    while work:
        at = work.popleft()
        for after in graph[at]:
            if after == node:
                way = [node, at]
                while way[-1] != node:
                    way.append(before[way[-1]])
                return tuple(reversed(way)) if at != node else (node, node)
            if after in knot and after not in before:
                before[after] = at
                work.append(after)
    return ()


def _knots(graph: Mapping[str, Sequence[str]]) -> list[set[str]]:
    """The sets of nodes that lead to each other, after Kosaraju: in time that grows as the graph does."""
    back: dict[str, list[str]] = {node: [] for node in graph}
    for node, after in graph.items():
        for other in after:
            back[other].append(node)
    seen: set[str] = set()
    ended: list[str] = []
    for start in graph:
        work = [(start, iter(graph[start]))] if start not in seen else []
        seen.add(start)
        while work:
            node, rest = work[-1]
            fresh = next((other for other in rest if other not in seen), None)
            if fresh is None:
                ended.append(node)
                work.pop()
            else:
                seen.add(fresh)
                work.append((fresh, iter(graph[fresh])))
    knots: list[set[str]] = []
    placed: set[str] = set()
    for start in reversed(ended):
        knot, left = set[str](), [start] if start not in placed else []
        placed.add(start)
        while left:
            knot.add(node := left.pop())
            left += [other for other in back[node] if other not in placed]
            placed.update(back[node])
        if len(knot) > 1 or start in graph[start]:
            knots += [knot] if knot else []
    return knots


def counts(fields: Fields, joined: Sequence[Joined], waves: int, problems: Problems) -> None:
    """A warning for every number or id of the metadata that does not fit."""
    metadata, tasks = fields.table("metadata"), fields.table("tasks")
    stated = [(metadata, "total_tasks", len(joined), "task"), (metadata, "total_waves", waves, "wave")]
    stated += [(tasks, "total", len(joined), "task"), (tasks, "waves", waves, "wave")]
    for table, key, real, what in stated:
        said = table.values.get(key)
        if said is not None and said != real:
            told = f"{table.what}.{key} is {shown(said)}, and there {_are(real, what)}"
            problems.warning("wrong-count", MANIFEST, table.lines(key), told)
    known = {name for each in joined for name in (each.task.id, each.task.short)}
    path = metadata.values.get("critical_path")
    for index, name in enumerate(path if isinstance(path, list) else []):
        if not isinstance(name, str) or short(name) not in known:
            line = metadata.lines(f"critical_path/{index}")
            told = f"metadata.critical_path names {shown(name)}, which is no task"
            problems.warning("wrong-count", MANIFEST, line, told)


def _are(number: int, what: str) -> str:
    return f"is 1 {what}" if number == 1 else f"are {number} {what}s"


def agents(joined: Sequence[Joined], problems: Problems, *, decided: bool = False) -> None:
    """A warning for an agent that one task names and that is nearly one that several do; and for a task that
    names none, unless it is ``decided`` who does such tasks."""
    used = Counter(each.task.agent.rpartition(":")[2] for each in joined)
    several = [name for name, count in used.items() if count > 1 and name]
    for each in joined:
        if not (each.task.agent or each.task.executor or decided):
            told = f"task {each.task.id!r} names no agent, so whoever does the tasks of a project does it"
            problems.warning("unknown-agent", *each.place, told, "agent: <name>, or <plugin>:<name>")
        name = each.task.agent.rpartition(":")[2]
        close = difflib.get_close_matches(name, several, 1, _ALIKE) if used[name] == 1 and name else []
        if close:
            told = f"task {each.task.id!r}: no other task has the agent {name!r}"
            problems.warning("unknown-agent", *each.where("agent"), told, f"did you mean {close[0]!r}?")
