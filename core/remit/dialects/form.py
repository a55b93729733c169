"""What a dialect is made of: the marks that open a call, how it is read, how it is written."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from remit.dialects.parsed import Skills
from remit.dialects.scan import ScanError
from remit.dialects.shapes import Found, damaged


@dataclass(frozen=True, kw_only=True)
class Part:
    """What stands at a mark.

    Attributes:
        end: where reading goes on.
        found: calls and errors.
        repairs: the repairs they needed.
        text: what is said there.
        reasoning: what is thought there; None for nothing.
        ended: the reasoning has its end mark.
        thought: all that was said before was reasoning.
        exact: white space before the mark belongs to what was said.
        over: the turn is over; what follows does not count.
    """

    end: int
    found: tuple[Found, ...] = ()
    repairs: tuple[str, ...] = ()
    text: str = ""
    reasoning: str | None = None
    ended: bool = True
    thought: bool = False
    exact: bool = False
    over: bool = False


Read = Callable[[str, int, Skills], Part | None]
"""Reads the part whose mark begins at a position; None when nothing of the dialect stands there.

It must not raise, and must take time linear in what it consumes: where it looks at the whole rest of the
text, the part must go to the end of it.
"""


@dataclass(frozen=True, kw_only=True)
class Form:
    """One way of writing a call, as it is read.

    Attributes:
        name: of the form, a Python identifier; used as a group name in patterns.
        read: see `Read`.
        inline: pattern of a mark that counts anywhere; begins with `<` and a letter, a slash or a bar, with
            `[` and a capital letter or a slash, or with `]<]m`.
        line: pattern of a mark that counts at the beginning of a line.
        fresh: pattern of a mark that counts where a reply, or a part of it, begins.
        begins: how marks begin that begin unlike any other, such as `=>`: a text that comes in is held back there.

    Patterns have no capturing groups, and no repetition without an upper bound.
    """

    name: str
    read: Read
    inline: str = ""
    line: str = ""
    fresh: str = ""
    begins: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Writing:
    """The other direction: how a model is told to write calls, and how calls and results are shown to it.

    Attributes:
        how: the form of a call in words for the model, `{tag}` for the tag; the rest is common to all.
        call: name, arguments as an object, tag -> the call as the model would write it.
        result: name, text, tag -> the result as the next user message shows it.
        stop: tag -> the texts at which the model is to stop.
        how_to_answer: how an answer is written that needs no skill.
        answer: the text of an answer -> as the model would write it.
    """

    how: str
    call: Callable[[str, dict[str, object], str], str]
    result: Callable[[str, str, str], str]
    stop: Callable[[str], tuple[str, ...]]
    how_to_answer: str = ""
    answer: Callable[[str], str] = str


@dataclass(frozen=True, kw_only=True)
class Dialect:
    """A dialect.

    Attributes:
        forms: what is read, most telling first; bare and fenced JSON is read in every dialect.
        writing: what is written.
        labels: the labels of ReAct are read; None: only where a text is clearly written so.
        tag: the tag that a dialect fixes; empty where it can be chosen.
    """

    forms: tuple[Form, ...]
    writing: Writing
    labels: bool | None = False
    tag: str = ""


def recover(text: str, start: int, error: ScanError, end: re.Pattern[str] | None, found: Iterable[Found] = ()) -> Part:
    """Return the part for a damaged call that begins at `start`; reading goes on behind its end mark.

    Where the next one begins is no place to go on: it may stand in a text that the damage left open. For the
    same reason nothing follows a call that is cut off, or that has no end mark.

    Args:
        end: the end mark; None for a form that has none.
        found: what was good before it.
    """
    told = (*found, Found(error=damaged(text, start, error)))
    mark = end.search(text, max(start, error.position)) if end and not error.cut else None
    if mark is None:
        return Part(end=len(text), found=told, over=True, exact=True)
    return Part(end=mark.end(), found=told, exact=True)
