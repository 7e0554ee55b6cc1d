from prun_review import brief, choice


@brief(
    contract=choice("jsonl", "sqlite", criteria=["crash safety", "greppability", "concurrent readers"]),
    reads=["prun_review/rundir.py", "prun_review/files.py", "prun_review/locks.py"],
)
def probe_ledger_format(result):
    """Which format should the run ledger use?

    A run writes one event per dispatch, loss and result, from one process, while pytest workers and
    people with `grep` read. A machine may lose power in the middle of a line. Score each criterion
    1-5 and name what would change your mind.
    """
    if result.choice.option == "sqlite":
        assert result.choice.would_change_mind, "a dependency on a binary format needs its limits named"
