"""Cycles of dependencies: one of every knot, the shortest through its smallest node, however large all is."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from prun_review.taskrules import cycles

MANY = 5_000
GRAPHS = st.dictionaries(
    st.sampled_from("abcdef"), st.lists(st.sampled_from("abcdef"), max_size=3), max_size=6
)


def ways(graph: dict[str, list[str]], node: str) -> dict[str, int]:
    """How many steps each node is away, as a child would count."""
    found: dict[str, int] = {}
    for steps in range(1, 8):
        last = [node] if steps == 1 else [n for n, far in found.items() if far == steps - 1]
        for one in last:
            for after in graph.get(one, []):
                found.setdefault(after, steps)
    return found


@settings(max_examples=300, deadline=None)
@given(GRAPHS)
def test_every_knot_is_told_once_by_its_shortest_way(graph: dict[str, list[str]]) -> None:
    reach = {node: ways(graph, node) for node in "abcdef"}
    knots = {
        frozenset(n for n in reach[node] if node in reach[n]) for node in "abcdef" if node in reach[node]
    }
    told = cycles(graph)
    assert [cycle[0] for cycle in told] == sorted(min(knot) for knot in knots)
    for cycle in told:
        assert cycle[0] == cycle[-1]
        assert len(cycle) - 1 == reach[cycle[0]][cycle[0]]
        assert all(after in graph[node] for node, after in pairwise(cycle))


def test_thousands_of_tasks_are_no_matter() -> None:
    chain = {str(n): [str(n + 1)] for n in range(MANY)}
    assert cycles(chain) == ()
    (ring,) = cycles({**chain, str(MANY): ["0"]})
    assert len(ring) == MANY + 2
    pairs = {str(n): [str(n ^ 1), str(n + 2)] for n in range(MANY)}
    assert len(cycles(pairs)) == MANY // 2
