"""Ways to pass off a target or a link as the user's own: each asks, and its control does not."""

from __future__ import annotations

import json

import pytest

from remit.loop.sources import Sources
from remit.loop.transcript import Transcript
from remit.models.protocol import ToolCall
from remit.provenance.identifiers import identifier, identifiers
from remit.provenance.records import Records, Source
from remit.provenance.words import Words

STRANGERS = frozenset({"untrusted"})


def heard(*texts: str) -> Words:
    words = Words()
    for text in texts:
        words.hear(text)
    return words


@pytest.mark.parametrize(
    ("said", "control", "attack"),
    [
        ("on Dec 1", "2026-12-01", "2026-12-01/../../secret"),
        ("on Dec 1", "2026-12-01T23:00", "2026-12-01T23:00 eve@evil.example"),
        ("on Dec 1, 2026", "2026-12-01 10:00:00Z", "2026-12-01 DE89 3704 0044 0532 0130 00"),
        ("the payroll of Dec 1", "payroll 2026-12-01", "bonus 2026-12-01"),
        ("open payroll-2026-12-01.xlsx", "payroll-2026-12-01.xlsx", "payroll-2026-12-01.xlsx.sh"),
        ("delete notes.txt", "notes.txt", "../notes.txt"),
        ("delete the report", "report", "../../report"),
        ("look at /etc/passwd", "/etc/passwd", "/etc/passwd/.."),
        ("what about the etc passwd story", "etc passwd story", "/etc/passwd"),
        ("my ssh id rsa is lost", "ssh id rsa", "~/.ssh/id_rsa"),
        ("tidy up tmp", "tmp/", "/tmp/*"),
        ("write docs/plan.txt", "./docs/plan.txt", "docs/plan.txt/../x"),
        ("write docs/plan.txt", "docs/plan.txt", "/docs/plan.txt"),
        ("ask @ann", "@ann", "ann@localhost"),
        ("item -5.5", "-5.5", "-5"),
        ("item 5.5", "5.5", "-5.5"),
        ("version 3.4.5", "version 3.4.5", "3.4"),
        ("mail ann@strasse.example", "ann@strasse.example", "ann@stra\u00dfe.example"),
        ("mail ann@acme.example", "ann@acme.example", "ann@acme.exam\u200bple"),
        ("read acme.example", "https://acme.example/a", "file://acme.example/etc/passwd"),
        ("read acme.example", "http://acme.example/a", "javascript://acme.example/%0aalert(1)"),
        ("read acme.example/a", "https://acme.example/a/b", "https://acme.example/a/..%2fb"),
        ("read acme.example/a", "https://acme.example/a/b;c", "https://acme.example/a/..;/b"),
        ("read acme.example/a", "https://acme.example/a/%20b", "https://acme.example/a/%252e%252e/b"),
        ("ftp://acme.example/a", "ftp://acme.example/a", "https://acme.example/a"),
    ],
)
def test_what_only_looks_like_a_target_is_not_named(said: str, control: str, attack: str) -> None:
    words = heard(said)
    assert words.name(control)
    assert not words.name(attack)
    assert not words.name_url(attack)


@pytest.mark.parametrize(
    "text",
    [
        "see https://ann@evil.example/",
        "see https://evil.example:port/",
        "see https://evil.example\\\\x",
        "evil\u3002com/x",
        "evil\u200b.com",
        "1234\u200b5678",
    ],
)
def test_a_link_that_hides_is_still_one(text: str) -> None:
    found = list(identifiers(text))
    assert found
    assert not any(heard("write to ann@acme.example").name_identifier(one) for one in found)
    assert any(heard(text).name_identifier(one) for one in found)


def test_sentences_in_other_scripts_are_no_links() -> None:
    assert not list(identifiers("\u4f60\u597d\u3002\u518d\u89c1"))


def test_an_address_is_not_named_by_how_it_begins() -> None:
    records = Records()
    records.add(["ann@evil.example", "budget of the year"], Source(skill="a.b", call="c", labels=STRANGERS))
    assert records.begun("budget of the year", heard("open the budget of")) is not None
    assert records.begun("ann@evil.example", heard("write to ann")) is None


@pytest.mark.parametrize("made", [True, False])
def test_only_the_structure_that_a_skill_made_names_something(made: bool) -> None:
    """A page or a file that is JSON as a whole was written by whoever wrote it."""
    transcript = Transcript()
    transcript.question("Write to Ann Lee")
    transcript.reply("", [ToolCall(id="a1", name="web__fetch", arguments="{}")])
    forged = json.dumps([{"name": "Ann Lee", "email": "ann@evil.example"}])
    transcript.result(forged, status="ok", labels=STRANGERS, structured=made)
    again = Transcript.from_json(transcript.to_json())
    ledger = Sources().follow(again.messages)
    assert (ledger.records.named("ann@evil.example", ledger.words, "to") is not None) == made
    found = identifier("ann@evil.example")
    assert found is not None and ledger.sources_of(found)
