"""How fast ``crosscheck`` is, and how often it is right on labelled findings.

    python benchmarks/crosscheck.py                    speed rows
    python benchmarks/crosscheck.py BLOCKS.jsonl       and precision, recall, F1 on that file

A block is one line of JSON: ``project``, the texts ``a`` and ``b`` of two reviewers on one change,
and ``labels[i][j]``: 1 same defect, 0 different, -1 unknown.  Unknown cells count neither way.
Thresholds are judged by leaving one project out: each is chosen on the other projects only.
"""

from __future__ import annotations

import json
import math
import random
import re
import resource
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tabulate import tabulate

from prun_review import Finding, crosscheck
from prun_review.matching import MATCH, UNCERTAIN, VERSION
from prun_review.tokens import split

Block = dict[str, Any]
Scores = list[list[float]]
CUTS = [n / 100 for n in range(6, 72, 2)]

# --- speed ------------------------------------------------------------------------------------


def made_up(chance: random.Random, n: int, *, files: int, lines: int, vocabulary: int) -> list[Finding]:
    """``n`` findings with a title of 10 words and a first sentence of 10 more."""
    words = [f"w{chr(97 + i % 26)}{chr(97 + i // 26 % 26)}{chr(97 + i // 676)}" for i in range(vocabulary)]
    return [
        Finding(
            title=" ".join(chance.choices(words, k=10)),
            detail=" ".join(chance.choices(words, k=10)) + ". And a second sentence.",
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


# --- rules on labelled blocks -----------------------------------------------------------------


def ours(block: Block) -> Scores:
    """Jaccard over stemmed word parts, as crosscheck has it."""
    return pairwise(block, lambda text: split(text)[0], jaccard)


def lower_words(text: str) -> frozenset[str]:
    """Words as the other rules take them: no stems, no parts."""
    return frozenset(re.findall(r"\w+", text.lower()))


def plain_words(block: Block) -> Scores:
    """Jaccard over lower-case words, as in tools that join at .6 within 3 lines."""
    return pairwise(block, lower_words, jaccard)


def idf_overlap(block: Block) -> Scores:
    """Weight of the shared words over that of the smaller text; rare words of the block weigh more."""
    texts = [lower_words(text) for text in (*block["a"], *block["b"])]
    held = Counter(word for text in texts for word in text)
    weight = {word: math.log(1 + len(texts) / n) for word, n in held.items()}

    def overlap(one: frozenset[str], other: frozenset[str]) -> float:
        smaller = min(sum(weight[w] for w in one), sum(weight[w] for w in other))
        return sum(weight[w] for w in one & other) / smaller if smaller else 0.0

    return pairwise(block, lower_words, overlap)


def pairwise(
    block: Block,
    read: Callable[[str], frozenset[str]],
    score: Callable[[frozenset[str], frozenset[str]], float],
) -> Scores:
    """All scores of a block: ``[i][j]`` for ``a[i]`` and ``b[j]``."""
    right = [read(text) for text in block["b"]]
    return [[score(read(text), other) for other in right] for text in block["a"]]


def jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    """Share of what both hold in all they hold."""
    return len(one & other) / len(one | other) if one or other else 0.0


def one_to_one(scores: Scores, cut: float) -> list[tuple[int, int]]:
    """Pairs from the best score down, each index once, none below ``cut``."""
    cells = sorted((-s, i, j) for i, row in enumerate(scores) for j, s in enumerate(row) if s >= cut)
    left: set[int] = set()
    right: set[int] = set()
    pairs = []
    for _, i, j in cells:
        if i not in left and j not in right:
            left.add(i)
            right.add(j)
            pairs.append((i, j))
    return pairs


def tally(block: Block, pairs: Sequence[tuple[int, int]]) -> Counter[int]:
    """How many of the pairs are labelled 1, 0 and -1."""
    return Counter(block["labels"][i][j] for i, j in pairs)


def truths(blocks: Sequence[Block]) -> int:
    """Pairs labelled as the same defect."""
    return sum(row.count(1) for block in blocks for row in block["labels"])


def figures(hits: int, wrong: int, true: int) -> tuple[float, float, float]:
    """Precision, recall, F1."""
    precision = hits / (hits + wrong) if hits + wrong else 0.0
    recall = hits / true if true else 0.0
    return precision, recall, 2 * hits / (hits + wrong + true) if hits else 0.0


def one_cut(name: str, rule: Callable[[Block], Scores], blocks: Sequence[Block], fixed: float) -> list[Any]:
    """A row of the one-cut table: left-one-out, with the cuts chosen, and at the rule's own cut."""
    projects = sorted({block["project"] for block in blocks})
    counts: dict[tuple[str, float], Counter[int]] = {}
    for block in blocks:
        scores = rule(block)
        for cut in {*CUTS, fixed}:
            counts.setdefault((block["project"], cut), Counter()).update(
                tally(block, one_to_one(scores, cut))
            )

    def over(chosen: Sequence[str], cut: float) -> tuple[float, float, float]:
        total = sum((counts[p, cut] for p in chosen), Counter[int]())
        return figures(total[1], total[0], truths([b for b in blocks if b["project"] in chosen]))

    held_out: Counter[int] = Counter()
    cuts = []
    for project in projects:
        others = [p for p in projects if p != project]
        cuts.append(max(CUTS, key=lambda cut: over(others, cut)[2]))
        held_out.update(counts[project, cuts[-1]])
    left_out = figures(held_out[1], held_out[0], truths(blocks))
    return [name, *left_out, " ".join(f"{c:.2f}" for c in cuts), f"{fixed:.2f}", *over(projects, fixed)]


def two_cuts(blocks: Sequence[Block]) -> list[Any]:
    """The row of crosscheck itself, as it stands: matches, uncertain pairs, true pairs lost."""
    matched: Counter[int] = Counter()
    unsure: Counter[int] = Counter()
    for block in blocks:
        left, right = ([Finding(title=text) for text in block[side]] for side in ("a", "b"))
        for pair in crosscheck(left, right):
            if pair.left is not None and pair.right is not None:
                into = matched if pair.outcome == "match" else unsure
                into[block["labels"][pair.left][pair.right]] += 1
    true = truths(blocks)
    precision, recall, _ = figures(matched[1], matched[0], true)
    lost = (true - matched[1] - unsure[1]) / true
    return [f"{MATCH} / {UNCERTAIN}", precision, recall, lost, unsure.total() / len(blocks), unsure[1] / true]


def quality(path: Path) -> str:
    """The tables for a development file."""
    blocks: list[Block] = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    rules: list[tuple[str, Callable[[Block], Scores], float]] = [
        ("ours, one cut", ours, MATCH),
        ("word Jaccard .6 (no lines: text part only)", plain_words, 0.60),
        ("IDF overlap .24", idf_overlap, 0.24),
    ]
    heads = ["rule", "P", "R", "F1", "cuts chosen", "own cut", "P", "R", "F1"]
    single = tabulate([one_cut(n, rule, blocks, own) for n, rule, own in rules], heads, floatfmt=".3f")
    heads = ["crosscheck", "P", "R", "true lost", "uncertain/block", "of the true"]
    double = tabulate([two_cuts(blocks)], heads, floatfmt=".3f")
    return (
        f"{len(blocks)} blocks, {truths(blocks)} true pairs; text only, these blocks have no file or line\n\n"
        "One cut, one-to-one: leave-one-project-out, then at the rule's own cut\n"
        f"{single}\n\n"
        "Two cuts (as released)\n"
        f"{double}\n\n"
        "Not applicable without lines: 'within 3 lines' and 'same category within 5 lines'."
    )


def main(arguments: Sequence[str]) -> int:
    """Print the tables; 2 for a wrong call."""
    if len(arguments) > 1:
        print(__doc__, file=sys.stderr)
        return 2
    print(f"matcher {VERSION}\n")
    print(speed(), flush=True)
    if arguments:
        print("\n" + quality(Path(arguments[0])))
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
