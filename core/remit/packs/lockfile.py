"""The text of `remit.lock`: TOML with one whole fact a line, sorted, so that git merges it.

`remit.lock merge=union` in `.gitattributes`, which `remit init` writes, is safe: what two branches say differently
becomes a key that is there twice, and such a lock does not load.

A lock of an older Remit loads as it is: what it does not say yet (such as `wheels`) is left open, and is added by the
next command that locks. `lock = N` at its top grows only when that would not do, and a Remit that is too old says so.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from remit.errors import LockError, PolicyError
from remit.packs.hashes import canonical
from remit.packs.locked import Lock, LockedExtension, LockedPack, LockedSkill
from remit.packs.permissions import Permission
from remit.state_folder import replace_file
from remit.values import EFFECTS, IMPACTS

FORMAT = 1
"""Version of the format, which the first line of the file states."""

LARGEST = 16 * 1024 * 1024
"""Bytes that a lock may have."""

_HEAD = "# What was accepted of each pack. Written by remit; change it with remit, not by hand."
_REMEDY = "take remit.lock from version control, or delete it and run remit packs enable again"
_MERGE = "take one side (git checkout --ours remit.lock), then: remit sync, and remit packs upgrade for the other"
_NEWER = "pip install --upgrade remit"
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_HASH = re.compile(r"sha256:[0-9a-f]{64}")

_T = TypeVar("_T")


def format_lock(lock: Lock) -> str:
    """Return the text of a lock: the same for the same lock on every machine."""
    lines = sorted(line for name, pack in lock.packs.items() for line in _pack_lines(f"packs.{_key(name)}", pack))
    others = sorted(
        line for name, one in lock.extensions.items() for line in _extension_lines(f"extensions.{_key(name)}", one)
    )
    return "\n".join([_HEAD, f"lock = {FORMAT}", *others, *lines]) + "\n"


def _extension_lines(at: str, extension: LockedExtension) -> Iterator[str]:
    yield f"{at}.distribution = {_text(extension.distribution)}"
    yield f"{at}.version = {_text(extension.version)}"
    yield f"{at}.entry = {_text(extension.entry)}"
    if extension.editable:
        yield f"{at}.editable = true"
    yield f"{at}.files = {_text(extension.files)}"
    for tag, value in extension.compiled.items():
        yield f"{at}.compiled.{_key(tag)} = {_text(value)}"
    for wheel, value in extension.wheels.items():
        yield f"{at}.wheels.{_key(wheel)} = {_text(value)}"


def _pack_lines(at: str, pack: LockedPack) -> Iterator[str]:
    yield f"{at}.distribution = {_text(pack.distribution)}"
    yield f"{at}.version = {_text(pack.version)}"
    yield f"{at}.package = {_text(pack.package)}"
    yield f"{at}.manifest = {_text(pack.manifest)}"
    if pack.settings:
        yield f"{at}.settings = {_text(pack.settings)}"
    if pack.editable:
        yield f"{at}.editable = true"
        yield f"{at}.source = {_text(pack.source)}"
    yield f"{at}.files = {_text(pack.files)}"
    for tag, value in pack.compiled.items():
        yield f"{at}.compiled.{_key(tag)} = {_text(value)}"
    yield from _permission_lines(f"{at}.permission", pack.permission)
    for name, skill in pack.skills.items():
        yield from _skill_lines(f"{at}.skills.{_key(name)}", skill)
    for wheel, value in pack.wheels.items():
        yield f"{at}.wheels.{_key(wheel)} = {_text(value)}"


def _skill_lines(at: str, skill: LockedSkill) -> Iterator[str]:
    yield f"{at}.table = {_text(skill.table)}"
    yield f"{at}.content = {_text(skill.content)}"
    if skill.rest:
        yield f"{at}.rest = {_text(skill.rest)}"
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
        what, remedy = _toml_error(text, error)
        raise LockError(f"{where}: {what}", remedy=remedy) from None
    try:
        return _lock(table)
    except (LockError, PolicyError) as error:
        raise LockError(f"{where}: {error.message}", remedy=error.remedy or _REMEDY) from None


def _toml_error(text: str, error: Exception) -> tuple[str, str]:
    """Return what is wrong with a lock that is no TOML, and what to do."""
    if "<<<<<<<" in text:
        return "a merge was left unfinished", _MERGE
    facts = Counter(line.partition(" = ")[0] for line in text.splitlines() if line.startswith("packs."))
    twice = sorted({fact.split(".")[1] for fact, times in facts.items() if times > 1})
    if twice:
        return f"two branches locked pack {', '.join(twice)} differently, and git has put both side by side", _MERGE
    return f"cannot be read ({str(error)[:120]})", _REMEDY


def _lock(table: dict[str, Any]) -> Lock:
    version = table.get("lock")
    if version != FORMAT:
        newer = type(version) is int and version > FORMAT
        who = "a newer Remit has written it" if newer else "it is not known to this Remit"
        raise LockError(f"lock = {str(version)[:20]}: {who}; this one reads {FORMAT}", remedy=_NEWER if newer else "")
    _closed("", table, ("lock", "packs", "extensions"))
    packs = _take(table, "packs", dict, "", {})
    extensions = _take(table, "extensions", dict, "", {})
    return Lock(
        packs={name: _pack(f"packs.{name}", packs, name) for name in sorted(packs)},
        extensions={name: _extension(f"extensions.{name}", extensions, name) for name in sorted(extensions)},
    )


def _extension(at: str, extensions: Mapping[str, Any], name: str) -> LockedExtension:
    table = _take(extensions, name, dict, "extensions")
    _closed(at, table, LockedExtension.__dataclass_fields__)
    compiled = _take(table, "compiled", dict, at, {})
    wheels = _take(table, "wheels", dict, at, {})
    return LockedExtension(
        distribution=_take(table, "distribution", str, at),
        version=_take(table, "version", str, at),
        entry=_take(table, "entry", str, at),
        editable=_take(table, "editable", bool, at, False),
        files=_hash(table, "files", at),
        compiled={tag: _hash(compiled, tag, f"{at}.compiled") for tag in compiled},
        wheels={name: _hash(wheels, name, f"{at}.wheels") for name in wheels},
    )


def _pack(at: str, packs: Mapping[str, Any], name: str) -> LockedPack:
    table = _take(packs, name, dict, "packs")
    _closed(at, table, LockedPack.__dataclass_fields__)
    skills = _take(table, "skills", dict, at, {})
    compiled = _take(table, "compiled", dict, at, {})
    wheels = _take(table, "wheels", dict, at, {})
    return LockedPack(
        distribution=_take(table, "distribution", str, at),
        version=_take(table, "version", str, at),
        package=_take(table, "package", str, at),
        editable=_take(table, "editable", bool, at, False),
        source=_take(table, "source", str, at, ""),
        files=_hash(table, "files", at),
        compiled={tag: _hash(compiled, tag, f"{at}.compiled") for tag in compiled},
        manifest=_hash(table, "manifest", at),
        settings=_hash(table, "settings", at) if "settings" in table else "",
        permission=Permission.parse(_take(table, "permission", dict, at, {})),
        skills={key: _skill(f"{at}.skills.{key}", skills, key) for key in skills},
        wheels={name: _hash(wheels, name, f"{at}.wheels") for name in wheels},
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
        rest=_hash(table, "rest", at) if "rest" in table else "",
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
