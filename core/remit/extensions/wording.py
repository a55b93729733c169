"""What other people's code raised, in our words."""

from __future__ import annotations


def described(error: BaseException) -> str:
    """Return an exception in one line, as text of somebody else's: its type and the beginning of its message."""
    try:
        message = " ".join(str(error).split())[:200]
    except Exception:
        message = ""
    return f"{type(error).__name__}: {message}" if message else type(error).__name__
