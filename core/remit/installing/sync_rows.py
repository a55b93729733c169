"""How a pack or extension of a deployment stands, as `remit sync` says it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

State = Literal["ok", "to install", "dev", "not locked", "failed"]
"""How it stands: as locked; missing or changed, and can be had; in development; nobody accepted it; cannot be."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """How one enabled pack or extension stands; `reason` and `remedy` are empty for one that is as it should be.

    Attributes:
        pack: its name, for people.
        extension: its name where it is an extension, else empty.
        distribution, version: as locked; empty where nothing is.
        state: how it stands.
        reason: why it is not as it should be.
        remedy: what to do about it.
    """

    pack: str
    extension: str = ""
    distribution: str = ""
    version: str = ""
    state: State
    reason: str = ""
    remedy: str = ""
