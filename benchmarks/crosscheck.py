"""How fast ``crosscheck`` is, and how often it is right on labelled findings.

    python benchmarks/crosscheck.py                speed rows
    python benchmarks/crosscheck.py FILE...        and precision, recall, F1 on these files

A file holds blocks or pairs, one a line, as JSON.  A block is ``project``, the texts ``a`` and ``b`` of two
reviewers on one change, and ``labels[i][j]``: 1 same defect, 0 different, -1 unknown, which counts neither
way.  A pair is ``source``, ``label`` (``same`` or ``different``), ``a`` and ``b`` with ``text``, ``path`` and
``lines``.  Cuts are judged by leaving one project out: each is chosen on the other projects only.
"""

from __future__ import annotations

import json
import random
import resource
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matchers import RULES, Rule, Scores, lex4, words
from tabulate import tabulate

from prun_review import Finding, crosscheck
from prun_review.matching import MATCH, UNCERTAIN, VERSION

Block = dict[str, Any]
CUTS = [n / 100 for n in range(4, 96)]
SURE = 0.97
"""Precision that the upper of two cuts is chosen for."""
LOST = 0.05
"""Share of the true pairs that the lower one may lose."""

# --- speed ------------------------------------------------------------------------------------


def made_up(chance: random.Random, n: int, *, files: int, lines: int, vocabulary: int) -> list[Finding]:
    """``n`` findings with a title of 10 words and a first sentence of 10 more."""
    told = [f"w{chr(97 + i % 26)}{chr(97 + i // 26 % 26)}{chr(97 + i // 676)}" for i in range(vocabulary)]
    return [
        Finding(
            title=" ".join(chance.choices(told, k=10)),
            detail=" ".join(chance.choices(told, k=10)) + ". And a second sentence.",
            file=f"src/module_{chance.randrange(files)}.py" if files else None,
            line=chance.randrange(1, lines) if files else None,
            category=chance.choice(["security", "correctness", "style"]),
        )
        for _ in range(n)
    ]


def speed() -> str:
    """One row per shape of input; the last column is the peak of the process so far."""
    shapes: list[tuple[str, int, int, dict[str, int]]] = [
        ("500 cases of 20 x 20", 500, 20, {"files": 3, "lines": 2000, "vocabulary": 800}),
        ("1 case of 1k x 1k, 20 files", 1, 1000, {"files": 20, "lines": 2000, "vocabulary": 800}),
        ("1 case of 1k x 1k, one file", 1, 1000, {"files": 1, "lines": 2000, "vocabulary": 800}),
        ("  same, only 40 words in use", 1, 1000, {"files": 1, "lines": 2000, "vocabulary": 40}),
        ("1 case of 10k x 10k, 300 files", 1, 10_000, {"files": 300, "lines": 2000, "vocabulary": 3000}),
        ("1 case of 10k x 10k, one file", 1, 10_000, {"files": 1, "lines": 20_000, "vocabulary": 3000}),
        ("1 case of 10k x 10k, one line", 1, 10_000, {"files": 1, "lines": 2, "vocabulary": 3000}),
        ("1 case of 10k x 10k, no file", 1, 10_000, {"files": 0, "lines": 2, "vocabulary": 3000}),
    ]
    rows = []
    for name, cases, n, shape in shapes:
        chance = random.Random(7)
        work = [(made_up(chance, n, **shape), made_up(chance, n, **shape)) for _ in range(cases)]
        wall, busy = time.perf_counter(), time.process_time()
        pairs = [pair for left, right in work for pair in crosscheck(left, right)]
        wall, busy = time.perf_counter() - wall, time.process_time() - busy
        count = Counter(pair.outcome for pair in pairs)
        capped = "yes" if any("among those compared" in pair.reason for pair in pairs) else ""
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        rows.append([name, wall, busy, count["match"], count["uncertain"], count["alone"], capped, peak])
    heads = ["input", "wall s", "CPU s", "match", "uncertain", "alone", "capped", "peak MiB"]
    return tabulate(rows, heads, floatfmt=".2f")


# --- blocks -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Tally:
    """Labels of what a rule said of some blocks."""

    true: int
    """Pairs labelled as one defect."""
    matched: Counter[int]
    """Matches by label."""
    doubtful: Counter[int]
    """Uncertain pairs by label."""
    blocks: int = 1

    def __add__(self, other: Tally) -> Tally:
        return Tally(
            self.true + other.true,
            self.matched + other.matched,
            self.doubtful + other.doubtful,
            self.blocks + other.blocks,
        )

    @property
    def figures(self) -> tuple[float, float, float]:
        """Precision, recall, F1 of the matches."""
        hits, wrong = self.matched[1], self.matched[0]
        return _ratio(hits, hits + wrong), _ratio(hits, self.true), _ratio(2 * hits, hits + wrong + self.true)

    @property
    def lost(self) -> float:
        """Share of the true pairs that are neither matched nor uncertain."""
        return 1 - _ratio(self.matched[1] + self.doubtful[1], self.true)

    @property
    def doubts(self) -> float:
        """Uncertain pairs of a block."""
        return self.doubtful.total() / self.blocks


NOTHING = Tally(0, Counter(), Counter(), 0)


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


def tell(block: Block, scores: Scores, sure: float, doubt: float | None = None) -> Tally:
    """Matches one-to-one from ``sure`` on; what has none is uncertain beside its closest from ``doubt``."""
    least = sure if doubt is None else doubt
    cells = sorted((-s, i, j) for i, row in enumerate(scores) for j, s in enumerate(row) if s >= least)
    left, right = set(range(len(scores))), set(range(len(block["b"])))
    matches, doubts = [], []
    for s, i, j in cells:
        if -s >= sure and i in left and j in right:
            left.discard(i)
            right.discard(j)
            matches.append((i, j))
    for _, i, j in cells if doubt is not None else ():
        if i in left or j in right:
            left.discard(i)
            right.discard(j)
            doubts.append((i, j))
    return _labelled(block, matches, doubts)


def as_released(block: Block) -> Tally:
    """What :func:`crosscheck` itself says."""
    left, right = ([Finding(title=text) for text in block[side]] for side in ("a", "b"))
    found: dict[str, list[tuple[int, int]]] = {"match": [], "uncertain": []}
    for pair in crosscheck(left, right):
        if pair.left is not None and pair.right is not None:
            found[pair.outcome].append((pair.left, pair.right))
    return _labelled(block, found["match"], found["uncertain"])


def _labelled(block: Block, matches: Iterable[tuple[int, int]], doubts: Iterable[tuple[int, int]]) -> Tally:
    labels = block["labels"]
    true = sum(row.count(1) for row in labels)
    return Tally(true, Counter(labels[i][j] for i, j in matches), Counter(labels[i][j] for i, j in doubts))


class Judged:
    """A rule's scores of all blocks, told at any cuts, by project."""

    def __init__(self, rule: Rule, blocks: Sequence[Block]) -> None:
        self.rule = rule
        begun = time.process_time()
        self._scored = [(block, rule.score(block["a"], block["b"])) for block in blocks]
        cells = sum(len(block["a"]) * len(block["b"]) for block in blocks)
        self.cost = (time.process_time() - begun) / cells * 1e6
        """Microseconds of a pair, reading the texts included."""
        self.projects = sorted({block["project"] for block in blocks})
        self._told: dict[tuple[str, float, float | None], Tally] = {}

    def at(self, projects: Sequence[str], sure: float, doubt: float | None = None) -> Tally:
        """The tally of some projects."""
        for project in projects:
            if (project, sure, doubt) not in self._told:
                mine = (tell(b, s, sure, doubt) for b, s in self._scored if b["project"] == project)
                self._told[project, sure, doubt] = sum(mine, NOTHING)
        return sum((self._told[p, sure, doubt] for p in projects), NOTHING)

    def left_out(
        self, choose: Callable[[Sequence[str]], tuple[float, float | None]]
    ) -> tuple[Tally, list[tuple[float, float | None]]]:
        """Each project at the cuts that were chosen on the others."""
        cuts = [choose([p for p in self.projects if p != project]) for project in self.projects]
        told = (self.at([p], *cut) for p, cut in zip(self.projects, cuts, strict=True))
        return sum(told, NOTHING), cuts

    def best(self, projects: Sequence[str]) -> tuple[float, None]:
        """The cut of the highest F1."""
        return max(CUTS, key=lambda cut: self.at(projects, cut).figures[2]), None

    def two(self, projects: Sequence[str]) -> tuple[float, float]:
        """The least cut that is sure, and the greatest that loses few (or the one that loses least)."""
        sure = next((c for c in CUTS if self.at(projects, c).figures[0] >= SURE), CUTS[-1])
        below = [c for c in CUTS if c <= sure]
        few = [c for c in below if self.at(projects, sure, c).lost <= LOST]
        return sure, max(few, default=min(below, key=lambda c: self.at(projects, sure, c).lost))


def one_cut(judged: Sequence[Judged]) -> str:
    """Left-one-out and the cuts chosen; then at the rule's own cut, over all and by project."""
    rows = []
    for one in judged:
        told, cuts = one.left_out(one.best)
        own = one.at(one.projects, one.rule.cut).figures
        by_project = [one.at([p], one.rule.cut).figures[2] for p in one.projects]
        chosen = " ".join(f"{cut:.2f}" for cut, _ in cuts)
        rows.append(
            [one.rule.name, *told.figures, chosen, f"{one.rule.cut:.2f}", *own, *by_project, one.cost]
        )
    projects = [f"F1 {p}" for p in judged[0].projects]
    heads = ["rule", "P", "R", "F1", "cuts chosen", "own cut", "P", "R", "F1", *projects, "us/pair"]
    return tabulate(rows, heads, floatfmt=".3f", disable_numparse=[4, 5])


def two_cuts(judged: Sequence[Judged], blocks: Sequence[Block]) -> str:
    """Left-one-out, at the rule's own cuts by project, and what ``crosscheck`` itself says."""

    def row(name: str, cuts: str, told: Tally) -> list[Any]:
        return [name, cuts, *told.figures[:2], told.lost, told.doubts, _ratio(told.doubtful[1], told.true)]

    rows = []
    for one in judged:
        if one.rule.sure is None:
            continue
        told, cuts = one.left_out(one.two)
        chosen = " ".join(f"{sure:.2f}/{doubt:.2f}" for sure, doubt in cuts)
        rows.append(row(f"{one.rule.name}, left-one-out", chosen, told))
        own = f"{one.rule.sure:.2f}/{one.rule.doubt:.2f}"
        rows.append(row(one.rule.name, own, one.at(one.projects, one.rule.sure, one.rule.doubt)))
    released = {
        p: sum((as_released(b) for b in blocks if b["project"] == p), NOTHING) for p in judged[0].projects
    }
    cuts_of_ours = f"{MATCH:.2f}/{UNCERTAIN:.2f}"
    rows.append(row("crosscheck as released", cuts_of_ours, sum(released.values(), NOTHING)))
    rows += [row(f"  {project}", cuts_of_ours, told) for project, told in released.items()]
    heads = ["rule", "cuts", "P", "R", "true lost", "uncertain/block", "of the true"]
    return tabulate(rows, heads, floatfmt=".3f", disable_numparse=[1])


def smaller(blocks: Sequence[Block]) -> str:
    """The one cut on random parts of the blocks, and on blocks of which one side says less."""
    rows = []
    for name, parts in (
        *(
            (f"{n} x {n} of each block", [_part(b, n, k) for b in blocks for k in range(3)])
            for n in (1, 2, 3)
        ),
        *((f"side b cut to {n} words", [_short(b, n) for b in blocks]) for n in (6, 10, 14)),
    ):
        for rule in RULES[:3]:
            told = sum((tell(b, rule.score(b["a"], b["b"]), rule.cut) for b in parts), NOTHING)
            rows.append([name, rule.name, told.true, *told.figures])
    return tabulate(rows, ["blocks", "rule", "true", "P", "R", "F1"], floatfmt=".3f")


def _part(block: Block, n: int, seed: int) -> Block:
    chance = random.Random(f"{block['id']}/{n}/{seed}")
    rows = sorted(chance.sample(range(len(block["a"])), min(n, len(block["a"]))))
    columns = sorted(chance.sample(range(len(block["b"])), min(n, len(block["b"]))))
    labels = [[block["labels"][i][j] for j in columns] for i in rows]
    return {"a": [block["a"][i] for i in rows], "b": [block["b"][j] for j in columns], "labels": labels}


def _short(block: Block, n: int) -> Block:
    return {**block, "b": [" ".join(text.split()[:n]) for text in block["b"]]}


def of_blocks(blocks: Sequence[Block]) -> str:
    """The tables of a file of blocks."""
    judged = [Judged(rule, blocks) for rule in RULES]
    true = sum(row.count(1) for block in blocks for row in block["labels"])
    return (
        f"{len(blocks)} blocks, {true} true pairs; text only, as these blocks have no file or line:\n"
        "'within 3 lines' is left out, and 'same category within 5 lines' has nothing to go by\n\n"
        f"One cut, one-to-one: leave-one-project-out, then at the rule's own cut\n{one_cut(judged)}\n\n"
        f"Two cuts (left-one-out: least with precision {SURE}, greatest that loses at most {LOST})\n"
        f"{two_cuts(judged, blocks)}\n\n"
        f"One cut on less\n{smaller(blocks)}"
    )


# --- pairs ------------------------------------------------------------------------------------


def of_pairs(pairs: Sequence[dict[str, Any]]) -> str:
    """Pairs one by one, as no block decides between them: each rule's matches, by source."""
    rows = []
    for source in sorted({pair["source"] for pair in pairs}):
        mine = [pair for pair in pairs if pair["source"] == source]
        rules: list[tuple[str, Callable[[dict[str, Any]], bool]]] = [
            ("crosscheck", _matched),
            ("Jaccard of stems .24", lambda p: _alike(RULES[1], p) >= 0.24),
            ("lex4 .75", lambda p: lex4([p["a"]["text"]], [p["b"]["text"]])[0][0] >= 0.75),
        ]
        if all(pair["a"]["lines"] for pair in mine):
            rules.append(("word Jaccard .6 within 3 lines", lambda p: _near(p, 3) and _worded(p)))
            rules.append(("same category within 5 lines *", lambda p: _near(p, 5)))
        for name, rule in rules:
            said = Counter((rule(pair), pair["label"] == "same") for pair in mine)
            hits, wrong, missed = said[True, True], said[True, False], said[False, True]
            figures = _ratio(hits, hits + wrong), _ratio(hits, hits + missed)
            rows.append([source, name, hits + missed, said.total() - hits - missed, *figures])
    heads = ["source", "rule", "same", "different", "P", "R"]
    note = "* the category of these findings is not known and taken as equal"
    return tabulate(rows, heads, floatfmt=".3f") + f"\n{note}"


def _finding(side: dict[str, Any]) -> Finding:
    line, end = side["lines"] or (None, None)
    return Finding(title=side["text"], file=side["path"], line=line, end_line=end)


def _matched(pair: dict[str, Any]) -> bool:
    return crosscheck([_finding(pair["a"])], [_finding(pair["b"])])[0].outcome == "match"


def _alike(rule: Rule, pair: dict[str, Any]) -> float:
    return rule.score([pair["a"]["text"]], [pair["b"]["text"]])[0][0]


def _worded(pair: dict[str, Any]) -> bool:
    return words([pair["a"]["text"]], [pair["b"]["text"]])[0][0] >= 0.6


def _near(pair: dict[str, Any], lines: int) -> bool:
    a, b = pair["a"], pair["b"]
    apart: int = abs(a["lines"][0] - b["lines"][0])
    return bool(a["path"] == b["path"]) and apart <= lines


def main(arguments: Sequence[str]) -> int:
    """Print the tables; 2 for a wrong call."""
    if any(name.startswith("-") for name in arguments):
        print(__doc__, file=sys.stderr)
        return 2
    print(f"matcher {VERSION}\n")
    print(speed(), flush=True)
    for name in arguments:
        entries = [json.loads(line) for line in Path(name).read_text(encoding="utf-8").splitlines()]
        table = of_blocks(entries) if "labels" in entries[0] else of_pairs(entries)
        print(f"\n{Path(name).name}\n{table}", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
