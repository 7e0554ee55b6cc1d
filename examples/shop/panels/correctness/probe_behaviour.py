import pytest

from prun_review import brief

PARTS = {
    "ordering": ["shop/settings.py", "shop/cart.py", "shop/orders.py", "shop/payments.py"],
    "figures": ["shop/catalog.py", "shop/reports.py"],
}


@pytest.mark.parametrize(
    "part", [pytest.param(name, marks=brief(reads=reads), id=name) for name, reads in PARTS.items()]
)
def probe_behaviour(part):
    """Find where the shop's code for {part} does something else than its docstrings promise.

    Look at first and last pages and days, empty input, a second request at the same time, a
    payment that fails half way, and every path on which an exception could be lost or a file stay
    open. Report only what goes wrong in ordinary use, and quote the offending line.
    """
