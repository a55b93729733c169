"""The two files of a deployment, read once, so that what is checked is what is used."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

from remit.deployment.load import ConfigFile, load_config
from remit.deployment.source import CONFIG_NAME, LOCK_NAME
from remit.errors import DeploymentError, LockError
from remit.packs.lock import Lock, parse_lock
from remit.state_folder import replace_file

MAX_LOCK_BYTES = 32 * 1024 * 1024


@dataclass(frozen=True, kw_only=True)
class DeploymentFiles:
    """`remit.toml` and `remit.lock` of one folder.

    Attributes:
        folder: absolute real path.
        config: the configuration file.
        lock_data: the bytes of the lock; empty when there is none.
        lock: what is locked.
    """

    folder: Path
    config: ConfigFile
    lock_data: bytes
    lock: Lock

    @property
    def digest(self) -> str:
        """`sha256:...` over both files: what a person or `REMIT_TRUST` accepts."""
        return digest_of(self.config.data, self.lock_data)


def read_files(folder: str | Path) -> DeploymentFiles:
    """Read both files of the deployment in `folder`; no parent folder is searched.

    Raises:
        DeploymentError: no such folder, or `remit.toml` is missing or wrong.
        LockError: the lock is unreadable.
    """
    real = real_folder(folder)
    data = read_lock_bytes(real)
    return DeploymentFiles(
        folder=real,
        config=load_config(real / CONFIG_NAME),
        lock_data=data,
        lock=lock_from(data, real),
    )


def real_folder(folder: str | Path) -> Path:
    """Return the absolute real path of a deployment's folder.

    Raises:
        DeploymentError: there is no such folder.
    """
    real = Path(os.path.realpath(folder))
    if not real.is_dir():
        raise DeploymentError(f"there is no folder {folder}", remedy="run `remit init` in the folder you mean")
    return real


def read_lock_bytes(folder: Path) -> bytes:
    """Return the bytes of the lock in `folder`, empty when there is none."""
    path = folder / LOCK_NAME
    try:
        if not path.is_file():
            return b""
        with path.open("rb") as file:
            data = file.read(MAX_LOCK_BYTES + 1)
    except OSError as error:
        raise LockError(f"{path} cannot be read: {error.strerror or error}") from error
    if len(data) > MAX_LOCK_BYTES:
        raise LockError(f"{path} is larger than {MAX_LOCK_BYTES} bytes")
    return data


def lock_from(data: bytes, folder: Path) -> Lock:
    """Parse the bytes of a lock."""
    path = folder / LOCK_NAME
    try:
        return parse_lock(data.decode("utf-8-sig").replace("\r\n", "\n"), str(path)) if data else Lock()
    except UnicodeDecodeError as error:
        raise LockError(f"{path} is not UTF-8", remedy="run `remit packs enable` for its packs again") from error


def digest_of(config: bytes, lock: bytes) -> str:
    """Return one digest over both files, each with its length before it."""
    whole = hashlib.sha256(b"remit deployment 1\n")
    for data in (config, lock):
        whole.update(len(data).to_bytes(8, "big") + data)
    return f"sha256:{whole.hexdigest()}"


def write_atomically(path: Path, data: bytes) -> None:
    """Replace a file of the deployment in one step, keeping its mode.

    Raises:
        DeploymentError: it cannot be written.
    """
    try:
        replace_file(path, data)
    except OSError as error:
        raise DeploymentError(f"{path} cannot be written: {error.strerror or error}") from error
