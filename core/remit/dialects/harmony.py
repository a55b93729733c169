"""Harmony, the format of gpt-oss: messages with a channel and, for calls, a recipient.

`analysis` is reasoning, `commentary` and `final` are said, and what goes to a recipient is a call. Text holds no
other marks: JSON in the final channel is an answer.
"""

from __future__ import annotations

import json
import re

from remit.dialects.form import Dialect, Form, Part, Writing, recover
from remit.dialects.parsed import Skills
from remit.dialects.scan import ScanError, skip_space
from remit.dialects.shapes import Found, make_call, resolve, sequence, unknown

_HEADER = re.compile(
    r"(?:<\|start\|>assistant)?(?P<role>\s{0,9}to=[^\s<>]{1,200})?\s{0,9}"
    r"<\|channel\|>(?P<channel>[a-z]{1,20})(?P<rest>[^<>]{0,300})(?:<\|constrain\|>[^<>]{0,60})?<\|message\|>"
)
_RECIPIENT = re.compile(r"\bto=(?P<to>[^\s<>]{1,200})")
_BODY_END = re.compile(r"<\|(?:end|return|call)\|>(?=\s{0,9}(?:<\|(?:start|channel)\|>|(?:<\|?[a-z]{0,9}\|?)?\Z))")
_END = re.compile(r"<\|(?:end|return|call)\|>")
_BEGIN = re.compile(r"<\|(?:start|channel)\|>")
_SKIP = re.compile(r"<\|(?:end|return|call|message|constrain)\|>")


def _read(text: str, at: int, skills: Skills) -> Part:
    header = _HEADER.match(text, at)
    if header is None:
        return _no_message(text, at)
    to = _RECIPIENT.search(header["role"] or "") or _RECIPIENT.search(header["rest"])
    if to and to["to"] != "assistant":
        return _call(text, header, to["to"], skills)
    body_end = _BODY_END.search(text, header.end())
    body = text[header.end() : body_end.start() if body_end else len(text)]
    end = body_end.end() if body_end else len(text)
    if header["channel"] == "analysis":
        return Part(end=end, reasoning=body, ended=body_end is not None, exact=True)
    return Part(end=end, text=body if header["channel"] in ("final", "commentary") else "", exact=True)


def _no_message(text: str, at: int) -> Part:
    """Step over a mark that begins no message, or over a header that is damaged."""
    if skipped := _SKIP.match(text, at):
        return Part(end=skipped.end(), exact=True)
    following = _BEGIN.search(text, at + 1)
    return Part(end=following.start() if following else len(text), exact=True)


def _call(text: str, header: re.Match[str], to: str, skills: Skills) -> Part:
    name = resolve(to, skills)
    if name is None:
        end = _BODY_END.search(text, header.end())
        return Part(end=end.end() if end else len(text), found=(Found(error=unknown(to, skills)),), exact=True)
    try:
        value, end_at, repairs = next(sequence(text, header.end()), (None, header.end(), []))
        if not isinstance(value, dict):
            raise ScanError("expected a JSON object", header.end(), cut=skip_space(text, header.end()) >= len(text))
    except ScanError as error:
        return recover(text, header.start(), error, _END)
    found = make_call(name, value, skills, repairs)
    end = _END.match(text, end_at)
    return Part(end=end.end() if end else end_at, found=(found,), repairs=tuple(repairs), exact=True)


def _write(name: str, arguments: dict[str, object], tag: str) -> str:
    given = json.dumps(arguments, ensure_ascii=False)
    return f"<|channel|>commentary to=functions.{name} <|constrain|>json<|message|>{given}<|call|>"


FORM = Form(
    name="harmony",
    read=_read,
    inline=r"<\|(?:start\|>|channel\|>|message\|>|constrain\|>|call\|>|return\|>|end\|>)",
    fresh=r"to=[^\s<>]{1,200}\s{0,9}<\|channel\|>",
)
_WRITING = Writing(
    how="<|channel|>commentary to=functions.SKILL <|constrain|>json<|message|>{...}<|call|>",
    call=_write,
    result=lambda name, text, tag: (
        f"<|start|>functions.{name} to=assistant<|channel|>commentary<|message|>{text}<|end|>"
    ),
    stop=lambda tag: ("<|call|>",),
    how_to_answer="<|channel|>final<|message|>the answer",
    answer=lambda text: f"<|channel|>final<|message|>{text}",
)
DIALECT = Dialect(forms=(FORM,), writing=_WRITING)
