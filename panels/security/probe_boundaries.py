import pytest

from prun_review import brief

BOUNDARIES = {
    "processes": (
        ["prun_review/process/*.py", "prun_review/pool.py", "prun_review/dispatch.py"],
        "a worker that forks, changes its session, ignores signals, fills the disk or outlives us",
    ),
    "trees": (
        [
            f"prun_review/{name}.py"
            for name in ("git", "shadow", "taken", "workspace", "snapshot", "repostate")
        ],
        "a repository with hostile configuration, hooks, links, names and attributes",
    ),
    "executors": (
        ["prun_review/executors/*.py"],
        "a reviewed tree that wants to be executed, to configure its reviewer, or to see a secret",
    ),
    "answers": (
        [
            "prun_review/renderers/*.py",
            "prun_review/grounding.py",
            "prun_review/answers.py",
            "prun_review/strictjson.py",
        ],
        "a model's answer that holds escapes, markup, workflow commands, huge or malformed values",
    ),
}


@pytest.mark.parametrize(
    ("boundary", "attacker"),
    [
        pytest.param(name, attacker, marks=brief(reads=reads), id=name)
        for name, (reads, attacker) in BOUNDARIES.items()
    ],
)
def probe_boundary(boundary, attacker):
    """Audit the boundary «{boundary}» of this tool, which runs other people's code reviewers.

    The attacker is {attacker}. Look for a way from there to code that runs outside of its sandbox,
    to a file outside of the reviewed tree, to another vendor's key, or to a review that shows green
    although it did not happen. Report only ways you can follow through the code, step by step;
    quote the line where the check is missing.
    """
