"""What is no vendor's CLI runs contained as well, and says the same."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from prun_review.config import load
from prun_review.executors import built_in
from tests import needing
from tests.executors.analysing import PYTHON, told, write
from tests.executors.driving import Bench

FILES = {"a.py": "import os\neval('1')\nnobody\n", "pkg/b.py": "import re\nassert ()\n"}


@pytest.fixture(autouse=True)
def bubblewrap() -> None:
    needing.bubblewrap()


@pytest.mark.parametrize("name", PYTHON)
def test_an_analyser(tmp_path: Path, name: str) -> None:
    readings = []
    for contained in (False, True):
        bench = Bench(tmp_path / str(contained))
        files = write(bench.tree, FILES)
        executor = built_in(load({}))[name]
        request = bench.request(executor)
        request = replace(request, unit=replace(request.unit, files=files), contained=contained)
        _, output, reading = bench.run(executor, request)
        assert reading.status == "answered", (reading, output)
        readings.append(told(reading.findings))
    assert readings[0] == readings[1] != set()


def test_a_command_with_its_interpreter_and_script(tmp_path: Path) -> None:
    bench = Bench(tmp_path / "bench")
    script = tmp_path / "elsewhere" / "answer.py"
    script.parent.mkdir()
    script.write_text(
        "import pathlib, sys\nsys.stdin.read()\nprint(sorted(p.name for p in pathlib.Path('.').iterdir()))\n"
    )
    (bench.tree / "a.py").write_text("x = 1\n")
    table = {
        "type": "command",
        "vendor": "v",
        "lineage": "l",
        "argv": ["/usr/bin/env", "python3", str(script)],
    }
    executor = built_in(load({"executor": {"third": table}}))["third"]
    request = replace(bench.request(executor, schema=None), contained=True)
    _, output, reading = bench.run(executor, request)
    assert reading.text == "['a.py']\n", output
