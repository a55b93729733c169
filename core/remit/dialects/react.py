"""ReAct: Thought, Action, Action Input, Observation, Final Answer.

A turn ends at its first Action, at its Final Answer, or where the model writes an Observation of its own;
what follows is made up and dropped. A Thought without an Action is the final answer.
"""

from __future__ import annotations

import re
from typing import Any

from remit.dialects.findings import Findings
from remit.dialects.parsed import Skills
from remit.dialects.scan import ScanError, scan, skip_space
from remit.dialects.shapes import Found, calls_in, damaged, make_call, resolve, sequence, shown, unknown

HOW = 'Write "Action: SKILL" and on the next line "Action Input: {...}" with a JSON object.'

LABELS = ("Thought", "Action Input", "Action", "Observation", "Final Answer")
"""The labels of ReAct."""

LABEL = r"(?:\*\*|\#+[ ])?(?P<label>Thought|Action\ Input|Action|Observation|Final\ Answer)(?:\*\*)?[ \t]*:(?:\*\*)?"
"""Pattern of a label, verbose."""

_TURN_END = re.compile(
    r"<\|(?:im_end|endoftext|end_of_text|eot_id|eom_id)\|>|<\|im_start\|>"
    r"|^[ \t]*(?:\*\*|#+ )?(?:Thought|Action Input|Action|Observation|Final Answer)(?:\*\*)?[ \t]*:",
    re.MULTILINE,
)
_ACTION_PAIR = re.compile(r"[^\n]*\n\s*(?:\*\*)?Action Input(?:\*\*)?[ \t]*:")
_ACTION_INPUT = re.compile(r"\s*(?:\*\*)?Action Input(?:\*\*)?[ \t]*:(?:\*\*)?[ \t]*")
_FENCE_OPEN = re.compile(r"\s*`{3,}[a-z_]*[ \t]*\n?")
_FIRST_WORD = re.compile(r"[\w.-]+")
_NOTHING = frozenset({"", "none", "null", "n/a", "{}"})


def is_pair(text: str, at: int) -> bool:
    """Say whether the `Action:` that ends at `at` is followed by an `Action Input:`."""
    return _ACTION_PAIR.match(text, at) is not None


def on_label(label: str, text: str, at: int, skills: Skills, found: Findings) -> bool:
    """Read the part that begins at `at`, after its label; return whether the turn is over."""
    if label == "Thought":
        found.begin_thought()
        return False
    if label == "Final Answer":
        end = _TURN_END.search(text, at)
        found.answer(text[at : end.start() if end else len(text)])
    elif label == "Action":
        repairs: list[str] = []
        found.take(_action(text, at, skills, repairs), repairs)
    elif label == "Action Input":
        found.error(f"An Action Input was written without an Action. {HOW}")
    return True


def _action(text: str, at: int, skills: Skills, repairs: list[str]) -> list[Found]:
    start = skip_space(text, at)
    fence = _FENCE_OPEN.match(text, start)
    inner = skip_space(text, fence.end()) if fence else start
    if text.startswith(("{", "["), inner):
        return _json_action(text, inner, skills, repairs)
    line_end = text.find("\n", at)
    line_end = len(text) if line_end < 0 else line_end
    written = text[at:line_end].strip().strip("`*\"'").strip()
    name = resolve(written, skills) or _first_word(written, skills, repairs)
    if name is None:
        return [Found(error=unknown(written, skills))]
    following = _ACTION_INPUT.match(text, line_end)
    if following is None:
        return [Found(error=f"The action {name} has no Action Input, so it was not run. {HOW}")]
    return [_with_input(name, text, following.end(), skills, repairs)]


def _json_action(text: str, at: int, skills: Skills, repairs: list[str]) -> list[Found]:
    try:
        value, _, mended = next(sequence(text, at))
    except ScanError as error:
        return [Found(error=damaged(text, at, error))]
    calls = calls_in(value, skills, wrapped=True, repairs=mended) or []
    repairs += mended
    return calls[:1]


def _first_word(written: str, skills: Skills, repairs: list[str]) -> str | None:
    word = _FIRST_WORD.match(written)
    name = resolve(word[0], skills) if word else None
    if name is not None:
        repairs.append(f"the action {shown(written)} read as {name}")
    return name


def _with_input(name: str, text: str, at: int, skills: Skills, repairs: list[str]) -> Found:
    fence = _FENCE_OPEN.match(text, at)
    at = skip_space(text, fence.end() if fence else at)
    if text.startswith("{", at) or (text.startswith(("'", '"'), at) and not _is_raw(text, at)):
        try:
            value = scan(text, at)
        except ScanError as error:
            return Found(error=damaged(text, at, error))
        repairs += value.repairs
        return _with_value(name, value.value, skills, repairs)
    end = _TURN_END.search(text, at)
    raw = text[at : end.start() if end else len(text)].strip().strip("`").strip()
    if not raw and end is None and not text.endswith("\n"):
        return Found(error=f"The Action Input of {name} is cut off, so it was not run. {HOW}")
    return _with_value(name, raw, skills, repairs)


def _is_raw(text: str, at: int) -> bool:
    """Say whether text that begins with a quote is no JSON string as a whole: `'a' + 'b'`."""
    try:
        end = scan(text, at).end
    except ScanError as error:
        return not error.cut
    line_end = text.find("\n", end)
    return bool(text[end : len(text) if line_end < 0 else line_end].strip(" \t`"))


def _with_value(name: str, value: Any, skills: Skills, repairs: list[str]) -> Found:
    if not isinstance(value, str) or value.lstrip().startswith("{"):
        return make_call(name, value, skills, repairs)
    if value.strip().lower() in _NOTHING:
        if value.strip() not in ("", "{}"):
            repairs.append("the input None read as no arguments")
        return make_call(name, {}, skills, repairs)
    parameter = _text_parameter(skills[name])
    if parameter is None:
        return Found(error=f"The Action Input of {name} must be a JSON object, not {shown(value)}. {HOW}")
    repairs.append(f"the Action Input read as the argument {parameter}")
    return make_call(name, {parameter: value}, skills, repairs)


def _text_parameter(schema: Any) -> str | None:
    """Return the first required text parameter, or the only parameter where it is a text."""
    properties = schema.get("properties", {})
    required = [key for key in properties if key in schema.get("required", ())]
    for key in required if required else list(properties) if len(properties) == 1 else []:
        if isinstance(properties[key], dict) and properties[key].get("type") == "string":
            return str(key)
    return None
