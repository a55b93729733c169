"""Ranks an edit of a deployment: does it narrow, widen, or can nobody say?"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel

from remit.deployment.config import Config, PackConfig
from remit.deployment.layers import canonical
from remit.errors import RemitError
from remit.packs.lock import Lock
from remit.packs.permissions import NOTHING, Permission
from remit.policy.config import DefaultsConfig, RuleConfig
from remit.values import VERDICTS

Rank = Literal["same", "narrows", "unranked", "widens"]
"""What an edit does to rights: nothing, only less, nobody can say, more."""

_LONGEST = 200
_RANKED = {"defaults", "packs", "rules"}
_RANKED_OF_PACK = {"enabled", "skills", "grant", "accept_read"}


@dataclass(frozen=True, kw_only=True)
class Change:
    """One difference, in words."""

    rank: Rank
    line: str


@dataclass(frozen=True, kw_only=True)
class Changes:
    """What differs between an accepted deployment and the one that is there now."""

    changes: tuple[Change, ...] = ()

    @property
    def rank(self) -> Rank:
        """The rank of the whole: `widens` before `unranked` before `narrows` before `same`."""
        ranks = {change.rank for change in self.changes}
        order: tuple[Rank, ...] = ("widens", "unranked", "narrows")
        return next((rank for rank in order if rank in ranks), "same")

    @property
    def needs_trust(self) -> bool:
        """Whether a person has to accept it."""
        return self.rank in ("widens", "unranked")

    @property
    def exit_code(self) -> int:
        """The exit code of a command that these changes stop: 4 widens, 5 cannot be ranked, else 1."""
        return {"widens": 4, "unranked": 5}.get(self.rank, 1)

    def lines(self, *ranks: Rank) -> tuple[str, ...]:
        """The differences of these ranks (all when none is given), in words."""
        return tuple(change.line for change in self.changes if not ranks or change.rank in ranks)


NO_CHANGES = Changes()
"""Nothing differs."""


def compare(old: Config, old_lock: Lock, new: Config, new_lock: Lock) -> Changes:
    """Rank the step from one deployment to another.

    Ranked are grants, verdicts, defaults and enabled skills; any other key cannot be ranked.
    """
    return Changes(
        changes=(
            *_defaults(old.defaults, new.defaults),
            *_rules(old.rules, new.rules),
            *_packs(old, old_lock, new, new_lock),
            *_others(old, new),
        )
    )


def _defaults(old: DefaultsConfig, new: DefaultsConfig) -> Iterator[Change]:
    for key in ("read", "write", "external"):
        before, after = getattr(old, key), getattr(new, key)
        if before != after:
            wider = VERDICTS.index(after) < VERDICTS.index(before)
            yield _change(wider, f"default for {key}: {before} becomes {after}")
    for key, lax in (("unattended", "park"), ("enforcement", "available"), ("allow_yes", True), ("allow_rules", True)):
        before, after = getattr(old, key), getattr(new, key)
        if before != after:
            yield _change(after == lax, f"defaults.{key}: {_toml(before)} becomes {_toml(after)}")


def _rules(old: tuple[RuleConfig, ...], new: tuple[RuleConfig, ...]) -> Iterator[Change]:
    before = {_meaning(rule): rule for rule in old}
    after = {_meaning(rule): rule for rule in new}
    for meaning, rule in after.items():
        if meaning not in before:
            yield _change(rule.verdict == "allow", f"rule {rule.id} ({rule.verdict}) is new or changed")
    for meaning, rule in before.items():
        if meaning not in after:
            yield _change(rule.verdict != "allow", f"rule {rule.id} ({rule.verdict}) is gone or changed")


def _meaning(rule: RuleConfig) -> str:
    return json.dumps(rule.model_dump(exclude={"id", "reason"}), sort_keys=True, default=repr)


def _packs(old: Config, old_lock: Lock, new: Config, new_lock: Lock) -> Iterator[Change]:
    before = {canonical(name): pack for name, pack in old.packs.items()}
    after = {canonical(name): pack for name, pack in new.packs.items()}
    for name in sorted(before.keys() | after.keys()):
        was, now = before.get(name, PackConfig()), after.get(name, PackConfig())
        if now.enabled and not was.enabled:
            yield _change(True, f"pack {name} is enabled")
        elif was.enabled and not now.enabled:
            yield _change(False, f"pack {name} is no longer enabled")
        if now.enabled:
            yield from _pack(name, was, old_lock, now, new_lock)
        elif was.required and not now.required:
            yield Change(rank="unranked", line=f"pack {name} is no longer required")


def _pack(name: str, was: PackConfig, old_lock: Lock, now: PackConfig, new_lock: Lock) -> Iterator[Change]:
    if was.enabled:
        if old_lock.packs.get(name) != new_lock.packs.get(name):
            yield Change(rank="unranked", line=f"the lock of pack {name} differs")
        yield from _grants(name, was, old_lock, now, new_lock)
        yield from _named(name, "skill", _skills(was, name, old_lock), _skills(now, name, new_lock))
    yield from _named(name, "read accepted for", set(was.accept_read), set(now.accept_read))
    for key in type(now).model_fields:
        if key not in _RANKED_OF_PACK and getattr(was, key) != getattr(now, key):
            shown = "from" if key == "from_" else key
            yield _unranked(f"packs.{name}.{shown}", getattr(was, key), getattr(now, key))


def _grants(name: str, was: PackConfig, old_lock: Lock, now: PackConfig, new_lock: Lock) -> Iterator[Change]:
    before, after = _grant(was, name, old_lock), _grant(now, name, new_lock)
    if before is None or after is None:
        if was.grant != now.grant:
            yield Change(rank="unranked", line=f"packs.{name}.grant differs and cannot be read")
        return
    for line in after.beyond_by_key(before):
        yield _change(True, f"pack {name} is granted {line}")
    for line in before.beyond_by_key(after):
        yield _change(False, f"pack {name} is no longer granted {line}")


def _grant(pack: PackConfig, name: str, lock: Lock) -> Permission | None:
    locked = lock.packs.get(name)
    try:
        return Permission.granted(pack.grant.given(), locked.permission if locked else NOTHING)
    except RemitError:
        return None


def _skills(pack: PackConfig, name: str, lock: Lock) -> set[str]:
    locked = lock.packs.get(name)
    return set(pack.skills if pack.skills is not None else locked.skills if locked else ())


def _named(pack: str, what: str, before: set[str], after: set[str]) -> Iterator[Change]:
    for name in sorted(after - before):
        yield _change(True, f"pack {pack}: {what} {name}")
    for name in sorted(before - after):
        yield _change(False, f"pack {pack}: no longer {what} {name}")


def _others(old: Config, new: Config) -> Iterator[Change]:
    for key in type(new).model_fields:
        if key in _RANKED:
            continue
        before, after = getattr(old, key), getattr(new, key)
        if before == after:
            continue
        parts = type(after).model_fields if isinstance(after, BaseModel) else {}
        changed = [part for part in parts if getattr(before, part) != getattr(after, part)]
        for part in changed:
            yield _unranked(f"{key}.{part}", getattr(before, part), getattr(after, part))
        if not changed:
            yield _unranked(key, before, after)


def _unranked(key: str, before: object, after: object) -> Change:
    return Change(rank="unranked", line=f"{key}: {_shown(before)} becomes {_shown(after)}")


def _shown(value: object) -> str:
    """Write a value as one line; what a file does not say is `nothing`."""
    if value is None or value in ("", (), {}):
        return "nothing"
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}... ({len(text)} characters)"


def _toml(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _change(wider: bool, line: str) -> Change:
    return Change(rank="widens" if wider else "narrows", line=line)
