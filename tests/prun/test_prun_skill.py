"""The skill: installed where coordinators look, and a shell loop of the old kind runs on its scripts."""

from __future__ import annotations

import json
import os
import re
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from prun_review.contract import load_schema
from prun_review.prun import skill
from tests.cli.driver import call, executable
from tests.prun.kit import FALLBACK, PATIENCE, RESULT, Desk, landed

PLACES = [
    ("claude", ".claude/skills/prun"),
    ("skills", "skills/prun"),
    ("agent-config", ".agent-config/repo/skills/prun"),
]


def install(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    code, out, errors = call("skill", "install", *words, cwd=folder)
    return subprocess.CompletedProcess(words, code, out, errors)


@pytest.mark.parametrize(("layout", "place"), PLACES)
def test_it_is_put_where_coordinators_look(tmp_path: Path, layout: str, place: str) -> None:
    words = [] if layout == "claude" else ["--layout", layout]
    done = install(tmp_path, ".", *words)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [f"written {place}/{name}" for name in skill.NAMES]
    for name in skill.NAMES:
        mode = stat.S_IMODE((tmp_path / place / name).stat().st_mode)
        assert mode == (0o755 if name.endswith(".sh") else 0o644)
    again = install(tmp_path, str(tmp_path), *words)
    assert [line.split()[0] for line in again.stdout.splitlines()] == ["unchanged"] * 4


def test_what_differs_is_named_and_left_alone(tmp_path: Path) -> None:
    place = tmp_path / ".claude" / "skills" / "prun"
    own = landed(place / "scripts" / "gather.sh", "#!/bin/sh\n# mine\n")
    done = install(tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert ".claude/skills/prun/scripts/gather.sh" in done.stderr
    assert "SKILL.md" not in done.stderr
    assert own.read_text() == "#!/bin/sh\n# mine\n"
    assert not (place / "SKILL.md").exists()
    done = install(tmp_path, "--force")
    assert done.returncode == 0
    assert "prun-review gather" in own.read_text()


def test_a_copy_that_hides_it_is_named(tmp_path: Path) -> None:
    landed(tmp_path / "skills" / "prun" / "scripts" / "dispatch-task.sh", "old")
    done = install(tmp_path)
    assert done.returncode == 0
    assert "skills/prun/scripts first" in done.stderr
    assert "first" not in install(tmp_path, "--layout", "skills", "--force").stderr


def test_a_lost_executable_bit_is_put_back(tmp_path: Path) -> None:
    install(tmp_path)
    script = tmp_path / ".claude" / "skills" / "prun" / "scripts" / "monitor.sh"
    script.chmod(0o644)
    install(tmp_path)
    assert os.access(script, os.X_OK)


@pytest.mark.parametrize("words", [["/nowhere"], ["."]])
def test_a_folder_that_cannot_hold_it_is_a_usage_error(tmp_path: Path, words: list[str]) -> None:
    (tmp_path / ".claude").touch()
    done = install(tmp_path, *words)
    assert done.returncode == 2
    assert "remedy" in done.stderr


def test_the_skill_tells_what_a_coordinator_must_know(tmp_path: Path) -> None:
    install(tmp_path)
    text = (tmp_path / ".claude" / "skills" / "prun" / "SKILL.md").read_text()
    head = re.match(r"---\nname: prun\ndescription: .{50,1024}\n---\n", text)
    assert head
    for line in FALLBACK.splitlines()[1:5]:
        assert line.partition(":")[0] + ":" in text
    for word in ("In doubt, Codex", "Sonnet", "FALLBACK", "crosscheck", "MONITOR-EVENT", *skill.SCRIPTS):
        assert word in text


def test_its_example_of_findings_is_what_crosscheck_takes(tmp_path: Path) -> None:
    install(tmp_path)
    text = (tmp_path / ".claude" / "skills" / "prun" / "SKILL.md").read_text()
    (block,) = re.findall(r"^```json\n.*?^```\n", text, re.DOTALL | re.MULTILINE)
    for name in ("auth-codex", "auth-sonnet"):
        landed(tmp_path / f"{name}.md", RESULT.replace("u1", name, 1) + "\nI read the file.\n\n" + block)
    (command,) = re.findall(r"^    prun-review (crosscheck) (\S+) (\S+)$", text, re.MULTILINE)
    code, out, errors = call(command[0], *(Path(p).name for p in command[1:]), "--json", cwd=tmp_path)
    assert (code, errors) == (0, "")  # nothing had to be mended
    [pair] = json.loads(out)
    assert (pair["outcome"], pair["left_place"]) == ("match", "src/auth/login.py:6")


def test_it_lists_every_word_that_a_finding_may_use(tmp_path: Path) -> None:
    install(tmp_path)
    text = (tmp_path / ".claude" / "skills" / "prun" / "SKILL.md").read_text()
    told = text[text.index("All these keys are required") :].split("\n\n")[0]
    schema = load_schema("findings")["properties"]
    finding = schema["findings"]["items"]["properties"]
    for words in (schema["verdict"]["enum"], finding["severity"]["enum"], finding["category"]["enum"]):
        assert not [word for word in words if not re.search(rf"\b{word}\b", told)]
    never_null = [key for key, part in finding.items() if "null" not in part["type"]]
    assert never_null == ["title", "detail", "severity", "category"]


# --- the scripts --------------------------------------------------------------------------------

LOOP = r"""
set -u
DISPATCH=
for c in skills/prun/scripts .claude/skills/prun/scripts .agent-config/repo/skills/prun/scripts; do
    [ -f "$c/dispatch-task.sh" ] && { SCRIPTS=$c; DISPATCH=$c/dispatch-task.sh; break; }
done
[ -n "$DISPATCH" ] || exit 90
mkdir -p results state
for unit in one two three; do
    printf 'unit=%s\nWrite to %s\n' $unit "$PWD/results/$unit.md" > $unit.prompt
    sh "$DISPATCH" --prompt-file $unit.prompt --result-file "$PWD/results/$unit.md" --unit-id $unit \
        > state/$unit.log 2> state/$unit.err &
    echo "LAUNCHED $unit"
done
bash "$SCRIPTS/gather.sh" results/one.md results/two.md results/three.md || exit 91
wait
DIRS=
for unit in one two three; do
    DIRS="$DIRS $(sed -n 's/^STATE-DIR //p' state/$unit.log)"
    head -n 1 results/$unit.md
done
"$SCRIPTS/monitor.sh" $DIRS
echo "monitor $?"
"""
PLAY = """unit=$(sed -n 's/^unit=//p' "$SEEN/stdin"); echo "at work on $unit"
[ $unit = two ] && exit 1
printf '# %s result\\nConclusion: fine\\n' $unit > results/$unit.md"""


def test_a_loop_of_a_coordinator_runs_as_it_is(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    worker = (tmp_path / "bin" / "codex").read_text()  # three at once: each records for itself
    (tmp_path / "bin" / "codex").write_text(worker.replace("mkdir", 'SEEN="$SEEN.$$"; mkdir', 1))
    assert install(tmp_path).returncode == 0
    env = desk.env | {
        "PLAY": PLAY,
        "PRUN_SCRATCH_CWD": str(tmp_path),
        "PATH": f"{Path(sys.executable).parent}:{desk.env['PATH']}",
        "PRUN_GATHER_POLL": "0.2",
        "PRUN_GATHER_STABLE_WINDOW": "0",
        "PRUN_MONITOR_POLL": "0.2",
        "PRUN_MONITOR_STABLE_WINDOW": "0",
    }
    done = subprocess.run(
        ["/bin/sh", "-c", LOOP], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=PATIENCE
    )
    out = done.stdout.splitlines()
    assert out[:4] == ["LAUNCHED one", "LAUNCHED two", "LAUNCHED three", "GATHER-START count=3 timeout=3600s"]
    assert sorted(out[4:7]) == [f"DONE {tmp_path}/results/{unit}.md" for unit in ("one", "three", "two")]
    names = {p.name.split("-")[3]: p.name for p in desk.tmp.iterdir()}
    assert out[7:] == [
        "# one result",
        "# two result (FALLBACK, worker wrote no result file)",
        "# three result",
        "MONITOR-START units=3 stall-threshold=600s timeout=3600s",
        "MONITOR-EVENT fail",
        f"UNIT {names['one']} done",
        f"UNIT {names['two']} failed(fallback)",
        f"UNIT {names['three']} done",
        "monitor 3",
    ]
    assert done.stderr == ""


def test_the_process_that_is_recorded_is_the_one_that_was_started(tmp_path: Path) -> None:
    """A coordinator that ends ``dispatch-task.sh`` by its pid ends the dispatcher itself."""
    desk = Desk(tmp_path)
    install(tmp_path)
    with subprocess.Popen(
        [".claude/skills/prun/scripts/dispatch-task.sh", *desk.words()],
        cwd=tmp_path,
        env=desk.env | {"PLAY": f"printf '%s' '{RESULT}' > $RESULT", "PRUN_REVIEW_BIN": program()},
        stdout=subprocess.PIPE,
    ) as process:
        assert process.wait(PATIENCE) == 0
    assert (desk.state / "dispatch-pid").read_text() == f"{process.pid}\n"


def program() -> str:
    """The console script of this installation."""
    return str(Path(sys.executable).parent / "prun-review")


@pytest.mark.parametrize("name", skill.SCRIPTS)
def test_a_script_finds_the_program_or_says_what_is_missing(tmp_path: Path, name: str) -> None:
    install(tmp_path)
    script = tmp_path / ".claude" / "skills" / "prun" / "scripts" / name
    empty = tmp_path / "empty"
    (empty / "prun_review").mkdir(parents=True)  # not a package to be found in the working directory
    (empty / "prun_review" / "__init__.py").write_text("raise SystemExit(77)\n")

    def run(**env: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["/bin/sh", str(script), "--help"],
            cwd=empty,
            env=env,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )

    missing = run(PATH="/nowhere")
    assert (missing.returncode, missing.stdout) == (2, "")
    assert "pip install prun-review" in missing.stderr
    executable(tmp_path / "bin" / "python3", f'exec {sys.executable} "$@"')
    verb = "dispatch" if name == "dispatch-task.sh" else name.removesuffix(".sh")
    for env in ({"PATH": f"{tmp_path}/bin"}, {"PRUN_REVIEW_BIN": program(), "PATH": "/usr/bin:/bin"}):
        done = run(**env)
        assert (done.returncode, done.stdout.split()[:3]) == (0, ["usage:", "prun-review", verb]), done.stderr
