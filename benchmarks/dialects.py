"""How long it takes to read calls from text: `python -m benchmarks.dialects [--json] [--rounds N]`.

Three tables: replies of about 1 KB against a plain regular expression with `json`, with `json_repair` where that is
installed, and with the parsers of vLLM and SGLang where `--engines` says where they lie (see `other_parsers.py`); 1 MB
of text made to be slow; and what runs of the shared cases in which nothing may run.
"""

from __future__ import annotations

import argparse
import json
import re
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.adversarial import texts
from benchmarks.measure import in_turns, report, row
from benchmarks.other_parsers import parsers
from remit.dialects import DIALECTS, Parser, Skills, parse, render_call

SKILLS: Skills = {
    "write_file": {"type": "object", "properties": {"path": {"type": "string"}, "content": {"type": "string"}}},
    "calc": {"type": "object", "properties": {"expr": {"type": "string"}}},
}
PROSE = "I will write the file now, with the steps that you asked for. "
ARGUMENTS = {"path": "notes.txt", "content": "Step one: read; step two: write; step three: check. " * 14}
REPEATS = 200
CASES = Path(__file__).parent.parent / "tests" / "data"

_TAGGED = re.compile(r"<tool_call>\s*(.*?)\s*</tool_call>", re.DOTALL)
_ANY_JSON = re.compile(r"\{.*\}", re.DOTALL)


def with_regex(text: str) -> list[Any]:
    """Return what the usual few lines find: the tag by a regular expression, the rest by `json`."""
    return [json.loads(found) for found in _TAGGED.findall(text)]


def repairing() -> Callable[[str], Any] | None:
    """Return json_repair's reader, or None where it is not installed."""
    try:
        import json_repair  # type: ignore[import-not-found]
    except ImportError:
        return None
    loads: Callable[[str], Any] = json_repair.loads
    return loads


def streamed(text: str, dialect: str) -> None:
    """Read a text in pieces of four characters, about a token each."""
    parser = Parser(dialect, SKILLS)
    for at in range(0, len(text), 4):
        parser.feed(text[at : at + 4])
    parser.end()


def repeated(read: Callable[[], object]) -> Callable[[], None]:
    """Return `REPEATS` runs of `read`."""

    def run() -> None:
        for _ in range(REPEATS):
            read()

    return run


def contenders(engines: Path | None) -> Mapping[str, Callable[[], None]]:
    """Return what is compared, each on a reply of about 1 KB."""
    reply = PROSE + render_call("write_file", ARGUMENTS, "tagged")
    inner = _TAGGED.findall(reply)[0]
    on_lines = reply.replace("<tool_call>", "<tool_call>\n").replace("</tool_call>", "\n</tool_call>")
    runs: dict[str, Callable[[], None]] = {
        "regular expression and json": repeated(lambda: with_regex(reply)),
        "parse, tagged": repeated(lambda: parse(reply, SKILLS, "tagged")),
        "parse, auto": repeated(lambda: parse(reply, SKILLS)),
        "Parser, tagged, 4 characters each": repeated(lambda: streamed(reply, "tagged")),
        "parse, auto, prose without a call": repeated(lambda: parse(PROSE * 16, SKILLS)),
    }
    loads = repairing()
    if loads is not None:
        runs["json_repair on the JSON alone"] = repeated(lambda: loads(inner))
    for engine, (whole, pieces) in (parsers(engines) if engines is not None else {}).items():
        runs[f"{engine}, hermes"] = repeated(partial(whole, on_lines))
        runs[f"{engine}, hermes, 4 characters each"] = repeated(partial(pieces, on_lines))
    for dialect in DIALECTS[4:]:
        text = PROSE + render_call("write_file", ARGUMENTS, dialect)
        runs[f"parse, {dialect}"] = repeated(partial(parse, text, SKILLS, dialect))
    return runs


def slow_texts(size: int) -> list[dict[str, Any]]:
    """Return the CPU seconds of the slowest texts of `size` characters, slowest first."""
    rows = []
    for name, text in texts(size):
        started = time.process_time()
        parse(text, SKILLS)
        taken = time.process_time() - started
        rows.append({**row(json.dumps(name)[:44], [taken], [1.0]), "aim": "under 1 s"})
    return sorted(rows, key=lambda each: -float(each["maximum"]))[:12]


def wrongly_run() -> dict[str, str]:
    """Return, by contender, in how many of the cases in which nothing may run something would run."""
    lines = (CASES / "parser.jsonl").read_text(encoding="utf-8").splitlines()
    types = json.loads((CASES / "parser_argument_types.json").read_text(encoding="utf-8"))
    skills = {
        name: {"type": "object", "properties": {key: {"type": kind} for key, kind in keys.items()}}
        for name, keys in types.items()
    }
    rows = [case for case in map(json.loads, lines) if not isinstance(case["expected"], list)]
    texts_of = [case.get("raw", "") for case in rows]
    ours = sum(bool(parse(text, skills).calls) for text in texts_of)
    counts = {"remit.dialects": f"{ours} of {len(rows)}"}
    loads = repairing()
    if loads is not None:
        found = sum(_runs_something(text, loads, skills) for text in texts_of)
        counts["regular expression and json_repair"] = f"{found} of {len(rows)}"
    return counts


def _runs_something(text: str, loads: Callable[[str], Any], skills: Skills) -> bool:
    """Say whether the usual reader would run a call: the outermost braces, repaired, with a known name."""
    found = _ANY_JSON.search(text) or re.search(r"\{.*", text, re.DOTALL)
    value = loads(found[0]) if found else None
    return isinstance(value, dict) and value.get("name") in skills


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print and write benchmarks/results/dialects.json and dialects_slow.json."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7, help="counted runs of each contender")
    parser.add_argument("--size", type=int, default=1_000_000, help="characters of each text made to be slow")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--engines", type=Path, metavar="DIR", help="where the wheels of vLLM and SGLang are unpacked")
    options = parser.parse_args(arguments)
    seconds = in_turns(contenders(options.engines), rounds=options.rounds)
    plain = seconds["regular expression and json"]
    rows = [row(name, [each / REPEATS for each in times], [each / REPEATS for each in plain])
            for name, times in seconds.items()]  # fmt: skip
    report("A reply of 1 KB", rows, unit="us", scale=1e6, file="dialects.json", json_out=options.json)
    slow = slow_texts(options.size)
    report("Texts made to be slow", slow, unit="s", scale=1, file="dialects_slow.json", json_out=options.json)
    if not options.json:
        print("Cases in which nothing may run, and something does:", wrongly_run())


if __name__ == "__main__":
    main()
