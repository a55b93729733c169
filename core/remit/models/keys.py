"""API keys: a reference to where one is kept, and a key that is fit for a header."""

from __future__ import annotations

import os
from pathlib import Path

from remit.errors import DeploymentError

KINDS = ("env:", "file:", "keyring:")


def resolve_key(reference: str | None) -> str | None:
    """Return the key behind `reference`, None when there is none.

    `env:NAME` reads a variable, `file:PATH` the first line of a file, `keyring:SERVICE/NAME` the
    system's keyring (package `keyring`). Anything else is the key itself, for programs that pass it.
    An empty variable means no key.

    Raises:
        DeploymentError: the place cannot be read, or what is there is no key.
    """
    if reference is None:
        return None
    kind = next((kind for kind in KINDS if reference.startswith(kind)), "")
    where = reference[len(kind) :]
    match kind:
        case "env:":
            return fit_key(os.environ.get(where, ""), reference)
        case "file:":
            return fit_key(_from_file(where), reference)
        case "keyring:":
            return fit_key(_from_keyring(where), reference)
        case _:
            return fit_key(reference, "the API key")


def why_no_key(reference: str | None) -> str:
    """Return why a request goes out without a key, and what to do about it, for people.

    Args:
        reference: what is configured and led to no key; None when nothing is.
    """
    kind, _, where = (reference or "").partition(":")
    match f"{kind}:":
        case "env:":
            return f"api_key is env:{where}, and the variable {where} is not set: export {where}=..."
        case "file:":
            return f"api_key is file:{where}, and the first line of that file is empty: write the key there"
        case "keyring:":
            return f"api_key is keyring:{where}, and the keyring holds nothing there: store the key"
        case _:
            return 'no API key is configured: set api_key = "env:NAME" under [model] in remit.toml'


def fit_key(key: str, where: str) -> str | None:
    """Return `key` without white space around it, None when empty. Raises DeploymentError if unfit."""
    key = key.strip().strip("\ufeff")
    if not key:
        return None
    if not (key.isascii() and key.isprintable() and " " not in key):
        raise DeploymentError(
            f"{where} holds characters that no API key has", remedy="store the key alone, on one line"
        )
    return key


def _from_file(path: str) -> str:
    try:
        with Path(path).expanduser().open(encoding="utf-8") as file:
            return file.readline(8192)
    except (OSError, ValueError, RuntimeError) as error:
        reason = getattr(error, "strerror", None) or "it is no text in UTF-8"
        raise DeploymentError(
            f"the API key cannot be read from file:{path}: {reason}", remedy="check the path and its rights"
        ) from error


def _from_keyring(where: str) -> str:
    service, _, name = where.partition("/")
    try:
        import keyring  # type: ignore[import-not-found, unused-ignore]
    except ImportError as error:
        raise DeploymentError(
            f"api_key = keyring:{where} needs the package keyring", remedy="pip install keyring"
        ) from error
    try:
        return keyring.get_password(service, name or "default") or ""
    except Exception as error:
        raise DeploymentError(f"the keyring cannot be read: {type(error).__name__}") from error
