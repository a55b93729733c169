"""What a granted program needs beside itself."""

from __future__ import annotations

import os
import struct
from pathlib import Path

_INTERPRETER = 3
_MOST = 4096


def loader_of(program: str) -> str:
    """Real path of the dynamic loader that an ELF program names; empty when it names none.

    The kernel opens it for execution, so it needs the right, too. Source: elf(5).
    """
    try:
        with Path(program).open("rb") as file:
            head = file.read(64)
            if head[:6] != b"\x7fELF\x02\x01":
                return ""
            offset, size, count = struct.unpack_from("<Q", head, 32)[0], *struct.unpack_from("<HH", head, 54)
            file.seek(offset)
            table = file.read(min(size * count, _MOST))
            return _interpreter(file.fileno(), table, size)
    except (OSError, struct.error):
        return ""


def _interpreter(descriptor: int, table: bytes, size: int) -> str:
    for start in range(0, len(table) - size + 1, size or _MOST):
        kind, _, offset, _, _, length = struct.unpack_from("<IIQQQQ", table, start)
        if kind == _INTERPRETER:
            name = os.pread(descriptor, min(length, _MOST), offset).rstrip(b"\0")
            return os.path.realpath(os.fsdecode(name))
    return ""
