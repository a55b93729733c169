"""What an install is about to change, written down before it does: whoever comes after a crash puts everything back."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import secrets
import shutil
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from remit.deployment.acceptance import accept
from remit.deployment.files import DeploymentFiles, read_files, write_atomically
from remit.deployment.source import CONFIG_NAME, LOCK_NAME
from remit.errors import RemitError, RunError
from remit.installing.since import since
from remit.installing.turn import one_at_a_time
from remit.state_folder import open_state, private_folder, state_root, write_private

_FOLDER = "installing"
_FILE = "journal.json"
_LEFT_OVER = "~"
"""What the names of folders begin with into which pip moves a distribution that it replaces."""


@dataclass(frozen=True, kw_only=True)
class Intent:
    """What is about to be done, and what was there before.

    Attributes:
        what: in words, for people: `install remit-tide 1.0`.
        prefix, site: of the environment.
        targets: paths that will be put there, which are taken away.
        infos: `.dist-info` folders that will be put there.
        going: `.dist-info` folders that will go, with when their RECORD was written, in nanoseconds since 1970.
        made: when the environment was made, in nanoseconds since 1970; 0 where that is not known.
        copied: path to the name of its copy in the journal's folder.
        left: names in the site folder that pip left over earlier.
        folder: of the deployment; empty when its files stay as they are.
        before: `remit.toml` and `remit.lock` as they are, base64.
        planned: SHA-256 of every content that either will have on the way.
        began: seconds since 1970.
    """

    what: str
    prefix: str
    site: str
    targets: tuple[str, ...] = ()
    infos: tuple[str, ...] = ()
    going: Mapping[str, int] = field(default_factory=dict)
    made: int = 0
    copied: Mapping[str, str] = field(default_factory=dict)
    left: tuple[str, ...] = ()
    folder: str = ""
    before: Mapping[str, str] = field(default_factory=dict)
    planned: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    began: float = field(default_factory=time.time)


class Journal:
    """The one intent of this person that is not finished yet; only who has the turn touches it.

    Attributes:
        folder: that it is kept in, with what pip notes.
    """

    def __init__(self) -> None:
        self.folder = private_folder(private_folder(state_root()) / _FOLDER)
        self._file = self.folder / _FILE

    @contextmanager
    def keeping(self, intent: Intent, paths: Iterable[str]) -> Iterator[Intent]:
        """Copy files aside and write the intent down; it is finished when the block ends, however it does.

        Args:
            intent: what is about to be done.
            paths: files that are there now and will go.
        """
        self.mend()
        intent = replace(intent, copied=self._copied(paths), left=_left_over(intent.site))
        write_private(self._file, json.dumps(asdict(intent)).encode())
        yield intent
        self._finish()

    def put_back(self, intent: Intent) -> None:
        """Put the environment back: take away what was put there, and put what was there in its place."""
        _remove([*intent.targets, *filter(None, map(_compiled, intent.targets))], intent.prefix)
        for info in intent.infos:
            shutil.rmtree(info, ignore_errors=True)
        for name in set(_left_over(intent.site)) - set(intent.left):
            shutil.rmtree(Path(intent.site, name), ignore_errors=True)
        for path, copy in intent.copied.items():
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            with suppress(FileNotFoundError):
                os.unlink(path)
            shutil.copy2(self.folder / copy, path, follow_symlinks=False)
        self._finish()

    def mend(self) -> str:
        """Undo what a process that died has begun; return what was done, empty when nothing was to do.

        An environment that is gone, or that another hand has changed since, stays as it is.

        Raises:
            RunError: it cannot be undone; the intent stays.
        """
        intent = self._read()
        if intent is None:
            self._finish()
            return ""
        try:
            deployment = _deployment_put_back(intent)
            environment = self._environment_put_back(intent)
        except (OSError, RemitError) as error:
            raise RunError(
                f"an interrupted command ({intent.what}) cannot be undone: {error}",
                remedy="mend what stands in the way and try again; it is tried anew each time\n"
                f"where the environment is of no use any more, remove it: {intent.prefix}",
            ) from None
        began = datetime.fromtimestamp(intent.began).astimezone()
        told = f"{environment or 'the environment is as it was'}; {deployment or 'the deployment is as it was'}"
        if not environment and not deployment:
            told = "the environment and the deployment are as they were"
        return f"a command that was interrupted at {began:%Y-%m-%d %H:%M} was undone ({intent.what}): {told}"

    def _environment_put_back(self, intent: Intent) -> str:
        """Put the environment back, where it is what was begun with; return what is so now, if not as it was."""
        found = since(intent, self.folder)
        if found == "begun":
            self.put_back(intent)
            return ""
        self._finish()
        if found == "gone":
            return f"its environment {intent.prefix} is gone"
        changed = f"{intent.prefix} was changed by another hand since and stays as it is: see pip check and remit sync"
        return changed if found == "changed" else ""

    def _read(self) -> Intent | None:
        """Return the intent that is not finished; one that was not written whole had not begun anything."""
        try:
            kept: dict[str, Any] = dict(json.loads(self._file.read_bytes()))
            lists: dict[str, Any] = {name: tuple(value) for name, value in kept.items() if isinstance(value, list)}
            return Intent(**{**kept, **lists})
        except FileNotFoundError:
            return None
        except (OSError, ValueError, TypeError, KeyError, RecursionError) as error:
            raise RunError(f"{self._file} cannot be read: {error}", remedy="look at it, then remove it") from None

    def _copied(self, paths: Iterable[str]) -> dict[str, str]:
        copied: dict[str, str] = {}
        folder = private_folder(self.folder / secrets.token_hex(8))
        for path in paths:
            name = f"{folder.name}/{len(copied)}"
            shutil.copy2(path, self.folder / name, follow_symlinks=False)
            copied[path] = name
        return copied

    def _finish(self) -> None:
        self._file.unlink(missing_ok=True)
        for entry in self.folder.iterdir():
            shutil.rmtree(entry, ignore_errors=True) if entry.is_dir() else entry.unlink(missing_ok=True)


def mend() -> str:
    """Undo what a process that died has begun; wait for one that is at it. Return what was done, mostly nothing.

    Raises:
        RunError: it cannot be undone.
    """
    if not (state_root() / _FOLDER / _FILE).exists():
        return ""
    with one_at_a_time():
        return Journal().mend()


def of_deployment(files: DeploymentFiles, planned: Sequence[DeploymentFiles]) -> dict[str, Any]:
    """Return what an `Intent` must know of a deployment's files.

    Args:
        files: as they are.
        planned: as they will be, one after the other.
    """
    steps = [(files.config.data, files.lock_data), *((one.config.data, one.lock_data) for one in planned)]
    return {
        "folder": str(files.folder),
        "before": {CONFIG_NAME: _encoded(files.config.data), LOCK_NAME: _encoded(files.lock_data)},
        "planned": {
            CONFIG_NAME: tuple({_hash(config) for config, _ in steps}),
            LOCK_NAME: tuple({_hash(lock) for _, lock in steps}),
        },
    }


def _deployment_put_back(intent: Intent) -> str:
    """Put the deployment's files back, where nobody has changed them since; return what is so now, if not as it was."""
    if not intent.folder:
        return ""
    if not Path(intent.folder).is_dir():
        return f"the deployment {intent.folder} is gone"
    folder = Path(intent.folder)
    now = {name: _bytes(folder / name) for name in intent.before}
    before = {name: base64.b64decode(text) for name, text in intent.before.items()}
    if now == before:
        return ""
    if any(_hash(data) not in intent.planned[name] for name, data in now.items()):
        return f"{folder} was changed since and stays as it is: see remit apply"
    for name, data in before.items():
        if data:
            write_atomically(folder / name, data)
        else:
            (folder / name).unlink(missing_ok=True)
    files = read_files(folder)
    if {CONFIG_NAME: files.config.data, LOCK_NAME: files.lock_data} != before:
        return f"{folder} was changed meanwhile: see remit trust --show"
    accept(files, open_state(folder))
    return ""


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""


def _encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _left_over(site: str) -> tuple[str, ...]:
    return tuple(sorted(name for name in os.listdir(site) if name.startswith(_LEFT_OVER)))


def _compiled(path: str) -> str:
    """Return where Python would keep the compiled form of a source file, empty for another file."""
    from importlib.util import cache_from_source

    return cache_from_source(path) if path.endswith(".py") else ""


def _remove(paths: Iterable[str], prefix: str) -> None:
    folders = set()
    for path in paths:
        with suppress(OSError):
            os.unlink(path)
        folders.add(os.path.dirname(path))
    for folder in sorted(folders, key=len, reverse=True):
        _remove_empty(folder, prefix)


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
