"""What of a text that is still coming in may be shown already.

It need not understand calls: from the first mark of one on, everything is held back, and the whole text is
parsed at its end. What it sees through is what answers are full of: reasoning before them, quoted code, and
blocks of code that hold no call.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache

from remit.dialects.marks import OPENS, THOUGHT_END, closing_ticks, fresh_marks, marks
from remit.dialects.parsed import Skills
from remit.dialects.react import LABELS
from remit.dialects.table import dialect_named, forms_and_tags
from remit.dialects.whole import parse

_MOST_PENDING = 1024
_LONGEST_BLOCK = 32_768
_LONGEST_MARK = 256
_SHORTEST_OVERLAP = 64

_BEGINNINGS = (
    *("<|", "<｜", "</｜", "<think", "</think", "<reasoning", "</reasoning", "<function", "</function", "<invoke"),
    *("<minimax:", "</minimax:", "<start_", "<end_of_turn>", "<turn|>", "<channel|>", "<eos>", "</s>", "<tool_"),
    *("</tool_", "[TOOL_", "[/TOOL_", "[THINK]", "[/THINK]"),
)
"""How marks that count anywhere begin, as far as it takes to tell them from other text."""

_LABEL = re.compile(rf"^[ \t]*[*#]{{0,6}} ?(?:{'|'.join(LABELS)})", re.MULTILINE)
_LIST_BEGUN = re.compile(r"""(?:[\[{]\s{0,99}){1,2}["'/]?[^"':{}\[\]()\n]{0,200}["']?\s{0,9}\Z""")
_NAME_BEGUN = re.compile(r"(?P<name>[\w.=-]{1,200})[ \t]{0,9}(?:\r?\n\s{0,9})?\Z")
_TICKS = re.compile(r"`+")


@lru_cache(maxsize=16)
def _suspect(more: str) -> re.Pattern[str]:
    """Return the pattern of what may be a mark, by its first character; `more` are those of added dialects."""
    extra = re.escape(more)
    return re.compile(rf"[<\[`{extra}]|^[ \t\ufeff]{{0,99}}[\[{{~f{extra}]", re.MULTILINE)


class Lookout:
    """Passes text on as far as it cannot belong to a call. Takes the same arguments as `parse`."""

    def __init__(self, dialect: str, skills: Skills, *, tag: str, thinking: bool) -> None:
        forms, tags = forms_and_tags(dialect, tag)
        self._dialect, self._skills, self._tag = dialect, skills, tag
        self._labels = dialect_named(dialect).labels is not False
        self._marks = marks(forms, tags, react=False)
        self._fresh = fresh_marks(forms)
        more = [each for form in forms for each in form.begins]
        self._beginnings = (*_BEGINNINGS, *more, *(f"<{slash}{each}" for each in tags for slash in ("", "/")))
        self._suspect = _suspect("".join(sorted({each[0] for each in more if each})))
        self._mode = "begin" if thinking else "text"
        self._thought_end = THOUGHT_END
        self._pending = ""
        self._space = ""
        self._inside_line = False
        self._is_fresh = True
        self._has_shown = False
        self._looked = 0
        self._ready: list[str] = []

    def pass_on(self, chunk: str) -> str:
        """Take in `chunk`; return the text that may be shown now."""
        if self._mode == "held":
            return ""
        self._pending += chunk
        while _STEPS[self._mode](self):
            pass
        text, self._ready = "".join(self._ready), []
        return text

    def _begin(self) -> bool:
        """Decide whether a reply whose reasoning the prompt has begun goes on with it."""
        if len(self._pending.lstrip()) < 20 and "</" not in self._pending:
            return False
        self._mode = "text" if OPENS.match(self._pending) else "thought"
        return True

    def _thought(self) -> bool:
        end = self._thought_end.search(self._pending)
        if end is None:
            self._pending = self._pending[-_SHORTEST_OVERLAP:]
            return False
        self._pending = self._space + self._pending[end.end() :]
        self._mode, self._space, self._inside_line, self._is_fresh = "text", "", False, True
        return True

    def _text(self) -> bool:
        """Show text up to what looks like a mark; return whether it was seen through."""
        if self._is_fresh and not self._can_begin():
            return False
        at = 0
        # A letter in front keeps `^` from taking the middle of a line for its start.
        offset = 1 if self._inside_line else 0
        line = "x" * offset + self._pending
        label = _LABEL.search(line) if self._labels else None
        while (suspect := self._suspect.search(line, max(at, offset))) is not None:
            start = suspect.end() - 1
            if label and label.start() <= start:
                break
            decided = self._decide(line, start, suspect.start())
            if decided is None:
                return self._show_to(max(suspect.start() - offset, 0), wait=True)
            if decided > start:
                at = decided
                continue
            self._show_to(suspect.start() - offset)
            return self._see_through()
        if label:
            self._show_to(label.start() - offset)
            return self._hold()
        return self._show_to(self._end_of_text(line) - offset, wait=True)

    def _decide(self, line: str, start: int, line_start: int) -> int | None:
        """Return `start` for a mark, the place to look on from for none, None where more text must come."""
        if line[start] in "`~":
            return start
        at = line_start if line_start < start or self._begins_line(line, start) else start
        if self._marks.match(line, at) or self._marks.match(line, start):
            return start
        rest = line[start : start + _LONGEST_MARK]
        open_end = len(line) - start < _LONGEST_MARK
        begun = any(rest.startswith(each) or each.startswith(rest) for each in self._beginnings)
        if at < start or self._begins_line(line, start):
            begun = begun or "functools[".startswith(rest[:10]) or _LIST_BEGUN.match(rest) is not None
        if open_end and begun:
            return None
        return start + 1

    def _begins_line(self, line: str, start: int) -> bool:
        return start == 0 or line[start - 1] == "\n"

    def _see_through(self) -> bool:
        """Go on behind reasoning or quoted code that begins here; hold back anything else."""
        text = self._pending.lstrip()
        space = self._pending[: len(self._pending) - len(text)]
        mark = self._marks.match(self._pending, len(space))
        if mark is not None and mark.lastgroup == "think":
            close = f"</{mark['thought']}>" if mark["thought"] else "[/THINK]"
            self._thought_end = re.compile(re.escape(close))
            self._mode, self._space, self._pending = "thought", space, self._pending[mark.end() :]
            return True
        if text.startswith(("```", "~~~")) and (not self._inside_line or "\n" in space):
            self._mode, self._looked = "block", 0
            return True
        return self._quoted(space, text) if text.startswith("`") else self._hold()

    def _quoted(self, space: str, text: str) -> bool:
        ticks = _TICKS.match(text)
        line_end = text.find("\n")
        if ticks is None or (ticks.end() == len(text) and len(text) < _MOST_PENDING):
            return False
        limit = line_end if line_end >= 0 else len(text)
        close = closing_ticks(ticks[0][:64], block=False).search(text, ticks.end(), limit)
        if close is not None and (close.end() < len(text)):
            return self._show_to(len(space) + close.end())
        if line_end < 0 and len(text) < _MOST_PENDING:
            return False
        return self._show_to(len(space) + ticks.end())

    def _block(self) -> bool:
        """Show a block of code once it has ended, if it holds no call."""
        text = self._pending.lstrip()
        space = len(self._pending) - len(text)
        first_line = text.find("\n") + 1
        ticks = re.match(r"`+|~+", text)
        if not first_line or ticks is None:
            return self._hold() if len(text) > _MOST_PENDING or ticks is None else False
        close = closing_ticks(ticks[0][:64], block=True).search(text, max(first_line, self._looked))
        self._looked = max(first_line, text.rfind("\n") + 1)
        if close is None or (close.end() == len(text) and not text.endswith("\n")):
            return self._hold() if len(text) > _LONGEST_BLOCK else False
        read = parse(text[: close.end()], self._skills, self._dialect, tag=self._tag)
        if read.calls or read.errors:
            return self._hold()
        self._mode, self._is_fresh = "text", True
        self._show_to(space + close.end())
        self._inside_line = not close[0].endswith("\n")
        return True

    def _can_begin(self) -> bool:
        """Say whether enough is there to tell a reply that begins with a bare call; hold it back if it does."""
        text = self._pending.lstrip()
        if not text:
            return False
        if self._fresh.match(self._pending):
            return self._hold()
        begun = _NAME_BEGUN.match(text)
        if begun and (begun["name"].startswith("to=") or self._names_skill(begun["name"])):
            return False
        self._is_fresh = False
        return True

    def _names_skill(self, begun: str) -> bool:
        name = begun.removeprefix("functions.")
        return (
            "to=".startswith(begun)
            or "functions.".startswith(begun)
            or any(known.startswith((name, name.replace(".", "__"))) for known in self._skills)
        )

    def _end_of_text(self, line: str) -> int:
        """Return how far a text without marks can be shown: not into a line that may become a label."""
        last = line[line.rfind("\n") + 1 :].lstrip(" \t*#\ufeff")
        if not last or (self._labels and any(label.startswith(last) for label in LABELS)):
            return line.rfind("\n") + 1
        return len(line)

    def _show_to(self, length: int, *, wait: bool = False) -> bool:
        """Pass on the pending text up to `length`, without white space at its end; return `not wait`."""
        text = self._pending[: max(length, 0)].rstrip()
        if not self._has_shown:
            kept = len(text)
            text = text.lstrip()
            self._pending = self._pending[kept - len(text) :] if text else self._pending
        if text:
            self._ready.append(text)
            self._pending = self._pending[len(text) :]
            self._has_shown = self._inside_line = True
        if wait and len(self._pending) > _MOST_PENDING:
            self._hold()
        return not wait

    def _hold(self) -> bool:
        self._mode, self._pending = "held", ""
        return False


_STEPS: Mapping[str, Callable[[Lookout], bool]] = {
    "begin": Lookout._begin,
    "text": Lookout._text,
    "thought": Lookout._thought,
    "block": Lookout._block,
    "held": lambda lookout: False,
}
"""What is done in each mode; returns whether there is more to do with what is there."""
