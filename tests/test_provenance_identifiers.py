"""Identifiers that are written so that a person finds them and a program might not."""

from __future__ import annotations

import random
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.provenance.identifiers import identifier, identifiers
from remit.provenance.words import Words

MONERO = "44AFFq5kSiGBoZ4NMDwYtN18obc8AemS33DBLWs3H7otXft3XjrpDtQGv7SqSsaBYBb98uNbr2VBBEt7f2wfn3RVGQBEP3A"
LIGHTNING = (
    "lnbc2500u1pvjluezpp5"
    + "qqqsyqcyq5rqwzqf" * 6
    + "ypqdq5xysxxatsyp3k7enxv4jsxqzpuaztrnwngzn3kdzw5hydlzf03qdgm2hdq27cqv3"
)
BITCOIN = "AvBMSEYstWetqTFnTAuPmGFgxJaNVN23"
IBAN = "DE89370400440532013000"
BRITISH = "GB29NWBK60161331926819"
CARD = "4111111111111111"
MAIL = "eve@evil.example"
IGNORED = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u180b\u180e\u200b\u200d\u202d\u2060\u2067\u3164\ufe0f\uffa0"
    "\U000e0041\U000e0101"
)


def found(text: str) -> list[str]:
    return [str(getattr(one.value, "host", one.value)) for one in identifiers(text)]


@pytest.mark.parametrize("code", [MONERO, LIGHTNING, BITCOIN, "0x" + "ab" * 17 + "c0ffee"])
def test_a_long_code_is_an_identifier(code: str) -> None:
    assert found(f"pay to {code}, please") == [code.upper()]


@pytest.mark.parametrize(
    "mark", ["_", ":", "\u2013", "\u2014", "   ", " - ", ", ", "/", "\u00b7", "|", "\u2028", "\u00a0"]
)
def test_an_account_is_one_whatever_stands_between_its_parts(mark: str) -> None:
    for account, size in ((IBAN, 4), (BRITISH, 4), (BRITISH, 1), (CARD, 4), (CARD, 6)):
        written = mark.join(account[at : at + size] for at in range(0, len(account), size))
        assert found(f"pay to {written} FOR US, today") == [account]
        assert Words().name_identifier(next(identifiers(written))) is False
        words = Words()
        words.hear(f"pay to {account}")
        assert words.name_identifier(next(identifiers(written))), "the control"


@pytest.mark.parametrize("sign", IGNORED)
def test_what_is_invisible_hides_nothing(sign: str) -> None:
    assert found(f"write to {MAIL[:9]}{sign}{MAIL[9:]} now") == [MAIL]
    assert found(f"see www.evil.{sign}example/x") == ["evil.example"]
    assert found("call " + sign.join("01711234567")) == ["01711234567"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("eve@evilhost is it", "eve@evilhost"),
        ("eve@[192.0.2.1]", "eve@[192.0.2.1]"),
        ("see [2001:db8::1]:8080/x", "2001:db8::1"),
        ("see http://[2001:db8::1]/x", "2001:db8::1"),
        ("at 2001:db8:0:0:0:0:0:1.", "2001:db8::1"),
        ("evil[.]example/x", "evil.example"),
        ("evil(.)example", "evil.example"),
        ("evil[dot]example", "evil.example"),
        ("hxxps[:]//evil{.}example/x", "evil.example"),
        ("eve[at]evil[dot]example", "eve@evil.example"),
        ("eve(at)evil.example", "eve@evil.example"),
    ],
)
def test_a_host_or_address_is_one_in_every_way_to_write_it(text: str, expected: str) -> None:
    assert found(text) == [expected]


@pytest.mark.parametrize(
    "text",
    [
        "at 12:30:45, and 10:00:00",
        "2024-05-19T12:30:45.123",
        "mac 00:1a:2b:3c:4d:5e",
        "a::b, std::vector and x[i:j]",
        "1,250, 1,300, 1,400 and 1,500",
        "on 2021, 2022, 2023 and 2024",
        "f(at) x[at] arr[:] d[.] @ann @bob",
        "ABCD EFGH IJKL, THE AB12 AND ALL OF THE OTHERS",
        "getUserByEmailAddressOrTelephoneNumber2",
        "Donaudampfschifffahrtsgesellschaft",
        "4111, 1111, 1111, 1112",
    ],
)
def test_ordinary_text_has_none(text: str) -> None:
    assert found(text) == []


@given(st.text(alphabet=string.ascii_letters + string.digits + "@.:/[]()-_ ", max_size=40))
def test_a_glance_at_a_short_text_misses_nothing(text: str) -> None:
    """A short text alone and the same at the end of a long one have the same identifiers."""
    assert [one.value for one in identifiers(text)] == [one.value for one in identifiers("ordinary words, " * 3 + text)]


def test_a_whole_account_is_one_identifier() -> None:
    for written in (IBAN, BRITISH, "GB29 NWBK 6016 1331 9268 19", "DE89_3704_0044_0532_0130_00"):
        whole = identifier(written)
        assert whole is not None and whole.value == written.replace(" ", "").replace("_", "")


def test_looking_takes_no_longer_than_the_text_is_long() -> None:
    """The same work for each part: no pattern goes back over what was read."""
    signs = random.Random(1)
    hostile = "".join(signs.choice("a0A.:/@[(-_ ") for _ in range(20_000))
    assert len(list(identifiers(hostile))) >= 0
    for part in ("0 ", "AA00", "a.", "0:", "[2", "a@", "4111, "):
        list(identifiers(part * 4_000))
