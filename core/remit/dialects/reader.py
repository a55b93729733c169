"""The reader: walks once over a text, from mark to mark, and sorts what it finds."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from remit.dialects import react
from remit.dialects.findings import Findings
from remit.dialects.form import Form, Part
from remit.dialects.marks import OPENS, THOUGHT_END, closing_ticks, fresh_marks, marks
from remit.dialects.parsed import Parsed, Skills
from remit.dialects.pythonic import CODE, read_code
from remit.dialects.scan import ScanError, skip_space
from remit.dialects.shapes import HOW, calls_in, damaged, looks_like_call, sequence

_JSON_LANGUAGES = frozenset({"", "json", "json5", "jsonc", "tool_call", "tool_calls", "tool", "action"})
_MOST_CUTS = 8
_MOST_MISSES = 5000
"""Most marks that are no call; behind them, a text is read no more. No reply has that many."""

_PARTIAL_TOKEN = re.compile(r"(?:<(?:\|[a-zA-Z_]{1,30}\|?|｜[^｜<>\n]{1,30}｜?)|\]<\][a-z]{1,7}\[?>?)\Z")
"""A special token that the end of the text cut off."""

_MAY_BE_CALL = re.compile(r"[{\[<(]")

UNENDED = "A call was written inside of reasoning that does not end, so it was not run. End the reasoning first."


class Reader:
    """Reads one whole text, once.

    Args:
        forms: the forms of calls to look for, most telling first.
        tags: the tags of the tagged form, whose end marks are no text.
        labels: read Thought, Action, Action Input, Observation and Final Answer: True for always, None
            only where a text is clearly written so, False never.
        how: how a call is written right, for the errors.
        thinking: the prompt has begun the reasoning, so that the text up to its end mark is reasoning.
    """

    def __init__(
        self,
        text: str,
        skills: Skills,
        *,
        forms: tuple[Form, ...],
        tags: tuple[str, ...],
        labels: bool | None,
        how: str = HOW,
        thinking: bool = False,
    ) -> None:
        self._text = text
        self._skills = skills
        self._forms = forms
        self._by_name = {form.name: form for form in forms}
        self._tags = tags
        self._labels = labels
        self._thinking = thinking
        self._fenced = False
        self._found = Findings(how)
        self._at = 0
        self._line_end = -1
        self._cuts = 0
        self._misses = 0

    def read(self) -> Parsed:
        """Walk over the text and return what it holds."""
        self._walk()
        return self._found.parsed()

    def _walk(self) -> None:
        pattern = marks(self._forms, self._tags, react=self._labels is not False)
        if self._thinking and not OPENS.match(self._text):
            self._on_thought_begun(pattern)
        mark = self._fresh()
        while self._at <= len(self._text):
            mark = mark or pattern.search(self._text, self._at)
            if mark is None:
                break
            kind = str(mark.lastgroup)
            self._found.say(self._text[self._at : mark.start(kind)])
            self._at = mark.end()
            handler = _HANDLERS.get(kind)
            fresh = handler(self, mark) if handler else self._on_form(mark, kind)
            if self._misses > _MOST_MISSES or self._found.is_full():
                break
            mark = self._fresh() if fresh else None
        rest = self._text[self._at :]
        partial = _PARTIAL_TOKEN.search(rest, max(len(rest) - 40, 0))
        self._found.say(rest[: partial.start()] if partial else rest)

    def _fresh(self) -> re.Match[str] | None:
        return fresh_marks(self._forms).match(self._text, self._at) if self._at < len(self._text) else None

    def _end(self) -> None:
        self._at = len(self._text) + 1

    def _on_form(self, mark: re.Match[str], kind: str) -> bool:
        form = self._by_name[kind.removesuffix("_line").removesuffix("_fresh")]
        part = form.read(self._text, mark.start(kind), self._skills)
        if part is None:
            self._misses += 1
            self._found.say(self._text[mark.start(kind) : self._at])
            return False
        self._take(part, beyond=mark.start(kind))
        return True

    def _take(self, part: Part, *, beyond: int) -> None:
        self._misses += not (part.text or part.reasoning or any(one.call for one in part.found))
        if part.thought:
            self._found.was_thought()
        if part.exact:
            self._found.keep_space()
        if part.reasoning is not None:
            self._found.think(part.reasoning, ended=part.ended)
        if part.found:
            self._found.take(part.found, part.repairs)
        if part.text:
            self._found.say(part.text)
        self._at = part.end if part.end > beyond else self._at
        if part.over:
            self._end()

    def _on_thought_begun(self, pattern: re.Pattern[str]) -> None:
        end = THOUGHT_END.search(self._text)
        self._at = end.end() if end else len(self._text) + 1
        self._found.think(self._text[: end.start() if end else len(self._text)], ended=end is not None)
        mark = None if end else pattern.search(self._text)
        if mark and mark.lastgroup in self._by_name:
            self._found.error(UNENDED)

    def _on_think(self, mark: re.Match[str]) -> bool:
        close = f"</{mark['thought']}>" if mark["thought"] else "[/THINK]"
        end = self._text.find(close, self._at)
        inner = self._text[self._at :] if end < 0 else self._text[self._at : end]
        self._found.think(inner, ended=end >= 0)
        self._at = len(self._text) if end < 0 else end + len(close)
        return True

    def _on_unthink(self, mark: re.Match[str]) -> bool:
        self._misses += 1
        self._found.was_thought()
        return True

    def _on_stop(self, mark: re.Match[str]) -> bool:
        self._end()
        return False

    def _on_token(self, mark: re.Match[str]) -> bool:
        self._misses += 1
        return True

    def _on_quote(self, mark: re.Match[str]) -> bool:
        self._found.say(mark[0])
        return False

    def _on_code(self, mark: re.Match[str]) -> bool:
        if self._line_end < self._at:
            line_end = self._text.find("\n", self._at)
            self._line_end = len(self._text) if line_end < 0 else line_end
        close = closing_ticks(mark["code"][:64], block=False).search(self._text, self._at, self._line_end)
        if close is not None:
            self._at = close.end()
        self._misses += 1
        self._found.say(self._text[mark.start() : self._at])
        return False

    def _on_fence(self, mark: re.Match[str]) -> bool:
        close = closing_ticks(mark["ticks"][:64], block=True).search(self._text, self._at)
        inner = self._text[self._at : close.start() if close else len(self._text)]
        self._at = close.end() if close else len(self._text)
        language = mark["info"].strip().split(" ")[0].lower()
        if self._fenced or not (self._is_code(inner, language) or self._is_call_block(inner, language)):
            self._misses += 1
            self._found.say(self._text[mark.start() : self._at])
        return True

    def _is_code(self, inner: str, language: str) -> bool:
        """Take the calls of a block of Python that holds nothing else; say whether it was one.

        Only where nothing is said after it: else it is shown, not meant.
        """
        if language not in CODE or "pythonic" not in self._by_name:
            return False
        if language != "tool_code" and skip_space(self._text, self._at) < len(self._text):
            return False
        found = read_code(inner, self._skills)
        self._found.take(found or (), ())
        return bool(found)

    def _is_call_block(self, inner: str, language: str) -> bool:
        """Take the calls of a fenced block that holds nothing else; say whether it was one."""
        if language not in (*_JSON_LANGUAGES, *self._tags) or not _MAY_BE_CALL.search(inner):
            return False
        block = Reader(inner, self._skills, forms=self._forms, tags=self._tags, labels=False)
        block._fenced = True
        block._walk()
        if not (block._found.is_silent() and block._found.has_calls()):
            return False
        self._found.join(block._found)
        return True

    def _on_json(self, mark: re.Match[str]) -> bool:
        at, self._at = self._at, mark.start("json")
        try:
            for value, end, repairs in sequence(self._text, at):
                calls = calls_in(value, self._skills, wrapped=False, repairs=repairs)
                if calls is None:
                    self._misses += 1
                    self._found.say(self._text[self._at : end])
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
        self._misses += 1
        self._cuts += error.cut
        if looks_like_call(self._text, start):
            self._found.error(damaged(self._text, start, error))
            self._end()
            return
        end = error.position if not error.cut else start + 1 if self._cuts <= _MOST_CUTS else len(self._text)
        end = max(end, start + 1)
        self._found.say(self._text[self._at : end])
        self._at = end

    def _on_react(self, mark: re.Match[str]) -> bool:
        if not self._labels and not self._is_react(mark):
            self._found.say(mark["react"])
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
    "close": Reader._on_token,
    "fence": Reader._on_fence,
    "code": Reader._on_code,
    "quote": Reader._on_quote,
    "json": Reader._on_json,
    "react": Reader._on_react,
}
"""Each handler returns whether what follows begins afresh, so that bare JSON may stand there."""
