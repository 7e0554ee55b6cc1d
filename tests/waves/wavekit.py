"""A project whose tasks are done by shell scripts, for runs of waves that are real but for who works."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from prun_review.model import Result
from prun_review.settings import read_settings
from prun_review.wavebeginning import ALL, Selection
from prun_review.waverun import WaveRun
from tests.repokit import git, repository

DIR = "parallel/TS-0009-shop"
DONE = "touch .claude-task-complete"
STAND_IN = '''\
"""Does what the script of its task says; the second time what its second script says."""
import pathlib, re, subprocess, sys
prompt = sys.stdin.read()
place = pathlib.Path(sys.argv[1])
name = "task-" + re.search(r"^TASK-(\\d+)", prompt, re.MULTILINE)[1]
again = ".2" if "# This is the second time" in prompt else ""
(place / (name + again + ".prompt")).write_text(prompt)
script = place / (name + again + ".sh")
text = script.read_text() if script.exists() else f"echo {name} > {name}.txt; touch .claude-task-complete"
done = subprocess.run(["/bin/sh", "-ec", text])
print("what was asked for is done")
sys.exit(done.returncode)
'''


@dataclass(frozen=True)
class T:
    """One task of a directory."""

    number: int
    wave: int
    deps: Sequence[int] = ()
    script: str = ""
    """What it does; empty: it writes one file of its own and says that it is done."""
    again: str = ""
    """What it does when it is opened again."""
    front: str = ""
    """Further lines of its frontmatter."""
    scope: str = ""

    @property
    def id(self) -> str:
        return f"task-{self.number:03}-part"


@dataclass
class Project:
    """A repository with a directory of waves."""

    root: Path
    scripts: Path
    told: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)

    @property
    def directory(self) -> Path:
        return self.root / DIR

    def run(self, selection: Selection = ALL, **waves: Any) -> WaveRun:
        """A run that is not begun."""
        config = read_settings(self.root, {"waves": waves} if waves else {})[1]
        path = f"{Path(sys.executable).parent}:/usr/bin:/bin"
        env = {"PATH": path, "HOME": str(self.root.parent), "FAKE_API_KEY": "very-secret-value"}
        return WaveRun(self.root, config, env, self.directory, selection, self.lines.append)

    def done(self, selection: Selection = ALL, **waves: Any) -> dict[str, Any]:
        """The document of a run from start to end."""
        run = self.run(selection, **waves)
        try:
            run.start(say=self.told.append, tell=self.told.append)
            drain(run)
            return dict(run.finish().document)
        finally:
            run.close()

    def git(self, *args: str) -> str:
        return git(self.root, *args)

    def script(self, number: int, text: str, again: bool = False) -> None:
        """Change what a task does."""
        (self.scripts / f"task-{number:03}{'.2' * again}.sh").write_text(text)


def project(
    tmp: Path,
    *tasks: T,
    validation: Mapping[int, str] | None = None,
    config: str = "",
    files: Mapping[str, str] | None = None,
) -> Project:
    """Make it, all of it committed."""
    scripts = tmp / "scripts"
    scripts.mkdir()
    (scripts / "stand_in.py").write_text(STAND_IN)
    argv = json.dumps([sys.executable, str(scripts / "stand_in.py"), str(scripts)])
    table = f"""\
[tool.prun_review]
retry_wait = 0.0
{config}
[tool.prun_review.waves]
executor = "hand"
[tool.prun_review.executor.hand]
type = "command"
vendor = "example"
lineage = "example-hand"
contracts = ["task"]
argv = {argv}
"""
    content: dict[str, str | bytes] = {
        "pyproject.toml": table,
        "src/shared.txt": "one\ntwo\nthree\n",
        ".gitignore": f"{DIR}/logs/\n{DIR}/report.json\n",
        f"{DIR}/context.md": "# The shop\n",
        **(files or {}),
    }
    waves = []
    for number in sorted({task.wave for task in tasks}):
        mine = [task for task in tasks if task.wave == number]
        waves.append(
            {
                "number": number,
                "tasks": [{"id": t.id, "agent": "shop:hand-expert"} for t in mine],
                **({"validation": validation[number]} if validation and number in validation else {}),
            }
        )
    content[f"{DIR}/manifest.json"] = json.dumps({"tech_spec_id": "TS-0009", "waves": waves}, indent=1)
    made = Project(tmp / "shop", scripts)
    for task in tasks:
        deps = ", ".join(f"task-{dep:03}" for dep in task.deps)
        front = f"id: {task.id}\ncomponent: part\nwave: {task.wave}\ndeps: [{deps}]\nagent: hand-expert\n"
        text = f"---\n{front}{task.front}---\n# task-{task.number:03}: Part {task.number}\n\n{task.scope}\n"
        content[f"{DIR}/tasks/{task.id}.md"] = text
        for script, again in ((task.script, False), (task.again, True)):
            if script:
                made.script(task.number, script, again)
    repository(made.root, content)
    return made


def drain(run: WaveRun) -> list[Result]:
    """All results of a run, to its end."""
    found = []
    while run.owed:
        result = run.next(0.5)
        found += [result] if result else []
    return found


def states(document: Mapping[str, Any]) -> dict[str, str]:
    """Status and reason by number of task."""
    return {task["id"].split("-")[1]: f"{task['status']}:{task['reason']}" for task in document["tasks"]}
