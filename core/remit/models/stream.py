"""Server-sent events, as chat completion endpoints send them (WHATWG HTML, section 9.2.6)."""

from __future__ import annotations

import re

_LINE_END = re.compile(rb"\r\n|\n|\r")


class EventLines:
    """Splits the bytes of an event stream into the data of its events.

    Only LF, CR and CRLF end a line: a text may hold U+2028 and its kind. An event that ends with
    the stream instead of an empty line counts, too; what is cut within is found by its reader.
    """

    def __init__(self) -> None:
        self._rest: list[bytes] = []
        self._data: list[bytes] = []

    def feed(self, chunk: bytes) -> list[bytes]:
        """Return the data of each event that `chunk` completes."""
        if self._rest and not _LINE_END.search(chunk) and not self._rest[-1].endswith(b"\r"):
            self._rest.append(chunk)  # joined once its line has come to its end, however small its parts are
            return []
        buffer = b"".join((*self._rest, chunk))
        held = b""
        if buffer.endswith(b"\r"):  # perhaps half of CRLF
            buffer, held = buffer[:-1], b"\r"
        *lines, rest = _LINE_END.split(buffer)
        self._rest = [rest + held]
        return [data for line in lines if (data := self._line(line)) is not None]

    def end(self) -> list[bytes]:
        """Return the data of the last event, where the stream ended without an empty line."""
        rest, self._rest = b"".join(self._rest), []
        events = [self._line(line) for line in (*_LINE_END.split(rest), b"")]
        return [data for data in events if data is not None]

    def _line(self, line: bytes) -> bytes | None:
        if line.startswith(b"data:"):
            self._data.append(line[5:].removeprefix(b" "))
            return None
        if line or not self._data:
            return None
        data, self._data = b"\n".join(self._data), []
        return data
