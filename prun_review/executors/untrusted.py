"""What of an executor's table could open a door to hostile content, for ``Executor.exposes``.

Only what is known to be harmless passes: a program's next version may have an option that nobody here
has heard of.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence

_SECRET = re.compile(
    r"KEY|TOKEN|SECRET|PASSW|CREDENTIAL|AUTH|COOKIE|SESSION|PRIVATE|_PAT\b|DSN", re.IGNORECASE
)
WRITES = "it changes files, and runs the code that it writes"
"""Of every unit that writes code: the profile ``untrusted`` refuses it whatever the executor."""

_LOADER = re.compile(r"LD_\w+|DYLD_\w+|BASH_ENV|ENV|NODE_OPTIONS|PYTHON\w+|PERL\w+|RUBY\w+|GIT_\w+")
"""Names whose value makes a program load or run something."""


def arguments(words: Sequence[str], harmless: Mapping[str, int]) -> tuple[str, ...]:
    """A line for every word of ``args`` that is not one of the ``harmless`` options, which are given
    with the number of values that each takes (``--name=value`` counts as one)."""
    rest, found = list(words), []
    while rest:
        word = rest.pop(0)
        option, glued, _ = word.partition("=")
        takes = harmless.get(option, -1) if option.startswith("--") else harmless.get(word, -1)
        if takes < 0:
            found.append(f"args holds {word!r}, which is not known to be harmless")
        elif not (glued and option.startswith("--")):
            del rest[:takes]
    return tuple(found)


def settings(words: Sequence[str], harmless: Collection[str]) -> tuple[str, ...]:
    """The same for ``-c key=value`` pairs: a line for all that is not one of these settings, or of the
    tables among them (``model_providers.``)."""
    found = []
    pairs = iter(words)
    for word in pairs:
        key = next(pairs, "").partition("=")[0].strip() if word in ("-c", "--config") else word
        known = any(key == name or (name.endswith(".") and key.startswith(name)) for name in harmless)
        if not known:
            found.append(f"args holds {key!r}, which is not known to be harmless")
    return tuple(found)


def names(env: Iterable[str], own: Collection[str] = ()) -> tuple[str, ...]:
    """A line for every variable handed on by the table whose name speaks of a secret or of code to load;
    ``own`` names the keys that the program itself needs."""
    found = []
    for name in env:
        if name not in own and _SECRET.search(name):
            found.append(f"env hands it {name}, by its name a secret")
        elif _LOADER.fullmatch(name):
            found.append(f"env hands it {name}, which can make it run other code")
    return tuple(found)
