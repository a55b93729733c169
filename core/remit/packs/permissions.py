"""What a pack asks for and what a deployment gives: one value, compared without ever erring wide."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from remit.errors import PolicyError
from remit.packs.entries import PARSERS, WITHIN, reduced
from remit.packs.limits import LIMITS, amount, parse_limits
from remit.packs.path_patterns import anchored_path
from remit.values import Effect, widest_effect

FIELDS: Mapping[str, str] = {
    "fs.read": "fs_read",
    "fs.write": "fs_write",
    "net": "net",
    "exec": "exec",
    "env": "env",
    "secrets": "secrets",
}
"""Permission keys that hold a list, with the field of `Permission`; `shm` is a switch, `limits` a table."""

_MOST = 256


@dataclass(frozen=True, kw_only=True)
class Permission:
    """A permission, a grant or a right, in the manifest's words.

    Attributes:
        fs_read: path patterns, see `remit.packs.path_patterns`.
        fs_write: the same; what may be written may be read, too.
        net: network patterns, see `remit.packs.net_patterns`.
        exec: program names or absolute paths.
        env: names of variables that the cell is given.
        secrets: logical names; the deployment binds values.
        shm: shared memory.
        limits: name to number where it differs from the default (bytes, seconds, counts).
    """

    fs_read: tuple[str, ...] = ()
    fs_write: tuple[str, ...] = ()
    net: tuple[str, ...] = ()
    exec: tuple[str, ...] = ()
    env: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()
    shm: bool = False
    limits: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def parse(cls, table: Mapping[str, Any]) -> Permission:
        """Read a table as TOML writes it, nested (`{"fs": {"read": [...]}}`) or flat (`{"fs.read": [...]}`).

        Raises:
            PolicyError: an unknown key, a wrong type or a pattern that is none.
        """
        flat = flatten(table)
        lists = {FIELDS[key]: _parse_list(key, value) for key, value in flat.items() if key in FIELDS}
        return cls(
            **lists,
            shm=_switch(flat.get("shm", False)),
            limits=_unusual(parse_limits(flat.get("limits", {}))),
        )

    @classmethod
    def granted(cls, table: Mapping[str, Any] | None, permission: Permission) -> Permission:
        """Read a `grant` table; a key that is absent gives what `permission` asks for.

        The grant may be wider than the permission here; ask `beyond` whether it is.

        Raises:
            PolicyError: as `parse`.
        """
        flat = flatten(table or {})
        given = cls.parse(flat)
        chosen = {name: getattr(given, name) for key, name in FIELDS.items() if key in flat}
        if "shm" in flat:
            chosen["shm"] = given.shm
        limits = _unusual({**permission.limits, **parse_limits(flat.get("limits", {}))})
        return replace(permission, **chosen, limits=limits)

    def words(self) -> dict[str, tuple[str, ...]]:
        """Return `{"fs.read": (...), ...}` without what is empty, for display; `parse` reads it back."""
        lists = {key: getattr(self, name) for key, name in FIELDS.items()}
        words: dict[str, tuple[str, ...]] = {key: value for key, value in lists.items() if value}
        if self.shm:
            words["shm"] = ("true",)
        if self.limits:
            words["limits"] = tuple(f"{name}={amount(value)}" for name, value in sorted(self.limits.items()))
        return words

    def within(self, other: Permission) -> bool:
        """Whether `other` allows everything that this allows."""
        return not self.beyond(other)

    def beyond(self, other: Permission) -> tuple[str, ...]:
        """Return what this allows and `other` does not, as `key: value`; empty when it is within."""
        wider = [
            f"{key}: {entry}"
            for key, name in FIELDS.items()
            for entry in getattr(self, name)
            if not _covered(key, entry, other)
        ]
        if self.shm and not other.shm:
            wider.append("shm: true")
        over = [name for name in LIMITS if self.limit(name) > other.limit(name)]
        wider += [f"limits.{name}: {amount(self.limit(name))}" for name in over]
        return tuple(wider)

    def limit(self, name: str) -> float:
        """Return one limit in effect: what is said, else the default."""
        return self.limits.get(name, LIMITS[name])

    def intersect(self, other: Permission) -> Permission:
        """Return what both allow."""
        lists = {name: _meet(key, self, other) for key, name in FIELDS.items()}
        limits = {name: min(self.limit(name), other.limit(name)) for name in LIMITS}
        return Permission(**lists, shm=self.shm and other.shm, limits=_unusual(limits))

    def by_key(self, other: Permission) -> Permission:
        """Return what both say under the same key: a right to write gives no right to read here.

        Two ceilings meet like this: `fs.read` of one is what reading skills get, whatever the other
        says of writing.
        """
        mine, others = (replace(one, fs_write=()) for one in (self, other))
        write = replace(NOTHING, fs_write=self.fs_write).intersect(replace(NOTHING, fs_write=other.fs_write)).fs_write
        return replace(mine.intersect(others), fs_write=write)

    def under(self, grant: Permission) -> Permission:
        """Return what `grant` gives a skill that asks for this: no reading through a right to write that it lacks."""
        write = self.by_key(grant).fs_write
        return self.intersect(replace(grant, fs_write=write))

    def beyond_by_key(self, other: Permission) -> tuple[str, ...]:
        """Return what this says and `other` does not say under the same key, in the form of `beyond`."""
        read = replace(self, fs_write=()).beyond(replace(other, fs_write=()))
        return tuple(dict.fromkeys((*read, *self.beyond(other))))

    def union(self, other: Permission) -> Permission:
        """Return what either allows."""
        lists = {name: reduced(key, (*getattr(self, name), *getattr(other, name))) for key, name in FIELDS.items()}
        limits = {name: max(self.limit(name), other.limit(name)) for name in LIMITS}
        return Permission(**lists, shm=self.shm or other.shm, limits=_unusual(limits))

    def select(self, uses: Iterable[str]) -> Permission:
        """Return the part that `uses` names: `net` for all of a key, `net:host:443` for one entry of it.

        Limits stay as they are; they belong to every skill.

        Raises:
            PolicyError: an unknown key, or an entry that this does not allow.
        """
        chosen: dict[str, Any] = dict.fromkeys(FIELDS.values(), ()) | {"shm": False}
        for use in uses:
            key, colon, value = use.partition(":")
            if key == "shm" and not colon and self.shm:
                chosen["shm"] = True
            elif key in FIELDS:
                chosen[FIELDS[key]] += self._part(key, value) if colon else self._whole(key)
            else:
                raise PolicyError(f"uses {use!r} names nothing under [permissions]; keys are {', '.join(FIELDS)}")
        lists: dict[str, Any] = {name: reduced(key, chosen[name]) for key, name in FIELDS.items()}
        return replace(self, **lists, shm=chosen["shm"])

    def _whole(self, key: str) -> tuple[str, ...]:
        entries: tuple[str, ...] = getattr(self, FIELDS[key])
        if not entries:
            raise PolicyError(f"uses {key!r}, and [permissions] asks for nothing under {key}")
        return entries

    def _part(self, key: str, value: str) -> tuple[str, ...]:
        entry = PARSERS[key](value)
        if not any(WITHIN[key](entry, mine) for mine in getattr(self, FIELDS[key])):
            raise PolicyError(f"uses {key}:{value}, which [permissions] does not ask for")
        return (entry,)

    def anchored(self, anchors: Mapping[str, str]) -> Permission:
        """Replace `${workspace}`, `${data}` and `${tmp}` by folders (`{"workspace": "/..."}`).

        An entry whose anchor is not given goes away.
        """
        return replace(self, fs_read=_anchored(self.fs_read, anchors), fs_write=_anchored(self.fs_write, anchors))

    @property
    def writes(self) -> bool:
        """Whether it can write outside the pack's own memory and the cell's temporary folder."""
        return any(not entry.startswith(("${data}/", "${tmp}/")) for entry in self.fs_write)


NOTHING = Permission()
"""No right at all."""


def flatten(table: Mapping[str, Any]) -> dict[str, Any]:
    """Return the table with flat keys (`fs.read`), values as they are.

    Raises:
        PolicyError: an unknown key.
    """
    flat: dict[str, Any] = {}
    for key, value in table.items():
        if key == "fs" and isinstance(value, Mapping):
            flat.update({f"fs.{part}": entries for part, entries in value.items()})
        else:
            flat[key] = value
    for key in flat:
        if key not in FIELDS and key not in ("shm", "limits"):
            from difflib import get_close_matches

            near = get_close_matches(key, (*FIELDS, "shm", "limits"), n=1)
            raise PolicyError(
                f"{key!r} is no permission; there are {', '.join(FIELDS)}, shm and limits",
                remedy=f"write {near[0]}" if near else "remit packs info PACK shows what a pack asks for",
            )
    return flat


def implied_effect(permission: Permission, *, accept_read: bool = False) -> Effect:
    """Return the least effect that a right implies.

    Args:
        permission: the right.
        accept_read: the deployer accepts the pack's word that its network calls and secrets only read.
    """
    effects: list[Effect] = []
    if permission.writes:
        effects.append("write")
    if permission.exec or ((permission.net or permission.secrets) and not accept_read):
        effects.append("external")
    return widest_effect(effects)


def effective_effect(declared: Effect, permission: Permission, *, accept_read: bool = False) -> Effect:
    """Return the wider of what a skill declares and what its right implies.

    `accept_read` counts only for a skill that declares `read`.
    """
    accepted = accept_read and declared == "read"
    return widest_effect([declared, implied_effect(permission, accept_read=accepted)])


def _covered(key: str, entry: str, other: Permission) -> bool:
    wide = getattr(other, FIELDS[key])
    if key == "fs.read":
        wide = (*wide, *other.fs_write)
    return any(WITHIN[key](entry, mine) for mine in wide)


def _meet(key: str, one: Permission, two: Permission) -> tuple[str, ...]:
    name = FIELDS[key]
    common = [entry for entry in getattr(one, name) if _covered(key, entry, two)]
    common += [entry for entry in getattr(two, name) if _covered(key, entry, one)]
    return reduced(key, common)


def _unusual(limits: Mapping[str, float]) -> dict[str, float]:
    return {name: value for name, value in limits.items() if value != LIMITS[name]}


def _anchored(entries: Iterable[str], anchors: Mapping[str, str]) -> tuple[str, ...]:
    resolved = (anchored_path(entry, anchors) for entry in entries)
    return tuple(sorted({entry for entry in resolved if entry is not None}))


def _parse_list(key: str, value: Any) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or not all(isinstance(entry, str) for entry in value):
        raise PolicyError(f"{key} must be a list of texts")
    if len(value) > _MOST:
        raise PolicyError(f"{key} has more than {_MOST} entries")
    return reduced(key, [PARSERS[key](entry) for entry in value])


def _switch(value: Any) -> bool:
    if value in (("true",), ["true"]):
        return True
    if not isinstance(value, bool):
        raise PolicyError("shm must be true or false")
    return value
