"""Frames of the broker socket: 4 bytes of length, big-endian, and a small msgpack map."""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import msgpack

from remit_sandbox.errors import ProtocolError

MAX_FRAME = 4096
"""Longest frame in bytes, either way."""

MAX_TIMEOUT = 60.0
"""Longest time, in seconds, that the broker tries to connect."""

_LENGTH = struct.Struct(">I")


Operation = Literal["check", "connect"]
"""`check`: only say whether a grant covers host and port. `connect`: connect as well."""


@dataclass(frozen=True, kw_only=True)
class Request:
    """A cell's wish: `host` as the cell wrote it, `timeout` in seconds within (0, MAX_TIMEOUT]."""

    op: Operation
    id: int
    host: str
    port: int
    timeout: float


def pack_frame(body: Mapping[str, Any]) -> bytes:
    """One frame, ready to send."""
    packed: bytes = msgpack.packb(dict(body), use_bin_type=True)
    return _LENGTH.pack(len(packed)) + packed


def unpack_body(body: bytes) -> dict[str, Any]:
    """The map in a frame's body; raises ProtocolError for anything else."""
    try:
        value = msgpack.unpackb(body, raw=False, strict_map_key=True, max_ext_len=0)
    except Exception as error:  # msgpack raises many kinds, some of them undocumented
        raise ProtocolError("a frame on the broker socket is not msgpack") from error
    if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
        raise ProtocolError("a frame on the broker socket is no map")
    return value


class FrameBuffer:
    """Cuts a stream of hostile bytes into frames."""

    def __init__(self) -> None:
        self._data = bytearray()

    def feed(self, data: bytes) -> None:
        """Adds bytes as they came."""
        self._data += data

    def frames(self) -> Iterator[dict[str, Any]]:
        """Takes complete frames out, lazily; raises ProtocolError at a frame that is too long or no map."""
        while len(self._data) >= _LENGTH.size:
            (length,) = _LENGTH.unpack_from(self._data)
            if length > MAX_FRAME:
                raise ProtocolError(f"a frame of {length} bytes on the broker socket")
            if len(self._data) < _LENGTH.size + length:
                return
            body = bytes(self._data[_LENGTH.size : _LENGTH.size + length])
            del self._data[: _LENGTH.size + length]
            yield unpack_body(body)


def read_request(frame: Mapping[str, Any]) -> Request:
    """Checks the form of a request; raises ProtocolError. What it asks for is judged elsewhere."""
    number, host, port = frame.get("id"), frame.get("host"), frame.get("port")
    op: Operation = "check" if frame.get("op") == "check" else "connect"
    if frame.get("op") != op or not isinstance(host, str):
        raise ProtocolError("the broker socket takes `check` and `connect` with a host")
    if type(number) is not int or type(port) is not int:
        raise ProtocolError("`id` and `port` on the broker socket are integers")
    return Request(op=op, id=number, host=host, port=port, timeout=_read_timeout(frame.get("timeout")))


def _read_timeout(value: object) -> float:
    if value is None:
        return MAX_TIMEOUT
    if not isinstance(value, int | float) or isinstance(value, bool) or math.isnan(value):
        raise ProtocolError("`timeout` on the broker socket is a number of seconds")
    return float(min(max(value, 0.001), MAX_TIMEOUT))
