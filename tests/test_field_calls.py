"""Cases from the field (areas `arguments` and `results`): the function of each, called in a real cell.

`CHECKS` names every case and how it holds here.
"""

from __future__ import annotations

import asyncio
import json
import re
import site
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from remit.packs.schema import accept_schema
from remit.skills import Skill
from remit.values import Result
from remit_sandbox import CellSpec, Sandbox
from tests.pipeline_parts import Bench, call

CASES = {
    case["id"]: case
    for case in map(json.loads, (Path(__file__).parent / "data" / "field_calls.jsonl").read_text().splitlines())
}

Ask = Callable[..., Result]


def _whole_text(ask: Ask) -> None:
    assert ask().value == 13


def _no_splitting(ask: Ask) -> None:
    result = ask()
    assert result.status == "invalid" and "array" in result.text


def _integer_for_float(ask: Ask) -> None:
    assert ask().text == "float:1.0 float"
    assert ask(v="1", w=2).text == "str:1 float"


def _unknown_names(ask: Ask) -> None:
    result = ask()
    assert result.status == "invalid" and "path" in result.text and "Limit" in result.text
    assert "limit" in result.text and ask(limit=3).text == "all"


def _not_given(ask: Ask) -> None:
    assert ask().text == "core None '' None"


def _raw_control_characters(ask: Ask) -> None:
    assert ask().value == 32


def _apostrophes(ask: Ask) -> None:
    assert ask().text == "what's the captain's watch"


def _empty_things(ask: Ask) -> None:
    texts = {kind: ask(kind=kind).text for kind in ("list", "tuple", "dict", "str", "none", "zero", "false")}
    assert list(texts.values()) == ["[]", "[]", "{}", "(empty string)", "null", "0", "false"]
    assert (ask(kind="bytes").text, ask(kind="set").text) == ("(0 bytes)", "[]")


def _no_default_repr(ask: Ask) -> None:
    first, second = ask(), ask()
    assert first.status == "failed" and "Response" in first.text and "0x" not in first.text
    assert first.text == second.text


def _every_type(ask: Ask) -> None:
    value = ask().value
    assert value["t"] == "2024-01-02T03:04:00+00:00" and value["d"] == "1.10" and value["e"] == "r"
    assert value["u"].endswith("0001") and value["p"] == "a/b" and value["c"] == {"when": "2024-01-02"}
    assert value["s"] == [1, 2] and value["n"] in ([1, 2], {"x": 1, "y": 2})
    assert (value["3"], value["(1, 2)"], value["null"]) == ("int key", "tuple key", "none key")


def _limited(ask: Ask) -> None:
    result = ask()
    assert len(result.text) <= 2_000 and result.text.endswith("TAIL")
    assert "5000004" in result.text and str(result.handle) in result.text


def _bytes(ask: Ask) -> None:
    picture = ask(kind="png")
    assert "image/png, 28 bytes" in picture.text and picture.blobs[0][1:] == ("image/png", 28)
    assert (ask(kind="utf8").text, ask(kind="mv").text) == ("é", "abc")
    assert ask(kind="bin").blobs[0][2] == 256


def _leaving(ask: Ask) -> None:
    for how in ("exit", "_exit", "kbd", "genexit", "segv"):
        result = ask(how=how)
        assert result.status == "failed" and result.text, how
        assert how != "segv" or "SIGSEGV" in result.text
        assert how != "_exit" or "status 0" in result.text
    assert ask(how="closeout").text == "closed"
    assert ask(how="stay").text == "ok"


def _noise(ask: Ask) -> None:
    assert ask().text == "real"


def _round_trip(ask: Ask) -> None:
    assert ask().value == "Đảo ★ 😀 \u2028 x"[::-1]


CHECKS: dict[str, Callable[[Ask], None]] = {
    "L41": _whole_text,
    "L43": _no_splitting,
    "L46": _integer_for_float,
    "L47": _unknown_names,
    "L50": _not_given,
    "L53": _raw_control_characters,
    "L55": _apostrophes,
    "L63": _empty_things,
    "L65": _no_default_repr,
    "L66": _every_type,
    "L69": _limited,
    "L70": _bytes,
    "L73": _leaving,
    "L77": _noise,
    "L78": _round_trip,
}

REFUSED = {"L49": "a handler with **given cannot be described, so it is refused when its pack is enabled"}


def test_every_case_has_its_check() -> None:
    assert set(CASES) == set(CHECKS) | set(REFUSED)


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox() as sandbox:
        yield sandbox


def _spec(case: dict[str, Any], folder: Path) -> tuple[CellSpec, str]:
    package = f"remit_case_{case['id'].lower()}"
    (folder / package).mkdir()
    # Cells start no programs, so the child process of L77 is left out; the rest of its noise stays.
    source = re.sub(r"^    subprocess\.run.*\n", "", case["input"]["source"], flags=re.MULTILINE)
    (folder / package / "__init__.py").write_text(source, encoding="utf-8")
    paths = (str(folder), *site.getsitepackages())
    spec = CellSpec(pack=case["id"].lower(), package=package, paths=paths, enforcement="available")
    return spec, f"{package}:{case['input']['entry']}"


@pytest.mark.parametrize("name", sorted(CHECKS))
def test_case(name: str, tmp_path: Path, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    case = CASES[name]
    for variable, value in case["input"].get("env", {}).items():
        monkeypatch.setenv(variable, value)
    spec, handler = _spec(case, tmp_path)
    with sandbox.borrow(spec, "describe") as cell:
        described = cell.describe({"tool": (handler, None)})["tool"]
    schema = accept_schema(described.schema)
    skill = Skill(pack=spec.pack, name="tool", description="", schema=schema, effect="read", handler=handler, cell=spec)
    with Bench(tmp_path, skill, sandbox=sandbox) as bench:

        def ask(**arguments: Any) -> Result:
            text = json.dumps(arguments) if arguments else case["input"]["arguments"]
            return asyncio.run(bench.pipeline.call(replace(call(skill.full), arguments=text)))

        CHECKS[name](ask)


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_refused(name: str, tmp_path: Path, sandbox: Sandbox) -> None:
    spec, handler = _spec(CASES[name], tmp_path)
    with sandbox.borrow(spec, "describe") as cell:
        described = cell.describe({"tool": (handler, None)})["tool"]
    assert described.error and "given" in described.error
