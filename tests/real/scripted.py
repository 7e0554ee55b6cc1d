"""What the two vendors' models say about the shop in these tests: the same, something else, nonsense."""

from __future__ import annotations

from tests.modelserver import Reply, Rule
from tests.real.shop import answer, defect

CASES = VISITORS, STORAGE, ORDERING, FIGURES = "visitors", "storage", "ordering", "figures"
AGAIN = "An earlier answer to the question"
"""Begins every re-ask."""


def of(case: str) -> str:
    """Words that stand in the question of one case only."""
    return f"deals with {case} for" if case in (VISITORS, STORAGE) else f"code for {case} does"


COOKIE = (
    defect(
        "pickle-cookie",
        "Session cookie is unpickled, so a visitor can run code",
        "pickle.loads is called on what the cookie holds; a crafted cookie runs arbitrary code.",
    ),
    defect(
        "pickle-cookie",
        "pickle.loads on the visitor's cookie allows arbitrary code execution",
        "A visitor controls the session cookie, and unpickling it runs code of his choice.",
        line=22,
        end_line=25,
    ),
)
SEARCH = (
    defect(
        "sql-search",
        "SQL injection in search: the term is put into the query text",
        "search() builds its SQL with an f-string around the visitor's search term.",
    ),
    defect(
        "sql-search",
        "The visitor's term is interpolated into SQL by search()",
        "An f-string puts the search term into the query text: SQL injection.",
        severity="critical",
    ),
)
PASSWORDS = (
    defect(
        "md5-password",
        "Passwords are stored as MD5",
        "MD5 of a password is cheap to guess.",
        severity="critical",
    ),
    defect(
        "md5-password",
        "MD5 is used for stored passwords",
        "A password hash should be slow, MD5 is not.",
        severity="low",
    ),
)
"""Told by codex and by claude, each in its own words."""

INVOICES = defect(
    "path-invoice", "Path traversal", "A name with dots leads open() to any file of the server."
)
ROLES = defect("role-or", "Nobody passes the staff check", "One of the two comparisons always holds.")
LAST_DAY = defect(
    "last-day", "Sales leave out the last day", "The end is compared with less than.", category="correctness"
)
DISCOUNT = defect(
    "eval-discount", "Discount rules are evaluated as Python", "eval() runs what the table holds."
)

MALFORMED = answer(defect("eval-discount", "Rules", "Evaluated.", severity="awful"), verdict="maybe")
del MALFORMED["examined"]

MIXED = [
    Rule(of(VISITORS), Reply(answer(COOKIE[0], PASSWORDS[0])), "openai"),
    Rule(of(VISITORS), Reply(answer(COOKIE[1], PASSWORDS[1], ROLES)), "anthropic"),
    Rule(of(STORAGE), Reply(answer(SEARCH[0], INVOICES)), "openai"),
    Rule(of(STORAGE), Reply(answer(SEARCH[1])), "anthropic"),
    Rule(of(ORDERING), Reply(MALFORMED), "openai"),
    Rule(of(ORDERING), Reply(answer(DISCOUNT)), "anthropic"),
    Rule(of(FIGURES), Reply(answer(LAST_DAY)), "openai"),
    Rule(of(FIGURES), Reply(status=529, error="Overloaded", code="overloaded_error"), "anthropic"),
]
"""They agree twice, hold one finding differently and others alone; codex's answer about ``ordering``
is malformed, also when asked again, and claude's service is overloaded when asked about ``figures``."""

LOOK = {"cmd": "ls -A . shop; env; git rev-parse --git-dir || echo no repository"}
APPROVED = [
    Rule(AGAIN, Reply(answer()), "anthropic"),
    Rule(of(STORAGE), Reply(answer(SEARCH[1], verdict="approve")), "anthropic"),
    Rule(of(VISITORS), Reply(answer(), tools=(("exec_command", LOOK),)), "openai"),
    Rule(of(VISITORS), Reply(answer(), tools=(("Glob", {"pattern": "**/*.md"}),)), "anthropic"),
    Rule("", Reply(answer())),
]
"""Nothing to complain about; claude approves beside a critical finding at first, and both look around."""
