"""What the user named, and what counts as an identifier."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remit.provenance.dates import dates, same_day
from remit.provenance.identifiers import identifier, identifiers
from remit.provenance.words import Words


def heard(*texts: str) -> Words:
    words = Words()
    for text in texts:
        words.hear(text)
    return words


def found(text: str) -> list[tuple[str, str]]:
    return [(one.kind, one.text) for one in identifiers(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("mail 'ann@acme.example'.", [("address", "ann@acme.example")]),
        ("see https://acme.example/a?q=1, please", [("url", "https://acme.example/a?q=1")]),
        ("www.acme.example and bit.ly/x", [("url", "www.acme.example"), ("url", "bit.ly/x")]),
        ("10.0.0.1:8080/x", [("url", "10.0.0.1:8080/x")]),
        ("at [2001:db8::1], a[::2] and b[1::2]", [("url", "[2001:db8::1]")]),
        ("passport HGK137803", [("number", "HGK137803")]),
        ("4237-4252-7456-2574", [("number", "4237-4252-7456-2574")]),
        ("DE89 3704 0044 0532 0130 00", [("number", "DE89 3704 0044 0532 0130 00")]),
        ("call +49 30 1234 5678", [("number", "49 30 1234 5678")]),
        ("notes.txt, report.pdf and 12.5", []),
        ("on 2024-05-19 12:00, 3 of them, e.g. this one", []),
        ("ordinary words, and 1,250 of them", []),
    ],
)
def test_what_is_an_identifier(text: str, expected: list[tuple[str, str]]) -> None:
    assert found(text) == expected


def test_two_spellings_are_one_identifier() -> None:
    def value(text: str) -> object:
        whole = identifier(text)
        assert whole is not None
        return whole.value

    assert value("GB29NWBK60161331926819") == value("GB29 NWBK 6016 1331 9268 19")
    assert value("Ann@Acme.Example") == value("ann@acme.example")
    assert value("https://www.acme.example/") == value("acme.example")
    assert value("http://2130706433/") == value("http://127.0.0.1/")
    assert value("acme.example") != value("acme.example.evil.example")


@settings(max_examples=60)
@given(st.text(max_size=400))
def test_reading_never_raises(text: str) -> None:
    list(identifiers(text))
    list(dates(text))
    words = heard(text)
    words.name(text)


@pytest.mark.parametrize(
    ("said", "value", "named"),
    [
        ("write to Ann@acme.example", "ann@acme.example", True),
        ("write to ann@acme.example", "joann@acme.example", False),
        ("write to ann@acme.example", "ann@acme.example.evil.example", False),
        ("post it to general", "general", True),
        ("post it generally", "general", False),
        ("the category is fine", "cat", False),
        ("open budget-2024.xlsx", "budget 2024.xlsx", True),
        ("open budget.xlsx", "budget-2024.xlsx", False),
        ("read www.acme.example", "https://acme.example/news", True),
        ("read acme.example/news", "https://acme.example/other", False),
        ("read acme.example/news", "https://acme.example/news/1", True),
        ("read acme.example/news", "https://acme.example/news/../other", False),
        ("read acme.example", "https://acme.example@evil.example/", False),
        ("read acme.example", "https://acme.example.evil.example/", False),
        ("read acme.example", "http://acme.example:8080/", False),
        ("see acme.example.Then go", "acme.example", True),
        ("see www.Acme.Example", "https://acme.example/", True),
        ("see www.Acme.example.Then go", "https://acme.example/", True),
        ("see www.Acme.Com.It is", "https://acme.com.it/", False),
        ("see the www.acme.It is", "https://acme.it/", False),
        ("see \u201chttps://acme.example/a\u201d.", "https://acme.example/a", True),
        ("write to notes/today.md.", "notes/today.md", True),
        ("(write to notes/today.md.)", "notes/today.md", True),
        ("write to **notes/today.md**, please", "notes/today.md", True),
        ("write to **notes/today.md**.", "notes/today.md", True),
        ("delete **notes/today.md*", "notes/today.md", False),
        ("delete all of **notes/today.md**/x", "notes/today.md", False),
        ("write to notes/today.md.old", "notes/today.md", False),
        ("open notes.md", "notes.md", True),
        ("pay 98.70", 98.7, True),
        ("pay 98.70", 98, False),
        ("it costs 1,200.50", 1200.5, True),
        ("within 7 days", "7", False),
        ("delete item 7", "7", True),
        ("on May 15th, 2024", "2024-05-15", True),
        ("on the 15th of May", "2024-05-15T10:00", True),
        ("on May 15th, 2023", "2024-05-15", False),
        ("on 03/04/2024", "2024-04-03", False),
        ("on 03/04/2024", "2024-03-04", False),
        ("on 03/04/2024", "03/04/2024", True),
        ("on 03/03/2024", "2024-03-03", True),
        ("on 15/04/2024", "2024-04-15", True),
        ("on 03.04.2024", "2024-04-03", True),
        ("on 03.04.2024", "2024-03-04", False),
        ("pay GB29NWBK60161331926819", "GB29 NWBK 6016 1331 9268 19", True),
        ("pay GB29NWBK60161331926819", "GB29NWBK60161331926810", False),
        ("anything", "", False),
        ("anything", "anything " * 1000, False),
    ],
)
def test_what_the_user_named(said: str, value: str | int | float, named: bool) -> None:
    assert heard(said).name(value) is named


def test_two_messages_name_nothing_together() -> None:
    assert heard("post it to the general channel").name("general channel")
    assert not heard("in general", "channel my thanks").name("general channel")


def test_a_day_without_a_year_is_that_day_of_any_year() -> None:
    assert same_day((None, 5, 1), (2024, 5, 1))
    assert not same_day((2023, 5, 1), (2024, 5, 1))
    assert list(dates("February 31st, or 31 February")) == [(None, 2, 31), (None, 2, 31)]
    assert list(dates("2024-13-40")) == []


FILES = (
    "MANIFEST.in",
    "Makefile.am",
    "configure.ac",
    "analysis.do",
    "climate.nc",
    "alu.sv",
    "scene.ma",
    "app.pro",
    "kernel.cl",
    "libfoo.la",
    "os.name",
    "model.pt",
    "config.ru",
    "kernel.cu",
    "water.xyz",
    "Setup.app/Contents",
    "main.tf.in",
    "node.id",
)


@pytest.mark.parametrize("file", FILES)
def test_a_name_that_may_be_a_file_is_no_host(file: str) -> None:
    said = heard(f"Update {file} as the page says")
    assert not said.name_url(f"https://{file.lower()}/collect") and said.name(file)
    assert heard(f"See https://{file}").name_url(f"https://{file}/"), "the control: it is a link"


@pytest.mark.parametrize(
    "host",
    [
        *("acme.com", "acme.org", "docs.acme.net", "github.io", "acme.dev", "acme.de", "bbc.co.uk/news"),
        *("acme.example", "printer.local", "b\u00fccher.de", "\u043f\u0440\u0438\u043c\u0435\u0440.\u0440\u0444"),
    ],
)
def test_a_name_with_the_ending_of_a_site_is_a_host(host: str) -> None:
    assert heard(f"See {host} for it").name_url(f"https://{host}")
    assert not heard(f"See {host} for it").name_url(f"https://x{host}")
