"""The text of `remit.lock`: TOML with one whole fact a line, sorted, so that git merges it.

`*.lock merge=union` in `.gitattributes` is safe: what two branches say differently becomes a key
that is there twice, and such a lock does not load.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from remit.errors import LockError, PolicyError
from remit.packs.hashes import canonical
from remit.packs.locked import Lock, LockedPack, LockedSkill
from remit.packs.permissions import Permission
from remit.state_folder import replace_file
from remit.values import EFFECTS, IMPACTS

FORMAT = 1
"""Version of the format, which the first line of the file states."""

LARGEST = 16 * 1024 * 1024
"""Bytes that a lock may have."""

_HEAD = "# What was accepted of each pack. Written by remit; change it with remit, not by hand."
_REMEDY = "take remit.lock from version control, or delete it and run remit packs enable again"
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_HASH = re.compile(r"sha256:[0-9a-f]{64}")

_T = TypeVar("_T")


def format_lock(lock: Lock) -> str:
    """Return the text of a lock: the same for the same lock on every machine."""
    lines = sorted(line for name, pack in lock.packs.items() for line in _pack_lines(f"packs.{_key(name)}", pack))
    return "\n".join([_HEAD, f"lock = {FORMAT}", *lines]) + "\n"


def _pack_lines(at: str, pack: LockedPack) -> Iterator[str]:
    yield f"{at}.distribution = {_text(pack.distribution)}"
    yield f"{at}.version = {_text(pack.version)}"
    yield f"{at}.package = {_text(pack.package)}"
    yield f"{at}.manifest = {_text(pack.manifest)}"
    if pack.editable:
        yield f"{at}.editable = true"
        yield f"{at}.source = {_text(pack.source)}"
    yield f"{at}.files = {_text(pack.files)}"
    for tag, value in pack.compiled.items():
        yield f"{at}.compiled.{_key(tag)} = {_text(value)}"
    yield from _permission_lines(f"{at}.permission", pack.permission)
    for name, skill in pack.skills.items():
        yield from _skill_lines(f"{at}.skills.{_key(name)}", skill)


def _skill_lines(at: str, skill: LockedSkill) -> Iterator[str]:
    yield f"{at}.table = {_text(skill.table)}"
    yield f"{at}.content = {_text(skill.content)}"
    yield f"{at}.effect = {_text(skill.effect)}"
    if skill.impact:
        yield f"{at}.impact = [{', '.join(map(_text, skill.impact))}]"
    if skill.refused:
        yield f"{at}.refused = {_text(skill.refused)}"
    yield f"{at}.description = {_text(skill.description)}"
    yield f"{at}.schema = {_literal(canonical(skill.schema))}"
    yield from _permission_lines(f"{at}.permission", skill.permission)


def _permission_lines(at: str, permission: Permission) -> Iterator[str]:
    for key, entries in permission.words().items():
        yield f"{at}.{key} = [{', '.join(map(_text, entries))}]"


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _text(name)


def _text(text: str) -> str:
    """Write a TOML basic string; what cannot be seen is escaped."""
    return '"' + "".join(_char(char) for char in text) + '"'


def _char(char: str) -> str:
    if char in '"\\':
        return "\\" + char
    if char == "\n":
        return "\\n"
    if char.isprintable():
        return char
    if 0xD800 <= ord(char) <= 0xDFFF:
        return "?"
    return f"\\u{ord(char):04x}" if ord(char) < 0x10000 else f"\\U{ord(char):08x}"


def _literal(text: str) -> str:
    """Write JSON text as a TOML literal string, which is easier to read."""
    return "'" + text.replace("'", "\\u0027") + "'"


def write_lock(path: Path, lock: Lock) -> None:
    """Write a lock, whole or not at all.

    Raises:
        LockError: the file cannot be written.
    """
    try:
        replace_file(path, format_lock(lock).encode())
    except OSError as error:
        raise LockError(f"{path} cannot be written ({error.strerror})") from None


def read_lock(path: Path) -> Lock:
    """Read a lock; a file that is not there is an empty lock.

    Raises:
        LockError: says what is wrong, and what to do.
    """
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST + 1)
    except FileNotFoundError:
        return Lock()
    except OSError as error:
        raise LockError(f"{path} cannot be read ({error.strerror})") from None
    if len(data) > LARGEST:
        raise LockError(f"{path} is larger than {LARGEST // 1024 // 1024} MiB", remedy=_REMEDY)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        raise LockError(f"{path} is not UTF-8", remedy=_REMEDY) from None
    return parse_lock(text, str(path))


def parse_lock(text: str, where: str = "remit.lock") -> Lock:
    """Read a lock from its text; see `read_lock`."""
    try:
        table = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise LockError(f"{where}: {_toml_error(text, error)}", remedy=_REMEDY) from None
    try:
        return _lock(table)
    except (LockError, PolicyError) as error:
        raise LockError(f"{where}: {error.message}", remedy=_REMEDY) from None


def _toml_error(text: str, error: Exception) -> str:
    if "<<<<<<<" in text:
        return "a merge was left unfinished"
    if "overwrite" in str(error):
        return f"one fact is there twice, as after a merge ({str(error)[:120]})"
    return f"cannot be read ({str(error)[:120]})"


def _lock(table: dict[str, Any]) -> Lock:
    version = table.get("lock")
    if version != FORMAT:
        raise LockError(f"lock = {str(version)[:20]} is not known to this Remit, which reads {FORMAT}")
    _closed("", table, ("lock", "packs"))
    packs = _take(table, "packs", dict, "", {})
    return Lock(packs={name: _pack(f"packs.{name}", packs, name) for name in sorted(packs)})


def _pack(at: str, packs: Mapping[str, Any], name: str) -> LockedPack:
    table = _take(packs, name, dict, "packs")
    _closed(at, table, LockedPack.__dataclass_fields__)
    skills = _take(table, "skills", dict, at, {})
    compiled = _take(table, "compiled", dict, at, {})
    return LockedPack(
        distribution=_take(table, "distribution", str, at),
        version=_take(table, "version", str, at),
        package=_take(table, "package", str, at),
        editable=_take(table, "editable", bool, at, False),
        source=_take(table, "source", str, at, ""),
        files=_hash(table, "files", at),
        compiled={tag: _hash(compiled, tag, f"{at}.compiled") for tag in compiled},
        manifest=_hash(table, "manifest", at),
        permission=Permission.parse(_take(table, "permission", dict, at, {})),
        skills={key: _skill(f"{at}.skills.{key}", skills, key) for key in skills},
    )


def _skill(at: str, skills: Mapping[str, Any], name: str) -> LockedSkill:
    table = _take(skills, name, dict, at)
    _closed(at, table, LockedSkill.__dataclass_fields__)
    effect = _take(table, "effect", str, at)
    impact = _take(table, "impact", list, at, [])
    if effect not in EFFECTS or any(tag not in IMPACTS for tag in impact):
        raise LockError(f"{at}: effect or impact is none that Remit knows")
    return LockedSkill(
        table=_hash(table, "table", at),
        content=_hash(table, "content", at),
        effect=effect,
        impact=tuple(impact),
        description=_take(table, "description", str, at),
        schema=_schema(table, at),
        permission=Permission.parse(_take(table, "permission", dict, at, {})),
        refused=_take(table, "refused", str, at, ""),
    )


def _schema(table: Mapping[str, Any], at: str) -> dict[str, Any]:
    try:
        schema = json.loads(_take(table, "schema", str, at))
    except (ValueError, RecursionError):
        raise LockError(f"{at}.schema is no JSON") from None
    if not isinstance(schema, dict):
        raise LockError(f"{at}.schema is no JSON object")
    return schema


def _hash(table: Mapping[str, Any], key: str, at: str) -> str:
    value: str = _take(table, key, str, at)
    if not _HASH.fullmatch(value):
        raise LockError(f"{at}.{key} is no hash")
    return value


def _take(table: Mapping[str, Any], key: str, kind: type[_T], at: str, default: _T | None = None) -> _T:
    value = table.get(key, default)
    if value is None:
        raise LockError(f"{at}.{key} is missing")
    if type(value) is not kind:
        raise LockError(f"{at}.{key} must be {kind.__name__}")
    return value


def _closed(at: str, table: Mapping[str, Any], known: Any) -> None:
    unknown = sorted(set(table) - set(known))
    if unknown:
        raise LockError(f"{at}.{unknown[0]} is not known to this Remit".removeprefix("."))
