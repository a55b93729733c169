"""Ranks an edit of a deployment: does it narrow, widen, or can nobody say?"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel

from remit.deployment.config import Config, PackConfig, SubAgentConfig
from remit.deployment.layers import canonical
from remit.deployment.leaves import Key, as_text, leaves, said
from remit.errors import RemitError
from remit.packs.difference import compare_wanted, wanted_by_lock
from remit.packs.lock import Lock, LockedPack
from remit.packs.permissions import NOTHING, Permission
from remit.packs.ranks import NO_CHANGES, Change, Changes, Rank, change
from remit.policy.config import DefaultsConfig, RuleConfig
from remit.policy.grants import ENABLES_LESS
from remit.provenance.level import SETTLES_LESS
from remit.values import VERDICTS

__all__ = ["NO_CHANGES", "Change", "Changes", "Rank", "compare"]

_LONGEST = 200
_RANKED = {"defaults", "packs", "rules", "extensions", "agents"}
_RANKED_OF_PACK = {"enabled", "skills", "grant", "accept_read"}


def compare(old: Config, old_lock: Lock, new: Config, new_lock: Lock) -> Changes:
    """Rank the step from one deployment to another.

    Ranked are grants, verdicts, defaults and enabled skills; any other key cannot be ranked.
    """
    return Changes(
        changes=(
            *_defaults(old.defaults, new.defaults),
            *_rules(old.rules, new.rules),
            *_packs(old, old_lock, new, new_lock),
            *_extensions(old, old_lock, new, new_lock),
            *_agents(old.agents, new.agents),
            *_others(old, new),
        )
    )


def _defaults(old: DefaultsConfig, new: DefaultsConfig) -> Iterator[Change]:
    for key in ("read", "write", "external"):
        before, after = getattr(old, key), getattr(new, key)
        if before != after:
            wider = VERDICTS.index(after) < VERDICTS.index(before)
            yield change(wider, f"default for {key}: {before} becomes {after}")
    for key, lax in (("unattended", "park"), ("enforcement", "available"), ("allow_yes", True), ("allow_rules", True)):
        before, after = getattr(old, key), getattr(new, key)
        if before != after:
            yield change(after == lax, f"defaults.{key}: {_toml(before)} becomes {_toml(after)}")
    if old.max_depth != new.max_depth:
        wider = new.max_depth > old.max_depth
        yield change(wider, f"defaults.max_depth: {old.max_depth} becomes {new.max_depth}")
    for impact in sorted(set(old.two_person) ^ set(new.two_person)):
        lifted = impact in old.two_person
        yield change(lifted, f"{impact} {'no longer needs' if lifted else 'needs'} two people")
    if old.provenance != new.provenance:
        wider = SETTLES_LESS.index(new.provenance) < SETTLES_LESS.index(old.provenance)
        yield change(wider, f"defaults.provenance: {old.provenance} becomes {new.provenance}")
    if old.session_grants != new.session_grants:
        wider = ENABLES_LESS.index(new.session_grants) < ENABLES_LESS.index(old.session_grants)
        yield change(wider, f"defaults.session_grants: {old.session_grants} becomes {new.session_grants}")
    if old.egress != new.egress:
        now = "asked about" if new.egress else "not asked about"
        yield change(old.egress, f"reads that carry something out are {now}")


def _rules(old: tuple[RuleConfig, ...], new: tuple[RuleConfig, ...]) -> Iterator[Change]:
    before = {_meaning(rule): rule for rule in old}
    after = {_meaning(rule): rule for rule in new}
    for meaning, rule in after.items():
        if meaning not in before:
            yield change(rule.verdict == "allow", f"rule {rule.id} ({rule.verdict}) is new or changed")
    for meaning, rule in before.items():
        if meaning not in after:
            yield change(rule.verdict != "allow", f"rule {rule.id} ({rule.verdict}) is gone or changed")


def _meaning(rule: RuleConfig) -> str:
    return json.dumps(rule.model_dump(exclude={"id", "reason"}), sort_keys=True, default=repr)


def _packs(old: Config, old_lock: Lock, new: Config, new_lock: Lock) -> Iterator[Change]:
    before = {canonical(name): pack for name, pack in old.packs.items()}
    after = {canonical(name): pack for name, pack in new.packs.items()}
    for name in sorted(before.keys() | after.keys()):
        was, now = before.get(name, PackConfig()), after.get(name, PackConfig())
        if now.enabled and not was.enabled:
            yield change(True, f"pack {name} is enabled")
        elif was.enabled and not now.enabled:
            yield change(False, f"pack {name} is no longer enabled")
        if now.enabled:
            yield from _pack(name, was, old_lock, now, new_lock)
        elif was.required and not now.required:
            yield Change(rank="unranked", line=f"pack {name} is no longer required")


def _pack(name: str, was: PackConfig, old_lock: Lock, now: PackConfig, new_lock: Lock) -> Iterator[Change]:
    if was.enabled:
        if old_lock.packs.get(name) != new_lock.packs.get(name):
            yield Change(rank="unranked", line=f"the lock of pack {name} differs")
            yield from _locks(name, old_lock.packs.get(name), new_lock.packs.get(name))
        yield from _grants(name, was, old_lock, now, new_lock)
        yield from _named(name, "skill", _skills(was, name, old_lock), _skills(now, name, new_lock))
    yield from _named(name, "read accepted for", set(was.accept_read), set(now.accept_read))
    for key in type(now).model_fields:
        if key not in _RANKED_OF_PACK and getattr(was, key) != getattr(now, key):
            shown = "from" if key == "from_" else key
            yield from _unranked(f"packs.{name}.{shown}", getattr(was, key), getattr(now, key))


def _locks(name: str, old: LockedPack | None, new: LockedPack | None) -> Iterator[Change]:
    """Name what another lock of a pack gives; that it is another one cannot be ranked in any case."""
    if old is None or new is None:
        return
    for one in compare_wanted(wanted_by_lock(old), wanted_by_lock(new)).changes:
        if one.rank != "same":
            yield Change(rank=one.rank, line=f"the lock of pack {name}: {one.line}")


def _grants(name: str, was: PackConfig, old_lock: Lock, now: PackConfig, new_lock: Lock) -> Iterator[Change]:
    before, after = _grant(was, name, old_lock), _grant(now, name, new_lock)
    if before is None or after is None:
        if was.grant != now.grant:
            yield Change(rank="unranked", line=f"packs.{name}.grant differs and cannot be read")
        return
    for line in after.beyond_by_key(before):
        yield change(True, f"pack {name} is granted {line}")
    for line in before.beyond_by_key(after):
        yield change(False, f"pack {name} is no longer granted {line}")


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
        yield change(True, f"pack {pack}: {what} {name}")
    for name in sorted(before - after):
        yield change(False, f"pack {pack}: no longer {what} {name}")


def _extensions(old: Config, old_lock: Lock, new: Config, new_lock: Lock) -> Iterator[Change]:
    """Rank host code that may load: more of it widens; whether less of it narrows, nobody can say."""
    before = {canonical(name) for name in old.extensions.enabled}
    after = {canonical(name) for name in new.extensions.enabled}
    for name in sorted(after - before):
        yield change(True, f"extension {name} is enabled: it runs in the host, not confined")
    for name in sorted(before - after):
        yield Change(rank="unranked", line=f"extension {name} is no longer enabled")
    for name in sorted(before & after):
        if old_lock.extensions.get(name) != new_lock.extensions.get(name):
            yield Change(rank="unranked", line=f"the lock of extension {name} differs")
    for key in type(new.extensions).model_fields:
        was, now = getattr(old.extensions, key), getattr(new.extensions, key)
        if key != "enabled" and was != now:
            yield from _unranked(f"extensions.{key}", was, now)


def _agents(old: Mapping[str, SubAgentConfig], new: Mapping[str, SubAgentConfig]) -> Iterator[Change]:
    """Whether another agent, prompt or list makes a run reach further, nobody can say: each change asks."""
    for name in sorted(old.keys() | new.keys()):
        before, after = old.get(name), new.get(name)
        if before is None or after is None:
            line = f"agent {name} is {'new' if before is None else 'gone'}"
            yield Change(rank="unranked", line=line)
        if after is not None and before != after:
            yield from _unranked(f"agents.{name}", before, after)


def _others(old: Config, new: Config) -> Iterator[Change]:
    for key in type(new).model_fields:
        if key in _RANKED:
            continue
        before, after = getattr(old, key), getattr(new, key)
        if before != after:
            yield from _unranked(key, before, after)


def _unranked(key: str, before: object, after: object) -> Iterator[Change]:
    """Yield a line for each single value that differs; of what is new or gone only what is not the standard."""
    was, now = leaves(before), leaves(after)
    new, gone = _standing_out(after), _standing_out(before)
    found = [
        (path, was.get(path), now.get(path))
        for path in dict.fromkeys((*was, *now))
        if (was[path] != now[path] if path in was and path in now else path in new or path in gone)
    ]
    found += [(path, gone.get(path), new.get(path)) for path in dict.fromkeys((*new, *gone)) if _whole(path, was, now)]
    for path, one, other in found or [((), before, after)]:
        yield Change(rank="unranked", line=f"{'.'.join((key, *path))}: {_shown(one)} becomes {_shown(other)}")


def _whole(path: Key, was: Mapping[Key, Any], now: Mapping[Key, Any]) -> bool:
    """Tell whether a table is new or gone as a whole, and holds no value that stands out."""
    in_was, in_now = (any(key[: len(path)] == path for key in side) for side in (was, now))
    return path not in was and path not in now and in_was != in_now


def _standing_out(value: object) -> dict[Key, Any]:
    return said(value) if isinstance(value, BaseModel) else leaves(value)


def _shown(value: object) -> str:
    """Write a value as one line; what a file does not say is `nothing`.

    Only prose without an address is cut: the end of an address or of a command may say where something goes.
    """
    if value is None or value in ("", (), {}):
        return "nothing"
    text = as_text(value)
    prose = isinstance(value, str) and any(map(str.isspace, value)) and "://" not in value
    return f"{text[:_LONGEST]}... ({len(text)} characters)" if prose and len(text) > _LONGEST else text


def _toml(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
