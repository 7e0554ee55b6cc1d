"""From what an executor's output says to the judged result of a unit.  Pure, like all it calls."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace

from prun_review.change import Change
from prun_review.checking import Judged, judge_answer
from prun_review.echoes import echoes
from prun_review.examining import any_known, coverage, known_names, spelled
from prun_review.grounding import ground
from prun_review.located import told
from prun_review.model import (
    SEVERITIES,
    Answer,
    Finding,
    Findings,
    Header,
    Opinion,
    Reading,
    Result,
    Unit,
    Usage,
    Violation,
)
from prun_review.paths import Names
from prun_review.placement import place
from prun_review.ports import ContractKind, Reader
from prun_review.proofs import AGAINST, Trees
from prun_review.quotes import within
from prun_review.ruled import proven
from prun_review.rulings import CANNOT, PROVEN
from prun_review.taskblock import TaskKind


def judge(
    reading: Reading,
    unit: Unit,
    kind: ContractKind,
    read: Reader,
    *,
    names: Collection[str] | None = None,
    attempts: int,
    seconds: float,
    prefixes: Sequence[str] = (),
    change: Change | None = None,
    read_base: Reader | None = None,
    base_names: Collection[str] | None = None,
    beside: str = "",
) -> Result:
    """The result of one attempt: ``failed`` as read, else ``valid`` or ``broken``.

    ``names`` are the files of the reviewed tree, ``seconds`` the wall time of the attempt,
    ``prefixes`` the directories that reviewers may put before a path.  With ``change``, the
    ``read_base`` and ``base_names`` of its merge base and the directory ``beside`` the snapshot,
    findings are also placed in the change, whatever scope the unit has.
    """
    base = Result(
        unit=unit.id,
        slug=unit.slug,
        case=unit.case,
        folder=unit.folder,
        executor=unit.executor,
        status="failed",
        reason=reading.reason,
        message=reading.message,
        repeat=unit.repeat,
        usage=reading.usage,
        attempts=attempts,
        seconds=seconds,
        suppressed=reading.suppressed,
        fingerprint=unit.fingerprint,
    )
    if reading.status != "answered":
        return replace(base, reason="no-answer" if reading.reason == "ok" else reading.reason)
    judged = _judged(reading, unit, kind)
    violations = [_with_usage(v, reading.usage) for v in judged.violations]
    if reading.findings is None:
        violations += echoes(reading, unit, kind, change)
    answer = judged.answer
    if answer:
        index = Names(names) if names is not None else None
        spoken = index if change is None else known_names(names, base_names, unit)
        below = (*prefixes, f"{beside}/base") if beside else prefixes
        examined = spelled(answer.examined, spoken, below)
        if answer.verdict is not None or answer.opinion is not None:
            violations += _unexamined(reading, unit, examined, index, change)

        def stand(findings: Iterable[Finding]) -> Findings:
            grounded = ground(
                findings,
                read,
                names=names,
                prefixes=prefixes,
                change=change,
                read_base=read_base,
                base_names=base_names,
                beside=beside,
            )
            return _placed(grounded, read, change, read_base)

        numbered = Findings(
            replace(f, id=f"{unit.slug}#{n}") for n, f in enumerate(stand(answer.findings), 1)
        )
        opinion = answer.opinion
        if opinion:
            trees = Trees(read, names, below, read_base if change else None, base_names)
            opinion = _weighed(opinion, stand, trees, unit)
            unread = any(v.code in ("coverage", "nothing-examined") for v in violations)
            why = "" if unread else _unread(opinion, reading, unit, examined, change)
            if why and proven(opinion):
                opinion = replace(opinion, evidence=told(opinion.evidence, "ungrounded", why))
        answer = replace(answer, examined=examined, findings=numbered, opinion=opinion)
        violations += _unproven(opinion, violations)
    elif not violations:
        violations.append(Violation("contract-kind", "", f"contract kind {kind.kind!r} made no answer of it"))
    return replace(
        base,
        status="broken" if violations else "valid",
        reason="contract" if violations else "ok",
        message="; ".join(map(str, violations[:3])) + (" ..." if len(violations) > 3 else ""),
        answer=answer,
        violations=tuple(violations),
        salvage=judged.salvage,
    )


def _weighed(
    opinion: Opinion, stand: Callable[[Iterable[Finding]], Findings], trees: Trees, unit: Unit
) -> Opinion:
    """The opinion with its evidence as it stands to the trees; ``ungrounded`` where it proves nothing.

    In a change it stands on the side that it names or nowhere.  What the change took away says nothing
    against a claim about the head; it may be what a claim about the old side is judged by.
    """
    said = opinion.evidence
    proof = stand([said])[0]
    if said.side and proof.grounding in PROVEN and proof.side != said.side:
        alone = trees.ground(said)
        proof = stand([alone])[0] if alone.grounding in PROVEN else proof
        if proof.side != said.side:
            why = f"the quote stands on the {proof.side} side of the change, and not on the {said.side} one"
            proof = told(proof, "ungrounded", why)
    if proof.grounding in PROVEN:
        about_old = any(exhibit.side == "old" for exhibit in unit.brief.exhibits)
        if proof.side == "old" and opinion.word in AGAINST and not about_old:
            proof = told(proof, "ungrounded", "it was taken away by the change: the head does not hold it")
        elif opinion.word != CANNOT and not trees.tells(proof):
            proof = told(proof, "ungrounded", "the quote is too short to prove anything: quote whole lines")
    return replace(opinion, evidence=proof)


def _unread(
    opinion: Opinion, reading: Reading, unit: Unit, examined: Sequence[str], change: Change | None
) -> str:
    """Why a proof is none: nobody looked into its file, or it repeats what the question showed."""
    proof = opinion.evidence
    if opinion.word == CANNOT or not proof.file:
        return ""
    changed = change.at(proof.file, proof.side or "new") if change else None
    about = replace(unit, files=(changed.path if changed else proof.file,), coverage=1.0)
    if coverage(about, examined, reading.touched, change):
        return f"{proof.file} was not read: it is not examined, or no tool of the program touched it"
    unopened = coverage(replace(about, inlined=()), examined, reading.touched, change)
    shown = [quote for exhibit in unit.brief.exhibits for quote in exhibit.quotes]
    if opinion.word == "refute" and unopened and within(proof.quote or "", shown):
        return "the quote is what the question itself showed, and no tool of the program touched the file"
    return ""


def _unproven(opinion: Opinion | None, known: Sequence[Violation]) -> Iterator[Violation]:
    """The violation ``unproven`` where a word that needs proof has none; once is enough."""
    if opinion is None or opinion.word == CANNOT or proven(opinion):
        return
    if all(v.code != "unproven" for v in known):
        why = opinion.evidence.note or "no quote of the reviewed tree stands beside it"
        yield Violation("unproven", "/quote", f"{opinion.word!r} is not proven: {why}")


def _unexamined(
    reading: Reading, unit: Unit, examined: Sequence[str], index: Names | None, change: Change | None
) -> Iterator[Violation]:
    """What is wrong with the files that an answer says were read."""
    analyser = reading.findings is not None
    if unit.coverage and unit.files and not analyser:
        short = coverage(unit, examined, reading.touched, change)
        if short:
            yield short
        return
    web = unit.brief.contract.sources  # such a question need not be about the tree at all
    if (examined and not web) or (web and unit.files):
        asked = _asked(unit, change) if unit.files else index
        if asked and not any_known(examined, asked, root=analyser):
            what = "that it was asked about" if unit.files else "of the reviewed tree"
            text = f"no file {what}, nor a folder of one below the root, is said to have been read"
            yield Violation("nothing-examined", "/examined", text)


def again(
    result: Result,
    unit: Unit,
    read: Reader,
    *,
    names: Collection[str] | None,
    change: Change | None,
    read_base: Reader | None,
    base_names: Collection[str] | None,
) -> Result:
    """A result that was judged in an earlier run, its findings grounded and placed in these trees.

    So is the evidence of an opinion.  Nothing else is judged again: what the answer says of the contract
    did not change.  The result takes the ids of ``unit``.  Where a finding stands as it did, its note is
    kept as well.
    """
    result = replace(result, unit=unit.id, slug=unit.slug, case=unit.case, folder=unit.folder)
    if result.answer is None:
        return result

    def stand(findings: Iterable[Finding]) -> Findings:
        stored = list(findings)
        fresh = [
            replace(f, grounding="unchecked", note="", placement="", caused=False, beside=False, mapped=None)
            for f in stored
        ]
        grounded = ground(fresh, read, names=names, change=change, read_base=read_base, base_names=base_names)
        placed = _placed(grounded, read, change, read_base)
        return Findings(_as_before(old, new) for old, new in zip(stored, placed, strict=True))

    kept = Findings(replace(f, id=f"{unit.slug}#{n}") for n, f in enumerate(stand(result.findings), 1))
    trees = Trees(read, names, (), read_base if change else None, base_names)
    opinion = result.answer.opinion and _weighed(result.answer.opinion, stand, trees, unit)
    return replace(result, answer=replace(result.answer, findings=kept, opinion=opinion))


def _asked(unit: Unit, change: Change | None) -> Names:
    """The names of the files that a unit is about; of a renamed one the old name as well."""
    changed = (change.named(name) for name in unit.files) if change else ()
    return Names({*unit.files, *(file.old_path for file in changed if file and file.old_path)})


def _placed(findings: Findings, read: Reader, change: Change | None, read_base: Reader | None) -> Findings:
    if change is None or read_base is None:
        return findings
    return place(findings, change, read=read, read_base=read_base)


def _as_before(old: Finding, new: Finding) -> Finding:
    """``new`` as it was told before where nothing of it changed: a line that was corrected now fits."""
    moved = replace(new, grounding="moved") if (old.grounding, new.grounding) == ("moved", "exact") else new
    same = replace(moved, note=old.note)
    return old if same == old else new


def _judged(reading: Reading, unit: Unit, kind: ContractKind) -> Judged:
    if isinstance(kind, TaskKind):
        return kind.judge(reading.text)
    if reading.findings is None:
        return judge_answer(
            payload=reading.payload,
            text=reading.text,
            contract=unit.brief.contract,
            kind=kind,
            slug=unit.slug,
        )
    faults = []
    if not reading.examined:
        faults.append(Violation("nothing-examined", "/examined", "the analyser went through no file"))
    odd = sorted({f.severity for f in reading.findings} - set(SEVERITIES))
    faults += [Violation("schema", "/findings", f"unknown severity {word!r}") for word in odd]
    answer = Answer(
        header=Header(reading.text or "none", "none", "none", "none"),
        verdict="comment",
        examined=reading.examined,
        findings=reading.findings,
    )
    return Judged(answer, tuple(faults), ())


def _with_usage(violation: Violation, usage: Usage) -> Violation:
    """An empty answer that was paid for says so."""
    if violation.code != "empty-answer" or not usage.output_tokens:
        return violation
    return replace(
        violation, text=f"{violation.text}, though {usage.output_tokens} output tokens were billed"
    )
