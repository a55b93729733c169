"""Tokens of `remit serve`: only their hashes are kept, a private file each, in the state folder."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import re
import secrets
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from remit.errors import StateError, UsageError
from remit.http.identity import BOTH, Identity, Role
from remit.state_folder import private_folder, write_private

TokenRole = Literal["user", "approver", "both"]
"""What is chosen when a token is made."""

PREFIX = "remit_"
"""What every token begins with, so that a scanner for secrets finds one that leaked."""

_FOLDER = "http-tokens"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.@+-]{0,63}")
_BYTES = 32


@dataclass(frozen=True, kw_only=True)
class Token:
    """A token as it is kept.

    Attributes:
        name: of the person that it stands for.
        roles: what they may do.
        created: seconds since 1970.
        hash: SHA-256 of the token, hexadecimal. It has 256 random bits: there is nothing to guess.
    """

    name: str
    roles: frozenset[Role]
    created: float
    hash: str


class Tokens:
    """The tokens of one deployment. Programs that run see at once what is added or removed."""

    def __init__(self, state_folder: Path) -> None:
        """Name the deployment's state folder (`deployment.state_folder`)."""
        self._folder = state_folder / _FOLDER

    def add(self, name: str, role: TokenRole = "both") -> str:
        """Make a token for a person and return it; it cannot be shown again.

        Raises:
            UsageError: the name is none, or has a token already.
            StateError: it cannot be kept.
        """
        path = self._path(name)
        if path.exists() or any(name.casefold() == token.name.casefold() for token in self.kept()):
            raise UsageError(f"{name} has a token already", remedy=f"remit serve token remove {name}")
        token = PREFIX + secrets.token_urlsafe(_BYTES)
        kept = {"name": name, "roles": sorted(_roles(role)), "created": time.time(), "hash": _hashed(token)}
        try:
            private_folder(self._folder)
            write_private(path, json.dumps(kept).encode())
        except OSError as error:
            raise self._unusable(error) from error
        return token

    def remove(self, name: str) -> bool:
        """Make a person's token worthless from now on; say whether there was one.

        Raises:
            UsageError: the name is none.
            StateError: it cannot be removed.
        """
        try:
            self._path(name).unlink()
        except FileNotFoundError:
            return False
        except OSError as error:
            raise self._unusable(error) from error
        return True

    def kept(self) -> tuple[Token, ...]:
        """Return the tokens, sorted by name; a damaged one is left out, and admits nobody.

        Raises:
            StateError: they cannot be read.
        """
        return tuple(token for path in self._paths() if (token := _read(path)) is not None)

    def exist(self) -> bool:
        """Tell whether there is a token, even a damaged one. Raises StateError."""
        return bool(self._paths())

    def holder(self, given: str) -> Identity | None:
        """Return whose token was given; None for nobody's. The comparison tells nothing by its time.

        Raises:
            StateError: they cannot be read.
        """
        hashed, found = _hashed(given), None
        for token in self.kept():
            if hmac.compare_digest(token.hash, hashed):
                found = Identity(name=token.name, roles=token.roles)
        return found

    def _paths(self) -> list[Path]:
        try:
            return sorted(self._folder / name for name in os.listdir(self._folder) if name.endswith(".json"))
        except FileNotFoundError:
            return []
        except OSError as error:
            raise self._unusable(error) from error

    def _path(self, name: str) -> Path:
        if not _NAME.fullmatch(name):
            raise UsageError(f"{name[:100]!r} is no name for a token: write letters, digits and _ . @ + -")
        return self._folder / f"{name}.json"

    def _unusable(self, error: OSError) -> StateError:
        return StateError(f"{self._folder} cannot be used: {error.strerror or error}", remedy="make it yours alone")


def _read(path: Path) -> Token | None:
    try:
        kept = json.loads(path.read_bytes())
        roles = frozenset(role for role in get_args(Role) if role in kept["roles"])
        return Token(name=path.stem, roles=roles, created=float(kept["created"]), hash=str(kept["hash"]))
    except (OSError, ValueError, TypeError, KeyError):
        return None


def _roles(role: TokenRole) -> frozenset[Role]:
    if role == "both":
        return BOTH
    if role not in get_args(Role):
        raise UsageError(f"there is no role {role!r}", remedy="user, approver or both")
    return frozenset({role})


def _hashed(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()
