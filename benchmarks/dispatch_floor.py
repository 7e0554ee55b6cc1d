"""What it costs to keep N short commands in flight: ours beside xargs, GNU parallel and pytest -n.

    python benchmarks/dispatch_floor.py [--units 16,64] [--seconds 2]

All units of a row are in flight at once (jobs = units), so the ideal time is ``--seconds``.  A unit
is ``sh -c 'echo > started; exec sleep S'``.  Columns: wall time over the ideal, whole and counted
from the first dispatch; start to first dispatch; CPU seconds of everything; and, from a second run
of the row, the peak PSS of all processes but the units.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from prun_review.process import reap

Row = Callable[[Path, int, float], list[str]]
"""Prepares a directory for a number of units of some seconds; the command that runs them."""


@dataclass(frozen=True)
class Cost:
    """One run of one row."""

    wall: float
    first: float
    """Seconds until the first unit began."""
    cpu: float
    pss: float
    """MiB at the peak; 0 where it was not sampled."""


def unit_script(where: Path, seconds: float) -> str:
    return f"echo > {where}/started/$$; exec sleep {seconds}"


def ours(where: Path, units: int, seconds: float) -> list[str]:
    return [
        sys.executable,
        __file__,
        "--inside",
        str(where),
        "--units",
        str(units),
        "--seconds",
        str(seconds),
    ]


def xargs(where: Path, units: int, seconds: float) -> list[str]:
    script = f"seq {units} | xargs -P {units} -I N sh -c '{unit_script(where, seconds)}'"
    return ["/bin/sh", "-c", script]


def parallel(where: Path, units: int, seconds: float) -> list[str]:
    script = f"seq {units} | parallel --will-cite -j {units} 'true {{}}; {unit_script(where, seconds)}'"
    return ["/bin/sh", "-c", script]


def pytest_n(where: Path, units: int, seconds: float) -> list[str]:
    (where / "test_units.py").write_text(
        "import subprocess, pytest\n"
        f"@pytest.mark.parametrize('n', range({units}))\n"
        f"def test_unit(n): subprocess.run(['/bin/sh', '-c', {unit_script(where, seconds)!r}], check=True)\n"
    )
    return [sys.executable, "-m", "pytest", "-q", "-p", "xdist", "-n", str(units), "test_units.py"]


def panels(where: Path, units: int, seconds: float) -> list[str]:
    """The whole command: collection, snapshot, dispatch, judging, reports."""
    script = (
        f"echo > {where}/started/$$; sleep {seconds}; "
        "id=$(grep -o -m 1 'probe-nap-[A-Za-z0-9_-]*' | head -n 1); "
        'echo "# $id result\nConclusion: done\nFiles: none\nOpen items: none\nVerification: none\n\n'
        'This one slept as long as it was told to, read no file meanwhile, and has nothing to report."'
    )
    (where / "pyproject.toml").write_text(
        f'[tool.prun_review]\nexecutors = ["nap"]\njobs = {units}\ngate = {{ rule = "single" }}\n'
        '[tool.prun_review.executor.nap]\ntype = "command"\nvendor = "nobody"\nlineage = "nobody"\n'
        f'contracts = ["prose"]\nargv = ["/bin/sh", "-c", {json.dumps(script)}]\n'
    )
    (where / "panels").mkdir()
    (where / "panels" / "probe_nap.py").write_text(
        "import pytest\nfrom prun_review import brief\nfrom prun_review.model import Contract\n\n"
        "@brief(contract=Contract(kind='prose'))\n"
        f"@pytest.mark.parametrize('n', range({units}))\n"
        'def probe_nap(result, n):\n    """Sleep."""\n'
    )
    git = ["git", "-c", "user.name=bench", "-c", "user.email=bench@localhost"]
    for words in (["init", "-q"], ["add", "pyproject.toml"], ["commit", "-q", "-m", "bench"]):
        subprocess.run([*git, *words], cwd=where, check=True)
    return [sys.executable, "-m", "pytest", "-q", "-p", "prun_review.plugin", "panels"]


def rows() -> dict[str, Row]:
    found: dict[str, Row] = {"prun_review pool + launcher": ours, "xargs -P": xargs}
    if shutil.which("parallel"):
        found["GNU parallel"] = parallel
    if importlib.util.find_spec("prun_review.plugin"):
        found["pytest panels/ (whole command)"] = panels
    found["plain pytest -n N"] = pytest_n
    return found


def inside(where: Path, units: int, seconds: float) -> None:
    """The row ``ours``, in a process of its own."""
    from prun_review.model import Brief, Result, Unit
    from prun_review.pool import Cancel, Pool
    from prun_review.ports import Launch
    from prun_review.process.launch import ProcessLauncher

    argv = ("/bin/sh", "-c", unit_script(where, seconds))

    def run(unit: Unit, cancel: Cancel) -> Result:
        out = where / unit.id
        null = Path(os.devnull)
        launch = Launch(argv, {"PATH": os.defpath}, where, null, out, out, timeout=60 + seconds)
        process = launcher.start(launch)
        cancel.on_request(process.stop)
        ended = process.wait()
        status = "valid" if ended and ended.code == 0 else "failed"
        return Result(unit.id, unit.slug, unit.case, unit.folder, unit.executor, status, str(ended))

    with ProcessLauncher() as launcher:
        pool = Pool(run, jobs=units)
        pool.start([Unit(str(n), str(n), "case", "panels", "sleep", Brief("")) for n in range(units)])
        results = [pool.next() for _ in range(units)]
        pool.close()
    failed = [result.reason for result in results if result and not result.ok]
    if failed:
        raise SystemExit(failed[0])


def measure(row: Row, units: int, seconds: float, *, sampled: bool) -> Cost:
    with tempfile.TemporaryDirectory() as folder:
        where = Path(folder)
        (where / "started").mkdir()
        command = row(where, units, seconds)
        env = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        begun = time.time()
        process = subprocess.Popen(
            command, cwd=where, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        peak = 0.0
        while sampled and process.poll() is None:
            time.sleep(0.5)
            peak = max(peak, pss_of_tree())
        output, _ = process.communicate()
        wall = time.time() - begun
        started = [file.stat().st_mtime for file in (where / "started").iterdir()]
        if process.returncode or len(started) != units:
            raise SystemExit(f"{command}: {len(started)} of {units} units\n{output.decode()[-3000:]}")
        reap_adopted()
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return Cost(wall, min(started) - begun, cpu, peak)


def pss_of_tree() -> float:
    """MiB of everything below this process that is not a unit."""
    total = 0
    for pid in reap.descendants([os.getpid()]):
        try:
            if Path(f"/proc/{pid}/comm").read_text().strip() == "sleep":
                continue
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        except OSError:
            continue  # it ended meanwhile
        total += sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return total / 1024


def reap_adopted() -> None:
    """Children that a row left to us: their CPU time counts as well."""
    while True:
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--units", default="16,64")
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--inside", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.inside:
        inside(options.inside, int(options.units), options.seconds)
        return
    from tabulate import tabulate  # here, so that the row of ours does not carry it

    reap.become_subreaper()
    table = []
    for units in map(int, options.units.split(",")):
        for name, row in rows().items():
            timed = measure(row, units, options.seconds, sampled=False)
            sampled = measure(row, units, options.seconds, sampled=True)
            ideal = options.seconds
            whole, later = timed.wall / ideal, (timed.wall - timed.first) / ideal
            table.append((units, name, whole, later, timed.first, timed.cpu, sampled.pss))
    headers = ("units", "harness", "wall/ideal", "from first dispatch", "first s", "CPU s", "PSS MiB")
    print(tabulate(table, headers, floatfmt=".2f"))


if __name__ == "__main__":
    main()
