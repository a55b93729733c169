"""How a session comes by the skills that do more than read."""

from __future__ import annotations

from typing import Literal

SessionGrants = Literal["off", "proposed", "chosen"]
"""`off`: every enabled skill is there from the start.
`proposed`: a session has the skills that read, and of the others those that a person chose for it; where nobody chose,
the model proposes a list from the person's own words alone, and a person confirms it once.
`chosen`: as `proposed`, but the model proposes nothing.

A grant only takes skills away. What a call of a granted skill needs, it still needs.
"""

ENABLES_LESS: tuple[SessionGrants, ...] = ("off", "proposed", "chosen")
"""The words in the order in which a session has less by itself."""
