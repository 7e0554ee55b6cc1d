"""What a child gets to see of the surroundings, and where its program is looked for.

A child's environment is built from names, never copied: the machine's secrets are many and a model
can run ``env``.  A program is found by a configured path, an absolute entry of PATH, or the package
that carries it; never inside the reviewed tree, where anybody may have put a ``codex``.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import json
import os
import sysconfig
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from prun_review.config import ExecutorConfig
from prun_review.errors import ConfigError, LaunchError
from prun_review.executors import footprint
from prun_review.ports import Located, Missing, Request, Supervision

BASE_NAMES = ("HOME", "LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "LC_MESSAGES", "TZ", "USER", "LOGNAME")
"""What every child gets, where it is set; PATH and TERM come on top."""

NETWORK_NAMES = (
    *(f"{scheme}_{word}" for scheme in ("HTTP", "HTTPS", "ALL", "NO") for word in ("PROXY",)),
    *(f"{scheme}_{word}" for scheme in ("http", "https", "all", "no") for word in ("proxy",)),
    *("SSL_CERT_FILE", "SSL_CERT_DIR", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS"),
)
"""Proxies and certificates: what a program needs to reach its service from behind a company's wall."""

VENDOR_NAMES: Mapping[str, tuple[str, ...]] = {
    "openai": (
        "CODEX_HOME",
        "CODEX_API_KEY",
        "CODEX_ACCESS_TOKEN",
        "OPENAI_API_KEY",
        "OPENAI_BASE_URL",
        "OPENAI_ORGANIZATION",
        "OPENAI_PROJECT",
    ),
    "anthropic": (
        "CLAUDE_CONFIG_DIR",
        "CLAUDE_CODE_OAUTH_TOKEN",
        "ANTHROPIC_API_KEY",
        "ANTHROPIC_AUTH_TOKEN",
        "ANTHROPIC_BASE_URL",
    ),
}
"""The variables of each vendor's CLI; one vendor's worker never gets another's."""


def child_env(
    env: Mapping[str, str],
    names: Iterable[str] = (),
    fixed: Mapping[str, str] | None = None,
    forbidden: Sequence[Path] = (),
) -> dict[str, str]:
    """The complete environment of a child: base and ``names`` from ``env``, then ``fixed`` over it.

    PATH keeps its absolute entries outside the ``forbidden`` directories.
    """
    child = {name: env[name] for name in (*BASE_NAMES, *names) if name in env}
    child["PATH"] = os.pathsep.join(path_entries(env.get("PATH", os.defpath), forbidden))
    return child | {"TERM": "dumb"} | dict(fixed or {})


def agents_env(
    request: Request, names: Iterable[str], fixed: Mapping[str, str] | None = None
) -> dict[str, str]:
    """The environment of an agent that works in the snapshot.

    Its git looks for a repository no higher than the snapshot, which has none of its own: in one that
    happens to lie around it an agent would read another project's history and configuration.
    """
    ours = {"TMPDIR": temporary(request.out), "GIT_CEILING_DIRECTORIES": str(request.tree.parent)}
    ours |= WORKSHOP if request.unit.brief.mode == "write" else {}
    return child_env(request.env, names, {**(fixed or {}), **ours}, (request.tree,))


WORKSHOP = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "PYTHONDONTWRITEBYTECODE": "1",
}
"""For one that writes code: its git has neither the user's hooks nor his credentials, and running Python
leaves no files that would count as its work."""


def workshop(request: Request) -> tuple[Path, ...]:
    """Of the disk, what one that writes code needs to run and test it: the tools on PATH."""
    if request.unit.brief.mode != "write":
        return ()
    entries = path_entries(request.env.get("PATH", os.defpath), (request.tree,))
    return footprint.of_tools(entries)


def vendor_names(vendor: str, further: Iterable[str], place: str) -> tuple[str, ...]:
    """The names a vendor's CLI may see; ``ConfigError`` where ``further`` asks for another's."""
    foreign = {name: who for who, names in VENDOR_NAMES.items() if who != vendor for name in names}
    asked = tuple(further)
    for name in asked:
        if name in foreign:
            raise ConfigError(
                f"env names {name}, which belongs to {foreign[name]}",
                place=place,
                remedy="leave it out: a vendor's key is not given to another vendor's worker",
            )
    return (*NETWORK_NAMES, *VENDOR_NAMES.get(vendor, ()), *asked)


def temporary(out: Path) -> str:
    """A temporary directory of the attempt's own, made below it: for TMPDIR."""
    return str(private(out / "tmp"))


def private(folder: Path) -> Path:
    """The folder, made with mode 0700 where it is not there; ``LaunchError`` where that fails."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise LaunchError(
            f"cannot make a folder for the dispatch: {error.strerror}",
            place=str(folder),
            remedy="make room for it, or give the run directory back its write permission",
        ) from error
    return folder


def sent(schema: Mapping[str, Any]) -> str:
    """A schema as a vendor gets it, without ``$schema``.

    claude 2.1.332 refuses one that names draft 2020-12 ("no schema with key or ref"), exit status 1;
    without the name it takes what we use of that draft.
    """
    return json.dumps(
        {key: value for key, value in schema.items() if key != "$schema"}, separators=(",", ":")
    )


def identity(model: str, effort: str, args: Sequence[str]) -> str:
    """Model, effort and (as a digest, since they may name private servers) further arguments."""
    further = f" args:{hashlib.sha256(repr(tuple(args)).encode()).hexdigest()[:8]}" if args else ""
    return f"{model} effort:{effort or 'default'}{further}"


def supervision(table: ExecutorConfig, *, startup: float = 0.0, stagger: float = 0.0) -> Supervision:
    """How its dispatches are watched: the type's own ``startup`` and ``stagger``, its table over both."""
    return Supervision(
        startup=table.startup if table.startup >= 0 else startup,
        stall=table.stall if table.stall >= 0 else None,
        stagger=table.stagger if table.stagger >= 0 else stagger,
        grace=table.grace,
    )


def path_entries(path: str, forbidden: Sequence[Path] = ()) -> list[str]:
    """The absolute entries of a PATH that do not lie in a ``forbidden`` directory."""
    return list(_entries(path, tuple(forbidden)))


@functools.lru_cache(16)
def _entries(path: str, forbidden: tuple[Path, ...]) -> tuple[str, ...]:
    """The same, looked up once: following the links of a PATH takes milliseconds, for every dispatch."""
    bad = [Path(f).resolve() for f in forbidden]
    return tuple(entry for entry, forms in _forms_of(path) if not _any_below(forms, bad))


@functools.lru_cache(16)
def _forms_of(path: str) -> tuple[tuple[str, frozenset[Path]], ...]:
    """The absolute entries of a PATH with their forms: each that writes code has another forbidden tree."""
    return tuple((e, _forms(Path(e))) for e in path.split(os.pathsep) if os.path.isabs(e))


def find(
    program: str,
    env: Mapping[str, str],
    forbidden: Sequence[Path],
    *,
    configured: str = "",
    package: str = "",
    remedy: str = "",
) -> Located | Missing:
    """The program by configured path, by PATH, or as a file of a package (``package/bin/name``).

    A configured path is taken as it is, or missing: it never falls back to another program.
    """
    if configured:
        path = Path(configured)
        if not path.is_absolute():
            return Missing(f"path {configured!r} is not absolute", "write the absolute path")
        if _below(path, forbidden):
            return Missing(f"{path} lies inside the reviewed tree", "configure a program outside of it")
        if not _executable(path):
            return Missing(f"{path} is not an executable file", "correct or remove the configured path")
        return Located((str(path),), "configured")
    for entry in path_entries(env.get("PATH", os.defpath), forbidden):
        path = Path(entry, program)
        if _executable(path) and not _below(path, forbidden):
            return Located((str(path),), "PATH")
    if package:
        carried = _in_package(package, forbidden)
        if carried is not None:
            return Located((str(carried),), package.partition("/")[0])
    where = f"PATH or the package {package.partition('/')[0]}" if package else "PATH"
    return Missing(f"{program} was not found in {where}", remedy)


def named_files(words: Iterable[str]) -> tuple[str, ...]:
    """The files that words of an argv name by absolute path, also as ``--option=/path``."""
    paths = (word if word.startswith("/") else word.partition("=")[2] for word in words)
    return tuple(path for path in paths if path.startswith("/") and os.path.isfile(path))


def _in_package(package: str, forbidden: Sequence[Path]) -> Path | None:
    """A program that a package carries; the package is looked up and never imported."""
    top, _, inside = package.partition("/")
    try:
        spec = importlib.util.find_spec(top)
    except (ImportError, ValueError):
        return None
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        path = Path(folder, inside)
        if path.is_absolute() and _executable(path) and not _below(path, forbidden):
            return path
    return None


def _executable(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)


def _below(path: Path, forbidden: Sequence[Path]) -> bool:
    """True when the path, as written or with links followed, lies in a forbidden directory.

    What the running interpreter is made of (the usual ``.venv`` inside the repository) is not
    forbidden: who can change that runs code in this very process already.
    """
    return _any_below(_forms(path), [Path(f).resolve() for f in forbidden])


def _forms(path: Path) -> frozenset[Path]:
    """As written, and with links followed."""
    return frozenset({Path(os.path.abspath(path)), path.resolve()})


def _any_below(forms: Iterable[Path], bad: Sequence[Path]) -> bool:
    inside = [form for form in forms if any(form.is_relative_to(b) for b in bad)]
    return any(not any(form.is_relative_to(o) for o in _interpreter()) for form in inside)


@functools.cache
def _interpreter() -> tuple[Path, ...]:
    return tuple(Path(sysconfig.get_path(kind)).resolve() for kind in ("scripts", "purelib", "platlib"))
