"""Who asks, and what they may do."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from remit.state.people import BOTH, Role
from remit_sandbox.signoff import same_person
from remit_sandbox.unseen import is_unseen

if TYPE_CHECKING:
    from starlette.requests import Request

__all__ = ["BOTH", "Identify", "Identity", "Role", "as_identity", "same_person"]

_LONGEST = 200


@dataclass(frozen=True, kw_only=True)
class Identity:
    """Somebody who was identified.

    Attributes:
        name: the principal that runs are for, and who signs.
        roles: what they may do.
        alone: the one person of this machine: there are no tokens, and only this machine may connect.
    """

    name: str
    roles: frozenset[Role] = BOTH
    alone: bool = False


Identify = Callable[["Request"], "Identity | str | Awaitable[Identity | str | None] | None"]
"""Tells who sends a request: a name (who then has both roles), an `Identity`, or None for nobody."""


def as_identity(found: Identity | str | None) -> Identity | None:
    """Return what an `Identify` found as an identity; None for nobody.

    Raises:
        ValueError: the name cannot be one: empty, too long, or with characters that do not show.
    """
    if found is None:
        return None
    identity = found if isinstance(found, Identity) else Identity(name=found)
    name = identity.name
    if not name.strip() or len(name) > _LONGEST or any(map(is_unseen, name)):
        raise ValueError(f"identify gave {name[:_LONGEST]!a}, which is no name")
    return identity
