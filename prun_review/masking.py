"""Secret values that were handed to children are kept out of everything that is stored; pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any

LEAST = 8
"""Characters below which a value is not masked: short ones occur in ordinary text."""

_NAME = re.compile(
    r"(?:^|_)(?:API)?(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIALS?|AUTH|PAT)(?:$|_(?!SOCK))",
    re.IGNORECASE,
)


def secrets_of(env: Mapping[str, str]) -> frozenset[str]:
    """The values of variables whose names look like keys or tokens."""
    return frozenset(value for name, value in env.items() if len(value) >= LEAST and _NAME.search(name))


def mask(text: str, secrets: Collection[str]) -> str:
    """``text`` with each secret as asterisks of the same length, so that columns and counts hold."""
    for secret in longest_first(secrets):
        text = text.replace(secret, "*" * len(secret))
    return text


def mask_bytes(data: bytes, secrets: Collection[bytes]) -> bytes:
    """:func:`mask` for raw output."""
    for secret in sorted(secrets, key=lambda s: (-len(s), s)):
        data = data.replace(secret, b"*" * len(secret))
    return data


def masked(value: Any, secrets: Collection[str]) -> Any:
    """A copy of a JSON-able value with every string in it (keys too) masked."""
    if not secrets:
        return value
    if isinstance(value, str):
        return mask(value, secrets)
    if isinstance(value, Mapping):
        return {mask(str(k), secrets): masked(v, secrets) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [masked(v, secrets) for v in value]
    return value


def longest_first(secrets: Iterable[str]) -> list[str]:
    """So that a secret which is part of another does not leave the rest of that one readable."""
    return sorted(secrets, key=lambda s: (-len(s), s))
