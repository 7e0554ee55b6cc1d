"""Gates that break the promise in one way each: what the campaign must catch, or it proves nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest

from prun_review import (
    answers,
    authors,
    changegate,
    covering,
    effects,
    folders,
    folding,
    gate,
    groups,
    independence,
    model,
    outages,
    policy,
    ruled,
    rulings,
    settling,
    tracking,
    verdict,
)
from tests.campaign.mutating import (
    Change,
    everywhere,
    in_place,
    other_decisions,
    other_facts,
    other_groups,
    other_results,
    without,
)


@dataclass(frozen=True)
class Mutant:
    """One way to break the promise."""

    what: str
    change: Change
    rare: bool = False
    """Only few runs show it: it is looked for with the whole campaign."""
    within: int = 4000
    """Runs in which it must be caught."""


# --- what is found ----------------------------------------------------------------------------


def _no(kind: str) -> Change:
    """Findings of a class are forgotten, but for those that somebody examined."""
    return other_groups(lambda g: None if g.kind == kind and not g.examined else g)


def _lower(group: groups.Group) -> groups.Group:
    return replace(group, severity=min((m.finding.severity for m in group.members), key=folding.level))


def _any_step(one: str, other: str) -> str:
    known = one in model.SEVERITIES and other in model.SEVERITIES
    return folding.highest((one, other)) if known else ""


def _one_is_beside(group: groups.Group) -> bool:
    return any(m.finding.beside for m in group.members)


FOUND = (
    Mutant("what the tree does not hold is ignored", _no("ungrounded")),
    Mutant("what is uncertain is nobody's concern", _no("uncertain")),
    Mutant("what one vendor holds is ignored", _no("single")),
    Mutant("what is held differently is ignored", _no("contested")),
    Mutant("the lower severity of a pair counts", other_groups(_lower)),
    Mutant("severities any steps apart are agreement", everywhere(effects.agreed_word, _any_step)),
    Mutant(
        "beside the change by the word of one holder",
        in_place(groups.Group, "beside", property(_one_is_beside)),
    ),
)

# --- who corroborates -------------------------------------------------------------------------


def _by_name(a: model.ExecutorInfo, b: model.ExecutorInfo) -> str:
    return "itself" if a.name == b.name else ""


def _unknown_is_free(a: model.ExecutorInfo, b: model.ExecutorInfo) -> str:
    mine, theirs = ({i.vendor.strip().lower(), i.lineage.strip().lower()} for i in (a, b))
    return "shared" if a.name == b.name or (mine & theirs) - {""} else ""


def _whatever_rule(
    left: model.Finding, right: model.Finding, a: model.ExecutorInfo, b: model.ExecutorInfo
) -> str:
    return independence.dependence(a, b)


WHO = (
    Mutant("executors of one vendor corroborate", everywhere(independence.dependence, _by_name)),
    Mutant("whom nobody knows is independent", everywhere(independence.dependence, _unknown_is_free)),
    Mutant(
        "a rule that was taken over corroborates",
        everywhere(independence.rule_dependence, _whatever_rule),
        rare=True,
    ),
    Mutant(
        "executors of one vendor are a quorum",
        everywhere(independence.independents, lambda names, executors: tuple(names)),
    ),
    Mutant("the quorum is one", everywhere(policy.quorum_of, lambda policy: 1)),
)

# --- examination ------------------------------------------------------------------------------


def _refuted_passes(one: folders.Decision) -> folders.Decision:
    return replace(one, outcome="") if one.code == "refuted" else one


def _first_word(words: Sequence[str]) -> str:
    return {"yes": "match", "no": "distinct"}.get(words[0], "unresolved") if words else "unresolved"


def _one_voice(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(ruled, "_of_pair", _first_word)
    everywhere(effects.of_pair, lambda ruling, executors: ruling.outcome)(patch)


def _silence_refutes(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(ruled, "_of_claim", lambda words, _: "confirmed" if "confirm" in words else "refuted")
    patch.setattr(effects, "_against", lambda *_: True)


EXAMINED = (
    Mutant("a refuted critical passes", other_decisions(_refuted_passes)),
    Mutant("a word is proven without a quote", everywhere(ruled.proven, lambda o: o.word != "cannot-tell")),
    Mutant("silence refutes", _silence_refutes),
    Mutant(
        "an examiner may depend on the holder",
        in_place(effects, "rule_dependence", lambda *_: ""),
        rare=True,
    ),
    Mutant(
        "two examiners of one vendor settle a pair",
        everywhere(effects.of_pair, lambda ruling, executors: ruling.outcome),
        rare=True,
    ),
    Mutant("the first word settles a pair", _one_voice, rare=True),
)

# --- what was known before --------------------------------------------------------------------


def _not_expired(facts: model.RunFacts) -> tuple[model.Acceptance, ...]:
    return tuple(replace(a, expired=False) for a in facts.acceptances)


def _known_at_its_worst(facts: model.RunFacts) -> tuple[model.Known, ...]:
    return tuple(replace(k, finding=replace(k.finding, severity="critical")) for k in facts.known)


def _accepted_at_its_worst(facts: model.RunFacts) -> tuple[model.Acceptance, ...]:
    return tuple(
        replace(a, finding=replace(a.finding, severity="critical")) if a.finding else a
        for a in facts.acceptances
    )


def _known_passes(facts: model.RunFacts) -> dict[str, policy.Policy]:
    return {name: replace(p, known="pass") for name, p in facts.folders.items()}


def _anybodys(entry: model.Acceptance) -> tracking.Defect:
    lead = entry.finding or model.Finding("")
    return tracking.Defect(entry.case, (lead, *entry.also), "critical", (entry.subject,))


BEFORE = (
    Mutant("an expired acceptance counts", other_facts(acceptances=_not_expired)),
    Mutant("a known finding may be worse than it was", other_facts(known=_known_at_its_worst)),
    Mutant("what is accepted may be worse than it was", other_facts(acceptances=_accepted_at_its_worst)),
    Mutant("an acceptance has no severity", in_place(settling, "_acceptance", _anybodys), rare=True),
    Mutant("a baseline that is to gate passes", other_facts(folders=_known_passes)),
    Mutant("blockers of an earlier run are forgotten", other_facts(carried=lambda facts: ())),
)

# --- answers ----------------------------------------------------------------------------------


def _as_valid(result: model.Result) -> model.Result:
    said = result.answer or model.Answer(model.Header("", "", "", ""))
    bad = result.status in ("broken", "failed", "not-run")
    return replace(result, status="valid", violations=(), answer=said) if bad else result


ANSWERS = (
    Mutant("broken and failed answers are answers", other_results(_as_valid)),
    Mutant(
        "last week's answer counts", other_results(lambda result: replace(result, fingerprint="")), rare=True
    ),
    Mutant(
        "a lost finding is no matter", other_results(lambda result: replace(result, salvage=())), rare=True
    ),
    Mutant(
        "an outage excuses every failure",
        in_place(outages, "AWAY", outages.AWAY | {"timeout", "no-answer", "fallback", "budget", "stopped"}),
    ),
    Mutant("missing answers are forgotten", without("missing-result")),
    Mutant("an unknown severity is harmless", everywhere(answers.doubts, lambda result: [])),
    Mutant("contradictions with the plan are forgotten", without("mismatch")),
)

# --- policy -----------------------------------------------------------------------------------


def _one_more(count: int, limit: int) -> bool:
    return limit < 0 or count <= limit + 1


def _by_rule_only(of: policy.Policy, severity: str) -> str:
    return "any" if of.rule == "single" else "consensus"


def _least_share(group: groups.Group) -> float:
    return min((c.times / c.of for c in group.came if c.of), default=1.0)


POLICY = (
    Mutant("one more than the limit is tolerated", everywhere(policy.within, _one_more)),
    Mutant("the rule of a severity is not looked at", everywhere(policy.rule_of, _by_rule_only)),
    Mutant("every finding is reproduced", everywhere(folders.share, lambda group: 1.0)),
    Mutant("the least share of a holder counts", everywhere(folders.share, _least_share), rare=True),
    Mutant("agreement is never too low", without("low-agreement")),
    Mutant("open choices pass", without("choice-open")),
)

# --- who wrote it -----------------------------------------------------------------------------


def _unsigned(original: Callable[..., Any]) -> Change:
    """A function that is not told who wrote what is reviewed."""

    def blind(*args: Any) -> Any:
        return original(*(a for a in args if not isinstance(a, authors.Authors)))

    return everywhere(original, blind)


def _by_its_name(words: Sequence[str], executors: Sequence[model.ExecutorInfo], *_: Any) -> authors.Authors:
    return authors.Authors(tuple(words), frozenset(e.name for e in executors) - set(words))


def _folded(
    question: rulings.Question, counted: dict[str, model.Opinion], said: Sequence[str], of: authors.Authors
) -> str:
    if question.kind == "same":
        return ruled._of_pair([o.word for o in counted.values()])
    return _OUTCOME(question, counted, said, of)


_OUTCOME = ruled._outcome

WRITTEN = (
    Mutant("nobody wrote it", everywhere(authors.authors_of, lambda facts: authors.NOBODY)),
    Mutant("its author is a voice", in_place(authors.Authors, "others", lambda _, names: tuple(names))),
    Mutant("one voice is enough beside an author", in_place(folders.Folder, "quorum", lambda *_: 1)),
    Mutant("its author refutes what is found in it", _unsigned(ruled.rulings_of), rare=True),
    Mutant("its author looked at it", _unsigned(covering.cover)),
    Mutant("its author stands in for who is away", _unsigned(outages.outages), rare=True),
    Mutant("two authors fold a pair", in_place(ruled, "_outcome", _folded), rare=True),
    Mutant("who shares its vendor did not write it", everywhere(authors.among, _by_its_name)),
    Mutant("whom nobody knows did not write it", in_place(authors, "_known", lambda info: True), rare=True),
)

# --- the run ----------------------------------------------------------------------------------


def _all_seen(facts: model.RunFacts, of: Sequence[folders.Folder]) -> tuple[covering.Cover, ...]:
    looked = covering.cover(facts, (), answers.Answers())
    return tuple(replace(c, cases=("somebody",)) for c in looked)


RUN = (
    Mutant("a part of a run is a run", everywhere(gate.for_gate_command, lambda verdict: verdict)),
    Mutant("files that nobody saw are forgotten", everywhere(changegate.covers, _all_seen)),
    Mutant("nothing asked is nothing found", without("nothing-asked"), rare=True),
    Mutant("nobody answered, and no folder gates", without("nothing-answered"), rare=True),
    Mutant("what was stopped is finished", other_facts(stopped=lambda facts: "")),
    Mutant("INCOMPLETE outweighs FAIL", in_place(verdict, "_ORDER", ("PASS", "FAIL", "INCOMPLETE"))),
)

MUTANTS = (*FOUND, *WHO, *EXAMINED, *BEFORE, *ANSWERS, *POLICY, *WRITTEN, *RUN)
