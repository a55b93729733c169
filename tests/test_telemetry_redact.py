"""What must not be kept is recognised, what is harmless stays, and no text takes long to go through."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remit.errors import PolicyError
from remit.pipeline.patterns import KINDS, shape_finder
from remit.pipeline.redact import HIDDEN, Redactor

EVERY = Redactor(kinds=tuple(KINDS))

KEYS = [
    "Authorization: Bearer tok_4f9a8c7b6d5e",
    '{"api_key": "k-123456789"}',
    r'"{\"api_key\": \"k-123456789\"}"',
    "export OPENAI_API_KEY=abcdef123456",
    "password: hunter2!",
    "curl -H 'authorization: basic dXNlcjpwYXNz'",
    "AKIAIOSFODNN7EXAMPLE",
    "sk-proj-abcdefghijklmnop1234",
    "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl",
    "https://ada:s3cr3t@db.example/x",
    "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA\n-----END RSA PRIVATE KEY-----",
    "client_secret = 'zz9-plural-z-alpha'",
]
SECRETS = ["tok_4f9a", "k-123456789", "abcdef123456", "hunter2", "dXNlcjpwYXNz", "AKIA", "sk-proj", "ghp_", "eyJ"]
SECRETS += ["s3cr3t", "MIIE", "zz9"]

HARMLESS = [
    "The token was used; 1200 input_tokens, max_tokens: 4096.",
    "Press any key to go on. The secret of success is work.",
    "See https://example.org/a:b and order 4111111111111112.",
    "Version 1.2.3 of 2026-11-30 08:15:30, room 12-34.",
    "The bearer of this letter is a basic assumption.",
    '{"password": null, "secret": false}',
    "10.0.0.1 and 192.168.100.200, 3.14159265358979",
    "GB12 ABCD is no account, nor is 1234567890123456.",
    "2026-11-30T08:15:30+01:00, seq 1764489600",
]


@pytest.mark.parametrize("text", KEYS)
def test_keys_are_taken_out(text: str) -> None:
    hidden = Redactor().text(text)
    assert "[redacted: key]" in hidden
    assert not any(secret in hidden for secret in SECRETS)
    assert Redactor(kinds=()).text(text) == text


@pytest.mark.parametrize(
    ("kind", "text", "kept"),
    [
        ("card", "Card 4111 1111 1111 1111, thanks", "Card [redacted: card], thanks"),
        ("card", "5555-5555-5555-4444", "[redacted: card]"),
        ("email", "write to ada.l+x@mail.example.org.", "write to [redacted: email]."),
        ("iban", "to DE89 3704 0044 0532 0130 00 now", "to [redacted: iban] now"),
        ("iban", "GB82WEST12345698765432", "[redacted: iban]"),
        ("phone", "call +49 30 1234567 today", "call [redacted: phone] today"),
        ("phone", "(030) 123-4567", "[redacted: phone]"),
    ],
)
def test_personal_data_is_taken_out_where_it_is_asked_for(kind: str, text: str, kept: str) -> None:
    assert Redactor(kinds=(kind,)).text(text) == kept
    assert Redactor(kinds=()).text(text) == text


@pytest.mark.parametrize("text", HARMLESS)
def test_harmless_texts_stay(text: str) -> None:
    assert EVERY.text(text) == text


def test_fields_are_hidden_at_any_depth_and_in_json_text() -> None:
    redactor = Redactor(fields=("customer", "mail.send.to"), kinds=("key",))
    value = {"customer": {"name": "Ada"}, "list": [{"Customer": 7}], "to": "x", "api_key": "k-1234"}
    hidden = redactor.value(value)
    mark = "[redacted: field]"
    assert hidden == {"customer": mark, "list": [{"Customer": mark}], "to": "x", "api_key": "[redacted: key]"}
    assert json.loads(redactor.text(json.dumps(value))) == hidden
    assert redactor.arguments({"to": "x", "body": "y"}, skill="mail.send") == {"to": mark, "body": "y"}
    assert redactor.arguments({"to": "x"}, skill="post.send") == {"to": "x"}
    assert redactor.arguments({"pin": "1"}, secret=frozenset({"pin"})) == {"pin": HIDDEN}


def test_shapes_of_a_deployment() -> None:
    redactor = Redactor(kinds=(), shapes=("EMP-######", "@@##*"))
    assert redactor.text("EMP-123456 and EMP-1234567, ab12Z") == (
        "[redacted: like EMP-######] and EMP-1234567, [redacted: like @@##*]"
    )
    for wrong in ("abc", "no signs", "#" * 65):
        with pytest.raises(PolicyError):
            shape_finder(wrong)
    with pytest.raises(PolicyError, match="no kind 'names'"):
        Redactor(kinds=("names",))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20) | st.sampled_from(KEYS),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=60, deadline=None)
@given(JSON)
def test_redaction_never_raises_keeps_the_form_and_is_stable(value: Any) -> None:
    once = EVERY.value(value)
    assert type(once) is type(value)
    assert EVERY.value(once) == once
    json.dumps(once)


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=200), st.sampled_from(KEYS), st.text(max_size=200))
def test_a_json_text_stays_json(before: str, key: str, after: str) -> None:
    hidden = Redactor().text(json.dumps({"text": f"{before}\n{key}\n{after}"}))
    assert isinstance(json.loads(hidden)["text"], str)


HEAVY = [
    "a",
    "a.",
    "a@",
    "a-",
    "1 ",
    "1-",
    "eyJ",
    "eyJa.",
    "key=",
    "token token ",
    "://a:",
    "://",
    "bearer ",
    "+1 ",
    "GB82",
]
HEAVY += [
    "-----BEGIN PRIVATE KEY-----",
    "sk-",
    "sk-a ",
    "(1",
    "DE89 ",
    "password" + " " * 8,
    "secret_",
    'api_key"',
    "_key-",
]


@pytest.mark.parametrize("part", HEAVY)
def test_no_text_takes_long_to_go_through(part: str) -> None:
    """A search that is not linear would take minutes for this, and the timeout of every test would end it."""
    assert EVERY.text(part * (500_000 // len(part)))
