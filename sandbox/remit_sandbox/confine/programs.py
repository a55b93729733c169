"""What a granted program needs beside itself, and whether it is still the one that was granted."""

from __future__ import annotations

import hashlib
import os
import struct
from collections.abc import Mapping
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


def digest_of(program: str) -> str:
    """SHA-256 of a program's file, in hex.

    Raises:
        OSError: it cannot be read.
    """
    with Path(program).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def check(program: str, descriptor: int, digest: str) -> None:
    """Compare what lies behind a descriptor, which is what will run, with a digest.

    Args:
        program: its path, for the message.
        descriptor: opened with O_PATH.
        digest: SHA-256 in hex.

    Raises:
        OSError: it has another digest, or cannot be read.
    """
    _compare(program, digest_of(f"/proc/self/fd/{descriptor}"), digest)


def check_all(digests: Mapping[str, str]) -> None:
    """Compare programs by their paths, where nothing holds a process to what it opened before.

    Raises:
        OSError: as `check`.
    """
    for program, digest in digests.items():
        _compare(program, digest_of(program), digest)


def _compare(program: str, found: str, wanted: str) -> None:
    if found != wanted:
        raise OSError(0, "is another program than the one that was granted; it was changed or replaced", program)


def script_interpreter(program: str) -> str:
    """The interpreter that a script names in its first line; empty for what is no script.

    The kernel opens it for execution, too: a script runs only where its interpreter is granted as well.
    """
    try:
        with Path(program).open("rb") as file:
            line = file.read(256).partition(b"\n")[0]
    except OSError:
        return ""
    words = line[2:].split()
    return os.fsdecode(words[0]) if line.startswith(b"#!") and words else ""
