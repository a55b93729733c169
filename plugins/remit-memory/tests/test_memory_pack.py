"""The pack `memory` in cells: by words, by meaning through a local endpoint, and what it does without one."""

from __future__ import annotations

import json
import sqlite3
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar

import pytest

from remit import testing
from remit.testing import TriedPack
from remit_sandbox.probe import probe

PROJECT = Path(__file__).parents[1]
HOST = "embeddings.example:80"
VECTORS = {"embeddings": [HOST], "tls": False, "model": "toy"}

needs_vectors = pytest.mark.skipif(
    find_spec("sqlite_vec") is None or find_spec("apsw") is None, reason="sqlite-vec and apsw are not installed"
)

THEMES = (("animal", "dog", "cat", "puppy"), ("car", "vehicle", "engine"), ("rain", "weather", "sun"))


def meaning(text: str) -> list[float]:
    """Return a vector of what a text is about: words of one theme mean the same."""
    words = text.casefold().replace(".", "").split()
    return [*(float(sum(word in theme for word in words)) for theme in THEMES), *([0.0] * 4), 0.01]


class Endpoint(BaseHTTPRequestHandler):
    """Answers as an OpenAI-compatible endpoint for embeddings does, unless it is told to fail."""

    asked: ClassVar[list[dict[str, Any]]] = []
    keys: ClassVar[list[str | None]] = []
    answer: bytes | None = None

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        type(self).asked.append(body)
        type(self).keys.append(self.headers["Authorization"])
        rows = [{"index": number, "embedding": meaning(text)} for number, text in enumerate(body["input"])]
        answer = json.dumps({"data": rows[::-1]}).encode() if self.answer is None else self.answer
        self.send_response(200 if answer else 500)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *arguments: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def server() -> Iterator[ThreadingHTTPServer]:
    serving = ThreadingHTTPServer(("127.0.0.1", 0), Endpoint)
    thread = threading.Thread(target=serving.serve_forever, args=(0.05,))
    thread.start()
    yield serving
    serving.shutdown()
    serving.server_close()
    thread.join()


@pytest.fixture
def endpoint() -> type[Endpoint]:
    Endpoint.asked, Endpoint.keys, Endpoint.answer = [], [], None
    return Endpoint


@pytest.fixture(scope="module")
def by_words() -> Iterator[TriedPack]:
    with testing.pack(PROJECT, approve=True) as opened:
        yield opened


@pytest.fixture(scope="module")
def with_endpoint(server: ThreadingHTTPServer) -> Iterator[TriedPack]:
    settings = {**VECTORS, "keys": ["embeddings_key"]}
    with testing.pack(
        PROJECT, settings=settings, net={HOST: server}, approve=True, secrets={"embeddings_key": "k3y"}
    ) as opened:
        yield opened


@pytest.fixture
def memory(by_words: TriedPack) -> TriedPack:
    by_words.value("forget", everything=True)
    return by_words


@pytest.fixture
def by_meaning(with_endpoint: TriedPack, endpoint: type[Endpoint]) -> TriedPack:
    with_endpoint.value("forget", everything=True)
    return with_endpoint


def texts(found: Any) -> list[str]:
    return [one["text"] for one in found["memories"]]


def test_what_was_kept_is_found_by_words(memory: TriedPack) -> None:
    lisbon, tea = "The Lisbon office moved to Rua Nova 12.", "Ada likes tea."
    for text in (lisbon, tea, "在奥斯陆的办公室很小", "Café Aürora closes"):
        assert memory.value("remember", text=text)["new"]
    found = memory.value("recall", query="where is the office in Lisbon?")
    assert texts(found) == [lisbon] and found["searched"] == "words"
    assert found["memories"][0]["found_by"] == ["words"] and found["memories"][0]["session"] == "test"
    assert "note" not in found
    assert texts(memory.value("recall", query="奥斯陆")) == ["在奥斯陆的办公室很小"]
    assert texts(memory.value("recall", query="cafe aurora closing")) == ["Café Aürora closes"]
    assert texts(memory.value("recall", query='what does "ada" like? AND OR NOT ( * ^')) == [tea]


def test_what_holds_too_little_of_the_query_is_not_found(memory: TriedPack) -> None:
    memory.value("remember", text="Ada likes Oslo.")
    assert texts(memory.value("recall", query="favourite restaurant in Oslo for a dinner with clients")) == []
    assert texts(memory.value("recall", query="Oslo")) == ["Ada likes Oslo."]


def test_the_same_text_is_kept_once(memory: TriedPack) -> None:
    first, second = (memory.value("remember", text=text) for text in ("Ada likes tea.", " Ada likes tea. "))
    assert (first["id"], first["new"]) == (second["id"], True) and second["new"] is False
    assert memory.value("list")["count"] == 1


def test_what_is_forgotten_is_gone_from_the_file(memory: TriedPack) -> None:
    ids = [memory.value("remember", text=f"secret number {word}")["id"] for word in ("alpha", "beta", "gamma")]
    assert memory.value("forget", ids=ids[:1]) == {"forgotten": ids[:1]}
    assert memory.value("forget", older_than_days=1) == {"forgotten": []}
    assert texts(memory.value("list")) == ["secret number gamma", "secret number beta"]
    (file,) = memory.deployment.state_folder.glob("data/memory/*/memory.db")
    assert b"alpha" not in file.read_bytes() and b"beta" in file.read_bytes()
    assert memory.value("forget", everything=True) == {"forgotten": ids[1:]}
    assert b"beta" not in file.read_bytes()
    assert memory.value("remember", text="new")["id"] > ids[-1]


def test_old_memories_are_forgotten_by_age(memory: TriedPack) -> None:
    old, new = (memory.value("remember", text=text)["id"] for text in ("old", "new"))
    (file,) = memory.deployment.state_folder.glob("data/memory/*/memory.db")
    connection = sqlite3.connect(file)
    with connection:
        connection.execute("UPDATE memories SET created = created - 100 * 86400 WHERE id = ?", (old,))
    connection.close()
    assert memory.value("forget", older_than_days=90) == {"forgotten": [old]}
    assert [one["id"] for one in memory.value("list")["memories"]] == [new]


def test_forgetting_asks_a_person(memory: TriedPack) -> None:
    before = len(memory.asked)
    assert memory.call("forget", ids=[1]).status == "ok" and len(memory.asked) == before + 1
    assert "say what to forget" in memory.call("forget").text


def test_what_is_recalled_is_a_strangers_word_and_nobody_elses_business(memory: TriedPack) -> None:
    assert memory.call("recall", query="x").labels == {"untrusted", "private"}
    assert memory.call("list").labels == {"untrusted", "private"}
    assert {skill.effect for skill in memory.skills.values()} == {"read"}


def test_read_only_mode_searches_and_keeps_nothing() -> None:
    with testing.pack(PROJECT, read_only=True) as reading:
        assert reading.value("recall", query="tea") == {"memories": [], "searched": "words"}
        assert reading.value("list") == {"memories": [], "count": 0}
        if missing := probe().missing:
            pytest.skip("this machine cannot confine: " + "; ".join(missing))
        assert reading.call("remember", text="Ada likes tea.").status == "failed"


def test_there_is_room_for_so_many() -> None:
    with testing.pack(PROJECT, settings={"most": 1, "longest": 10}, cells=False) as memory:
        assert memory.call("remember", text="one").status == "ok"
        assert "no room" in memory.call("remember", text="two").text
        assert "1 to 10 characters" in memory.call("remember", text="x" * 11).text


@needs_vectors
def test_what_means_the_same_is_found_without_a_common_word(by_meaning: TriedPack, endpoint: type[Endpoint]) -> None:
    for text in ("My puppy is called Rex.", "The engine is broken.", "A dog ate the car keys."):
        assert "note" not in by_meaning.value("remember", text=text)
    found = by_meaning.value("recall", query="animal")
    assert found["searched"] == "words and meaning"
    assert texts(found) == ["My puppy is called Rex.", "A dog ate the car keys."]
    both = by_meaning.value("recall", query="car engine")["memories"]
    assert both[0]["found_by"] == ["words", "meaning"] and len(both) == 2
    assert texts(by_meaning.value("recall", query="weather")) == []
    assert {body["model"] for body in endpoint.asked} == {"toy"}
    assert set(endpoint.keys) == {"Bearer k3y"}
    assert by_meaning.skills["list"].right.get("secrets") is None


@needs_vectors
def test_an_endpoint_that_fails_leaves_the_words(by_meaning: TriedPack, endpoint: type[Endpoint]) -> None:
    answers = (b"", b"[]", b'{"data": [{"embedding": [1, 2]}]}', b'{"data": [{"embedding": "x"}]}', b'{"data": 1}')
    for number, answer in enumerate(answers):
        endpoint.answer = answer
        kept = by_meaning.value("remember", text=f"Dog {number} ate the keys.")
        assert kept["new"] and "by words alone" in kept["note"]
    found = by_meaning.value("recall", query="dog 2")
    assert texts(found)[0] == "Dog 2 ate the keys." and found["searched"] == "words" and "note" in found
    endpoint.answer = None
    again = by_meaning.value("recall", query="animal")
    assert len(texts(again)) == len(answers) and again["searched"] == "words and meaning"


def test_without_sqlite_vec_the_words_are_searched_and_it_says_so(
    endpoint: type[Endpoint], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "sqlite_vec", None)
    with testing.pack(PROJECT, settings=VECTORS, cells=False, approve=True) as memory:
        assert "sqlite-vec is not installed" in memory.value("remember", text="A dog ate the keys.")["note"]
        found = memory.value("recall", query="keys")
    assert texts(found) == ["A dog ate the keys."] and "pip install" in found["note"]
    assert endpoint.asked == []


def test_the_default_reaches_nothing_but_its_own_folder(memory: TriedPack) -> None:
    for skill in memory.skills.values():
        assert set(skill.right) == {"fs.read", "fs.write"}
        assert all(entry == "${data}/**" for entries in skill.right.values() for entry in entries)


NOTES = ["Meine Straße heißt Große Allee", "İstanbul ofisi", "Οδός Ερμού", "naïve ﬁnance", "한국 사무실", "हिन्दी पाठ"]


@pytest.mark.parametrize("note", NOTES)
def test_every_word_of_a_note_finds_it_however_it_is_written(tmp_path: Path, note: str) -> None:
    from unicodedata import normalize

    from remit_memory.store import Store

    store = Store(tmp_path)
    number, _ = store.add(note, session="s", most=10)
    for word in note.split():
        cases = (word, word.upper(), word.lower(), word.casefold())
        for form in (*cases, normalize("NFD", word), normalize("NFKC", word)):
            assert store.by_words(form) == [number], form
    assert store.by_words("elsewhere") == []


def test_an_index_of_an_older_form_is_made_anew_once(tmp_path: Path) -> None:
    from remit_memory.store import Store, _bring_up_to_date, _form

    store = Store(tmp_path)
    number, _ = store.add(NOTES[0], session="s", most=10)
    with store.opened() as connection:
        connection.execute("DELETE FROM words")
        connection.execute("INSERT INTO words (rowid, text) VALUES (?, ?)", (number, NOTES[0]))
    assert store.by_words("Straße") == [], "the control: that is how it was indexed"
    with store.opened() as connection:
        connection.execute("PRAGMA user_version = 0")
    with closing(sqlite3.connect(f"file:{store.path}?mode=ro", uri=True)) as only_reading:
        _bring_up_to_date(only_reading)
        assert _form(only_reading) == 0, "who may only read it leaves it as it is"
    assert store.by_words("Straße") == store.by_words("Allee") == [number]


def test_numbers_that_no_memory_can_have_are_not_found(tmp_path: Path) -> None:
    from remit_memory.store import Store

    store = Store(tmp_path)
    number, _ = store.add("one", session="s", most=10)
    assert store.forget(ids=[2**70, -(2**70), 0, number]) == [number]
