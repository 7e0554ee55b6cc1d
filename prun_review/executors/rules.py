"""What the rules of known analysers mean: kind of defect, severity, category, lineage.

By rule, never by the level a tool prints: ruff calls every result an error, bandit calls an SQL
injection MEDIUM.  One table for all tools, so that two tools that see one kind of defect say so in
one phrase and rate it alike.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of defect, whoever reports it."""

    phrase: str
    """What it is, in a few words; empty where nothing is known of the rule."""
    severity: str
    """One of :data:`prun_review.model.SEVERITIES`."""
    category: str
    """One of :data:`prun_review.model.CATEGORIES`."""


# S101 of ruff is B101 of bandit and stands here as that.
# phrase | severity | category | rules of ruff, pylint and bandit.  High is what breaks or is
# exploited in ordinary use; what is only likely to, or only under some condition, is medium.
_TABLE = """
syntax error                          | high   | correctness     | invalid-syntax E999 E0001 syntax-error
undefined name                        | high   | correctness     | F821 E0602
undefined name in __all__             | medium | correctness     | F822 E0603
variable used before assignment       | high   | correctness     | F823 E0601
variable possibly without a value     | medium | correctness     | E0606
wrong number or kind of format values | high   | correctness     | F502 F503 F505 F506 F507 F508 F509
wrong number or kind of format values | high   | correctness     | F523 F524 E1303 E1304 E1305 E1306 E1307
malformed format string               | high   | correctness     | F501 F521 E1300 E1301 E1302 W1302
unused format value                   | low    | correctness     | F504 F522 W1301 W1304
format string without values          | info   | style           | F541 W1309 W1310
return outside a function             | high   | correctness     | F704 F706 E0104 E0105
break or continue outside a loop      | high   | correctness     | F701 F702 E0103
raise of something not an exception   | high   | error-handling  | F901 B016 E0702 E0711 E0710
lost exception: jump out of finally   | high   | error-handling  | B012 W0150 W0134
assert on a tuple is always true      | high   | correctness     | F631 W0199
condition on a tuple is always true   | high   | correctness     | F634
comparison of a literal by identity   | medium | correctness     | F632 R0123
comparison with itself                | medium | correctness     | B015 R0124
comparison with None or a bool by ==  | low    | correctness     | E711 E712 C0121
comparison of types                   | low    | correctness     | E721 C0123
mutable default argument              | medium | correctness     | B006 B039 W0102
call in a default argument            | low    | correctness     | B008
loop variable captured late           | medium | correctness     | B023 W0640
loop changes what it iterates over    | medium | correctness     | B909 W4701 E4702 E4703
duplicate key in a dict               | medium | correctness     | F601 F602 W0109
duplicate value in a set              | low    | correctness     | B033 W0130
redefinition of a function            | medium | correctness     | F811 E0102
duplicate argument                    | high   | correctness     | F831 E0108
duplicate except                      | medium | error-handling  | B025 B014 W0705
unreachable except                    | medium | error-handling  | E0701
expression without effect             | low    | correctness     | B018 W0104 W0106 W0131 W0133
useless assertion                     | low    | correctness     | B011 B017
unreachable code                      | low    | correctness     | W0101
member that does not exist            | medium | correctness     | E1101
name that does not exist in a module  | medium | correctness     | E0611
call that does not fit the signature  | high   | correctness     | E1120 E1121 E1123 E1124 E1125
call of something not callable        | high   | correctness     | E1102
value of a function without return    | low    | correctness     | E1111 E1128
subscript of something without items  | medium | correctness     | E1133 E1135 E1136 E1137 E1138
unpacking of the wrong number         | high   | correctness     | E0632
possibly the wrong number to unpack   | medium | correctness     | W0632
argument that differs from the base   | low    | api             | W0221 W0222
base class not initialised            | medium | correctness     | W0231 W0233
bare except                           | medium | error-handling  | E722 W0702
broad except                          | low    | error-handling  | BLE001 W0718
swallowed exception                   | low    | error-handling  | B110 B112
exception raised without its cause    | low    | error-handling  | B904 W0707
resource open without context manager | medium | resource        | SIM115 R1732
request without a timeout             | medium | resource        | B113 W3101
cache keeps its instance alive        | low    | resource        | B019 W1518
unused import                         | low    | maintainability | F401 W0611
unused variable                       | low    | maintainability | F841 B007 W0612
unused argument                       | info   | maintainability | W0613
star import                           | low    | maintainability | F403 F405 W0401 W0614
invalid escape sequence               | low    | correctness     | W605 W1401 W1402
debugger left in                      | medium | maintainability | T100 W1515
strict zip not chosen                 | info   | style           | B905
lambda assigned to a name             | info   | style           | E731 C3001
ambiguous name                        | info   | style           | E741 E742 E743
several statements on one line        | info   | style           | E701 E702 E703
encoding not given                    | low    | correctness     | W1514
evaluation of text with eval          | high   | security        | B307 W0123
execution of text with exec           | high   | security        | B102 W0122
command through a shell               | high   | security        | B602 B605 B609
call with shell=True                  | medium | security        | B604
subprocess                            | low    | security        | B404 B603 B606 B607 W1510
preexec_fn is not safe with threads   | medium | concurrency     | W1509
SQL built from text                   | high   | security        | B608 B610 B611
unsafe deserialisation                | high   | security        | B301 B302 B506 B614
import of an unsafe module            | info   | security        | B401 B402 B403 B405 B406 B407 B408
import of an unsafe module            | info   | security        | B409 B410 B411 B412 B413 B415
unsafe XML parser                     | medium | security        | B313 B314 B315 B316 B317 B318 B319 B320
unsafe unpacking of an archive        | high   | security        | B202
certificate not verified              | high   | security        | B501 B323
host key not verified                 | high   | security        | B507
weak TLS                              | medium | security        | B502 B503 B504 B505
weak cryptography                     | medium | security        | B303 B304 B305 B324
weak random numbers                   | low    | security        | B311
template without escaping             | high   | security        | B701
markup marked as safe                 | medium | security        | B702 B703 B704
debug server                          | high   | security        | B201
password in the code                  | low    | security        | B105 B106 B107
listening on all interfaces           | medium | security        | B104
unsafe permissions                    | medium | security        | B103
unsafe temporary file                 | medium | security        | B108 B306
URL opened without a check            | low    | security        | B310
clear-text protocol                   | medium | security        | B308 B309 B312 B321
assert is removed when optimised      | info   | security        | B101
"""

_BY_RULE: dict[str, Kind] = {}
for _line in _TABLE.strip().splitlines():
    _phrase, _severity, _category, _rules = (cell.strip() for cell in _line.split("|"))
    _BY_RULE.update(dict.fromkeys(_rules.split(), Kind(_phrase, _severity, _category)))

# A rule that the table does not name: by what its id looks like, most special first.
_BY_SHAPE = tuple(
    (re.compile(shape), Kind("", severity, category))
    for shape, severity, category in (
        (r"E\d{4}$", "medium", "correctness"),  # pylint: errors
        (r"W\d{4}$", "low", "correctness"),
        (r"[CR]\d{4}$", "info", "style"),
        (r"B[1-7]\d\d$", "low", "security"),  # bandit
        (r"B\d{3}$", "low", "correctness"),  # flake8-bugbear: B0.., B9..
        (r"F[4-9]\d\d$|E9\d\d$", "medium", "correctness"),
        (r"F\d{3}$", "low", "correctness"),
        (r"(E|W|D|N|I|UP|Q|COM)\d{3}$", "info", "style"),
    )
)

_LINEAGES = {
    "F": "pyflakes",
    "E": "pycodestyle",
    "W": "pycodestyle",
    "B": "flake8-bugbear",
    "BLE": "flake8-blind-except",
    "SIM": "flake8-simplify",
    "C4": "flake8-comprehensions",
    "C90": "mccabe",
    "T10": "flake8-debugger",
    "S": "bandit",
    "PL": "pylint",
    "PLC": "pylint",
    "PLE": "pylint",
    "PLR": "pylint",
    "PLW": "pylint",
    "D": "pydocstyle",
    "N": "pep8-naming",
    "UP": "pyupgrade",
    "I": "isort",
}
"""Where the rules of ruff come from, by the letters of their id (or letters and first digits)."""

_SPLIT = re.compile(r"([A-Z]+)(\d*)$")


_KNOWN = frozenset({"ruff", "flake8", "pylint", "bandit"})


def kind_of(tool: str, rule: str) -> Kind | None:
    """What is known of a rule such as ruff's ``F821`` or ``PLE0602``; None: nothing.

    Only for the tools of the table: another tool's ``S301`` may be anything.
    """
    if tool.lower() not in _KNOWN:
        return None
    bare = rule[2:] if rule.startswith("PL") else re.sub(r"^S(?=\d{3}$)", "B", rule)
    known = _BY_RULE.get(bare)
    return known or next((kind for shape, kind in _BY_SHAPE if shape.match(bare)), None)


def override(severities: Mapping[str, str], rule: str) -> str:
    """The severity that the configuration gives to a rule; the longest prefix wins; "" for none."""
    prefixes = [p for p in severities if rule.startswith(p)]
    return severities[max(prefixes, key=len)] if prefixes else ""


def lineage_of(tool: str, rule: str) -> str:
    """Whose rule it is: ruff's ``S608`` is bandit's, its ``RUF006`` its own."""
    own = tool.lower()[:80]
    parts = _SPLIT.match(rule)
    if own != "ruff" or not parts:
        return own
    letters, digits = parts.groups()
    keys = (letters + digits[:2], letters + digits[:1], letters)
    return next((_LINEAGES[key] for key in keys if key in _LINEAGES), own)
