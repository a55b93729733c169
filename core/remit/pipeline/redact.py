"""What may be kept of arguments, results and messages: one function before everything that stores."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from remit.errors import PolicyError
from remit.pipeline.patterns import KINDS, MIXED, Finder, is_secret_name, shape_finder

if TYPE_CHECKING:
    from remit.pipeline.attempt import Attempt
    from remit.skills import Skill

HIDDEN = "[not recorded]"
"""Stands for an argument that its pack declared secret."""

MARK = "[redacted"
"""What stands for a hidden text begins like this."""

STANDARD = ("key", "card")
"""Kinds that are hidden unless a deployment says otherwise."""

_LONGEST = 20_000
_LONGEST_JSON = 1024 * 1024
_DEEPEST = 100
_LONGEST_KEY = 1_000
_MOST_KEYS = 200
_SHORT = 100
_MOST_CLEAN = 2_000


class Redactor:
    """Takes out of texts and JSON data what must not be kept; a mark says what kind it was.

    What a skill gets and what the model reads in the running conversation is not changed: only what is
    stored. A redacted text is redacted already: doing it again changes nothing. What was recognised as a key once
    is hidden wherever it comes again, also without the words that gave it away. May be used from several threads.
    """

    def __init__(
        self, *, fields: Sequence[str] = (), kinds: Sequence[str] = STANDARD, shapes: Sequence[str] = ()
    ) -> None:
        """Say what is hidden.

        Args:
            fields: names of fields, at any depth of arguments and results; `PACK.SKILL.FIELD` for one
                skill's top-level argument only.
            kinds: of `remit.pipeline.patterns.KINDS`.
            shapes: texts such as `EMP-######`, see `shape_finder`.

        Raises:
            PolicyError: an unknown kind, or a shape that is none.
        """
        unknown = [kind for kind in kinds if kind not in KINDS]
        if unknown:
            raise PolicyError(
                f"[log] redact_kinds: there is no kind {unknown[0]!r}", remedy=f"known are {', '.join(KINDS)}"
            )
        self._everywhere = frozenset(name.casefold() for name in fields if "." not in name)
        self._of_skill = frozenset(name.casefold() for name in fields if "." in name)
        self._finders: tuple[tuple[str, Finder], ...] = (
            *((kind, KINDS[kind]) for kind in kinds),
            *((f"like {shape}", shape_finder(shape)) for shape in shapes),
        )
        self._keys = "key" in kinds
        self._known: dict[str, None] = {}
        self._clean: set[str] = set()
        self._learnt = 0
        self._lock = threading.Lock()

    def text(self, text: str) -> str:
        """Return `text` without what is hidden; where it is JSON, fields are hidden in it, too."""
        if text in self._clean:
            return text
        learnt = self._learnt
        hidden = self._json(text) if self._everywhere else text
        found = self.spans(hidden)
        if found:
            return _replaced(hidden, found)
        if len(text) <= _SHORT and hidden == text:
            self._remember(text, learnt)
        return hidden

    def _remember(self, text: str, learnt: int) -> None:
        """Remember a short text that holds nothing to hide: names, verdicts and reasons come again and again.

        Not where a key was learnt while it was looked through, which may stand in it.
        """
        with self._lock:
            if len(self._clean) >= _MOST_CLEAN:
                self._clean.clear()
            if learnt == self._learnt:
                self._clean.add(text)

    def spans(self, text: str) -> list[tuple[int, int, str]]:
        """Return start, end and kind of everything to hide in `text`; a cut must not go through one of them."""
        found = [(start, end, kind) for kind, find in self._finders for start, end in find(text)]
        for start, end, kind in found:
            if kind == "key":
                self._learn(text[start:end])
        for value in tuple(self._known):
            at = text.find(value)
            while at >= 0:
                found.append((at, at + len(value), "key"))
                at = text.find(value, at + len(value))
        return found

    def _learn(self, value: str) -> None:
        """Remember a key, so that it is known again without the words around it; not what could be a word."""
        if value in self._known or not 8 <= len(value) <= _LONGEST_KEY or not MIXED.search(value):
            return
        with self._lock:
            if len(self._known) >= _MOST_KEYS:
                self._known.pop(next(iter(self._known)))
            self._known[value] = None
            self._learnt += 1
            self._clean.clear()

    def value(self, value: Any, *, depth: int = 0) -> Any:
        """Return plain JSON data without what is hidden."""
        if isinstance(value, str):
            return self.text(value)
        if depth > _DEEPEST or not isinstance(value, (dict, list, tuple)):
            return value
        if isinstance(value, dict):
            return {name: self._field(name, one, depth + 1) for name, one in value.items()}
        return [self.value(one, depth=depth + 1) for one in value]

    def arguments(
        self, arguments: Mapping[str, Any], *, skill: str = "", secret: frozenset[str] = frozenset()
    ) -> dict[str, Any]:
        """Return the arguments of a call: secret ones are left out whole, long texts are cut."""
        shown: dict[str, Any] = {}
        for name, value in arguments.items():
            if name in secret:
                shown[name] = HIDDEN
            elif f"{skill}.{name}".casefold() in self._of_skill:
                shown[name] = _mark("field")
            else:
                shown[name] = _short(self._field(name, value, 1))
        return shown

    def _field(self, name: object, value: Any, depth: int) -> Any:
        if isinstance(name, str) and value not in (None, "", HIDDEN):
            if name.casefold() in self._everywhere:
                return _mark("field")
            if self._keys and isinstance(value, str) and len(value) >= 4 and is_secret_name(name[:200]):
                if value.startswith(MARK):
                    return value
                self._learn(value)
                return _mark("key")
        return self.value(value, depth=depth)

    def _json(self, text: str) -> str:
        """Return a text that is a JSON object or array with its fields hidden; any other as it is."""
        if text[:1] not in ("{", "[") or len(text) > _LONGEST_JSON:
            return text
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            return text
        hidden = self.value(value)
        return text if hidden == value else json.dumps(hidden, ensure_ascii=False)


def _mark(kind: str) -> str:
    return f"{MARK}: {kind}]"


def _replaced(text: str, found: list[tuple[int, int, str]]) -> str:
    parts: list[str] = []
    at = 0
    for start, end, kind in sorted(found):
        if start >= at:
            parts += (text[at:start], _mark(kind))
        at = max(at, end)
    return "".join((*parts, text[at:]))


def shown_arguments(attempt: Attempt) -> dict[str, Any]:
    """Return the checked arguments of a call as they may be kept, empty before they are checked."""
    if attempt.checked is None:
        return {}
    skill = attempt.known
    return attempt.around.redactor.arguments(attempt.checked.value, skill=skill.full, secret=skill.secret_arguments)


def proposed_body(attempt: Attempt) -> dict[str, Any]:
    """Return what `call.proposed` says beside the arguments: who asked for what, before anything was checked."""
    call = attempt.call
    return {
        "written": call.skill[:200],
        "arguments_size": len(call.arguments),
        "step": call.step,
        "asked_by": call.asked_by,
        "parent": call.parent,
        "principal": attempt.around.principal,
        "agent": attempt.around.agent,
        **({"agents": list(attempt.around.agents)} if attempt.around.agents else {}),
        "repaired": call.repaired,
    }


def proposed_arguments(attempt: Attempt) -> Any:
    """Return the arguments as they were written, as far as they may be kept."""
    return written_arguments(attempt.call.arguments, attempt.skill, attempt.around.redactor)


def written_arguments(text: str, skill: Skill | None, redactor: Redactor) -> Any:
    """Return arguments as they were written, as far as they may be kept.

    Of a skill that is not there (unknown, left out, disabled) nothing says which of them are secret: their names stay.
    """
    try:
        value = json.loads(text) if text.strip() else {}
    except (ValueError, RecursionError):
        value = None
    if isinstance(value, dict):
        secret = frozenset(value) if skill is None else skill.secret_arguments
        return redactor.arguments(value, skill="" if skill is None else skill.full, secret=secret)
    if skill is None or skill.secret_arguments:
        return HIDDEN
    return _short(redactor.text(text))


def _short(value: Any) -> Any:
    text = value if isinstance(value, str) else json.dumps(value, default=str)
    if len(text) <= _LONGEST:
        return value
    hashed = hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()
    return {"start": text[:_LONGEST], "size": len(text), "sha256": hashed}
