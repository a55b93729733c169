"""Dialects that others add while a program runs: checked once, guarded afterwards, taken out again.

What is added here is code of whoever adds it. It must not break the promise that parsing never raises, nor that
a dialect of Remit reads what it always read.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from remit.dialects import table
from remit.dialects.form import Dialect, Form, Part, Read
from remit.dialects.marks import fresh_marks, marks
from remit.dialects.parsed import Skills
from remit.dialects.shapes import Found

_NAME = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
_PATTERNS = ("inline", "line", "fresh")
_GROUPS = frozenset(
    (
        *("fence", "ticks", "info", "quote", "json", "react", "label"),
        *("think", "thought", "unthink", "stop", "token", "close", "code"),
    )
)
"""The names of groups in `remit.dialects.marks`."""

_SAMPLE: Skills = {"sample_skill": {"type": "object", "properties": {"text": {"type": "string"}}}}
_ARGUMENTS: dict[str, object] = {"text": 'two words, "quoted"'}

_changing = threading.Lock()
_added: dict[str, _Added] = {}


@dataclass(kw_only=True)
class _Added:
    given: Dialect
    by: str
    times: int = 1


def register_dialect(name: str, dialect: Dialect, *, by: str = "this program") -> Callable[[], None]:
    """Add a dialect for this process, to be named and to be recognised by `auto`; return what takes it out again.

    The same dialect may be added again by the same adder; it is there until each of them has taken it out.

    Args:
        name: lower-case letters, digits and single _ between.
        dialect: see `remit.dialects.form`. Its readers are guarded: one that raises becomes an error that the
            model is told.
        by: who adds it, for messages.

    Raises:
        ValueError: the name is taken, a form breaks the rules of `Form`, or the dialect does not read the call
            that it writes. The message says which.
    """
    with _changing:
        known = _added.get(name)
        if known is not None and (known.given, known.by) == (dialect, by):
            known.times += 1
        else:
            _check_name(name)
            _put(name, dialect, by)
    taken_out = False

    def take_out() -> None:
        nonlocal taken_out
        if not taken_out:
            taken_out = True
            _take_out(name)

    return take_out


def _put(name: str, dialect: Dialect, by: str) -> None:
    own = frozenset(form for each in table.WHERE for form in table.dialect_named(each).forms)
    _check_forms(name, dialect, own)
    guarded = tuple(form if form in own else _guarded(name, form) for form in dialect.forms)
    table.put(name, replace(dialect, forms=guarded))
    try:
        _check_writing(name, (name, "auto") if set(guarded) - own else (name,))
    except BaseException:
        table.take(name)
        raise
    _added[name] = _Added(given=dialect, by=by)


def _take_out(name: str) -> None:
    with _changing:
        added = _added[name]
        added.times -= 1
        if not added.times:
            del _added[name]
            table.take(name)


def _check_name(name: str) -> None:
    if not _NAME.fullmatch(name) or len(name) > 32 or name in ("auto", "native"):
        raise ValueError(f"{name!r} is no name for a dialect: use lower-case letters, digits and single _ between")
    if name in table.WHERE:
        raise ValueError(f"the dialect {name} is Remit's own")
    if name in _added:
        raise ValueError(f"the dialect {name} is there already, from {_added[name].by}")


def _check_forms(name: str, dialect: Dialect, own: frozenset[Form]) -> None:
    others = {form.name: form for each in table.known_dialects() for form in table.dialect_named(each).forms}
    for form in dialect.forms:
        if form in own:
            continue
        at = f"form {form.name!r} of the dialect {name}"
        taken = form.name in others or form.name in _GROUPS or form.name.endswith(("_line", "_fresh"))
        if taken or not _NAME.fullmatch(form.name):
            raise ValueError(f"{at} needs another name: lower-case letters, and none that is taken")
        for problem in _pattern_problems(form):
            raise ValueError(f"{at}: {problem}")
    try:
        tags = (dialect.tag or "tool_call",)
        marks((*others.values(), *dialect.forms), tags, react=True)
        fresh_marks(dialect.forms)
    except re.error as error:
        raise ValueError(f"the dialect {name} does not fit beside the others: {error}") from None


def _pattern_problems(form: Form) -> Iterator[str]:
    if not any(getattr(form, kind) for kind in _PATTERNS):
        yield "it has no mark"
    for kind in _PATTERNS:
        try:
            found = re.compile(getattr(form, kind))
        except re.error as error:
            yield f"its {kind} pattern is none ({error})"
            continue
        if found.groups:
            yield f"its {kind} pattern has a capturing group"
        if found.pattern and found.match(""):
            yield f"its {kind} pattern matches nothing at all"


def _check_writing(name: str, readers: tuple[str, ...]) -> None:
    """Try what the loop will do with it: a call that is written is read again, by each of these dialects."""
    from remit.dialects.render import instructions, render_answer, render_call, render_result, stop
    from remit.dialects.whole import parse

    try:
        texts = [render_call("sample_skill", _ARGUMENTS, name), render_result("sample_skill", "done", name)]
        texts += [render_answer("done", name), instructions(_SAMPLE, name), *stop(name)]
        wrong = [text for text in texts if not isinstance(text, str)]
    except Exception as error:
        raise ValueError(f"the dialect {name} cannot be written: {type(error).__name__}: {error}") from error
    if wrong:
        raise ValueError(f"the dialect {name} writes {type(wrong[0]).__name__}, where a text is due")
    for reader in readers:
        read = parse(texts[0], _SAMPLE, reader)
        if [(call.name, call.value) for call in read.calls] != [("sample_skill", _ARGUMENTS)] or read.errors:
            told = f" ({read.errors[0]})" if read.errors else ""
            raise ValueError(f"the dialect {name}, read as {reader}, does not read the call it writes{told}")


def _guarded(name: str, form: Form) -> Form:
    return replace(form, read=_guard(name, form.read))


def _guard(name: str, read: Read) -> Read:
    """Keep what the reader of an added dialect does wrong from whoever parses."""

    def guarded(text: str, at: int, skills: Skills) -> Part | None:
        try:
            part = read(text, at, skills)
        except Exception as error:
            return _failed(name, type(error).__name__, text)
        if part is None or isinstance(part, Part):
            return part
        return _failed(name, f"it gave {type(part).__name__}", text)

    return guarded


def _failed(name: str, why: str, text: str) -> Part:
    told = f"What is written here cannot be read: the dialect {name} failed ({why}). Write the call as JSON instead."
    return Part(end=len(text), found=(Found(error=told),), over=True)
