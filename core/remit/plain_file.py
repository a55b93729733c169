"""Reads a file that somebody else may have put there: never a pipe or a device, never more than was asked for."""

from __future__ import annotations

import errno
import os
import stat


def read_plain(path: str | os.PathLike[str], largest: int) -> bytes:
    """Return the bytes of a regular file.

    Args:
        path: of the file; a link is followed.
        largest: most bytes that it may have.

    Raises:
        OSError: it cannot be read, is no regular file (which would be waited for), or is larger.
    """
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
    with open(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "it is no regular file", os.fspath(path))
        data = file.read(largest + 1)
    if len(data) > largest:
        raise OSError(errno.EFBIG, f"it is larger than {largest // 1024} KiB", os.fspath(path))
    return data
