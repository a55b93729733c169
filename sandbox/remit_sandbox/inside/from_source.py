"""Imports a pack's own code from its source, never from a cached compilation.

What is accepted of a pack is its source: `__pycache__` is no part of the lock, since whoever imports
a pack writes it. A cache that says something else than the source would run code that nobody accepted.
Other packages are imported as usual.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec, NamespaceLoader, PathFinder, SourceFileLoader
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import CodeType, ModuleType


class Digests:
    """What the files of a package must be.

    Args:
        location: the folder that contains the package.
        known: SHA-256 by path below it; none for a package whose files may be anything.
    """

    def __init__(self, location: str | None, known: Mapping[str, str] | None) -> None:
        self._location = location
        self._known = known if location else None

    def check(self, path: str, data: bytes | None = None) -> None:
        """Refuse a file that is not what it was.

        Args:
            path: the file.
            data: its content, when it was read already.

        Raises:
            ImportError: it has another digest, or none.
        """
        if not self._known or not self._location:
            return
        found = hashlib.sha256(Path(path).read_bytes() if data is None else data).hexdigest()
        name = os.path.relpath(path, self._location)
        if self._known.get(name) != found:
            raise ImportError(f"{name} has changed since the pack was checked; open the deployment again")


class FromSource(SourceFileLoader):
    """Loads a module by compiling its source, which `digests` checks first."""

    def __init__(self, fullname: str, path: str, digests: Digests) -> None:
        super().__init__(fullname, path)
        self._digests = digests

    def get_code(self, fullname: str) -> CodeType | None:
        """Return the compiled source; no cache is read or written."""
        path = self.get_filename(fullname)
        data = self.get_data(path)
        self._digests.check(path, data)
        code: CodeType = self.source_to_code(data, path)
        return code


class PackFinder:
    """Finds the modules of one package as Python does, and loads them with `FromSource`."""

    def __init__(self, package: str, digests: Digests) -> None:
        """Serve this package and what lies in it."""
        self._package = package
        self._digests = digests

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return where a module of the package is, None for a module of another."""
        if fullname.partition(".")[0] != self._package:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is None or spec.loader is None or isinstance(spec.loader, NamespaceLoader):
            return spec
        if type(spec.loader) is SourceFileLoader:
            spec.loader, spec.cached = FromSource(spec.loader.name, spec.loader.path, self._digests), None
        elif spec.origin:
            self._digests.check(spec.origin)
        return spec


def import_from_source(package: str, location: str | None, digests: Mapping[str, str] | None = None) -> ModuleType:
    """Import a top-level package, from the folder `location` when it is given, else from `sys.path`.

    Args:
        package: its name.
        location: the folder that contains it.
        digests: what its files must be; see `Digests`.

    Raises:
        BaseException: whatever the package raises.
    """
    known = Digests(location, digests)
    sys.meta_path.insert(0, PackFinder(package, known))
    if location is None:
        return import_module(package)
    folder = Path(location) / package
    path = str(folder / "__init__.py")
    spec = spec_from_file_location(
        package, path, loader=FromSource(package, path, known), submodule_search_locations=[str(folder)]
    )
    if spec is None or spec.loader is None:
        raise ImportError(f"{package!r} cannot be loaded from its folder")
    module = module_from_spec(spec)
    sys.modules[package] = module
    spec.loader.exec_module(module)
    return module
