"""Imports a pack's own code from its source, never from a cached compilation.

What is accepted of a pack is its source: `__pycache__` is no part of the lock, since whoever imports
a pack writes it. A cache that says something else than the source would run code that nobody accepted.
Other packages are imported as usual.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import CodeType, ModuleType


class FromSource(SourceFileLoader):
    """Loads a module by compiling its source."""

    def get_code(self, fullname: str) -> CodeType | None:
        """Return the compiled source; no cache is read or written."""
        path = self.get_filename(fullname)
        code: CodeType = self.source_to_code(self.get_data(path), path)
        return code


class PackFinder:
    """Finds the modules of one package as Python does, and loads them with `FromSource`."""

    def __init__(self, package: str) -> None:
        """Serve this package and what lies in it."""
        self.package = package

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return where a module of the package is, None for a module of another."""
        if fullname.partition(".")[0] != self.package:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and type(spec.loader) is SourceFileLoader:
            spec.loader, spec.cached = FromSource(spec.loader.name, spec.loader.path), None
        return spec


def import_from_source(package: str, location: str | None) -> ModuleType:
    """Import a top-level package, from the folder `location` when it is given, else from `sys.path`.

    Raises:
        BaseException: whatever the package raises.
    """
    sys.meta_path.insert(0, PackFinder(package))
    if location is None:
        return import_module(package)
    folder = Path(location) / package
    path = str(folder / "__init__.py")
    spec = spec_from_file_location(
        package, path, loader=FromSource(package, path), submodule_search_locations=[str(folder)]
    )
    if spec is None or spec.loader is None:
        raise ImportError(f"{package!r} cannot be loaded from its folder")
    module = module_from_spec(spec)
    sys.modules[package] = module
    spec.loader.exec_module(module)
    return module
