"""What counts as a secret: the patterns of detect-secrets that are used, and a cheap test before them.

Of the detector only its patterns are taken: its key formats and its keyword rules.  Its verification
(which would send what it found to the service that issued it) and its filters are never called: a
comment such as ``pragma: allowlist secret``, the name of a lock file or of a test is the author's, who
may be the one who is reviewed, and switches nothing off.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from functools import cache
from typing import Any

PLUGINS = (
    "ArtifactoryDetector",
    "AWSKeyDetector",
    "AzureStorageKeyDetector",
    "BasicAuthDetector",
    "CloudantDetector",
    "DiscordBotTokenDetector",
    "GitHubTokenDetector",
    "GitLabTokenDetector",
    "IbmCloudIamDetector",
    "IbmCosHmacDetector",
    "JwtTokenDetector",
    "MailchimpDetector",
    "NpmDetector",
    "OpenAIDetector",
    "PypiTokenDetector",
    "SendGridDetector",
    "SlackDetector",
    "SoftlayerDetector",
    "SquareOAuthDetector",
    "StripeDetector",
    "TelegramBotTokenDetector",
    "TwilioKeyDetector",
)
"""The detector's key formats; beside them ``PrivateKeyDetector`` and ``KeywordDetector`` are used.  Off
are the two of entropy, which take every hash for a secret, and that of public addresses."""

OURS = {
    "Anthropic API Key": re.compile(r"\bsk-ant-[A-Za-z0-9_-]{16,}"),
    "GitHub Fine-Grained Token": re.compile(r"github_pat_[A-Za-z0-9_]{20,}"),
    "Google API Key": re.compile(r"AIza[A-Za-z0-9_-]{35}"),
    "Hugging Face Token": re.compile(r"\bhf_[A-Za-z0-9]{30,}"),
}
"""Formats that the detector does not know, each known by how it begins."""

REVISION = 2
"""Of our own rules here and in :mod:`prun_review.redaction`; part of :func:`digest`."""

GATED = ("1.5.0",)
"""Versions of the detector whose patterns :data:`GATE` is known to cover.  With another one every line is
searched, which is as complete and takes five times as long (measured: 2 s of CPU for a MB, not 0.4)."""
GATE = re.compile(
    rb"key|pass|pw|token|secret|contras|softlayer|://|akc|ap[\da-f\x80-\xff]|a3t|abia|acca|akia|asia"
    rb"|gh[pousr]_|sk-ant-|github_pat_|aiza|hf_|gl[a-z]{2,5}-|gr1348941|eyj|-us\d|t3blbkfj|pypi-ag|sg\.|xox|sq0csp-|k_live_"
    rb"|:[\w-]{35}|[as][ck][a-z0-9]{32}|\.[^\s.]{6,24}\.[^\s.]{27}"
    # What a pattern that ignores case also takes for an s, a k or an i.
    rb"|\xc5\xbf|\xe2\x84\xaa|\xc4[\xb0\xb1]"
)
"""Matches, in lower case, somewhere in every line that one of the patterns matches."""

_GROUPED = frozenset(
    {
        "AWSKeyDetector",
        "BasicAuthDetector",
        "CloudantDetector",
        "IbmCloudIamDetector",
        "IbmCosHmacDetector",
        "NpmDetector",
        "SoftlayerDetector",
    }
)
"""Plugins whose groups are the secret and the rest its surroundings.  In others a group is a prefix."""

_NOTHING = re.compile("")
_REST = re.compile(r"[A-Za-z0-9_+/=-]*")
_REST_DOTTED = re.compile(r"[A-Za-z0-9_+/=.-]*")

_UNQUOTED = re.compile(
    r"(?:^|/)(?:\.env[^/]*|[^/]*\.(?:env|envrc|sh|bash|zsh|mk)|\.z(?:shrc|shenv|profile)"
    r"|(?:gnu)?makefile[^/]*|dockerfile[^/]*)$"
)
"""Files, by their name in lower case, that hold values without quotes, beside those that the detector
knows by their suffix."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One pattern, for one line."""

    kind: str
    """What the detector calls it."""
    pattern: re.Pattern[str]
    group: int
    """The group that is the secret; 0: the whole match."""
    rest: re.Pattern[str]
    """What belongs to the secret behind the match: some formats have grown since the patterns were
    written (``sk_live_`` and 24 characters were all of such a key once)."""


@dataclass(frozen=True, slots=True)
class Rules:
    """All that is searched for."""

    formats: tuple[Rule, ...]
    blocks: tuple[Rule, ...]
    """First lines of private keys."""
    words: tuple[Rule, ...]
    """The keyword rules for files of every kind."""
    gated: bool
    """Whether :data:`GATE` may be trusted."""

    def of(self, name: str) -> tuple[Rule, ...]:
        """What is masked on a line of a file of that name: values without quotes only where code has
        none, or every call and every type behind ``password =`` would be."""
        return (*self.formats, *_words(name))


@cache
def load() -> Rules:
    """The rules; imports the detector on the first call (0.3 s)."""
    from detect_secrets.__version__ import VERSION
    from detect_secrets.plugins import keyword

    tables = [*keyword.REGEX_BY_FILETYPE.values(), keyword.QUOTES_REQUIRED_DENYLIST_REGEX_TO_GROUP]
    words = dict.fromkeys(rule for table in tables for rule in _of_table(table))
    return Rules(
        formats=(
            *(rule for name in PLUGINS for rule in _of_plugin(name)),
            *(Rule(kind, pattern, 0, _REST) for kind, pattern in OURS.items()),
        ),
        blocks=_of_plugin("PrivateKeyDetector"),
        words=tuple(words),
        gated=VERSION in GATED,
    )


@cache
def digest() -> str:
    """Version of the detector and our choice of it, as one word: what a clean blob was searched for."""
    from detect_secrets.__version__ import VERSION

    ours = [pattern.pattern for pattern in OURS.values()]
    told = (REVISION, VERSION, PLUGINS, ours, _UNQUOTED.pattern)
    return hashlib.sha256(repr(told).encode()).hexdigest()


def _of_plugin(name: str) -> tuple[Rule, ...]:
    """Every pattern of a plugin; ``KeyError`` where the detector has it no more."""
    from detect_secrets.core.plugins.util import get_mapping_from_secret_type_to_class

    classes: list[Any] = list(get_mapping_from_secret_type_to_class().values())
    plugin = {c.__name__: c for c in classes}[name]
    rest = _REST_DOTTED if name == "JwtTokenDetector" else _REST
    found = []
    for pattern in plugin.denylist:
        group = 1 if name in _GROUPED and pattern.groups else 0
        found.append(Rule(plugin.secret_type, pattern, group, rest))
    return tuple(found)


def _words(name: str) -> tuple[Rule, ...]:
    from detect_secrets.plugins import keyword
    from detect_secrets.util.filetype import determine_file_type

    name = name.lower()
    if _UNQUOTED.search(name):
        return _of_table(keyword.CONFIG_DENYLIST_REGEX_TO_GROUP)
    default = keyword.QUOTES_REQUIRED_DENYLIST_REGEX_TO_GROUP
    return _of_table(keyword.REGEX_BY_FILETYPE.get(determine_file_type(name), default))


def _of_table(table: Any) -> tuple[Rule, ...]:
    from detect_secrets.plugins.keyword import KeywordDetector

    return tuple(Rule(KeywordDetector.secret_type, p, group, _NOTHING) for p, group in table.items())
