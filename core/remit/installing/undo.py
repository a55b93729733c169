"""Installs inspected wheels, and puts everything back when something fails on the way."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from remit.errors import RemitError, RunError
from remit.installing import pip
from remit.installing.closure import Closure, targets
from remit.installing.environment import Environment, Installed
from remit.state_folder import private_folder, state_root


@contextmanager
def installed(environment: Environment, closure: Closure, wheels: Path) -> Iterator[None]:
    """Install a closure from the folder `wheels`; when the block then fails, the environment is as it was.

    Raises:
        RunError: what failed, and what was rolled back.
    """
    if not closure.wheels:
        yield
        return
    with one_at_a_time(), TemporaryDirectory(prefix="remit-") as folder:
        before = Before(environment, closure, Path(folder))
        try:
            pip.install(environment, closure.pins, wheels)
            yield
        except RemitError as error:
            said = before.restore()
            raise RunError(f"{error.message}\n{said}", remedy=error.remedy) from error
        except BaseException:
            before.restore()
            raise


class Before:
    """What an environment held where a closure goes: its files are copied aside, and can be put back."""

    def __init__(self, environment: Environment, closure: Closure, folder: Path) -> None:
        self._environment = environment
        self._closure = closure
        self._aside = folder
        self._copied: dict[str, Path] = {}
        for one in closure.replaced.values():
            self._copy(one)

    def _copy(self, one: Installed) -> None:
        inside = str(self._environment.prefix) + os.sep
        for path in one.files:
            if path.startswith(inside) and os.path.lexists(path):
                copy = self._aside / str(len(self._copied))
                shutil.copy2(path, copy, follow_symlinks=False)
                self._copied[path] = copy

    def restore(self) -> str:
        """Take away what was installed and put back what was there; return in words what was done."""
        for wheel in self._closure.wheels:
            paths = [*targets(wheel, self._environment)]
            _remove([*paths, *filter(None, map(_compiled, paths))], self._environment.prefix)
            shutil.rmtree(self._environment.site / wheel.dist_info, ignore_errors=True)
        for path, copy in self._copied.items():
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(copy, path, follow_symlinks=False)
        names = ", ".join(f"{wheel.distribution} {wheel.version}" for wheel in self._closure.wheels)
        back = ", ".join(f"{one.shown} {one.version}" for one in self._closure.replaced.values())
        return f"rolled back: {names} taken away{f', {back} put back' if back else ''}; the environment is as it was"


def _compiled(path: str) -> str:
    """Return where Python would keep the compiled form of a source file, empty for another file."""
    from importlib.util import cache_from_source

    return cache_from_source(path) if path.endswith(".py") else ""


def _remove(paths: Iterable[str], prefix: Path) -> None:
    folders = set()
    for path in paths:
        with suppress(OSError):
            os.unlink(path)
        folders.add(os.path.dirname(path))
    for folder in sorted(folders, key=len, reverse=True):
        _remove_empty(folder, str(prefix))


def _remove_empty(folder: str, prefix: str) -> None:
    """Remove a folder that is empty now, and those above it; site and script folders are never empty for long."""
    while folder.startswith(prefix + os.sep) and os.path.basename(folder) not in ("site-packages", "bin", "lib"):
        try:
            os.rmdir(folder)
        except FileNotFoundError:
            pass
        except OSError:
            return
        folder = os.path.dirname(folder)


@contextmanager
def one_at_a_time() -> Iterator[None]:
    """Wait until no other process of this person installs or removes packs.

    Where the system has no such locks (Windows) nothing is waited for.
    """
    try:
        import fcntl
    except ImportError:
        yield
        return
    with (private_folder(state_root()) / "installing.lock").open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
