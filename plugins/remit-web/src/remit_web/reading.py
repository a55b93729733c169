"""The readable part of an HTML page, as text in the manner of Markdown."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, NamedTuple
from urllib.parse import urldefrag, urljoin, urlsplit

from bs4 import BeautifulSoup
from bs4.element import CData, NavigableString, PageElement, Tag

MOST_MARKS = 100_000
"""Tags and character references that are looked at; what comes after the last of them is cut off."""

DEEPEST_TREE = 500
"""Levels of nesting that are kept; a tag below is left out, its text is not."""

MOST_LINKS = 100
"""Links that are returned."""

MOST_PARTS = 50
"""Articles of a page that are compared."""

MOST_ITEMS = 5_000
"""Items of a list that are rendered."""

DEEPEST = 150
"""Levels of nesting that are rendered one by one; what lies deeper is plain text."""

_DROPPED = ["script", "style", "noscript", "template", "svg", "iframe", "nav", "aside", "form", "button", "dialog"]
_FRAMES = ("header", "footer")
_HEADINGS = {f"h{level}": "#" * level + " " for level in range(1, 7)}
_BLOCKS = {
    "address", "article", "body", "dd", "details", "div", "dl", "dt", "fieldset", "figcaption", "figure", "footer",
    "header", "hr", "html", "main", "p", "section", "summary",
}  # fmt: skip
_FEWEST = 200
_LONGEST_LINK = 200
_MOST_STRINGS = 100
_MARK = re.compile("[<&]")
_SPACE = re.compile(r"[ \t\r\n\f\v\u00a0]+")


class Link(NamedTuple):
    """A link: its words and its address."""

    text: str
    url: str


class Page(NamedTuple):
    """What a reader sees: the title, the text, the links in it, and whether the page had more than is looked at."""

    title: str
    text: str
    links: tuple[Link, ...]
    cut: bool = False


class Soup(BeautifulSoup):
    """A parsed page whose tree is at most `DEEPEST_TREE` levels deep, so that looking through it stays cheap."""

    def handle_starttag(self, *given: Any, **named: Any) -> Tag | None:
        """Take a tag into the tree, unless it lies too deep."""
        return None if len(self.tagStack) > DEEPEST_TREE else super().handle_starttag(*given, **named)


def read_page(html: str, url: str) -> Page:
    """Return the readable part of a page: without menus, scripts, forms and what is hidden.

    Args:
        html: the page.
        url: its address, for relative links.
    """
    looked_at = bounded(html)
    soup = Soup(closed(looked_at), "html.parser")
    title = _title(soup)
    for tag in soup.find_all(_DROPPED):
        tag.decompose()
    for tag in soup.find_all(_is_hidden):
        tag.decompose()
    main = _main(soup)
    for tag in main.find_all(_FRAMES):
        if tag.find_parent(["article", "main"]) is None:
            tag.decompose()
    text, links = _tidied("".join(_rendered(main, 0))), tuple(_links(main, url))
    return Page(title=title, text=text, links=links, cut=len(looked_at) < len(html))


def bounded(html: str) -> str:
    """Return a page up to its last mark that is looked at: ten megabytes of `<b>` cost no more than a large page."""
    last = next(islice(_MARK.finditer(html), MOST_MARKS, None), None)
    return html if last is None else html[: last.start()]


def closed(html: str) -> str:
    """Return a page without marks that nothing closes: Python's parser looks for the end of each, up to the page's.

    Twenty kilobytes of `<a ` take it half a minute; `<!--` and `<![` are as bad.
    """
    for opening, closing in (("<!--", "-->"), ("<![", "]>"), ("<", ">")):
        end = html.rfind(closing)
        html = html[: end + 1] + html[end + 1 :].replace(opening, " ")
    return html


def _title(soup: BeautifulSoup) -> str:
    found = soup.title or soup.h1
    return _flat(found.get_text(" "))[:300] if found else ""


def _is_hidden(tag: Tag) -> bool:
    style = str(tag.get("style") or "").replace(" ", "").lower()
    return tag.has_attr("hidden") or tag.get("aria-hidden") == "true" or "display:none" in style


def _main(soup: BeautifulSoup) -> Tag:
    """Return the part that holds the text: what the page itself calls so, unless it says next to nothing."""
    body = soup.body or soup
    marked = soup.find("main") or soup.find(attrs={"role": "main"})
    articles = sorted(soup.find_all("article", limit=MOST_PARTS), key=lambda tag: len(tag.get_text()), reverse=True)
    for part in (marked, *articles[:1]):
        if isinstance(part, Tag) and len(_flat(part.get_text())) >= min(_FEWEST, len(_flat(body.get_text())) // 2):
            return part
    return body


def _rendered(node: PageElement, depth: int) -> Iterator[str]:
    """Yield the text of a node; a line feed stands for the end of a block."""
    if isinstance(node, NavigableString):
        if type(node) in (NavigableString, CData):
            yield _SPACE.sub(" ", str(node))
        return
    if not isinstance(node, Tag):
        return
    if depth > DEEPEST:
        yield _SPACE.sub(" ", node.get_text(" "))
        return
    special = _SPECIAL.get(node.name)
    if special is not None:
        yield from special(node, depth)
    elif node.name in _HEADINGS:
        yield f"\n\n{_HEADINGS[node.name]}{_flat(node.get_text(' '))}\n\n"
    else:
        edge = "\n\n" if node.name in _BLOCKS else ""
        yield edge
        yield from _inside(node, depth)
        yield edge


def _inside(node: Tag, depth: int) -> Iterator[str]:
    for child in node.children:
        yield from _rendered(child, depth + 1)


def _break(node: Tag, depth: int) -> Iterator[str]:
    yield "\n"


def _pre(node: Tag, depth: int) -> Iterator[str]:
    lines = node.get_text().strip("\n").splitlines()
    yield "\n\n" + "\n".join(["```", *(f"{_KEEP}{line}" for line in lines), "```"]) + "\n\n"


def _quote(node: Tag, depth: int) -> Iterator[str]:
    lines = _tidied("".join(_inside(node, depth))).splitlines()
    yield "\n\n" + "\n".join(f"> {line}".rstrip() for line in lines) + "\n\n"


def _list(node: Tag, depth: int) -> Iterator[str]:
    """Yield the items, those of an inner list further in."""
    yield "\n\n" if node.find_parent(["ul", "ol"]) is None else "\n"
    items = [item for item in node.find_all("li", limit=MOST_ITEMS) if item.find_parent(["ul", "ol"]) is node]
    for number, item in enumerate(items, start=1):
        mark = f"{number}. " if node.name == "ol" else "- "
        first, *more = _tidied("".join(_inside(item, depth))).splitlines() or [""]
        yield "\n".join([mark + first, *(f"{_KEEP}  {line}" for line in more if line)]) + "\n"
    yield "\n"


def _item(node: Tag, depth: int) -> Iterator[str]:
    """Yield nothing for what its list has: an item that is not closed holds the next one."""
    if node.find_parent(["ul", "ol"]) is None:
        yield "\n- "
        yield from _inside(node, depth)


def _table(node: Tag, depth: int) -> Iterator[str]:
    yield "\n\n"
    for row in node.find_all("tr"):
        cells = [_cell(cell) for cell in row.find_all(["td", "th"], recursive=False)]
        if any(cells):
            yield " | ".join(cells) + "\n"
    yield "\n"


def _cell(cell: Tag) -> str:
    """Return the words of a cell without those of rows in it, which are rows of their own: each word comes once."""
    words: list[str] = []
    left: list[PageElement] = [cell]
    while left:
        node = left.pop()
        if type(node) in (NavigableString, CData):
            words.append(str(node))
        elif isinstance(node, Tag) and node.name != "tr":
            left.extend(reversed(node.contents))
    return _flat(" ".join(words))


def _image(node: Tag, depth: int) -> Iterator[str]:
    words = _flat(str(node.get("alt") or ""))
    yield f"[image: {words}]" if words else ""


_KEEP = "\x00"
_SPECIAL: dict[str, Callable[[Tag, int], Iterator[str]]] = {
    "blockquote": _quote,
    "br": _break,
    "img": _image,
    "li": _item,
    "ol": _list,
    "pre": _pre,
    "table": _table,
    "ul": _list,
}


def _tidied(text: str) -> str:
    """Return lines without spaces at their ends, and at most one empty line in a row."""
    lines = (line[1:].rstrip() if line.startswith(_KEEP) else line.strip(" ") for line in text.split("\n"))
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip("\n")


def _flat(text: str) -> str:
    return _SPACE.sub(" ", text).strip()


def _links(main: Tag, url: str) -> Iterator[Link]:
    seen: set[str] = set()
    for tag in main.find_all("a", href=True):
        try:
            target = urldefrag(urljoin(url, str(tag["href"]).strip())).url
            scheme = urlsplit(target).scheme
        except ValueError:
            continue
        if scheme in ("http", "https") and target not in seen and (words := _words(tag)):
            seen.add(target)
            yield Link(text=words, url=target[:2000])
        if len(seen) == MOST_LINKS:
            return


def _words(tag: Tag) -> str:
    """Return the first words of a tag; what lies deep in it is not gone through once for each tag around it."""
    found = ""
    for text in islice(tag.strings, _MOST_STRINGS):
        found = _flat(f"{found} {text.strip()[:_LONGEST_LINK]}")
        if len(found) >= _LONGEST_LINK:
            break
    return found[:_LONGEST_LINK]
