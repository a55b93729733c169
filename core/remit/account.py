"""Who runs this process."""

from __future__ import annotations

import getpass
import os


def account() -> str:
    """Return the name of the account that this process runs under, whatever variables such as `USER` say.

    A person is told apart by it: one who could choose another name could sign off their own action as a second
    person, or read what packs keep for somebody else.
    """
    try:
        import pwd
    except ImportError:  # no POSIX system
        return _said() or "unknown"
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return f"uid {os.getuid()}"


def other_name() -> str:
    """Return the name that variables give to the person, where it is another one than the account's; else empty."""
    said = _said()
    return said if said != account() else ""


def _said() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return ""
