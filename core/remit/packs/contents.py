"""What a pack's distribution may contain: its package, its metadata, bundled libraries, its own commands."""

from __future__ import annotations

import keyword
import re
import sys
from collections.abc import Iterable, Iterator, Mapping

from remit.packs.distribution import GROUP, Refused
from remit.packs.folding import fold
from remit.packs.host_modules import HOST_MODULES

_PACK_NAME = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*", re.ASCII)
_CODE = re.compile(r"[A-Za-z_][\w.]*(:[A-Za-z_][\w.]*)?", re.ASCII)
_PACKAGE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_NOT_THEIRS = re.compile(r"(python|pip|remit)[w0-9.-]*", re.IGNORECASE)
_STARTUP = ("sitecustomize", "usercustomize")
_OURS = ("remit", "remit_sandbox")
_STANDARD_TOO = ("test",)  # part of the standard library, and left out of its list of names
_RESERVED = ("remit", "local")
LONGEST_NAME = 24
"""Characters that a pack's name may have."""


def entry_point(groups: Mapping[str, Mapping[str, str]]) -> tuple[str, str]:
    """Return the pack's name and package.

    Raises:
        Refused: another group, more than one pack, a name or package that breaks the rules.
    """
    other = sorted(set(groups) - {GROUP, "console_scripts"})
    if other:
        raise Refused(
            f"it also has entry points of group {other[0]}, which other programs would import",
            "a pack may have the groups remit.packs and console_scripts only",
        )
    packs = groups[GROUP]
    if len(packs) != 1:
        raise Refused(f"it has {len(packs)} entry points in group {GROUP}; a distribution ships one pack")
    name, package = next(iter(packs.items()))
    _check_name(name)
    _check_package(package)
    _check_commands(groups.get("console_scripts", {}), package)
    return name, package


def _check_name(name: str) -> None:
    if not _PACK_NAME.fullmatch(name) or len(name) > LONGEST_NAME:
        raise Refused(
            f"{name[:60]!a} is no pack name",
            f"lower-case ASCII letters, digits and single _ between, at most {LONGEST_NAME} characters",
        )
    if name in _RESERVED:
        raise Refused(f"the pack name {name} is reserved")


def _check_package(package: str) -> None:
    if "." in package:
        raise Refused(
            f"its entry point names {package[:80]!a}, which is not a top-level package",
            "the value of the entry point is the name of the package that holds pack.toml",
        )
    if not _PACKAGE.fullmatch(package) or keyword.iskeyword(package):
        raise Refused(f"its entry point names {package[:80]!a}, which is no package name")
    if package in sys.stdlib_module_names or package in _STANDARD_TOO:
        raise Refused(f"module {package} comes from the standard library", "rename the package")
    if package in _OURS:
        raise Refused(f"package {package} is Remit itself", "rename the package")
    if package in HOST_MODULES:
        raise Refused(f"Remit itself imports a module {package} where there is one", "rename the package")


def _check_commands(commands: Mapping[str, str], package: str) -> None:
    for command, value in commands.items():
        if _NOT_THEIRS.fullmatch(command) or "/" in command or "\\" in command:
            raise Refused(f"it installs a command named {command[:60]!a}")
        if value.partition(":")[0].partition(".")[0].strip() != package:
            raise Refused(f"its command {command[:60]!a} runs code outside its package {package}")
        if not _CODE.fullmatch(value.replace(" ", "")):
            raise Refused(f"its command {command[:60]!a} names {value[:80]!a}, which is no function")


def own_files(
    record: Iterable[str], *, package: str, folder: str, commands: Iterable[str], loaders: bool = False
) -> tuple[str, ...]:
    """Return the files of RECORD that belong to the package or its bundled libraries, sorted.

    Args:
        record: paths as RECORD writes them.
        package: the pack's package.
        folder: name of its `.dist-info` folder.
        commands: names of its console scripts.
        loaders: an editable install, whose top-level `.pth` has been judged already.

    Raises:
        Refused: a start-up file, a path that climbs, or a file outside its package.
    """
    commands = set(commands)
    own = {package, *_libraries(package, folder)}
    mine: list[str] = []
    for path in record:
        parts = path.split("/")
        top = f"{fold(parts[0][:-5])}.libs" if parts[0].endswith(".libs") else parts[0]
        if top in own and _plain(parts) and len(parts) > 1:
            mine.append(path)
        elif not (parts[0] == folder and _plain(parts)) and not _is_command(parts, commands):
            _judge_stranger(path, parts, package, loaders=loaders)
    return tuple(sorted(mine))


def _libraries(package: str, folder: str) -> Iterator[str]:
    """Yield the folders that build tools put libraries into, which they name after the distribution; folded."""
    distribution = folder.removesuffix(".dist-info").rpartition("-")[0]
    yield from (f"{fold(name)}.libs" for name in (package, distribution))


def _plain(parts: list[str]) -> bool:
    return all(part not in ("", ".", "..") and "\\" not in part and part.isprintable() for part in parts)


def _is_command(parts: list[str], commands: set[str]) -> bool:
    *climb, folder, name = ["", *parts] if len(parts) == 1 else parts
    program = name.removesuffix(".exe").removesuffix("-script.py")
    return folder in ("bin", "Scripts") and all(part == ".." for part in climb) and program in commands


def _judge_stranger(path: str, parts: list[str], package: str, *, loaders: bool) -> None:
    top = parts[0]
    if path.startswith("/") or not _plain(parts):
        raise Refused(f"its RECORD lists {path[:80]!a}, which leads out of its folder")
    if top.partition(".")[0] in _STARTUP or (top.endswith((".pth", ".start")) and not loaders):
        raise Refused(f"it installs the start-up file {top[:80]!a}, which every Python would run")
    if top == f"{package}.py":
        raise Refused(f"{package} is a single module", f"make it a package: {package}/__init__.py and pack.toml")
    if not loaders:
        raise Refused(
            f"it installs {path[:80]!a}, which lies outside its package {package}",
            f"keep everything inside {package}/",
        )
