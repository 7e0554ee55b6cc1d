"""Every error of prun_review on one page, each with the exit status it leads to.

A message names the culprit, its place and the remedy.  Three kinds are told apart by their exit
status: what the user can mend (4), what is our bug (3), and an interrupt (2, raised by Python).
"""

from __future__ import annotations


class PrunError(Exception):
    """Base of all errors that prun_review raises on purpose.

    ``place`` is where the culprit stands (``file:line``, an option, a configuration key) and
    ``remedy`` is what to do about it; both end up in ``str(error)``.
    """

    exit_status = 4
    code = "error"

    def __init__(self, message: str, *, place: str = "", remedy: str = "") -> None:
        self.message = message
        self.place = place
        self.remedy = remedy
        super().__init__(message)

    def __str__(self) -> str:
        text = f"{self.place}: {self.message}" if self.place else self.message
        return f"{text}\n  remedy: {self.remedy}" if self.remedy else text


class ConfigError(PrunError):
    """A configuration key or option is unknown, malformed or contradictory."""

    code = "config"


class BriefError(PrunError):
    """A brief cannot be built; fails its own item, the others go on."""

    code = "brief"


class PlanError(PrunError):
    """The plan as a whole cannot be dispatched."""

    code = "plan"


class ExecutorError(PrunError):
    """An executor is unknown, or its program is missing or unusable."""

    code = "executor"


class TreeError(PrunError):
    """The reviewed tree cannot be taken: no repository, no commit, git failed."""

    code = "tree"


class RunDirError(PrunError):
    """A run directory is missing, locked, of another version, or cannot be written."""

    code = "run-directory"


class DiskFullError(RunDirError):
    """There is no space, or too little to begin anything, where the run directory lies."""

    code = "disk-full"


class LaunchError(PrunError):
    """A process could not be started; fails its unit, the others go on."""

    code = "launch"


class InternalError(PrunError):
    """Something that must not happen happened: our bug, never a verdict."""

    exit_status = 3
    code = "internal"
