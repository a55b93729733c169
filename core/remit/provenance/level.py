"""How much provenance may settle in a deployment."""

from __future__ import annotations

from typing import Literal

Level = Literal["off", "targets", "strict"]
"""`off`: nothing, every default question is asked.
`targets`: a call whose targets the user named, in words or by the record that holds them.
`strict`: as `targets`, but a record of an untrusted result names nothing, and content that rests on untrusted
text is asked about, too.
"""

SETTLES_LESS: tuple[Level, ...] = ("targets", "strict", "off")
"""The levels in the order in which they settle less and less."""
