import pytest

from prun_review import brief

AREAS = {
    "visitors": ["shop/web.py", "shop/sessions.py", "shop/accounts.py"],
    "storage": ["shop/db.py", "shop/catalog.py", "shop/invoices.py"],
}


@pytest.mark.parametrize(
    "area", [pytest.param(name, marks=brief(reads=reads), id=name) for name, reads in AREAS.items()]
)
def probe_untrusted_input(area):
    """Audit the part of the shop that deals with {area} for what a visitor could abuse.

    A visitor controls the query string and the cookie of every request. Follow both to where they
    are used: SQL, HTML, file names, deserialisation, expressions. Then look at how passwords,
    tokens and roles are made and checked. Quote the offending line of every finding.
    """
