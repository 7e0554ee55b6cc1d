"""What is asked about every wave before the next one builds on it."""

from prun_review import brief


@brief(scope="diff")
def probe_defects(result):
    """What in this change is wrong, or unsafe with input from outside?"""
