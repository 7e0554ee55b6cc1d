"""Foreign text is harmless after escaping, whatever it holds."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prun_review.renderers.escape import clip, code, columns, fence, guard, markdown, one_line, plain
from tests.renderers.sample import ESC, HOSTILE

MARKS = ("[2J", "]0;t\x07", "::", "##[", "##vso[", "##TeamCity[", "\x9b31m", "```")
PIECES = st.sampled_from((*MARKS, *"\x1b:#[ \t\n\r\x00`a日\x85\u2028\u00a0\u3000\u200b\u202e\ud800"))
TEXTS = st.one_of(st.lists(PIECES, max_size=12).map("".join), st.text(st.characters()))
COMMAND = re.compile(r"##(\[|vso\[|teamcity\[)", re.IGNORECASE)


def is_active(text: str) -> bool:
    """Whether a CI runner would take something in ``text`` as a command."""
    return bool(COMMAND.search(text)) or any(line.strip().startswith("::") for line in text.splitlines())


@given(TEXTS)
def test_plain_text_is_inert(text: str) -> None:
    out = plain(text)
    assert not is_active(out)
    assert {c for c in out if unicodedata.category(c) in ("Cc", "Cs")} <= {"\n", "\t"}
    assert not set(out) & set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\u061c")
    out.encode("utf-8")
    assert plain(out) == out


@given(TEXTS, st.integers(8, 60))
def test_one_line_is_one_line_within_its_limit(text: str, limit: int) -> None:
    out = one_line(text, limit)
    assert len(out.splitlines()) <= 1
    assert columns(out) <= limit
    assert not is_active(out)


@given(TEXTS)
def test_markdown_text_holds_nothing_active(text: str) -> None:
    out = markdown(text)
    assert not is_active(out)
    assert not re.search(r"[<>|]", out)
    assert not re.search(r"(?<!\\)(\\\\)*[`*_\[\]~]", re.sub(r"\\[^\\]", "", out.replace("\\\\", "")))
    assert not re.search(r"[@#]\w|://|\bwww\.", re.sub(r"&#\d+;", "", out), re.IGNORECASE)


@given(TEXTS)
def test_a_fence_is_longer_than_what_it_holds(text: str) -> None:
    first, *body, last = fence(text).split("\n")
    assert first == last + "text"
    assert last not in "\n".join(body)
    assert not is_active(fence(text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"a{ESC}[31mred{ESC}[0m b", "ared b"),
        (f"{ESC}]0;title\x07x", "x"),
        (f"{ESC}]8;;http://e.example{ESC}\\link{ESC}]8;;{ESC}\\", "link"),
        (f"{ESC}]0;never ended", "0;never ended"),
        ("\x9b31mred", "red"),
        ("a\r\nb\rc\u2028d", "a\nb\nc\nd"),
        ("ab\x08\x7f\x00c", "abc"),
        ("\u202egnp.exe", "gnp.exe"),
        ("\ud800", "\ufffd"),
        ("  ::error::x", "  : :error::x"),
        ("\u3000::error::x", "\u3000: :error::x"),
        (":\u200b:error::x", ": :error::x"),
        ("ok\r::stop-commands::t", "ok\n: :stop-commands::t"),
        ("std::vector and a[::2]", "std::vector and a[::2]"),
        ("say ##[error]x", "say # #[error]x"),
        ("###[group]", "## #[group]"),
        ("##VSO[task]", "# #VSO[task]"),
        ("## heading", "## heading"),
        ("%0A::error::x", "%0A::error::x"),
        ("e\u0301 日本", "e\u0301 日本"),
    ],
)
def test_plain(text: str, expected: str) -> None:
    assert plain(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<img onerror=x>", "&lt;img onerror=x&gt;"),
        ("a|b", "a&#124;b"),
        ("`x` __init__", "\\`x\\` \\_\\_init\\_\\_"),
        ("# title", "\\# title"),
        ("1. item", "1\\. item"),
        ("1.5 s", "1.5 s"),
        ("- item", "\\- item"),
        ("===", "\\==="),
        ("@everyone #12 GH-3", "@\u200beveryone #\u200b12 GH-\u200b3"),
        ("![p](http://e/p.png)", "!\\[p\\](http:\u200b//e/p.png)"),
        ("C:\\dir", "C:\\\\dir"),
    ],
)
def test_markdown(text: str, expected: str) -> None:
    assert markdown(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [("src/a_b.py:3", "`src/a_b.py:3`"), ("a`b", "a\\`b"), ("a|b", "a&#124;b"), ("", ""), ("a\\", "a\\\\")],
)
def test_code(text: str, expected: str) -> None:
    assert code(text) == expected


def test_the_fence_outgrows_the_backticks() -> None:
    assert fence("a\n````\nb") == "`````text\na\n````\nb\n`````"


def test_guard_breaks_what_wrapping_moved_to_a_line_start() -> None:
    assert guard("std\n::vector") == "std\n: :vector"


@pytest.mark.parametrize(
    ("text", "limit", "expected"),
    [
        ("short", 5, "short"),
        ("longer text", 8, "longe..."),
        ("日本語テキスト", 9, "日本語..."),
        ("e" + "\u0301" * 100, 5, "e" + "\u0301" * 19 + "..."),
    ],
)
def test_clip_counts_terminal_columns(text: str, limit: int, expected: str) -> None:
    assert clip(text, limit) == expected


def test_a_megabyte_of_unended_sequences_is_no_trap() -> None:
    text = f"{ESC}]" * 300_000
    assert plain(text) == ""
    assert one_line(HOSTILE * 10_000, 80).startswith("click<img")
