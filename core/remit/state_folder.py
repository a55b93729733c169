"""The folder that holds what Remit keeps for one person: keys, acceptances, state of each deployment."""

from __future__ import annotations

import json
import os
import shutil
import stat
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from remit.errors import DeploymentError
from remit.plain_file import read_plain
from remit.state_root import VARIABLE as VARIABLE
from remit.state_root import state_root_path

_KEY_BYTES = 32
_LARGEST = 64 * 1024


@dataclass(frozen=True, kw_only=True)
class StateFolder:
    """What belongs to one deployment.

    Attributes:
        id: random, 32 hexadecimal digits; kept here and never read from the deployment.
        path: folder with `state.db`, acceptances and the packs' data; mode 0700.
    """

    id: str
    path: Path


def state_root() -> Path:
    """Return the person's state folder, which need not exist yet.

    `REMIT_STATE` names it, else the platform's usual place is taken.

    Raises:
        DeploymentError: neither gives an absolute path (a user without a home).
    """
    return Path(state_root_path())


def private_folder(path: Path) -> Path:
    """Create `path` with mode 0700 where it is missing, and check that nobody else can write there.

    Raises:
        DeploymentError: it cannot be made, belongs to somebody else, or others may write there.
    """
    try:
        if not path.is_dir():
            path.parent.mkdir(parents=True, exist_ok=True)
            with suppress(FileExistsError):
                path.mkdir(mode=0o700)
        found = path.stat()
    except OSError as error:
        raise _unusable(path, error.strerror or str(error)) from error
    if os.name == "posix":
        if found.st_uid != os.geteuid():
            raise _unusable(path, "it belongs to another user")
        if stat.S_IMODE(found.st_mode) & 0o022:
            raise _unusable(path, "others may write there")
    return path


def find_state(folder: Path) -> StateFolder | None:
    """Return the state of the deployment in `folder`, or None when there is none yet.

    A deployment is known by the real path, device and inode of its folder: a copy, or another
    folder put at the same path, is another deployment.
    """
    root = state_root()
    identity = _identity(folder)
    with suppress(OSError, ValueError, RecursionError):
        name = read_plain(_index(root, identity), _LARGEST).decode("ascii").strip()
        path = root / "deployments" / name
        if _is_id(name) and json.loads(read_plain(path / "folder.json", _LARGEST)) == identity:
            return StateFolder(id=name, path=private_folder(path))
    return None


def open_state(folder: Path) -> StateFolder:
    """Return the state of the deployment in `folder`, made where it is missing.

    Raises:
        DeploymentError: the state folder cannot be made or is not private.
    """
    found = find_state(folder)
    if found is not None:
        return found
    root = private_folder(state_root())
    identity = _identity(folder)
    private_folder(root / "deployments")
    private_folder(root / "folders")
    name = os.urandom(16).hex()
    path = private_folder(root / "deployments" / name)
    write_private(path / "folder.json", json.dumps(identity).encode())
    index = _index(root, identity)
    if not place_once(index, name.encode()) and find_state(folder) is None:
        write_private(index, name.encode())
    return find_state(folder) or StateFolder(id=name, path=path)


def data_folder(state: StateFolder, pack: str, principal: str) -> Path:
    """Return the folder `${data}` of one pack and principal, made where it is missing."""
    folder = private_folder(state.path / "data")
    return private_folder(private_folder(folder / pack) / data_name(principal))


def data_name(principal: str) -> str:
    """Return the name of the folders that packs keep for `principal`."""
    return _hashed(principal)[:16]


def data_folders(state: Path, principal: str) -> tuple[Path, ...]:
    """Return the folders that packs keep for `principal` in the state at `state`, without empty ones."""
    found = sorted(state.glob(f"data/*/{data_name(principal)}"))
    return tuple(folder for folder in found if any(folder.iterdir()))


def remove_data(state: Path, principal: str) -> None:
    """Remove what packs keep for `principal` in the state at `state`, empty folders too."""
    for found in state.glob(f"data/*/{data_name(principal)}"):
        shutil.rmtree(found, ignore_errors=True)


def person_key() -> bytes:
    """Return the secret key of this person, made on first use (a file of mode 0600).

    Raises:
        DeploymentError: it cannot be made or read, or has the wrong size.
    """
    path = private_folder(state_root()) / "key"
    try:
        if not path.exists():
            place_once(path, os.urandom(_KEY_BYTES))
        key = read_plain(path, _LARGEST)
    except OSError as error:
        raise _unusable(path, error.strerror or str(error)) from error
    if len(key) != _KEY_BYTES:
        raise _unusable(path, "it is damaged; without it no acceptance can be checked")
    return key


def write_private(path: Path, data: bytes) -> None:
    """Put `data` at `path` in one step, mode 0600; readers see the old file or the new one.

    Raises:
        OSError: it cannot be written.
    """
    replace_file(path, data, mode=0o600)


def replace_file(path: Path, data: bytes, *, mode: int | None = None) -> None:
    """Put `data` at `path` in one step; readers see the old file or the new one.

    The draft beside it is a new file of a name that nobody can guess: in a folder that came from
    somebody else, such as a cloned repository, a link could wait there and lead elsewhere.

    Args:
        path: what to replace.
        data: its new content.
        mode: its permissions; None for those of the old file, else the usual ones.

    Raises:
        OSError: it cannot be written.
    """
    part = _beside(path)
    if mode is None and path.exists():
        mode = stat.S_IMODE(path.stat().st_mode) & 0o777
    try:
        _write_new(part, data, 0o666 if mode is None else 0o600)
        if mode is not None:
            part.chmod(mode)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def place_once(path: Path, data: bytes) -> bool:
    """Put `data` at `path` unless another process was first; say whether this one was."""
    part = _beside(path)
    try:
        _write_new(part, data)
        os.link(part, path)
    except FileExistsError:
        return False
    finally:
        part.unlink(missing_ok=True)
    return True


def _beside(path: Path) -> Path:
    return path.with_name(f".{path.name}.{os.urandom(6).hex()}")


def _write_new(path: Path, data: bytes, mode: int = 0o600) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _identity(folder: Path) -> dict[str, Any]:
    try:
        real = folder.resolve(strict=True)
        found = real.stat()
    except OSError as error:
        raise DeploymentError(f"the folder {folder} cannot be read: {error.strerror}") from error
    return {"path": str(real), "device": found.st_dev, "inode": found.st_ino}


def _index(root: Path, identity: dict[str, Any]) -> Path:
    text = json.dumps(identity, sort_keys=True)
    return root / "folders" / _hashed(text)


def _hashed(text: str) -> str:
    import hashlib

    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _is_id(name: str) -> bool:
    return len(name) == 32 and all(letter in "0123456789abcdef" for letter in name)


def _unusable(path: Path, why: str) -> DeploymentError:
    return DeploymentError(
        f"the state folder cannot be used: {path}: {why}",
        remedy=f"set {VARIABLE} to an absolute path that only you can write",
    )
