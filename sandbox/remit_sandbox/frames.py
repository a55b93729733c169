"""Frames between host, supervisor and cells, without any input or output of their own.

A frame is a length of 4 bytes, big-endian, and a msgpack map with text keys. What comes from a cell
is hostile: its length is capped before anything is allocated, and a long frame is walked before it is
decoded, so that a few megabytes of empty lists cannot become gigabytes of objects.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import msgpack

from remit_sandbox.errors import ProtocolError

Message = dict[str, Any]

HEADER = 4
TO_CELL = 64 * 1024 * 1024
"""Longest frame that the host sends, in bytes."""

DEPTH = 64
"""Deepest nesting of a frame."""

# Small enough that the allocator gives the same warm pages again and again; measured for 1 MB.
_READ = 64 * 1024
_SMALL = 16 * 1024
_MOST_OBJECTS = 20_000
_TEXT = {str}
_Packer, _unpack = msgpack.Packer, msgpack.unpackb


def encode(message: Mapping[str, Any], *, limit: int = TO_CELL) -> tuple[bytes, bytes]:
    """Header and body of a frame, apart so that a long body need not be copied.

    Raises:
        ProtocolError: when the frame would be longer than `limit` bytes or cannot be written.
    """
    try:
        body = cast(bytes, _Packer(use_bin_type=True, buf_size=_SMALL).pack(message))
    except (ValueError, TypeError, OverflowError, RecursionError) as error:
        raise ProtocolError(f"this cannot be sent: {error}") from None
    if len(body) > limit:
        raise ProtocolError(f"a frame of {len(body)} bytes is longer than the limit of {limit}")
    return len(body).to_bytes(HEADER, "big"), body


def decode(body: bytes | bytearray | memoryview) -> Message:
    """The message of a frame's body.

    Raises:
        ProtocolError: when it is not one msgpack map with text keys within the caps.
    """
    if len(body) > _SMALL:
        _walk(memoryview(body))
    try:
        message = _unpack(body, raw=False, strict_map_key=True, ext_hook=_no_extension, timestamp=0)
    except (ValueError, TypeError, OverflowError, RecursionError, MemoryError) as error:
        raise ProtocolError(f"a frame is not msgpack: {type(error).__name__}") from None
    if type(message) is not dict or set(map(type, message)) - _TEXT:
        raise ProtocolError("a frame holds no map with text keys")
    return message


def _no_extension(code: int, data: bytes) -> object:
    raise ValueError("extension types are not used")


class FrameReader:
    """Cuts a stream of bytes into messages.

    Args:
        limit: longest body that is taken, in bytes.
    """

    __slots__ = ("_buffer", "limit")

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._buffer = bytearray()

    @property
    def pending(self) -> bool:
        """Whether bytes wait that make no whole frame yet, or a further one."""
        return bool(self._buffer)

    def wanted(self) -> int:
        """How many bytes are worth reading at once."""
        return _READ

    def feed(self, data: bytes) -> Message | None:
        """Take bytes; give the next message when one is whole. Call with `b""` for a further one.

        Raises:
            ProtocolError: when the frame is too long or not of the known form.
        """
        if not self._buffer and len(data) >= HEADER:
            length = int.from_bytes(data[:HEADER], "big")
            if len(data) - HEADER == length <= self.limit:
                return decode(data[HEADER:])
        self._buffer += data
        if len(self._buffer) < HEADER:
            return None
        end = HEADER + self._length()
        if len(self._buffer) < end:
            return None
        whole, self._buffer = self._buffer, self._buffer[end:]
        with memoryview(whole) as view, view[HEADER:end] as body:
            return decode(body)

    def _length(self) -> int:
        length = int.from_bytes(self._buffer[:HEADER], "big")
        if length > self.limit:
            raise ProtocolError(f"a frame of {length} bytes is longer than the limit of {self.limit}")
        return length


class Exchange:
    """One request and its answer over a connection that carries one request at a time.

    Both drivers, blocking and asyncio, send `outgoing` and feed what they read until an answer is there.
    A message that does not carry this request's id, or bytes after the answer, break the protocol.

    Args:
        reader: the connection's reader, which must hold nothing.
        request: the message to send; it gets an `id` that the peer cannot know beforehand.
        number: that id.
        limit: longest frame to send, in bytes.

    Raises:
        ProtocolError: when the request cannot be sent, or bytes came before it.
    """

    __slots__ = ("_number", "_reader", "outgoing", "progress")

    def __init__(self, reader: FrameReader, request: Mapping[str, Any], number: int, *, limit: int = TO_CELL) -> None:
        if reader._buffer:
            raise ProtocolError("bytes came before the request")
        self.outgoing = encode({**request, "id": number}, limit=limit)
        self.progress: list[str] = []
        self._reader = reader
        self._number = number

    def wanted(self) -> int:
        """How many bytes are worth reading at once."""
        return self._reader.wanted()

    def feed(self, data: bytes) -> Message | None:
        """Take bytes; give the answer when it is there. Progress is collected in `progress`.

        Raises:
            ProtocolError: when the peer breaks the protocol.
        """
        message = self._reader.feed(data)
        while message is not None:
            number = message.get("id")
            if number != self._number or type(number) is not int:
                raise ProtocolError("a frame answers no request")
            if message.get("op") != "progress":
                if self._reader._buffer:
                    raise ProtocolError("bytes came after the answer")
                return message
            self.progress.append(str(message.get("text", ""))[:2000])
            message = self._reader.feed(b"") if self._reader.pending else None
        return None


_FIXED = {0xC0: 0, 0xC2: 0, 0xC3: 0, 0xCA: 4, 0xCB: 8, 0xCC: 1, 0xCD: 2, 0xCE: 4, 0xCF: 8}
_FIXED |= {0xD0: 1, 0xD1: 2, 0xD2: 4, 0xD3: 8}
_SIZED = {0xC4: 1, 0xC5: 2, 0xC6: 4, 0xD9: 1, 0xDA: 2, 0xDB: 4}
_NESTED = {0xDC: (2, 1), 0xDD: (4, 1), 0xDE: (2, 2), 0xDF: (4, 2)}


def _walk(body: memoryview) -> None:
    """Count the objects of a long frame without making them; text and bytes are skipped."""
    at, objects = 0, 0
    open_: list[int] = [1]
    while open_:
        if open_[-1] == 0:
            open_.pop()
            continue
        open_[-1] -= 1
        objects += 1
        if at >= len(body) or objects > _MOST_OBJECTS or len(open_) > DEPTH:
            raise ProtocolError("a frame is cut short, too deep or holds too many values")
        at, children = _item(body, at)
        if children:
            open_.append(children)


def _item(body: memoryview, at: int) -> tuple[int, int]:
    """Where the next item begins, and how many items this one holds."""
    kind = body[at]
    at += 1
    if kind <= 0x7F or kind >= 0xE0:
        return at, 0
    if kind <= 0x8F:
        return at, 2 * (kind & 0x0F)
    if kind <= 0x9F:
        return at, kind & 0x0F
    if kind <= 0xBF:
        return at + (kind & 0x1F), 0
    if kind in _FIXED:
        return at + _FIXED[kind], 0
    if kind in _SIZED:
        width = _SIZED[kind]
        return at + width + int.from_bytes(body[at : at + width], "big"), 0
    if kind in _NESTED:
        width, each = _NESTED[kind]
        return at + width, each * int.from_bytes(body[at : at + width], "big")
    raise ProtocolError("a frame holds an extension type")
