"""The reader: walks once over a text, from mark to mark, and sorts what it finds."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace

from remit.dialects import react
from remit.dialects.findings import Findings
from remit.dialects.marks import (
    EXTRA_CLOSERS,
    FENCE_CLOSE,
    FENCE_OPEN,
    JSON_HERE,
    closing_ticks,
    marks,
    tag_edges,
    tag_opening,
)
from remit.dialects.parsed import Parsed, Skills
from remit.dialects.scan import ScanError, skip_space
from remit.dialects.shapes import Found, calls_in, damaged, looks_like_call, sequence

_JSON_LANGUAGES = frozenset({"", "json", "json5", "jsonc", "tool_call", "tool_calls", "tool", "action"})
_MOST_CUTS = 8


class Reader:
    """Reads one whole text, once.

    Args:
        tags: names of the tags that wrap a call, at least one.
        labels: read Thought, Action, Action Input, Observation and Final Answer: True for always, None
            only where a text is clearly written so, False never.
    """

    def __init__(self, text: str, skills: Skills, *, tags: tuple[str, ...], labels: bool | None) -> None:
        self._text = text
        self._skills = skills
        self._tags = tags
        self._labels = labels
        self._found = Findings()
        self._at = 0
        self._line_end = -1
        self._cuts = 0

    def read(self) -> Parsed:
        """Walk over the text and return what it holds."""
        pattern = marks(self._tags, react=self._labels is not False)
        mark = JSON_HERE.match(self._text)
        while self._at <= len(self._text):
            mark = mark or pattern.search(self._text, self._at)
            if mark is None:
                break
            self._found.say(self._text[self._at : mark.start()])
            self._at = mark.end()
            fresh = _HANDLERS[str(mark.lastgroup)](self, mark)
            mark = JSON_HERE.match(self._text, self._at) if fresh and not self._is_over() else None
        self._found.say(self._text[self._at :])
        return self._found.parsed()

    def _is_over(self) -> bool:
        return self._at >= len(self._text)

    def _end(self) -> None:
        self._at = len(self._text) + 1

    def _on_think(self, mark: re.Match[str]) -> bool:
        close = f"</{mark['thought']}>" if mark["thought"] else "[/THINK]"
        end = self._text.find(close, self._at)
        inner = self._text[self._at :] if end < 0 else self._text[self._at : end]
        self._found.think(inner)
        self._at = len(self._text) if end < 0 else end + len(close)
        return True

    def _on_unthink(self, mark: re.Match[str]) -> bool:
        self._found.was_thought()
        return True

    def _on_stop(self, mark: re.Match[str]) -> bool:
        self._end()
        return False

    def _on_token(self, mark: re.Match[str]) -> bool:
        return True

    def _on_close(self, mark: re.Match[str]) -> bool:
        return True

    def _on_quote(self, mark: re.Match[str]) -> bool:
        self._found.say(mark[0])
        return False

    def _on_code(self, mark: re.Match[str]) -> bool:
        if self._line_end < self._at:
            line_end = self._text.find("\n", self._at)
            self._line_end = len(self._text) if line_end < 0 else line_end
        close = closing_ticks(mark[0][:64], block=False).search(self._text, self._at, self._line_end)
        if close is not None:
            self._at = close.end()
        self._found.say(self._text[mark.start() : self._at])
        return False

    def _on_fence(self, mark: re.Match[str]) -> bool:
        close = closing_ticks(mark["ticks"][:64], block=True).search(self._text, self._at)
        inner = self._text[self._at : close.start() if close else len(self._text)]
        self._at = close.end() if close else len(self._text)
        language = mark["info"].strip().split(" ")[0].lower()
        if language not in (*_JSON_LANGUAGES, *self._tags) or not self._is_call_block(inner):
            self._found.say(self._text[mark.start() : self._at])
        return True

    def _is_call_block(self, inner: str) -> bool:
        """Take the calls of a fenced block that holds nothing else; say whether it was one."""
        tag = tag_opening(self._tags).match(inner)
        closer = f"</{tag['tag']}>" if tag else ""
        end, found, repairs = tag.end() if tag else 0, list[Found](), list[str]()
        try:
            for value, after, mended in sequence(inner, end, closer=closer):
                end = after
                calls = calls_in(value, self._skills, wrapped=tag is not None, repairs=mended)
                if calls is None:
                    return False
                found += calls
                repairs += mended
        except ScanError as error:
            if not (tag or looks_like_call(inner, skip_space(inner, end))):
                return False
            found.append(Found(error=damaged(inner, skip_space(inner, end), error)))
        else:
            end = skip_space(inner, end)
            end = skip_space(inner, end + len(closer)) if inner.startswith(closer, end) else end
            if not found or end < len(inner):
                return False
        self._found.take(found, repairs)
        return True

    def _on_json(self, mark: re.Match[str]) -> bool:
        at = self._at
        try:
            for value, end, repairs in sequence(self._text, at):
                calls = calls_in(value, self._skills, wrapped=False, repairs=repairs)
                if calls is None:
                    self._found.say(self._text[at:end])
                    self._at = end
                    return False
                self._found.take(calls, repairs)
                self._at = at = end
        except ScanError as error:
            self._at_damage(skip_space(self._text, at), error)
        return False

    def _at_damage(self, start: int, error: ScanError) -> None:
        """Go on after JSON that cannot be read; only what begins like a call is an error."""
        while self._text.startswith((",", ";"), start):
            start = skip_space(self._text, start + 1)
        self._cuts += error.cut
        if looks_like_call(self._text, start):
            self._found.error(damaged(self._text, start, error))
            self._found.drop()
            self._at = error.position
            return
        end = error.position if not error.cut else start + 1 if self._cuts <= _MOST_CUTS else len(self._text)
        end = max(end, start + 1)
        self._found.say(self._text[self._at : end])
        self._at = end

    def _on_open(self, mark: re.Match[str]) -> bool:
        closer = f"</{mark['tag']}>"
        opener = mark[0]
        at = self._at
        while self._text.startswith(opener, skip_space(self._text, at)):
            at = skip_space(self._text, at) + len(opener)
        found, repairs = list[Found](), list[str]()
        if fence := FENCE_OPEN.match(self._text, at):
            at = fence.end()
        start = at
        try:
            for value, after, mended in sequence(self._text, start, closer=closer):
                at = after
                found += calls_in(value, self._skills, wrapped=True, repairs=mended) or ()
                repairs += mended
        except ScanError as error:
            self._found.take(found, repairs)
            self._recover(skip_space(self._text, at), error, closer)
            return True
        if at == start:
            self._recover(at, ScanError("expected a JSON object", at, cut=self._at >= len(self._text)), closer)
            return True
        if fence and (end := FENCE_CLOSE.match(self._text, at)):
            at = end.end()
        self._at = self._after_calls(at, closer, found, repairs)
        self._found.take(found, repairs)
        return True

    def _after_calls(self, at: int, closer: str, found: list[Found], repairs: list[str]) -> int:
        """Step over surplus braces and the end marks of a wrapper."""
        extra = EXTRA_CLOSERS.match(self._text, at)
        if extra and self._text.startswith(closer, extra.end()):
            repairs.append("surplus closing brace left out")
            found[:] = [replace(one, call=replace(one.call, repaired=True)) if one.call else one for one in found]
            at = extra.end()
        while self._text.startswith(closer, skip_space(self._text, at)):
            at = skip_space(self._text, at) + len(closer)
        return at

    def _recover(self, start: int, error: ScanError, closer: str) -> None:
        """Report a damaged wrapped call and go on behind it: at its end mark, or where the next one begins."""
        self._cuts += error.cut
        edge = None
        if self._cuts <= _MOST_CUTS:
            edge = tag_edges(self._tags).search(self._text, start if error.cut else error.position)
        if edge is None and error.position < len(self._text):
            self._found.error(damaged(self._text, start, error))
            self._found.drop()
            self._at = error.position
            return
        self._found.error(damaged(self._text, start, error))
        if edge is None:
            self._end()
        else:
            self._at = edge.end() if edge["end"] else edge.start()

    def _on_react(self, mark: re.Match[str]) -> bool:
        if not self._labels and not self._is_react(mark):
            self._found.say(mark[0])
            return False
        self._labels = True
        over = react.on_label(mark["label"], self._text, self._at, self._skills, self._found)
        if over:
            self._end()
        return False

    def _is_react(self, mark: re.Match[str]) -> bool:
        if mark["label"] == "Action" and react.is_pair(self._text, self._at):
            return True
        return mark["label"] in ("Thought", "Action", "Final Answer") and self._found.is_silent()


_HANDLERS: Mapping[str, Callable[[Reader, re.Match[str]], bool]] = {
    "think": Reader._on_think,
    "unthink": Reader._on_unthink,
    "stop": Reader._on_stop,
    "token": Reader._on_token,
    "open": Reader._on_open,
    "close": Reader._on_close,
    "fence": Reader._on_fence,
    "code": Reader._on_code,
    "quote": Reader._on_quote,
    "json": Reader._on_json,
    "react": Reader._on_react,
}
"""Each handler returns whether what follows begins afresh, so that bare JSON may stand there."""
