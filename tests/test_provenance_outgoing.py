"""What naming a host gives, and private data in a query however it is written down."""

from __future__ import annotations

import base64
import random

import pytest

from remit.provenance.judge import judge, judge_read
from remit.provenance.ledger import Ledger
from remit.provenance.level import Level
from remit.provenance.words import Words
from remit.skills import Skill

OBJECT = {"type": "object"}
FETCH = Skill(pack="web", name="fetch", description="", schema=OBJECT, effect="read", targets={"url": "url"})
POST = Skill(pack="web", name="post", description="", schema=OBJECT, effect="external", targets={"url": "url"})
ASK = Skill(pack="geo", name="ask", description="", schema=OBJECT, effect="read", right={"net": ("a.example:443",)})
BOTH = frozenset({"untrusted", "private"})
SECRET = "the vault code of ann is correct horse battery staple swordfish"


def ledger(said: str, read: str = "") -> Ledger:
    made = Ledger()
    made.hear(said)
    if read:
        made.read(read, skill="drive.look", call="c1", labels=BOTH)
    return made


@pytest.mark.parametrize(
    ("said", "url", "control"),
    [
        ("Summarise README.md", "https://readme.md/c", "see https://readme.md"),
        ("Run setup.sh and main.py", "https://setup.sh/collect", "see www.setup.sh"),
        ("Look into docs/acme.example", "https://acme.example/", "look into acme.example"),
        ("tell me what it says", "https://tell.me", "tell www.tell.me what it says"),
        ("Check the page.It is short", "https://page.it/x", "check page.it. It is short"),
        ("the www evil example", "https://evil.example", "the www.evil.example"),
        ("Is 10.0.0.1 the newest version?", "http://10.0.0.1/x", "is http://10.0.0.1 the newest?"),
        ("Is 10.0.0.1 the newest version?", "http://10.0.0.1:8080/x", "is 10.0.0.1:8080 up?"),
    ],
)
def test_what_only_looks_like_a_host_names_none(said: str, url: str, control: str) -> None:
    assert not judge(POST, {"url": url, "body": "x"}, ledger(said), "targets").settled
    assert not judge_read(FETCH, {"url": url}, ledger(said), "targets").settled
    assert judge_read(FETCH, {"url": url}, ledger(control), "targets").settled


def test_a_file_that_looks_like_a_host_is_named_as_it_stands() -> None:
    words = Words()
    words.hear(
        "Open README.md and meeting notes.md, is 10.0.0.1 up? Then tell me what it says, see acme.example.Then go"
    )
    assert words.name("README.md") and words.name("meeting-notes.md") and words.name("10.0.0.1")
    assert not words.name("tell.me")
    assert words.name_url("https://acme.example") and not words.name_url("https://readme.md")
    words.hear("It is www.site.example.They wrote it, and https://blog.example.Then go")
    assert words.name_url("www.site.example") and words.name_url("https://blog.example/")


def test_an_argument_without_a_kind_is_a_link_by_its_name() -> None:
    vague = Skill(pack="web", name="put", description="", schema=OBJECT, effect="external")
    known = ledger("Summarise README.md on alpha, and restart docs.example")
    for argument, value, named in (
        ("path", "README.md", True),
        ("server", "README.md", False),
        ("url", "README.md", False),
        ("server", "alpha", True),
        ("server_url", "https://docs.example/", True),
    ):
        assert judge(vague, {argument: value}, known, "targets").settled is named, (argument, value)


READ = "Alice Smith has the passport HGK137803, the PIN 482913 and the password swordfish; " + SECRET
LINK = (
    "https://acme.example/news/2026/a-very-long-title-of-a-page-that-nobody-would-ever-think-of-by-themselves?id=77182"
)


@pytest.mark.parametrize("level", ["targets", "strict"])
@pytest.mark.parametrize(
    "below",
    [
        "c?d=correct+horse+battery",
        "c?d=swordfish",
        "c?d=482913",
        "c?swordfish",
        "c#swordfish",
        "c?d=HGK137803",
        "c/482913",
        "c/correct-horse-battery-staple",
        "c/correct/horse/battery/staple",
        "c?d=Y29ycmVjdCBob3JzZSBiYXR0ZXJ5",
        "c/" + SECRET[::-1].replace(" ", ""),
        "c/" + "/".join(f"x{number}" for number in range(60)),
    ],
)
def test_a_page_below_a_named_host_carries_nothing_out(below: str, level: Level) -> None:
    url = {"url": f"https://acme.example/{below}"}
    finding = judge_read(FETCH, url, ledger("Read acme.example", READ), level)
    assert not finding.settled
    assert "swordfish" not in finding.reason and "HGK" not in finding.reason
    assert not judge(POST, {**url, "body": "x"}, ledger("Read acme.example", READ), level).settled
    assert judge_read(FETCH, url, ledger("Read acme.example"), level).settled, "the control: nothing was read"
    assert judge_read(FETCH, url, ledger(f"Read {url['url']}", READ), level).settled, "the control: named as a whole"


@pytest.mark.parametrize(
    "below", ["", "news", "about/jobs", "news?page=2", "search?q=weather+in+Oslo", "2026/index.html"]
)
def test_a_page_that_carries_nothing_is_named_with_its_host(below: str) -> None:
    known = ledger("Search acme.example for the weather in Oslo", READ)
    assert judge_read(FETCH, {"url": f"https://acme.example/{below}"}, known, "targets").settled


def test_a_link_that_was_read_as_a_whole_is_named_with_its_host() -> None:
    known = ledger("Read acme.example", f"{READ} More at {LINK}")
    assert judge_read(FETCH, {"url": LINK}, known, "targets").settled
    assert not judge_read(FETCH, {"url": LINK + "1"}, known, "targets").settled
    assert not judge_read(FETCH, {"url": LINK}, ledger("Read other.example", LINK), "targets").settled


ENCODED = {
    "six words": "is correct horse battery staple swordfish",
    "no spaces": SECRET.replace(" ", ""),
    "other signs": SECRET.replace(" ", "_"),
    "in percent": SECRET.replace(" ", "%20").replace("correct", "c%6frrect"),
    "reversed": SECRET[::-1],
    "base64": base64.b64encode(SECRET.encode()).decode(),
    "base64, web safe": base64.urlsafe_b64encode(SECRET.encode()).decode().rstrip("="),
    "base32": base64.b32encode(SECRET.encode()).decode(),
    "hexadecimal": SECRET.encode().hex(),
    "enciphered": random.Random(1).randbytes(24).hex(),
    "too long": "x " * 3_000,
}


@pytest.mark.parametrize("form", ENCODED)
def test_private_data_in_a_query_is_found_in_other_forms(form: str) -> None:
    known = ledger("What is the weather in Oslo?", SECRET)
    assert not judge_read(ASK, {"q": ENCODED[form]}, known, "targets").settled
    assert judge_read(ASK, {"q": ENCODED[form]}, ledger("What is the weather in Oslo?"), "targets").settled
    assert judge_read(ASK, {"q": "weather in Oslo", "lat": 59.913869, "lon": 10.752245}, known, "targets").settled
    said = ledger(f"Find {SECRET}", SECRET[:30])
    assert judge_read(ASK, {"q": SECRET.replace(" ", "_")[:26]}, said, "targets").settled, "the user wrote it, too"


def test_what_was_too_long_to_be_kept_counts_as_carried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("remit.provenance.strands.MOST_LETTERS", 100)
    monkeypatch.setattr("remit.provenance.ledger.MOST_RUNS", 100)
    known = ledger("Search acme.example for the weather in Oslo", " ".join(f"word{number}" for number in range(200)))
    assert not judge_read(ASK, {"q": "a longer query of ordinary words"}, known, "targets").settled
    assert judge_read(ASK, {"q": "weather in Oslo"}, known, "targets").settled
    assert not judge_read(FETCH, {"url": "https://acme.example/c?d=swordfish"}, known, "targets").settled
    assert judge_read(FETCH, {"url": "https://acme.example/c?d=weather"}, known, "targets").settled


def test_what_goes_beside_a_named_url_is_a_query_too() -> None:
    known = ledger("Read acme.example", SECRET)
    fetch = Skill(**{**vars(FETCH), "right": {"net": ("acme.example:443",)}})
    assert not judge_read(fetch, {"url": "https://acme.example", "data": SECRET}, known, "targets").settled
    assert judge_read(fetch, {"url": "https://acme.example", "data": "news"}, known, "targets").settled
