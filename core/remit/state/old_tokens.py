"""Tokens as Remit 0.1 kept those of `remit serve`: a file each. They count as long as they are there."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path

from remit.errors import StateError
from remit.plain_file import read_plain

FOLDER = "http-tokens"
"""Their folder within the state folder."""

_LARGEST = 64 * 1024


@dataclass(frozen=True, kw_only=True)
class OldToken:
    """A token in a file.

    Attributes:
        path: the file.
        name: whose it is.
        roles: what they may do.
        created: seconds since 1970.
        hash: SHA-256 of the token.
    """

    path: Path
    name: str
    roles: frozenset[str]
    created: float
    hash: bytes


def old_files(folder: Path) -> list[Path]:
    """Return the files of tokens, damaged ones, too. Raises StateError."""
    place = folder / FOLDER
    try:
        return sorted(place / name for name in os.listdir(place) if name.endswith(".json"))
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise StateError(f"{place} cannot be used: {error.strerror or error}", remedy="make it yours alone") from None


def old_tokens(folder: Path) -> tuple[OldToken, ...]:
    """Return the tokens in files; a damaged one is left out, and admits nobody. Raises StateError."""
    return tuple(token for path in old_files(folder) if (token := _read(path)) is not None)


def still_there(token: OldToken) -> bool:
    """Tell whether a token has not been removed since it was read."""
    return _read(token.path) == token


def remove_old(folder: Path, name: str) -> bool:
    """Remove the files of a person's tokens; say whether there was one. Raises StateError."""
    found = [path for path in old_files(folder) if path.stem.casefold() == name.strip().casefold()]
    for path in found:
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise StateError(f"{path} cannot be removed: {error.strerror or error}", remedy="remove it") from None
    return bool(found)


def _read(path: Path) -> OldToken | None:
    try:
        kept = json.loads(read_plain(path, _LARGEST))
        roles = frozenset(role for role in ("approver", "user") if role in kept["roles"])
        digest = bytes.fromhex(kept["hash"])
        return OldToken(path=path, name=path.stem, roles=roles, created=float(kept["created"]), hash=digest)
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return None
