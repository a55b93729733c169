"""Kept results are read in pages: text, JSON and the like; bytes are named, never shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from remit.pipeline.host_skills import read_page
from remit.state.store import State


def pages(state: State, data: bytes, media_type: str, cap: int = 300) -> list[str]:
    handle = state.put_blob(data, media_type, session="s")
    first = read_page(state, handle, 1, session="s", cap=cap)
    number = int(first.split(" of ")[1].split()[0])
    return [read_page(state, handle, page, session="s", cap=cap) for page in range(1, number + 1)]


@pytest.mark.parametrize(
    "media_type",
    ["text/plain; charset=utf-8", "text/csv", "application/json", "application/ld+json", "application/xml"],
)
def test_the_pages_together_are_the_whole(tmp_path: Path, media_type: str) -> None:
    whole = '{"größe": [' + ", ".join(map(str, range(400))) + "]}"
    with State(tmp_path) as state:
        read = pages(state, whole.encode(), media_type)
    assert len(read) > 5 and all(len(page) <= 300 for page in read)
    assert "".join(page.partition("]\n")[2] for page in read) == whole


@pytest.mark.parametrize("media_type", ["image/png", "application/octet-stream", "application/pdf"])
def test_bytes_are_no_pages(tmp_path: Path, media_type: str) -> None:
    with State(tmp_path) as state, pytest.raises(ValueError, match=f"{media_type} of 4 bytes"):
        pages(state, b"\x89PNG", media_type)


def test_a_page_that_there_is_not_and_a_handle_of_another_session(tmp_path: Path) -> None:
    with State(tmp_path) as state:
        handle = state.put_blob(b"short", "text/plain", session="s")
        with pytest.raises(ValueError, match="there are 1 pages"):
            read_page(state, handle, 2, session="s")
        with pytest.raises(ValueError, match="no result with this handle"):
            read_page(state, handle, 1, session="other")
