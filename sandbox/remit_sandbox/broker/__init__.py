"""The network broker: connects on the host's side, by name, for cells that have no sockets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from remit_sandbox.broker.broker import Broker
    from remit_sandbox.broker.events import NetworkEvent

__all__ = ["Broker", "NetworkEvent"]


def __getattr__(name: str) -> Any:
    if name == "Broker":
        from remit_sandbox.broker.broker import Broker

        return Broker
    if name == "NetworkEvent":
        from remit_sandbox.broker.events import NetworkEvent

        return NetworkEvent
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
