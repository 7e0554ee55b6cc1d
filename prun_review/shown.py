"""What of the taken files reviewers get to see: some are withheld, in others secrets are masked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from prun_review import patterns
from prun_review.git import LINK, Entry
from prun_review.ports import Redactor
from prun_review.shadow import Shadow, batches

WITHHELD = "withheld: sent to nobody"
"""Why a file is not there."""


@dataclass(frozen=True, slots=True)
class Shown:
    """Files by public name."""

    entries: Mapping[str, Entry]
    """What reviewers see, under the id of what they see."""
    withheld: Mapping[str, Entry]
    """What they do not see at all."""
    masked: Mapping[str, Entry]
    """Those of ``entries`` that are not as they were taken."""


@dataclass
class Screen:
    """Withholds and masks, the same for both sides of a change."""

    shadow: Shadow
    never: Sequence[str]
    """Patterns of files that are withheld."""
    redact: Redactor | None
    """Masks contents; without it none is read."""
    withholds: Callable[[str], bool] = field(init=False)
    """Whether a public name is withheld."""
    _seen: dict[tuple[str, str], tuple[str, int]] = field(default_factory=dict)
    """Name and id as taken -> id and size as shown."""

    def __post_init__(self) -> None:
        self.withholds = patterns.matcher(self.never)

    def __call__(self, entries: Mapping[str, Entry]) -> Shown:
        """What is shown of these files; masked contents are kept as blobs of ours."""
        withheld = {name: e for name, e in entries.items() if self.withholds(name)}
        rest = {name: e for name, e in entries.items() if name not in withheld}
        if self.redact:
            self._mask(rest, self.redact)
        masked = {}
        for name, entry in rest.items():
            sha, size = self._seen.get((name, entry.sha), (entry.sha, entry.size))
            if sha != entry.sha:
                masked[name] = replace(entry, sha=sha, size=size)
        return Shown({**rest, **masked}, withheld, masked)

    def _mask(self, entries: Mapping[str, Entry], redact: Redactor) -> None:
        unseen = {
            name: e
            for name, e in entries.items()
            if e.mode != LINK and (name, e.sha) not in self._seen and not redact.clean(e.sha)
        }
        for batch in batches(unseen):
            changed: list[tuple[str, Entry, bytes]] = []
            for (name, entry), content in zip(batch, self.shadow.blobs([e for _, e in batch]), strict=True):
                self._seen[name, entry.sha] = entry.sha, len(content)
                shown = redact(name, entry.sha, content)
                if shown != content:
                    changed.append((name, entry, shown))
            shas = self.shadow.store([shown for _, _, shown in changed])
            for (name, entry, shown), sha in zip(changed, shas, strict=True):
                self._seen[name, entry.sha] = sha, len(shown)
