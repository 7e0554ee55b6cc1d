"""The campaign can fail: gates that break the promise in one way each are caught.

Those that only few runs show are looked for with the whole campaign (``PRUN_CAMPAIGN_RUNS`` of 2,000).
"""

from __future__ import annotations

import random

import pytest

from tests.campaign.campaign import verify
from tests.campaign.checks import Tally
from tests.campaign.mutants import MUTANTS, Mutant
from tests.campaign.size import RUNS, WHOLE
from tests.campaign.tape import LENGTH

SEED = 5


def tapes(mutant: Mutant) -> list[bytes]:
    """The same for a mutant in every run."""
    source = random.Random(f"{SEED} {mutant.what}")
    return [source.randbytes(LENGTH) for _ in range(mutant.within)]


def broken(content: bytes) -> bool:
    """Whether the campaign complains of the run of a tape."""
    try:
        verify(content, Tally())
    except AssertionError:
        return True
    return False


TABLE = [m for m in MUTANTS if RUNS >= WHOLE or not m.rare]


@pytest.mark.parametrize("mutant", TABLE, ids=lambda m: m.what)
def test_a_gate_that_breaks_the_promise_is_caught(mutant: Mutant) -> None:
    for content in tapes(mutant):
        with pytest.MonkeyPatch.context() as patch:
            mutant.change(patch)
            caught = broken(content)
        if caught and not broken(content):
            return
    pytest.fail(f"{mutant.within} runs, and nobody saw it")
