"""Signed notes, checkpoints and keys in the formats of C2SP."""

from __future__ import annotations

import base64
import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.errors import EvidenceError
from remit.evidence.notes import Checkpoint, SignerKey, VerifierKey, parse_checkpoint

SIGNER = SignerKey.generate("remit.log/test")


def note(size: int = 7) -> Checkpoint:
    return parse_checkpoint(SIGNER.sign(Checkpoint(origin="remit.log/test", size=size, root=b"r" * 32).text))


def test_a_checkpoint_has_the_lines_that_the_format_says() -> None:
    lines = note().note.split("\n")
    assert lines[:4] == ["remit.log/test", "7", base64.b64encode(b"r" * 32).decode(), ""]
    dash, name, signature = lines[4].split(" ")
    assert (dash, name) == ("\u2014", "remit.log/test") and lines[5] == ""
    public = SIGNER.verifier.public
    assert base64.b64decode(signature)[:4] == hashlib.sha256(b"remit.log/test\n\x01" + public).digest()[:4]
    assert len(base64.b64decode(signature)) == 4 + 64


def test_the_published_example_key_has_the_hash_that_it_names() -> None:
    text = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"
    assert str(VerifierKey.parse(text)) == text


def test_the_published_example_note_is_signed_by_its_key() -> None:
    key = VerifierKey.parse("PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW")
    text = "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n"
    signature = "x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM="
    assert key.signed(text, base64.b64decode(signature)[4:])
    assert not key.signed(text + "x", base64.b64decode(signature)[4:])


def test_keys_survive_being_written() -> None:
    again = SignerKey.parse(SIGNER.secret())
    assert again.verifier == SIGNER.verifier == VerifierKey.parse(str(SIGNER.verifier))
    assert SIGNER.secret().split("+")[4] not in repr(SIGNER)


def test_a_signature_of_another_key_or_over_another_text_does_not_count() -> None:
    checkpoint, other = note(), SignerKey.generate("remit.log/test")
    assert checkpoint.signed_by(SIGNER.verifier) is True
    assert checkpoint.signed_by(other.verifier) is None
    forged = parse_checkpoint(checkpoint.note.replace("\n7\n", "\n8\n"))
    assert forged.size == 8 and forged.signed_by(SIGNER.verifier) is False


@pytest.mark.parametrize(
    "text",
    [
        "",
        "origin\n7\n",
        "origin\n07\n" + "A" * 43 + "=\n\n- x y\n",
        "origin\n-1\n" + "A" * 43 + "=\n\n\u2014 x eA==\n",
        "\n7\n" + "A" * 43 + "=\n\n\u2014 x eA==\n",
        "origin\n7\nAAAA\n\n\u2014 x eA==\n",
    ],
)
def test_what_is_no_checkpoint_is_refused(text: str) -> None:
    with pytest.raises(EvidenceError):
        parse_checkpoint(text)


WRONG_HASH = "name+00000000+" + base64.b64encode(b"\x01" + b"k" * 32).decode()


@pytest.mark.parametrize("text", ["", "a+b", WRONG_HASH, "na me+00000000+AAAA", "x+1+?"])
def test_what_is_no_key_is_refused(text: str) -> None:
    with pytest.raises(EvidenceError):
        VerifierKey.parse(text)
    with pytest.raises(EvidenceError):
        SignerKey.parse("PRIVATE+KEY+" + text)


@given(st.text(max_size=200))
def test_parsing_never_fails_in_another_way(text: str) -> None:
    for parse in (parse_checkpoint, VerifierKey.parse, SignerKey.parse):
        with pytest.raises(EvidenceError):
            parse(text)
