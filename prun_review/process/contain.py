"""A worker in a mount namespace of its own (bubblewrap): it sees what its request names and no more.

Inside are the system's programs and libraries, a few files of /etc, the worker's own installation, the
snapshot and what lies beside it, read-only; the attempt's own folder and its executor's state, to be
written; an empty HOME and /tmp; a fresh /proc and /dev.  The network is shared, since the vendor must
be reached.  The worker is no other user than before: this keeps secrets out of reach, it is no defence
against a hole in the kernel.

Ending a worker stays the shim's affair: bubblewrap's ``--die-with-parent`` would KILL where a TERM has
to come first.  Processes in the namespace are visible and signalled from outside like any others.
"""

from __future__ import annotations

import functools
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from prun_review.errors import LaunchError
from prun_review.ports import Command, Launch, Request
from prun_review.process.run import run

PLACES = "/usr/local/bin:/usr/bin:/bin:/run/current-system/sw/bin"
"""Where bubblewrap is looked for: never on a PATH that anybody could have set."""

PATIENCE = 10.0
"""Seconds for the trial of bubblewrap; it takes some 10 ms."""

MOST_LINKS = 40
"""Links in a row that are followed, as by the kernel."""

SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/run/current-system")
ETC = (
    *("passwd", "group", "nsswitch.conf", "hosts", "host.conf", "resolv.conf", "gai.conf", "services"),
    *("protocols", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "localtime", "timezone", "os-release"),
    *("alternatives", "profile", "profile.d", "bash.bashrc", "bashrc", "mime.types", "crypto-policies"),
    *("ssl/certs", "ssl/cert.pem", "ssl/openssl.cnf", "ca-certificates", "pki/tls/certs"),
    *("pki/tls/cert.pem", "pki/ca-trust/extracted"),
)
"""Of /etc: names, resolver, loader, shell start and public certificates; no keys, no tools' configuration."""
CERTIFICATES = (
    *("SSL_CERT_FILE", "SSL_CERT_DIR", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS"),
)
"""Variables that name files which the worker needs to reach its vendor."""


@functools.cache
def unavailable() -> str:
    """Why a worker cannot be contained on this machine; empty where it can.  Tried once per process."""
    program = _bubblewrap()
    if not program:
        return f"bubblewrap is not installed (bwrap in {PLACES})"
    try:
        done = run(
            (program, *_namespaces(), *_system(), "--", "/usr/bin/env"),
            env={},
            cwd=Path("/"),
            timeout=PATIENCE,
        )
    except LaunchError as error:
        return f"bubblewrap cannot be run: {error}"
    said = done.stderr.decode(errors="replace").strip()
    return f"bubblewrap makes no namespace here: {said}" if done.code else ""


def contained(request: Request, command: Command, launch: Launch) -> Launch:
    """The launch with bubblewrap around it; ``LaunchError`` where there is none."""
    program = _bubblewrap()
    if not program:
        raise LaunchError(
            "bubblewrap is not installed", place='containment = "bwrap"', remedy="install it, or none"
        )
    argv = (
        *(program, *_namespaces(), *_system(), "--tmpfs", "/tmp"),
        *_home(launch),
        *_binds(request, command, launch),
        *("--chdir", str(launch.cwd), "--", *launch.argv),
    )
    return replace(launch, argv=argv)


def alone(
    launch: Launch,
    readable: Iterable[Path],
    writable: Iterable[Path],
    instead: Mapping[Path, Path] | None = None,
) -> Launch:
    """The launch of a command that needs nobody: in a mount namespace with these paths, without network;
    ``LaunchError`` where there is no bubblewrap.  ``instead``: place -> folder that is seen there, writable,
    whatever the place holds outside."""
    program = _bubblewrap()
    if not program:
        raise LaunchError(
            "bubblewrap is not installed", place='containment = "bwrap"', remedy="install it, or none"
        )
    argv = (
        *(program, *_namespaces(), "--unshare-net", *_system(), "--tmpfs", "/tmp"),
        *_shown(readable, writable, instead or {}),
        *("--chdir", str(launch.cwd), "--", *launch.argv),
    )
    return replace(launch, argv=argv)


def _bubblewrap() -> str:
    return shutil.which("bwrap", path=PLACES) or ""


def _namespaces() -> tuple[str, ...]:
    """A user namespace for root as well: root inside is then no root of the machine."""
    kinds = ("user", "pid", "ipc", "uts", "cgroup-try")
    return (*(f"--unshare-{kind}" for kind in kinds), "--proc", "/proc", "--dev", "/dev")


def _system() -> Iterator[str]:
    for place in SYSTEM:
        if os.path.islink(place):  # /bin -> usr/bin
            yield from ("--symlink", os.readlink(place), place)
        elif os.path.isdir(place):
            yield from ("--ro-bind", place, place)
    for name in ETC:
        if os.path.exists(f"/etc/{name}"):  # resolv.conf may be a link to what is not here
            yield from ("--ro-bind", os.path.realpath(f"/etc/{name}"), f"/etc/{name}")


def _home(launch: Launch) -> tuple[str, ...]:
    home = launch.env.get("HOME", "")
    return ("--tmpfs", home) if home.startswith("/") and home.strip("/") else ()


def _binds(request: Request, command: Command, launch: Launch) -> Iterator[str]:
    """What is shown of the disk, the outer before the inner, which would be hidden otherwise."""
    named = (launch.env.get(name, "") for name in CERTIFICATES)
    certificates = [Path(name) for name in named if name.startswith("/")]
    readable = [Path(launch.argv[0]), *command.readable, *certificates]
    readable += [request.beside] if request.beside else []
    writable = [request.out, request.state, *command.writable]
    # The copy of one that writes code is its own; the snapshot belongs to everybody.
    (writable if request.unit.brief.mode == "write" else readable).append(request.tree)
    yield from _shown(readable, writable)


def _shown(
    readable: Iterable[Path], writable: Iterable[Path], instead: Mapping[Path, Path] | None = None
) -> Iterator[str]:
    there = {place: str(folder) for path, folder in (instead or {}).items() for place in _places(path)}
    options = dict.fromkeys(_forms(readable), "--ro-bind")
    options |= dict.fromkeys(_forms(writable), "--bind")
    shown = {place: "--ro-bind" for place in SYSTEM if os.path.isdir(place)}
    for path in sorted({*options, *there}):
        if path in there and path not in options:
            shown[path] = "instead"
            yield from ("--bind", there[path], path)
            continue
        around = next((str(p) for p in Path(path).parents if str(p) in shown), "")
        if path in shown or shown.get(around) == options[path] or not os.path.lexists(path):
            continue
        if not os.path.islink(path) or shown.get(around) == "instead":
            shown[path] = options[path]
            yield from (options[path], path, path)
        elif not around:
            yield from ("--symlink", os.readlink(path), path)


def _places(path: Path) -> Iterator[str]:
    """Where something stands instead of a folder; never of the whole disk."""
    for form in {os.path.abspath(path), os.path.realpath(path)}:
        if form.strip("/"):
            yield form


def _forms(paths: Iterable[Path]) -> Iterator[str]:
    """Each path as it is called and as it is, and the links on the way of the last name."""
    for path in paths:
        links = [str(path)]
        while os.path.islink(links[-1]) and len(links) <= MOST_LINKS:
            links.append(os.path.join(os.path.dirname(links[-1]), os.readlink(links[-1])))
        yield from (os.path.abspath(link) for link in links)
        yield os.path.realpath(path)
