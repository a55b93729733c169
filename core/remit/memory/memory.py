"""`Memory`: the key facts of one person, within what the deployment allows, each change on record."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from remit.errors import StateError, UsageError
from remit.extensions.wording import described
from remit.memory.fact import Fact, Kind, Origin, kind_of, length, slot_name, typed
from remit.memory.meanwhile import TICK, changed, check_seen, put, remove

if TYPE_CHECKING:
    from collections.abc import Callable

    from remit.deployment.config import MemoryConfig
    from remit.extensions.values import MemoryStore
    from remit.pipeline.redact import Redactor
    from remit.state.store import State

REMEMBERED = "memory.remembered"
FORGOTTEN = "memory.forgotten"
FAILED = "memory.failed"

OWN_STORE = "state.db"
"""Where facts are kept unless the deployment names a store of an extension."""

T = TypeVar("T")


class Memory:
    """What is remembered of one person.

    Attributes:
        config: `[memory]` of the deployment.
        who: of whom.
        where: name of the store.
        given_by: the extension that gives it; empty for Remit's own.
    """

    def __init__(
        self,
        store: MemoryStore,
        *,
        config: MemoryConfig,
        state: State,
        redactor: Redactor,
        who: str,
        where: str = OWN_STORE,
        given_by: str = "",
    ) -> None:
        """Put a memory together.

        Args:
            store: where facts are kept.
            config: `[memory]` of the deployment.
            state: where changes are recorded.
            redactor: what it hides is not remembered at all.
            who: of whom.
            where: name of the store, for records and messages.
            given_by: the extension that gives it.
        """
        self._store = store
        self._changing = threading.Lock()
        self._state = state
        self._redactor = redactor
        self.config = config
        self.who = who
        self.where = where
        self.given_by = given_by

    def facts(self) -> tuple[Fact, ...]:
        """Return everything that is remembered of this person, by name. Raises StateError."""
        found = self._asked("facts", lambda: tuple(self._store.facts(self.who)))
        for fact in found:
            if not isinstance(fact, Fact):
                raise self._broken("facts", f"it gave {type(fact).__name__}, which is no fact")
        try:
            return tuple(sorted((Fact.from_json(fact.to_json()) for fact in found), key=lambda fact: fact.name))
        except (KeyError, TypeError, ValueError) as error:
            raise self._broken("facts", described(error)) from error

    def fact(self, name: str) -> Fact | None:
        """Return the fact of this name, None when there is none. Raises StateError."""
        return next((fact for fact in self.facts() if fact.name == name), None)

    def remember(
        self, name: str, value: object, *, origin: Origin, labels: Iterable[str] = (), kind: Kind | None = None
    ) -> Fact:
        """Keep a fact, in place of one of its name, and record that.

        Args:
            name: of the slot.
            value: of the slot's kind.
            origin: where it comes from. A fact that the person typed gives way only to the person's own words, and
                stays theirs after that.
            labels: of what it rests on.
            kind: where no slots are declared; None for what the value itself is.

        Raises:
            UsageError: the name or value does not fit, there is no room, or somebody else has changed it meanwhile.
            StateError: it cannot be kept.
        """
        try:
            slot = slot_name(name)
            kind = self._kind(slot, value, kind)
            wanted = Fact(name=slot, kind=kind, value=typed(kind, value), labels=frozenset(labels), origin=origin)
        except ValueError as error:
            raise UsageError(str(error)) from None
        self._check_kept(wanted)
        with self._changing:
            return self._replaced(wanted)

    def forget(self, name: str, *, origin: Origin, labels: Iterable[str] = ()) -> Fact | None:
        """Forget a fact and record that; None when there was none of this name.

        Args:
            name: of the slot.
            origin: who forgets it. What the person typed, only the person forgets; what the model has made of that on
                their words, the model forgets only on their own words.
            labels: of what the wish to forget it rests on.

        Raises:
            UsageError: it is not for `origin` to forget, or somebody else has changed it meanwhile.
            StateError: it cannot be removed.
        """
        fact = self.fact(name)
        if fact is not None:
            own_words = origin.own_words and fact.origin.by != "person"
            _check_writer(fact, replace(origin, own_words=own_words), frozenset(labels))
            check_seen(self._state, self.who, fact, origin)
            self._change(FORGOTTEN, replace(fact, origin=origin), {}, lambda: remove(self._store, self.who, fact))
        return fact

    def _replaced(self, wanted: Fact) -> Fact:
        known = {fact.name: fact for fact in self.facts()}
        before = known.get(wanted.name)
        self._check_room(wanted.name, known)
        _check_writer(before, wanted.origin, wanted.labels)
        check_seen(self._state, self.who, before, wanted.origin)
        now = max(time.time(), before.updated + TICK if before else 0.0)
        typed_once = before is not None and before.origin.guarded and wanted.origin.by != "person"
        origin = replace(wanted.origin, typed=typed_once)
        fact = replace(wanted, origin=origin, created=before.created if before else now, updated=now)
        before_it = {} if before is None else {"before": before.plain}
        self._change(REMEMBERED, fact, before_it, lambda: put(self._store, self.who, fact, before))
        return fact

    def declared(self, name: str) -> Kind | None:
        """Return the kind that the deployment declares for a slot, None where it declares none of this name."""
        with suppress(ValueError):
            name = slot_name(name)
        return self.config.slots[name].type if name in self.config.slots else None

    def _kind(self, name: str, value: object, wanted: Kind | None) -> Kind:
        slots = self.config.slots
        if not slots:
            return wanted or kind_of(value)
        if name not in slots:
            raise ValueError(f"there is no fact {name} here; there are {', '.join(sorted(slots))}")
        if wanted not in (None, slots[name].type):
            raise ValueError(f"{name} is declared as {slots[name].type}, not {wanted}")
        return slots[name].type

    def _check_kept(self, fact: Fact) -> None:
        if length(fact.value) > self.config.longest:
            raise UsageError(
                f"the value of {fact.name} has {length(fact.value)} characters, and a fact at most "
                f"{self.config.longest}; keep what matters"
            )
        shown = self._redactor.arguments({fact.name: fact.plain})
        if shown[fact.name] != fact.plain:
            raise UsageError(f"{fact.name} was not kept: it holds a secret, or what this deployment does not store")

    def _check_room(self, name: str, known: dict[str, Fact]) -> None:
        if name not in known and len(known) >= self.config.most:
            raise UsageError(f"there is no room: {self.config.most} facts are kept already; forget one first")

    def _change(self, event: str, fact: Fact, more: Mapping[str, object], work: Callable[[], bool]) -> None:
        """Record a change, make it, and record when that failed: what is not on record does not happen."""
        self._record(event, fact, more)
        done = False
        try:
            done = self._asked(event, work)
        finally:
            if not done:
                with suppress(StateError):
                    self._record(FAILED, fact, {"event": event})
        if not done:
            raise changed(fact.name)

    def _record(self, event: str, fact: Fact, more: Mapping[str, object]) -> None:
        """Write down who changes what, from where, with which labels; what a fact says can be erased."""
        self._state.append(
            event,
            session=fact.origin.session,
            call=fact.origin.call,
            who=self.who,
            body={
                "by": fact.origin.by,
                "own_words": fact.origin.own_words,
                "login": fact.origin.login,
                "kind": fact.kind,
                "labels": sorted(fact.labels),
                "store": self.where,
            },
            sealed={"name": fact.name, "value": fact.plain, **more},
        )

    def _asked(self, what: str, work: Callable[[], T]) -> T:
        try:
            return work()
        except StateError:
            raise
        except Exception as error:
            raise self._broken(what, described(error)) from error

    def _broken(self, what: str, why: str) -> StateError:
        return StateError(f"memory store {self.where} failed ({what}): {why}", remedy="remit extensions list")


def _check_writer(before: Fact | None, origin: Origin, labels: frozenset[str]) -> None:
    """What a person wrote or said themselves, no stranger behind a model rewrites or removes."""
    if before is None or origin.by == "person":
        return
    remedy = f"remit memory set {before.name} VALUE, or: remit memory forget {before.name}"
    if before.origin.guarded and not origin.own_words:
        raise UsageError(f"the person wrote {before.name} themselves: only they change it", remedy=remedy)
    if before.origin.own_words and "untrusted" in labels:
        raise UsageError(
            f"the person said {before.name} themselves: what a result or page says does not change it", remedy=remedy
        )
