"""Cases from the field, area `results`: from what a handler returns to what a model reads. `HOLDS` is the table."""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from remit.agent import Agent
from tests.command import remit
from tests.field_parts import Field, functions, given, is_whole, opened, write_pack
from tests.model_server import calls, serve, text

HOLDS = {
    "L63": "every empty value has a text of its own, and is ok",
    "L65": "a type without a JSON form is `failed` and named; nothing is sent as a default repr",
    "L66": "turned into JSON text inside the cell, keys to text; keys that would meet are `failed`",
    "L69": "capped with head and tail, size and handle; the whole is read in pages; errors and prints are capped, too",
    "L70": "bytes that are text are text; others are kept under a handle and told with type and size",
    "L71": "DESIGN 4: the tool message says that an image is kept, of which type and size; no base64, no dangling part",
    "L73": "the cell ends, the result says how, the next call has a new one",
    "L77": "frames have a descriptor of their own; what is printed is kept apart; standard input is empty",
    "L78": "frames are msgpack with UTF-8 text whatever the locale; the command line prints ASCII JSON",
}

PICTURE = b"\x89PNG\r\n\x1a\n" + bytes(3000)
VARIANTS = {
    "merged": 'def tool() -> dict:\n    """Two keys, one text."""\n    return {1: "a", "1": "b"}\n',
    "rows": 'def tool() -> list:\n    """Much."""\n    return [{"n": n} for n in range(200_000)]\n',
    "raises": 'def tool() -> str:\n    """Fail at length."""\n    raise ValueError("x" * 3_000_000 + "END")\n',
    "prints": 'def tool() -> str:\n    """Print."""\n    print("y" * 3_000_000)\n    return "quiet"\n',
    "asks": 'def tool() -> str:\n    """Ask."""\n    return input("name? ")\n',
    "image": f'def tool() -> bytes:\n    """Draw."""\n    return {PICTURE[:8]!r} + bytes(3000)\n',
    "two": f'def tool() -> dict:\n    """Draw."""\n    return {{"a": {PICTURE[:8]!r} + bytes(3000), "note": "n"}}\n',
}
RUNS_A_PROGRAM = 'effect = "external"\nuses = ["exec"]'
NOISY = {"l77": RUNS_A_PROGRAM}


@pytest.fixture(scope="module")
def field(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Field]:
    sources = {**functions("results"), **VARIANTS}
    with opened(tmp_path_factory.mktemp("results"), sources, NOISY, f"exec = [{json.dumps(sys.executable)}]") as field:
        yield field


def test_the_table_is_whole() -> None:
    assert is_whole(HOLDS, globals(), "results")


def test_l63_empty_values_differ(field: Field) -> None:
    expected = {
        "list": "[]", "tuple": "[]", "dict": "{}", "str": "(empty string)", "none": "null",
        "zero": "0", "false": "false", "bytes": "(0 bytes)", "set": "[]",
    }  # fmt: skip
    results = {kind: field.ask("L63", kind=kind) for kind in expected}
    assert {kind: result.text for kind, result in results.items()} == expected
    assert {result.status for result in results.values()} == {"ok"}


def test_l65_no_default_repr(field: Field) -> None:
    first, second = field.ask("L65"), field.ask("L65")
    assert first.status == "failed" and "Response" in first.text and first.text == second.text
    assert "0x" not in first.text and "<" not in first.text


def test_l66_every_type(field: Field) -> None:
    result = field.ask("L66")
    assert result.value == {
        "t": "2024-01-02T03:04:00+00:00", "d": "1.10", "e": "r", "u": "00000000-0000-0000-0000-000000000001",
        "p": "a/b", "c": {"when": "2024-01-02"}, "s": [1, 2], "n": {"x": 1, "y": 2},
        "3": "int key", "(1, 2)": "tuple key", "null": "none key",
    }  # fmt: skip
    assert result.text == field.ask("L66").text
    merged = field.ask("merged", "")
    assert merged.status == "failed" and "'1'" in merged.text


def test_l69_long_results(field: Field) -> None:
    result = field.ask("L69")
    assert len(result.text) <= 2_000 and result.text.startswith("ä" * 1000) and result.text.endswith("TAIL")
    assert "the result has 5000004 characters" in result.text and str(result.handle) in result.text
    last = -(-5_000_004 // 1_880)
    page = field.ask("remit.read_result", {"handle": result.handle, "page": last})
    assert page.text.endswith("TAIL") and f"page {last} of {last}" in page.text
    assert field.ask("L69", n=10).text == "ä" * 10 + "TAIL"


def test_l69_the_same_for_rows_errors_and_prints(field: Field) -> None:
    rows = field.ask("rows", "")
    assert len(rows.text) <= 2_000 and rows.text.endswith('{"n": 199999}]') and "cut here" in rows.text
    assert len(rows.value) == 200_000
    raised = field.ask("raises", "")
    assert raised.status == "failed" and len(raised.text) <= 2_000 and "xxx" in raised.text
    field.printed()
    assert field.ask("prints", "").text == "quiet"
    assert 0 < len(field.printed()) <= 1_100_000


def test_l70_bytes(field: Field) -> None:
    picture = field.ask("L70")
    ((handle, media_type, size),) = picture.blobs
    assert (media_type, size) == ("image/png", 28) and picture.text == f"(image/png, 28 bytes, kept as {handle})"
    blob = field.state.get_blob(handle, session="s")
    assert blob is not None and blob.data == b"\x89PNG\r\n\x1a\n" + bytes(20)
    page = field.ask("remit.read_result", {"handle": handle})
    assert page.status == "failed" and "image/png of 28 bytes and cannot be read as text" in page.text
    assert (field.ask("L70", kind="utf8").text, field.ask("L70", kind="mv").text) == ("é", "abc")
    other = field.ask("L70", kind="bin")
    assert other.blobs[0][1:] == ("application/octet-stream", 256) and "256 bytes" in other.text


def test_l71_images(field: Field) -> None:
    two = calls(("field__image", {}), ("field__two", {}))
    with (
        serve([two, text("A picture.")]) as server,
        Agent(field.deployment, model="m", base_url=server.base_url) as agent,
    ):
        result = agent.run("Draw, then describe it.")
        kept = [agent.state.get_blob(call.blobs[0][0], session=result.session) for call in result.calls]
    assert (result.status, result.answer) == ("answered", "A picture.")
    assert [blob is not None and blob.data for blob in kept] == [PICTURE, PICTURE]
    messages = server.bodies[1]["messages"]
    assert [message["role"] for message in messages] == ["system", "user", "assistant", "tool", "tool"]
    for message, call in zip(messages[3:], result.calls, strict=True):
        assert isinstance(message["content"], str)
        assert all(word in message["content"] for word in ("image/png", "3008", call.blobs[0][0]))
    assert base64.b64encode(PICTURE)[:20].decode() not in json.dumps(server.bodies[1])


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("exit", "exit"),
        ("_exit", "status 0"),
        ("kbd", "KeyboardInterrupt"),
        ("genexit", "GeneratorExit"),
        ("segv", "SIGSEGV"),
    ],
)
def test_l73_skills_that_end_their_process(field: Field, how: str, said: str) -> None:
    result = field.ask("L73", how=how)
    assert result.status == "failed" and said in result.text
    assert field.ask("L73", how="stay").text == "ok"


def test_l73_closed_output(field: Field) -> None:
    assert field.ask("L73", how="closeout").text == "closed"
    assert field.ask("L73", how="stay").text == "ok"


def test_l77_noise(field: Field) -> None:
    field.printed()
    assert field.ask("L77").text == "real"
    printed = field.printed()
    assert all(line in printed for line in ("loading...", "forged", "raw fd", "child", "warn"))
    asked = field.ask("asks", "")
    assert asked.status == "failed" and "EOFError" in asked.text


@pytest.mark.parametrize("environment", [given("L78")["env"], {"LC_ALL": "C.UTF-8", "PYTHONUTF8": "1"}])
def test_l78_any_locale(field: Field, tmp_path: Path, environment: dict[str, str]) -> None:
    spoken = json.loads(given("L78")["arguments"])["s"] + "\x85\r\n\u2029"
    assert field.ask("L78").text == json.loads(given("L78")["arguments"])["s"][::-1]
    assert field.ask("L78", s=spoken).value == spoken[::-1]
    project = write_pack(tmp_path / "project", {"l78": given("L78")["source"]})
    tried = ["packs", "try", str(project), "l78", json.dumps({"s": spoken}, ensure_ascii=False), "--json"]
    assert remit(*tried, folder=tmp_path, environment=environment).json["result"] == spoken[::-1]
