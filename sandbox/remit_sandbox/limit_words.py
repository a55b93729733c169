"""Which limit stands behind an error that a handler was given by Python or the kernel."""

from __future__ import annotations

from dataclasses import replace

from remit_sandbox.values import Limits, Reply

_UNITS = ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))


def with_limit(reply: Reply, limits: Limits) -> Reply:
    """A failed reply whose error names the limit that was reached, where it is one."""
    words = _words(reply.error, limits)
    return replace(reply, error=f"{reply.error} ({words})") if words else reply


def _words(error: str, limits: Limits) -> str:
    if error.startswith("MemoryError"):
        return f"limits.memory is {amount(limits.memory)}"
    if "can't start new thread" in error:
        return f"each takes address space of limits.memory, which is {amount(limits.memory)}"
    if "[Errno 24]" in error:
        return f"limits.open_files is {limits.open_files}"
    if "[Errno 27]" in error:
        return f"limits.file_size is {amount(limits.file_size)}"
    return ""


def amount(size: int) -> str:
    """Bytes in the largest unit that leaves nothing over."""
    for unit, name in _UNITS:
        if size >= unit and not size % unit:
            return f"{size // unit} {name}"
    return f"{size} bytes"
