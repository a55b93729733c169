"""Addresses that stand for names inside a cell, where nothing is resolved."""

from __future__ import annotations

import socket
import threading

MAX_NAMES = 65536
"""Names remembered at a time; the oldest give their addresses to new ones."""

_FIRST_V4 = 0xC6120000  # 198.18.0.0/15: for benchmarks (RFC 2544), never on the internet
_PREFIX_V6 = bytes.fromhex("01000000000000000000000000000000")[:12]  # 100::/64: discard (RFC 6666)


class Names:
    """Gives every name an address of its own, and knows the name again by it. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._index: dict[str, int] = {}
        self._names: dict[int, str] = {}
        self._next = 0

    def address_of(self, name: str, family: int) -> str:
        """The address, IPv4 or IPv6, that stands for a name."""
        with self._lock:
            index = self._index.get(name)
            if index is None:
                index = self._add(name)
        return _address(index, family)

    def name_of(self, address: str) -> str:
        """The name that an address stands for, or the address itself when it is a real one."""
        index = _index_of(address)
        return address if index is None else self._names.get(index, address)

    def _add(self, name: str) -> int:
        self._next = self._next % MAX_NAMES + 1
        old = self._names.pop(self._next, None)
        if old is not None:
            del self._index[old]
        self._names[self._next] = name
        self._index[name] = self._next
        return self._next


def literal_family(host: str) -> int | None:
    """AF_INET or AF_INET6 for a plain address, None for a name."""
    for family in (socket.AF_INET, socket.AF_INET6):
        try:
            socket.inet_pton(family, host)
        except (OSError, ValueError, UnicodeError):
            continue
        return family
    return None


def _address(index: int, family: int) -> str:
    if family == socket.AF_INET6:
        return socket.inet_ntop(socket.AF_INET6, _PREFIX_V6 + index.to_bytes(4, "big"))
    return socket.inet_ntop(socket.AF_INET, (_FIRST_V4 + index).to_bytes(4, "big"))


def _index_of(address: str) -> int | None:
    family = literal_family(address)
    if family is None:
        return None
    packed = socket.inet_pton(family, address)
    if family == socket.AF_INET:
        index = int.from_bytes(packed, "big") - _FIRST_V4
    else:
        index = int.from_bytes(packed[12:], "big") if packed[:12] == _PREFIX_V6 else -1
    return index if 1 <= index <= MAX_NAMES else None
