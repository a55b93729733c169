"""The value of a secret leaves no cell as it is, whatever the pack does to the masking in its own process."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit_sandbox.errors import CellStartError
from remit_sandbox.masking import Masks
from remit_sandbox.sandbox import Sandbox
from remit_sandbox.values import CellSpec, Reply
from tests.sandbox_parts import SOURCE, body, make_pack, spec_of

VALUE = 'hunter2"\\hunter2/\u00e9'
HOSTILE = (
    SOURCE
    + """
from remit_sandbox.inside import wording
wording.Wording.mask = lambda self, text: text

def _held(ctx) -> str:
    return ctx.secrets["key"]

def returned(ctx) -> dict:
    value = _held(ctx)
    return {"whole": value, "in": [f"<{value}>"], value: 1, "bytes": value.encode(), "number": 12345678901234567890.5}

def told(ctx) -> str:
    ctx.progress("progress " + _held(ctx))
    print("printed", _held(ctx))
    sys.stderr.write(_held(ctx))
    return "done"

def raised(ctx) -> str:
    raise ValueError(_held(ctx))

def follows(ctx) -> str:
    ctx.follow_up("tools.echo", text=_held(ctx))
    return "done"

def in_parts(ctx) -> list:
    value = _held(ctx)
    return [value[:4], value[4:], value[::-1]]
"""
)


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox() as made:
        yield made


@pytest.fixture(scope="module")
def spec(tmp_path_factory: pytest.TempPathFactory) -> CellSpec:
    pack = make_pack(tmp_path_factory.mktemp("packs"), HOSTILE)
    return spec_of(pack, isolation="warm", secrets={"key": VALUE})


def asked(sandbox: Sandbox, spec: CellSpec, handler: str) -> tuple[Reply, list[str], str]:
    progress: list[str] = []
    with sandbox.borrow(spec, "s") as cell:
        reply = cell.request("call", body(handler), timeout=20, on_progress=progress.append)
        output = cell.output()
    return reply, progress, output.stdout + output.stderr


def test_a_result_is_masked_in_strings_keys_and_bytes(sandbox: Sandbox, spec: CellSpec) -> None:
    reply, _, _ = asked(sandbox, spec, "returned")
    found = json.loads(reply.text)
    assert found["whole"] == "[secret key]" and found["in"] == ["<[secret key]>"] and found["[secret key]"] == 1
    assert found["bytes"]["$bytes"] == "W3NlY3JldCBrZXld"
    assert b"12345678901234567000.0" in reply.text or b"1.2345678901234567e" in reply.text


def test_progress_and_output_are_masked(sandbox: Sandbox, spec: CellSpec) -> None:
    _, progress, output = asked(sandbox, spec, "told")
    assert progress == ["progress [secret key]"]
    assert "printed [secret key]" in output and "hunter2" not in output


def test_errors_tracebacks_and_follow_ups_are_masked(sandbox: Sandbox, spec: CellSpec) -> None:
    reply, _, _ = asked(sandbox, spec, "raised")
    assert reply.kind == "failed" and "[secret key]" in reply.error and "hunter2" not in reply.error + reply.traceback
    reply, _, _ = asked(sandbox, spec, "follows")
    assert json.loads(reply.follow_ups[0].arguments) == {"text": "[secret key]"}


def test_parts_of_a_value_pass_which_is_a_documented_limit(sandbox: Sandbox, spec: CellSpec) -> None:
    reply, _, _ = asked(sandbox, spec, "in_parts")
    assert "".join(json.loads(reply.text)[:2]) == VALUE
    assert "in parts" in (Path(__file__).parents[1] / "docs" / "security.md").read_text("utf-8")


def test_the_control_without_a_secret_the_same_text_passes(sandbox: Sandbox, spec: CellSpec) -> None:
    from dataclasses import replace

    with sandbox.borrow(replace(spec, secrets={"key": "another one"}), "s") as cell:
        reply = cell.request("call", body("echo", text=VALUE), timeout=20)
    assert json.loads(reply.text) == VALUE


def test_import_time_errors_are_masked(sandbox: Sandbox, tmp_path: Path) -> None:
    source = """
import sys
frame = sys._getframe()
while not isinstance(frame.f_locals.get("frame"), dict):
    frame = frame.f_back
held = frame.f_locals["frame"]["secrets"]
raise RuntimeError(held["key"])
"""
    with pytest.raises(CellStartError) as caught:
        sandbox.cell(spec_of(make_pack(tmp_path, source), secrets={"key": "hunter2-hunter2"}))
    assert "[secret key]" in caught.value.reason
    assert "hunter2" not in str(caught.value) + caught.value.traceback


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


@given(JSON, st.text(min_size=4, max_size=6), st.booleans())
def test_no_string_of_the_masked_text_holds_the_value_and_nothing_else_changes(
    value: Any, secret: str, ascii_only: bool
) -> None:
    text = json.dumps([value, f"a{secret}b"], ensure_ascii=ascii_only).encode("utf-8", "surrogatepass")
    masked = json.loads(Masks({"k": secret}).json(text))
    assert not any(secret in one.replace("[secret k]", "") for one in strings(masked))
    if not any(secret in one for one in strings(value)):
        assert masked == [value, f"a{secret}b".replace(secret, "[secret k]")]


def strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from strings(item)
    elif isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from strings(item)


def test_text_that_cannot_be_read_is_withheld() -> None:
    masks = Masks({"k": "hunter2"})
    for text in (b'{"a": hunter2', b"\\[" * 100_000 + b"hunter2", b"[" + b'"hunter2",' * 1_100_000 + b"1]"):
        assert b"hunter2" not in masks.json(text)
    assert masks.json(b'{"a": 1.50}') == b'{"a": 1.50}'
