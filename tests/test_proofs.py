"""The proof of an opinion is read on the side that it names."""

from __future__ import annotations

import pytest

from prun_review.model import Finding
from prun_review.ports import Missing, Reader
from prun_review.proofs import Trees


def reader(line: str) -> Reader:
    def read(path: str) -> tuple[str, ...] | Missing:
        return ("def total(items):", line)

    return read


BASE, HEAD = "    value = compute(items)", "    value = other(items, 3)"
QUOTE = f"-{BASE}\n+{HEAD}"
CHANGE = Trees(reader(HEAD), ["a.py"], (), reader(BASE), ["a.py"])


def proof(side: str | None, quote: str = QUOTE) -> Finding:
    return Finding("x", file="a.py", line=2, side=side, quote=quote)


def test_lines_of_a_diff_tell_on_their_own_side() -> None:
    assert CHANGE.tells(proof("old"))
    assert CHANGE.tells(proof("new"))
    assert CHANGE.tells(proof(None))


def test_the_code_of_one_side_tells_nothing_on_the_other() -> None:
    for side, mine, other in (("old", BASE, HEAD), ("new", HEAD, BASE), (None, HEAD, BASE)):
        assert CHANGE.tells(proof(side, mine))
        assert not CHANGE.tells(proof(side, other))
        assert CHANGE.ground(proof(side, mine)).grounding == "exact"
        assert CHANGE.ground(proof(side, other)).grounding == "ungrounded"


def test_without_a_change_there_is_one_side() -> None:
    alone = Trees(reader(HEAD), ["a.py"], ())
    assert alone.tells(proof("old", HEAD))
    assert not alone.tells(proof("old", QUOTE))


def test_what_stands_in_any_file_tells_nothing() -> None:
    assert not Trees(reader("    return"), ["a.py"], ()).tells(proof(None, "return"))


@pytest.mark.parametrize(
    ("line", "proves"),
    [
        ("# ____________________", False),
        ("# =================== x", False),
        ("..................... a", False),
        ("____________ = ________", False),
        ("if ready === b: run()", True),
        ("value = __init__(x)", True),
        ("close(open(name(path)))", True),
    ],
)
def test_a_drawn_line_proves_nothing(line: str, proves: bool) -> None:
    """What is long by one mark again and again says no more than the mark."""
    assert Trees(reader(line), ["a.py"], ()).tells(proof(None, line)) is proves
