"""How much pytest's verbosity prints of a review; the verdict's reasons are told at any."""

from __future__ import annotations

import re

from tests.plugin.conftest import ONE, Project, finding, payload, project

__all__ = ["project"]


def test_quiet_is_short_verbose_is_whole_and_both_say_why(project: Project) -> None:
    project.probe(ONE)
    project.answers({"payload": payload(finding())})
    why = r"\[consensus\] \w+: .+ \(src/app.py:\d+\); held by left, right; probe_app f1-[0-9a-f]{8}"
    told = {}
    for option in ("-q", "-v"):
        result = project.run("panels/", option)
        assert result.ret == 1
        told[option] = result.stdout.str()
        failure, _, report = told[option].partition("= prun_review =")
        assert re.search(f"^{why}$", failure, re.M), failure
        assert re.search(f"^  FAIL {why}$", report.replace("\n    ", " "), re.M), report
    assert "\nQUESTIONS: 1, 2 of 2 answered\n" in told["-q"]
    assert "\nPAIRS\n" not in told["-q"]
    assert "\nAGREEMENT\n" not in told["-q"]
    assert "\n    2 of 2 answered\n" in told["-v"]
    assert "\nPAIRS\n" in told["-v"]
    assert "\nAGREEMENT\n" in told["-v"]
