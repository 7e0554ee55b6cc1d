"""What of the taken files reviewers get to see: some are withheld, in others secrets are masked."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from prun_review import patch, patterns
from prun_review.git import LINK, Entry
from prun_review.ports import Redactor
from prun_review.redaction import UnsearchedError
from prun_review.shadow import RENAMES, Shadow, batches

WITHHELD = "withheld: sent to nobody"
"""Why a file is not there."""
SAME = f"{WITHHELD}, since it is, or is much like, a file that never withholds"
NAMED = f"{WITHHELD}, since its name holds what looks like a secret"
LATE = f"{WITHHELD}, since it could not be searched for secrets in time"

_NEUTRAL = re.compile(r"withheld-[0-9a-f]{16}")
"""A name that stands for one that nobody is told."""


@dataclass(frozen=True, slots=True)
class Shown:
    """Files by public name."""

    entries: Mapping[str, Entry]
    """What reviewers see, under the id of what they see."""
    withheld: Mapping[str, str]
    """What they do not see at all, and why."""
    masked: Mapping[str, Entry]
    """Those of ``entries`` that are not as they were taken."""
    public: Callable[[str], str]
    """The name under which a file is spoken of."""


@dataclass
class Screen:
    """Withholds and masks, the same for both sides of a change."""

    shadow: Shadow
    never: Sequence[str]
    """Patterns of files that are withheld, in whatever case."""
    redact: Redactor | None
    """Masks contents; without it none is read."""
    _never: tuple[Callable[[str], bool], Callable[[str], bool]] = field(init=False)
    _names: dict[str, str] = field(default_factory=dict)
    """Name -> how it is called."""
    _alike: set[str] = field(default_factory=set)
    """Ids of contents that are withheld under every name."""
    _late: set[str] = field(default_factory=set)
    """Ids of contents that could not be searched."""
    _seen: dict[tuple[str, str], tuple[str, int]] = field(default_factory=dict)
    """Name and id as taken -> id and size as shown."""

    def __post_init__(self) -> None:
        self._never = patterns.matcher(self.never), patterns.matcher([p.lower() for p in self.never])

    def public(self, name: str) -> str:
        """``name``, or a neutral one in place of a name that holds a secret."""
        if name not in self._names:
            neutral = f"withheld-{hashlib.sha256(name.encode()).hexdigest()[:16]}"
            held = self.redact is not None and self.redact(neutral, "", name.encode()) != name.encode()
            # A file that is really called so must not stand for another.
            self._names[name] = neutral if held or _NEUTRAL.fullmatch(name) else name
        return self._names[name]

    def named(self, entries: Mapping[str, Entry]) -> dict[str, Entry]:
        """The files by their public names."""
        return {self.public(name): entry for name, entry in entries.items()}

    def learn(self, *sides: Mapping[str, Entry]) -> None:
        """Look at all that will be shown, before any of it is: what is withheld under one name must not be
        seen under another, as it is or somewhat edited."""
        every = [(name, entry) for side in sides for name, entry in side.items() if entry.size]
        self._alike |= {entry.sha for name, entry in every if self._matches(name)}
        sources = {entry.sha: entry for name, entry in every if self._matches(name) and entry.mode != LINK}
        kept = set.intersection(*({(n, e.sha) for n, e in side.items()} for side in sides))
        others = {
            entry.sha: entry
            for name, entry in every
            if (name, entry.sha) not in kept and entry.sha not in self._alike and entry.mode != LINK
        }
        self._alike |= self._similar(list(sources.values()), list(others.values()))

    def _similar(self, sources: Sequence[Entry], others: Sequence[Entry]) -> set[str]:
        """Ids of those that git would take for an edited copy of a source."""
        if not sources or not others:
            return set()
        trees = [
            self.shadow.planted(
                ((b"%s%d" % (mark, n), e.mode, e.sha) for n, e in enumerate(side)), "index.alike"
            )
            for mark, side in ((b"s", sources), (b"o", others))
        ]
        raw = self.shadow.run("diff-tree", "-r", "-C", f"-l{RENAMES}", "-z", "--raw", *trees)
        return {others[int(p.new[1:])].sha for p in patch.pairs(raw) if p.old and p.new}

    def _matches(self, name: str) -> bool:
        as_it_is, lowered = self._never
        return as_it_is(name) or lowered(name.lower())

    def why(self, name: str, entry: Entry) -> str:
        """Why a file of that public name is withheld; empty where it is shown."""
        if self._matches(name):
            return WITHHELD
        if _NEUTRAL.fullmatch(name):
            return NAMED
        return LATE if entry.sha in self._late else SAME if entry.sha in self._alike else ""

    def __call__(self, entries: Mapping[str, Entry]) -> Shown:
        """What is shown of these files; masked contents are kept as blobs of ours."""
        if self.redact:
            self._mask({name: e for name, e in entries.items() if not self.why(name, e)}, self.redact)
        withheld = {name: why for name, e in entries.items() if (why := self.why(name, e))}
        rest = {name: e for name, e in entries.items() if name not in withheld}
        masked = {}
        for name, entry in rest.items():
            sha, size = self._seen.get((name, entry.sha), (entry.sha, entry.size))
            if sha != entry.sha:
                masked[name] = replace(entry, sha=sha, size=size)
        return Shown({**rest, **masked}, withheld, masked, self.public)

    def _mask(self, entries: Mapping[str, Entry], redact: Redactor) -> None:
        unseen = {
            name: e
            for name, e in entries.items()
            if (name, e.sha) not in self._seen and not redact.clean(e.sha)
        }
        for batch in batches(unseen):
            contents = self.shadow.blobs([e for _, e in batch])
            changed = list(self._masked(zip(batch, contents, strict=True), redact))
            shas = self.shadow.store([shown for _, _, shown in changed])
            for (name, entry, shown), sha in zip(changed, shas, strict=True):
                self._seen[name, entry.sha] = sha, len(shown)

    def _masked(
        self, files: Iterable[tuple[tuple[str, Entry], bytes]], redact: Redactor
    ) -> Iterable[tuple[str, Entry, bytes]]:
        """Those that are not as they were taken, with what is shown of them."""
        for (name, entry), content in files:
            if entry.sha in self._late:
                continue
            try:
                shown = redact(name, entry.sha, content)
            except UnsearchedError:
                self._late.add(entry.sha)
                continue
            self._seen[name, entry.sha] = entry.sha, len(content)
            if shown != content:
                yield name, entry, shown
