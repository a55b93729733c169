"""`remit.lock`: what was accepted of each pack, so that one that changes itself is noticed.

Where import time matters, `remit.packs.lockfile` reads a lock without pydantic.
"""

from remit.packs.drift import drift, widened
from remit.packs.locked import Lock, LockedExtension, LockedPack, LockedSkill
from remit.packs.lockfile import format_lock, parse_lock, read_lock, write_lock
from remit.packs.locking import lock_pack

__all__ = [
    "Lock",
    "LockedExtension",
    "LockedPack",
    "LockedSkill",
    "drift",
    "format_lock",
    "lock_pack",
    "parse_lock",
    "read_lock",
    "widened",
    "write_lock",
]
