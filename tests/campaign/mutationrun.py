"""Mutation testing: each small change of a module must fail one of the tests that are about it.

    python -m tests.campaign.mutationrun gate folders policy --jobs 2
    python -m tests.campaign.mutationrun matching --sample 60 --seed 7 --state mutation.jsonl

Each change is tried in a process of its own, on the syntax tree: no file is touched.  First a few hundred
runs of the campaign, then the tests of the module.  With ``--state`` what was noticed before is not tried
again, as long as the module is the same.  The exit status is 1 where a change of a kind that ``--must`` names
survived, and 2 where the tests fail without any change.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import multiprocessing
import os
import random
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.context import ForkProcess
from pathlib import Path

from tests.campaign.sourcemutants import Finder, Site, sites

ROOT = Path(__file__).resolve().parents[2]
GATE = (
    "campaign/test_campaign_survivors",
    "test_gate",
    "test_gate_rules",
    "test_policy",
    "test_change_gate",
    "test_explain",
    "test_document",
)
OVER_TIME = ("test_edges_over_time", "test_sameness", "test_settling")
TESTS = {
    "gate": GATE,
    "folders": (*GATE, "test_authors"),
    "foldergate": (*GATE, "test_authors"),
    "policy": (*GATE, "test_settings"),
    "verdict": GATE,
    "changegate": (*GATE, "test_covering", "test_previous"),
    "answers": GATE,
    "authors": ("test_authors",),
    "outages": (*GATE, "test_authors"),
    "independence": ("test_consensus", *GATE),
    "settling": (*OVER_TIME, "test_accepting", "test_baseline", *GATE),
    "tracking": (*OVER_TIME, "test_comparing", "test_baseline", "test_gate_rules"),
    "sameness": (*OVER_TIME, "test_gate_rules"),
    "effects": ("test_edges_of_examining", "test_effects", "test_consensus"),
    "ruled": ("test_authors", "test_edges_of_examining", "test_opinions", "test_effects", "test_consensus"),
    "crossexam": ("test_authors", "test_edges_of_examining", "test_crossexam"),
    "consensus": ("test_consensus", "test_effects"),
    "pairing": ("test_consensus", "test_effects"),
    "matching": ("test_edges_of_numbers", "test_matching", "test_lexical"),
    "lexical": ("test_lexical", "test_edges_of_numbers", "test_matching"),
    "agreement": ("test_agreement", "test_coefficients", "test_tables", "test_edges_of_numbers"),
    "coefficients": ("test_coefficients", "test_agreement"),
    "intervals": ("test_intervals", "test_edges_of_numbers", "test_agreement"),
    "proofs": ("test_proofs", "test_opinions", "test_judging"),
}
"""Module -> the test files that are about it."""

OTHERS = {"matching", "lexical", "agreement", "coefficients", "intervals", "proofs", "crossexam"}
CAMPAIGN = frozenset(TESTS) - OTHERS
"""Modules that a verdict of the campaign is made by."""

WITHOUT = (
    "not test_pass_means_what_it_says and not test_the_tree_gives_the_verdict"
    " and not test_any_results_make_one_valid_document"
)
"""Random tests of whole runs: the campaign is one, and its runs are the same each time."""

TAPES = 150
LIMIT = 150.0
"""Seconds for one change, after which it counts as noticed: it made something endless."""


@dataclass(frozen=True)
class Trial:
    """One change of one module, and what became of it."""

    module: str
    site: Site
    fate: str = ""
    """``campaign``, ``tests`` or ``endless`` noticed it; ``survived``."""


# --- one change, in its own process -----------------------------------------------------------


def _try(module: str, site: Site | None, good: Sequence[bytes]) -> None:
    """Exit status 0: nobody noticed; 10: the campaign did; 11: the tests did."""
    _quiet()
    if site:
        sys.meta_path.insert(0, Finder(f"prun_review.{module}", ROOT / f"prun_review/{module}.py", site))
    if module in CAMPAIGN and not all(map(_right, good)):
        os._exit(10)
    import pytest

    files = [str(ROOT / f"tests/{name}.py") for name in TESTS[module]]
    plain = ("-x", "-q", "-n0", "--assert=plain", "-p", "no:cacheprovider", "-k", WITHOUT)
    status = pytest.main([*plain, *files])
    os._exit(0 if status == 0 else 11)


def _quiet() -> None:
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.dup2(null, 2)


def _right(content: bytes) -> bool:
    """Whether the campaign has nothing against the run of a tape."""
    try:
        from tests.campaign.campaign import verify
        from tests.campaign.checks import Tally

        verify(content, Tally())
    except Exception:
        return False
    return True


def _good(sender: Connection) -> None:
    """Send the tapes of which the campaign has nothing to say as long as nothing is changed."""
    source = random.Random(1)
    tapes = [source.randbytes(400) for _ in range(TAPES)]
    sender.send([tape for tape in tapes if _right(tape)])


# --- all of them ------------------------------------------------------------------------------


def warm() -> None:
    """Import what every change needs and none of them changes; the rest is imported after the fork."""
    import hypothesis
    import jsonschema
    import pytest

    assert all((hypothesis, jsonschema, pytest))
    assert not [name for name in sys.modules if name.split(".")[0] == "prun_review"]


def sane(modules: Sequence[str]) -> tuple[list[bytes], list[str]]:
    """The tapes to try changes with, and the modules whose tests fail without any change."""
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    first = context.Process(target=_good, args=(sender,))
    first.start()
    good = receiver.recv()
    first.join()
    failing = []
    for module in modules:
        process = context.Process(target=_try, args=(module, None, ()))
        process.start()
        process.join()
        failing += [module] if process.exitcode else []
    return good, failing


def trials(todo: Sequence[Trial], jobs: int, good: Sequence[bytes]) -> Iterator[Trial]:
    """Try changes, ``jobs`` at a time, and give each when it is done."""
    context = multiprocessing.get_context("fork")
    running: list[tuple[ForkProcess, float, Trial]] = []
    waiting = list(todo)[::-1]
    while waiting or running:
        while waiting and len(running) < jobs:
            trial = waiting.pop()
            process = context.Process(target=_try, args=(trial.module, trial.site, good))
            process.start()
            running.append((process, time.monotonic(), trial))
        running[0][0].join(0.05)
        for entry in list(running):
            process, started, trial = entry
            late = time.monotonic() - started > LIMIT
            if process.is_alive() and not late:
                continue
            if process.is_alive():
                process.kill()
            process.join()
            running.remove(entry)
            fate = "endless" if late else {0: "survived", 10: "campaign"}.get(process.exitcode or 0, "tests")
            yield Trial(trial.module, trial.site, fate)


def _key(module: str, site: Site) -> str:
    digest = hashlib.sha256((ROOT / f"prun_review/{module}.py").read_bytes()).hexdigest()[:16]
    return f"{module} {digest} {site.id}"


def _known(state: Path | None) -> dict[str, str]:
    if state is None or not state.exists():
        return {}
    entries = [json.loads(line) for line in state.read_text(encoding="utf-8").splitlines()]
    return {entry["key"]: entry["fate"] for entry in entries if entry["fate"] != "survived"}


def chosen(modules: Sequence[str], kinds: Sequence[str], sample: int, seed: int) -> list[Trial]:
    """The changes of these modules, of some kinds or of all; of each at most ``sample``, if it is not 0."""
    found = []
    for module in modules:
        source = (ROOT / f"prun_review/{module}.py").read_text(encoding="utf-8")
        every = [s for s in sites(source) if not kinds or s.kind in kinds]
        if 0 < sample < len(every):
            every = random.Random(f"{seed} {module}").sample(every, sample)
        found += [Trial(module, site) for site in every]
    return found


def _arguments(argv: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="mutationrun", description=__doc__.partition("\n")[0] if __doc__ else ""
    )
    parser.add_argument("modules", nargs="+", choices=sorted(TESTS))
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--kinds", nargs="*", default=[], help="kinds of changes, none: all")
    parser.add_argument("--sample", type=int, default=0, help="changes of each module, 0: all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--state", type=Path, help="where fates are kept, to go on later")
    parser.add_argument("--must", nargs="*", default=[], help="kinds of changes that must not survive")
    return parser.parse_args(argv)


def main(argv: Sequence[str]) -> int:
    """Print every survivor and the score of every module."""
    given = _arguments(argv)
    warm()
    todo = chosen(given.modules, given.kinds, given.sample, given.seed)
    known = _known(given.state)
    done = [Trial(t.module, t.site, known[k]) for t in todo if (k := _key(t.module, t.site)) in known]
    left = [t for t in todo if _key(t.module, t.site) not in known]
    print(f"{len(todo)} changes, {len(done)} of them tried before; seed {given.seed}", flush=True)
    good, failing = sane(given.modules)
    if failing:
        print(f"their tests fail as it is: {', '.join(failing)}")
        return 2
    for n, trial in enumerate(trials(left, given.jobs, good), start=1):
        done.append(trial)
        if trial.fate == "survived":
            print(f"  {n}/{len(left)} {_told(trial)}", flush=True)
        if given.state:
            with given.state.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"key": _key(trial.module, trial.site), "fate": trial.fate}) + "\n")
    return _report(done, given.must)


def _told(trial: Trial) -> str:
    return f"prun_review/{trial.module}.py:{trial.site.line} {trial.site.kind}: {trial.site.what}"


def _report(done: Sequence[Trial], must: Sequence[str]) -> int:
    survivors = [t for t in done if t.fate == "survived"]
    print("\nsurvivors:" if survivors else "\nno survivors")
    for trial in sorted(survivors, key=lambda t: (t.module, t.site.line)):
        print(f"  {_told(trial)}")
    for module in dict.fromkeys(t.module for t in done):
        mine = [t for t in done if t.module == module]
        noticed = [t for t in mine if t.fate != "survived"]
        by = ", ".join(f"{f} {sum(t.fate == f for t in mine)}" for f in ("campaign", "tests", "endless"))
        print(
            f"{module}: {len(noticed)} of {len(mine)} noticed ({100 * len(noticed) / len(mine):.1f} %; {by})"
        )
    bad = [t for t in survivors if t.site.kind in must]
    for trial in bad:
        print(f"must not survive: {_told(trial)}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
