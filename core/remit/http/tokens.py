"""Tokens of a deployment, for who asks over HTTP: the same that `remit signoff` knows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, get_args

from remit.errors import UsageError
from remit.http.identity import Identity
from remit.pipeline.terminal import person
from remit.state.people import BOTH, Role, Token
from remit.state.store import State

TokenRole = Literal["user", "approver", "both"]
"""What is chosen when a token is made."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.@+-]{0,63}")


class Tokens:
    """The tokens of one deployment. Programs that run see at once what is added or removed."""

    def __init__(self, state_folder: Path) -> None:
        """Name the deployment's state folder (`deployment.state_folder`)."""
        self._folder = state_folder
        self._state: State | None = None

    def over(self, state: State) -> Tokens:
        """Return these tokens, read through a state that is open and stays so; others when it is another's."""
        if state.database.path.parent != self._folder:
            return self
        found = Tokens(self._folder)
        found._state = state
        return found

    def add(self, name: str, role: TokenRole = "both") -> str:
        """Make a token for a person and return it; it cannot be shown again.

        Raises:
            UsageError: the name is none, or has a token already.
            StateError: it cannot be kept.
        """
        self._require_name(name)
        with self._opened() as state:
            return state.add_token(name, by=person(), roles=_roles(role), in_place=False)

    def remove(self, name: str) -> bool:
        """Make a person's token worthless from now on; say whether there was one.

        Raises:
            StateError: it cannot be removed.
        """
        with self._opened() as state:
            return state.remove_token(name, by=person())

    def kept(self) -> tuple[Token, ...]:
        """Return the tokens, sorted by name; a damaged one is left out, and admits nobody. Raises StateError."""
        with self._opened() as state:
            return state.tokens()

    def exist(self) -> bool:
        """Tell whether there is a token, even a damaged one. Raises StateError."""
        with self._opened() as state:
            return state.tokens_exist()

    def holder(self, given: str) -> Identity | None:
        """Return whose token was given; None for nobody's. Raises StateError."""
        with self._opened() as state:
            found = state.token_holder(given) if given else None
        return None if found is None else Identity(name=found.name, roles=found.roles)

    def take_over(self) -> tuple[str, ...]:
        """Move tokens from files of an earlier Remit into the state; return whose. Raises StateError."""
        with self._opened() as state:
            return state.take_over_tokens()

    @contextmanager
    def _opened(self) -> Iterator[State]:
        if self._state is not None:
            yield self._state
            return
        with State(self._folder) as state:
            yield state

    def _require_name(self, name: str) -> None:
        if not _NAME.fullmatch(name):
            raise UsageError(f"{name[:100]!r} is no name for a token: write letters, digits and _ . @ + -")


def _roles(role: TokenRole) -> frozenset[Role]:
    if role == "both":
        return BOTH
    if role not in get_args(Role):
        raise UsageError(f"there is no role {role!r}", remedy="user, approver or both")
    return frozenset({role})
