"""Imports an extension into the host: only the files that were accepted, from source, and survived when it fails."""

from __future__ import annotations

import os
import sys
import threading
import traceback
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from types import ModuleType

from remit.extensions.installed import InstalledExtension
from remit.extensions.wording import described
from remit.packs.hashes import digest_of
from remit_sandbox.inside.from_source import import_from_source

_FRAMES = 4
_importing = threading.RLock()
_loaded: dict[str, tuple[Path, str]] = {}
"""Package to where it was loaded from, and the digest of its files then."""


class Broken(Exception):
    """An extension cannot be used.

    Attributes:
        reason: one sentence.
        remedy: what would help.
        details: lines of its traceback, for its author.
    """

    def __init__(self, reason: str, *, remedy: str = "", details: str = "") -> None:
        self.reason = reason
        self.remedy = remedy
        self.details = details
        super().__init__(reason)


def import_extension(installed: InstalledExtension, digests: Mapping[str, str]) -> object:
    """Return what the entry point of an extension names.

    Its own package is compiled from source, each file compared with `digests` as it is read: no cache counts, and
    nothing can change between the check and the import. What it imports from other distributions is imported as
    usual.

    Raises:
        Broken: it raised, whatever it was, or something else has the name of its package.
    """
    with _importing:
        state = digest_of(dict(digests))
        known = _loaded.get(installed.package)
        if known is not None and known != (installed.root, state):
            raise Broken("another version of it is loaded in this process already", remedy="start the program again")
        if known is None and installed.package in sys.modules:
            _check_place(sys.modules[installed.package], installed)
        before, finders = set(sys.modules), list(sys.meta_path)
        try:
            found = _found(installed, digests)
        except (Exception, SystemExit) as error:
            if known is None:
                _forget(installed.package, before, finders)
            raise _broken("it raises when it is imported", error) from error
        _loaded[installed.package] = (installed.root, state)
        return found


def _found(installed: InstalledExtension, digests: Mapping[str, str]) -> object:
    if installed.package not in sys.modules:
        import_from_source(installed.package, str(installed.root.parent), digests)
    name, _, attribute = installed.entry.partition(":")
    module = import_module(name)
    return getattr(module, attribute) if attribute else module


def _check_place(module: ModuleType, installed: InstalledExtension) -> None:
    """A package that the program imported itself must be the one that was accepted, and no namesake."""
    place = os.path.realpath(getattr(module, "__file__", None) or "")
    if os.path.dirname(place) != os.path.realpath(installed.root):
        raise Broken(
            f"a module named {installed.package} is imported already, from {place or 'nowhere'}, not {installed.root}",
            remedy="rename the package, or start the program where that other one is not found first",
        )


def _forget(package: str, before: set[str], finders: Sequence[object]) -> None:
    """Take back a half-made import, so that the next one meets the same error and not an empty module."""
    for name in [name for name in sys.modules if name.partition(".")[0] == package and name not in before]:
        del sys.modules[name]
    sys.meta_path[:] = [finder for finder in sys.meta_path if finder in finders]


def _broken(what: str, error: BaseException) -> Broken:
    details = "".join(traceback.format_exception(error, limit=-_FRAMES))
    return Broken(f"{what}: {described(error)}", remedy="ask its author, or update it", details=details)
