"""Resolves references to secrets. A value is never shown, logged or put into a message."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from remit.errors import DeploymentError
from remit.extensions.extensions import no_such_scheme
from remit.extensions.values import SecretProvider

_MAX_BYTES = 64 * 1024


def resolve_secret(
    reference: str, *, folder: Path | None = None, providers: Mapping[str, SecretProvider] | None = None
) -> str:
    """Return the value that `reference` names.

    Args:
        reference: `env:NAME`, `file:/path` (relative to `folder` when it is given),
            `keyring:service/name`, or of a kind that an extension resolves.
        folder: the deployment's folder.
        providers: kind of reference to what resolves it, of extensions.

    Raises:
        DeploymentError: it is no reference, or there is no value.
    """
    kind, _, where = reference.partition(":")
    if kind == "env":
        return _from_environment(where)
    if kind == "file":
        return _from_file(Path(folder or "/", where))
    if kind == "keyring":
        return _from_keyring(where)
    known = providers or {}
    if kind in known:
        return known[kind](where)
    raise no_such_scheme(kind, known, "a secret")


def _from_environment(name: str) -> str:
    value = os.environ.get(name, "").strip()
    if not value:
        raise DeploymentError(f"the environment variable {name} is not set", remedy=f"export {name}=...")
    return value


def _from_file(path: Path) -> str:
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise DeploymentError(f"the secret file {path} is no regular file")
        with path.open("rb") as file:
            data = file.read(_MAX_BYTES + 1)
        value = data.decode("utf-8-sig").strip()
    except OSError as error:
        raise DeploymentError(f"the secret file {path} cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError:
        raise DeploymentError(f"the secret file {path} is not UTF-8") from None
    if not value or len(data) > _MAX_BYTES:
        raise DeploymentError(f"the secret file {path} is empty or larger than {_MAX_BYTES} bytes")
    return value


def _from_keyring(where: str) -> str:
    service, slash, name = where.partition("/")
    if not slash or not service or not name:
        raise DeploymentError("a secret of the keyring is written keyring:service/name")
    if find_spec("keyring") is None:
        raise DeploymentError(
            f"keyring:{where} needs the Python package keyring, which is not installed",
            remedy="pip install keyring, or use env:NAME or file:/path",
        )
    try:
        value: str | None = import_module("keyring").get_password(service, name)
    except Exception as error:  # backends raise what they like; their words may hold what they found
        raise DeploymentError(
            f"the keyring of this machine cannot be read for {where} ({type(error).__name__})",
            remedy="unlock it, or use env:NAME or file:/path where there is none",
        ) from None
    if not value:
        raise DeploymentError(f"the keyring holds nothing under {where}")
    return value
