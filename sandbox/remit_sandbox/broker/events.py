"""What the broker tells the host about each request of a cell."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class NetworkEvent:
    """One request of a cell to connect, and what became of it.

    Attributes:
        pack: name of the pack whose cell asked.
        host: the name or address asked for, normalised; escaped where it is no valid host.
        port: TCP port.
        allowed: whether grants and address rules let it through (the server may still be down).
        reason: one line of plain ASCII for the log; a refusal names host, port and missing grant.
        missing: the grant that would have allowed it, as a manifest writes it; empty when none is missing.
    """

    pack: str
    host: str
    port: int
    allowed: bool
    reason: str
    missing: str = ""

    @property
    def target(self) -> str:
        """Host and port as a grant writes them."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"
