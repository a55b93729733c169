"""The pack `web` in cells, against a server of this machine that stands in for the hosts it may reach."""

from __future__ import annotations

import gzip
import importlib
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from remit import testing
from remit.testing import TriedPack

PROJECT = Path(__file__).parents[1]
HOSTS = ["docs.example:80", "*.site.example:80", "127.0.0.1:1"]

ARTICLE = """<!doctype html><html lang=en><head><title>  Landlock &amp; friends </title>
<script>alert(1)</script></head><body>
<nav><a href=/menu>Menu</a></nav><main><h1>Landlock</h1><p>A <b>sandbox</b>
 that <a href="/kernel#top">the kernel</a> holds.<br>Since 5.13.</p>
<ul><li>files<ul><li>by path</li></ul></li><li>ports</li></ul><ol><li>one<li>two</ol>
<pre>def f():
    return 1</pre><blockquote>Quoted <i>words</i>.</blockquote>
<table><tr><th>ABI</th><th>New</th></tr><tr><td>1</td><td>files</td></tr></table>
<p hidden>never shown</p><p style="display: none">nor this</p><img src=x alt="a lock"><form>fill in</form>
<a href="javascript:alert(1)">no link</a><a href="https://elsewhere.example/x">elsewhere</a></main>
<footer>(c)</footer></body></html>"""
READ = """# Landlock

A sandbox that the kernel holds.
Since 5.13.

- files
  - by path
- ports

1. one
2. two

```
def f():
    return 1
```

> Quoted words.

ABI | New
1 | files

[image: a lock] no linkelsewhere"""

Answer = tuple[int, dict[str, str], bytes]
PAGES: dict[str, Answer] = {
    "/": (200, {"Content-Type": "text/html; charset=utf-8"}, ARTICLE.encode()),
    "/latin": (200, {"Content-Type": "text/html; charset=iso-8859-1"}, "<p>caf\xe9 \x93x\x94</p>".encode("latin-1")),
    "/meta": (200, {"Content-Type": "text/html"}, '<meta charset="gb2312"><p>中文</p>'.encode("gb2312")),
    "/bare": (200, {}, "<p>plain ü</p>".encode()),
    "/odd": (200, {"Content-Type": "text/html; charset=zip"}, b"<p>text</p>"),
    "/json": (200, {"Content-Type": "application/json"}, b'{"a": [1]}'),
    "/image": (200, {"Content-Type": "image/png"}, b"\x89PNG"),
    "/packed": (200, {"Content-Type": "text/plain", "Content-Encoding": "gzip"}, gzip.compress(b"unpacked")),
    "/bomb": (200, {"Content-Type": "text/plain", "Content-Encoding": "gzip"}, gzip.compress(b"0" * 50_000_000)),
    "/long": (200, {"Content-Type": "text/plain"}, b"x" * 5_000_000),
    "/deep": (200, {"Content-Type": "text/html"}, b"<div>" * 20_000 + b"bottom" + b"</div>" * 20_000),
    "/away": (302, {"Location": "http://evil.example/"}, b""),
    "/home": (302, {"Location": "http://www.site.example/json"}, b""),
    "/loop": (302, {"Location": "/loop"}, b""),
    "/gone": (404, {}, b"not here"),
}


class Pages(BaseHTTPRequestHandler):
    """Answers from the table."""

    def do_GET(self) -> None:
        status, headers, body = PAGES.get(self.path, PAGES["/gone"])
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        try:
            self.wfile.write(body)
        except OSError:  # the client had enough
            return

    def log_message(self, *arguments: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def web() -> Iterator[TriedPack]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Pages)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    with ExitStack() as stack:
        stack.callback(thread.join)
        stack.callback(server.server_close)
        stack.callback(server.shutdown)
        places = dict.fromkeys(("docs.example:80", "www.site.example:80"), server)
        yield stack.enter_context(testing.pack(PROJECT, settings={"hosts": HOSTS}, net=places))


def get(web: TriedPack, path: str, **arguments: Any) -> Any:
    return web.value("fetch", url=f"http://docs.example{path}", **arguments)


def test_a_page_as_readable_text(web: TriedPack) -> None:
    page = get(web, "/")
    assert (page["title"], page["cut"], page["url"]) == ("Landlock & friends", False, "http://docs.example/")
    assert page["text"] == READ
    assert "links" not in page


def test_links_are_whole_and_without_menus(web: TriedPack) -> None:
    assert get(web, "/", links=True)["links"] == [
        {"text": "the kernel", "url": "http://docs.example/kernel"},
        {"text": "elsewhere", "url": "https://elsewhere.example/x"},
    ]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("/latin", "café “x”"),
        ("/meta", "中文"),
        ("/bare", "plain ü"),
        ("/odd", "text"),
        ("/json", '{"a": [1]}'),
        ("/packed", "unpacked"),
        ("/deep", "bottom"),
        ("/home", '{"a": [1]}'),
    ],
)
def test_what_servers_send_is_read(web: TriedPack, path: str, text: str) -> None:
    assert get(web, path)["text"] == text


@pytest.mark.parametrize(("path", "longest"), [("/long", 50_000), ("/bomb", 50_000)])
def test_what_is_too_long_is_cut(web: TriedPack, path: str, longest: int) -> None:
    page = get(web, path)
    assert page["cut"] and len(page["text"]) == longest


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("http://docs.example/image", "is image/png, no page of text"),
        ("http://docs.example/gone", "answered 404"),
        ("http://docs.example/loop", "infinite loop"),
        ("http://user:pass@docs.example/", "a user name or password is not fetched"),
    ],
)
def test_what_cannot_be_read_is_said(web: TriedPack, url: str, reason: str) -> None:
    result = web.call("fetch", url=url)
    assert result.status == "failed" and reason in result.text, result.text


@pytest.mark.parametrize("url", ["http://evil.example/", "http://docs.example/away", "http://169.254.169.254/"])
def test_only_granted_hosts_are_reached_also_after_a_redirect(web: TriedPack, url: str) -> None:
    result = web.call("fetch", url=url)
    assert result.status == "failed" and "no grant covers it" in result.text, result.text


@pytest.mark.parametrize("url", ["file:///etc/passwd", "ftp://docs.example/", "docs.example", "javascript:alert(1)"])
def test_other_addresses_are_no_arguments(web: TriedPack, url: str) -> None:
    assert web.call("fetch", url=url).status == "invalid"


def test_a_result_is_untrusted_and_its_address_a_target(web: TriedPack) -> None:
    assert web.call("fetch", url="http://docs.example/json").labels == {"untrusted"}
    assert web.skills["fetch"].targets == {"url": "url"}


def test_the_default_grant_is_narrow() -> None:
    with testing.pack(PROJECT) as pack:
        assert pack.skills["fetch"].right == {"net": ("*.wikipedia.org:443",)}
        result = pack.call("fetch", url="https://en.wikipedia.org/wiki/Landlock")
    assert result.status == "failed" and "en.wikipedia.org:443" in result.text


@pytest.fixture
def reading(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(PROJECT / "src")
    return importlib.import_module("remit_web.reading")


BOMB = "<p>seen</p>" + "<b>" * 3_500_000 + "never seen"


def tags(reading: Any, monkeypatch: pytest.MonkeyPatch, html: str) -> tuple[int, int, Any]:
    """Return how many tags and levels a page comes to in the parser, and the page."""
    asked: list[int] = []

    def counting(self: Any, *given: Any, **named: Any) -> Any:
        asked.append(len(self.tagStack))
        return original(self, *given, **named)

    original = reading.Soup.handle_starttag
    monkeypatch.setattr(reading.Soup, "handle_starttag", counting)
    page = reading.read_page(html, "http://a.example/")
    monkeypatch.setattr(reading.Soup, "handle_starttag", original)
    return len(asked), max(asked), page


def test_ten_megabytes_of_tags_cost_no_more_than_a_large_page(reading: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "MOST_MARKS", 5_000)
    monkeypatch.setattr(reading, "DEEPEST_TREE", 100)
    count, deepest, page = tags(reading, monkeypatch, BOMB)
    assert count < 5_000 and deepest <= 101 and page.cut and page.text == "seen"
    monkeypatch.setattr(reading, "MOST_MARKS", 10**9)
    monkeypatch.setattr(reading, "DEEPEST_TREE", 10**9)
    count, deepest, page = tags(reading, monkeypatch, BOMB[:30_000])
    assert count > 9_000 and deepest > 9_000 and not page.cut, "the control: without the caps each of them counts"


@pytest.mark.parametrize(
    ("mark", "end"), [("<!--", ""), ("<!--", " x>"), ("<![", ">"), ("<a ", ""), ("</a", ""), ("<?", "")]
)
def test_marks_that_nothing_closes_are_not_looked_at(reading: Any, mark: str, end: str) -> None:
    """Of Python's own parser each of these takes time that grows with the square of the page."""
    page = f"<p>seen</p>{mark * 1_000}{end}"
    assert reading.closed(page).count(mark) <= 1 < page.count(mark)
    assert reading.read_page(f"<p>seen</p>{mark * 20_000}{end}", "http://a.example/").text.startswith("seen")
    assert reading.closed(ARTICLE) == ARTICLE, "the control: a sound page stays as it is"


def test_words_within_tables_within_tables_come_once(reading: Any) -> None:
    """Two megabytes of it came to two hundred, and as many links around a text to half a minute."""
    deep = "<table><tr><td>" * 60 + "word " * 1_000 + "</td></tr></table>" * 60
    assert reading.read_page(deep, "http://a.example/").text.count("word") == 1_000
    rows = "<table><tr><td>a<td>b<tr><td>c</table>"
    assert reading.read_page(rows, "http://a.example/").text.split() == ["a", "b", "c"]
    plain = "<table><tr><th>k</th><th>v</th></tr><tr><td>a <b>b</b></td><td></td></tr></table>"
    assert reading.read_page(plain, "http://a.example/").text == "k | v\na b |", "the control"


def test_links_within_links_are_named_by_their_first_words(reading: Any) -> None:
    html = "".join(f"<a href='/{number}'>" for number in range(150)) + "word " * 1_000 + "<a href='/x'>late</a>"
    links = reading.read_page(html, "http://a.example/").links
    assert len(links) == 100 and {len(link.text) for link in links} <= {199, 200}
    (one,) = reading.read_page("<p>x</p><a href='/x'>one <i> two</i></a>", "http://a.example/").links
    assert one.text == "one two", "the control"
