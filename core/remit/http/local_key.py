"""The key of whoever is at this machine: what shows that they are, where nobody has a token yet.

That a request comes from this machine proves nothing: a proxy that says nothing of itself sends everybody's so.
"""

from __future__ import annotations

import hmac
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from remit.errors import StateError
from remit.plain_file import read_plain
from remit.state_folder import place_once, private_folder, write_private

FILE = "serve-key"
"""Its name in the state folder of a deployment; mode 0600."""

_START = "remit_here_"
_LARGEST = 1_024
_KEY = re.compile(f"{_START}[A-Za-z0-9_-]{{43}}")


class LocalKey:
    """The key of one deployment, kept where only the account can read it under which Remit runs.

    Every server of the deployment takes the same key, and a new one at once.
    """

    def __init__(self, state_folder: Path) -> None:
        """Name the deployment's state folder (`deployment.state_folder`)."""
        self._path = state_folder / FILE

    def value(self) -> str:
        """Return the key, made at first use.

        Raises:
            StateError: it can be neither read nor made.
        """
        return self._kept() or self._first() or self.renew()

    def renew(self) -> str:
        """Make a new key in the place of the old one, which is worthless from now on. Raises StateError."""
        key = _new()
        with self._writing():
            write_private(self._path, key.encode())
        return key

    def fits(self, given: str) -> bool:
        """Tell whether this is the key; without one nothing is. Raises StateError."""
        kept = self._kept()
        return bool(kept) and hmac.compare_digest(kept.encode(), given.encode())

    def _first(self) -> str:
        """Return the key, made where there is no file: programs that need one at the same time have the same."""
        with self._writing():
            place_once(self._path, _new().encode())
        return self._kept()

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            private_folder(self._path.parent)
            yield
        except OSError as error:
            raise StateError(f"{self._path} cannot be written: {error.strerror or error}") from error

    def _kept(self) -> str:
        """Return the key as it is kept; empty where there is none, or only a damaged one."""
        try:
            kept = read_plain(self._path, _LARGEST).decode("ascii", "replace").strip()
        except FileNotFoundError:
            return ""
        except OSError as error:
            raise StateError(f"{self._path} cannot be read: {error.strerror or error}") from error
        return kept if _KEY.fullmatch(kept) else ""


def _new() -> str:
    return _START + secrets.token_urlsafe(32)
