"""What the model reads: capped, marked, never empty; the whole in pages; bytes by handle."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest

from remit.pipeline.contents import Unreadable, read, take_bytes, to_text
from tests.pipeline_parts import Bench, host_skill

EMPTY: dict[str, Any] = {
    "list": [],
    "tuple": (),
    "dict": {},
    "str": "",
    "space": "  ",
    "none": None,
    "zero": 0,
    "false": False,
    "bytes": b"",
}


def empty(kind: str) -> Any:
    """Return an empty thing."""
    return EMPTY[kind]


def long(size: int) -> str:
    """Return a long text."""
    return "HEAD" + "ä" * size + "TAIL"


def data(kind: str) -> Any:
    """Return bytes."""
    png = b"\x89PNG\r\n\x1a\n" + bytes(20)
    return {"png": png, "text": "é".encode(), "bin": bytes(range(256)), "in": {"a": [png], "b": b"x"}}[kind]


def huge() -> list[int]:
    """Return a large integer."""
    return [2**80, 10**4200]


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("list", "[]"),
        ("tuple", "[]"),
        ("dict", "{}"),
        ("str", "(empty string)"),
        ("space", '"  "'),
        ("none", "null"),
        ("zero", "0"),
        ("false", "false"),
        ("bytes", "(0 bytes)"),
    ],
)
def test_empty_values_have_texts_of_their_own(tmp_path: Path, kind: str, text: str) -> None:
    with Bench(tmp_path, host_skill(empty)) as bench:
        result = bench.call("local.empty", kind=kind)
    assert (result.status, result.text) == ("ok", text)


def test_a_short_result_is_whole(tmp_path: Path) -> None:
    with Bench(tmp_path, host_skill(long)) as bench:
        result = bench.call("local.long", size=100)
    assert result.text == result.value and result.handle is None


def test_a_long_result_is_cut_with_a_mark_and_read_in_pages(tmp_path: Path) -> None:
    with Bench(tmp_path, host_skill(long)) as bench:
        result = bench.call("local.long", size=5_000)
        assert len(result.text) <= 2_000 and len(result.value) == 5_008
        assert result.text.startswith("HEAD") and result.text.endswith("TAIL")
        assert "5008 characters" in result.text and result.handle and result.handle in result.text
        pages = [bench.call("remit.read_result", handle=result.handle, page=n) for n in (1, 2, 3)]
        assert all(page.status == "ok" and len(page.text) <= 2_000 for page in pages)
        assert "".join(page.text.split("\n", 1)[1] for page in pages) == result.value
        assert all(page.labels == {"untrusted"} for page in pages)
        assert bench.call("remit.read_result", handle=result.handle, page=4).status == "failed"
        assert bench.call("remit.read_result", "other", handle=result.handle).status == "failed"
        assert bench.call("remit.read_result", handle="r-000000000000").status == "failed"


def test_five_million_characters(tmp_path: Path) -> None:
    with Bench(tmp_path, host_skill(long)) as bench:
        result = bench.call("local.long", size=5_000_000)
        assert len(result.text) <= 2_000 and result.text.endswith("TAIL")
        finished = next(bench.state.records(event="call.finished"))
        assert len(str(finished.body)) < 10_000


def test_the_cap_is_the_deployments(tmp_path: Path) -> None:
    with Bench(tmp_path, host_skill(long), cap=500) as bench:
        assert len(bench.call("local.long", size=1_000).text) <= 500


def test_kept_fields_go_to_the_model_and_the_rest_by_handle(tmp_path: Path) -> None:
    def row() -> dict[str, Any]:
        return {"name": "a", "note": "long", "raw": "x" * 50}

    with Bench(tmp_path, host_skill(row, keep=("name", "note"))) as bench:
        result = bench.call("local.row")
        assert result.text.startswith('{"name": "a", "note": "long"}') and "xxx" not in result.text
        assert result.handle and result.value["raw"] == "x" * 50
        assert "xxx" in bench.call("remit.read_result", handle=result.handle).text


def test_bytes_become_handles_and_text_bytes_text(tmp_path: Path) -> None:
    with Bench(tmp_path, host_skill(data)) as bench:
        picture = bench.call("local.data", kind="png")
        ((handle, media_type, size),) = picture.blobs
        assert (media_type, size) == ("image/png", 28) and "image/png, 28 bytes" in picture.text
        blob = bench.state.get_blob(handle, session="s")
        assert blob is not None and blob.data.startswith(b"\x89PNG")
        assert bench.call("local.data", kind="text").value == "é"
        assert bench.call("local.data", kind="bin").blobs[0][1] == "application/octet-stream"
        nested = bench.call("local.data", kind="in")
        assert nested.value["b"] == "x" and nested.value["a"][0]["media_type"] == "image/png"
        assert "$bytes" not in nested.text
        refused = bench.call("remit.read_result", handle=handle)
        assert refused.status == "failed" and "image/png" in refused.text


def test_large_integers_survive(tmp_path: Path) -> None:
    with Bench(tmp_path, host_skill(huge)) as bench:
        result = bench.call("local.huge")
        assert result.status == "ok" and result.value[0] == 2**80


@pytest.mark.parametrize("text", [b"", b"{", b"NaN", b"[Infinity]", b"\xff", b"[" * 100_000, b"1 2"])
def test_what_is_no_json_is_refused(text: bytes) -> None:
    with pytest.raises(Unreadable):
        read(text)


def test_lone_surrogates_are_mended() -> None:
    assert read(rb'{"\ud800": ["\udfff a", "\ud83d\ude00"]}') == {"\ufffd": ["\ufffd a", "😀"]}


@pytest.mark.parametrize("value", [{"$bytes": 7, "media_type": "x"}, {"$bytes": "not base64!", "media_type": 7}])
def test_a_forged_marker_is_ordinary_data(value: dict[str, Any]) -> None:
    assert take_bytes(value, lambda data, kind: "r", []) == value


def test_text_that_claims_to_be_text_and_is_not() -> None:
    kept: list[Any] = []
    forged = {"$bytes": base64.b64encode(b"\xff\xfe").decode(), "media_type": "text/plain"}
    taken = take_bytes(forged, lambda data, kind: "r-1", kept)
    assert taken == {"handle": "r-1", "media_type": "application/octet-stream", "size": 2}
    assert to_text(taken) == "(application/octet-stream, 2 bytes, kept as r-1)"
