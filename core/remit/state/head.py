"""The last record, kept in a file of its own beside `state.db` whenever the log is closed.

It is no proof, as whoever can change the one can change the other; it notices what happens by mistake: a file
that was deleted, cut short, or put back from an old copy.
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from remit.state_folder import write_private

_FILE = "log.head"
_LARGEST = 4096


@dataclass(frozen=True, kw_only=True)
class Head:
    """The last record of a log.

    Attributes:
        first: leaf of the first record, hexadecimal; it tells logs apart.
        seq: number of the last one.
        leaf: its leaf, hexadecimal.
    """

    first: str
    seq: int
    leaf: str


def read_head(folder: Path) -> Head | None:
    """Return the head kept in a state folder; None when there is none that can be read."""
    try:
        with (folder / _FILE).open("rb") as file:
            found = json.loads(file.read(_LARGEST))
        head = Head(first=found["first"], seq=found["seq"], leaf=found["leaf"])
        bytes.fromhex(head.first + head.leaf)
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return head if isinstance(head.seq, int) and head.seq > 0 else None


def write_head(folder: Path, head: Head) -> None:
    """Keep a head, unless a later one of the same log is there; one that cannot be written is left out."""
    before = read_head(folder)
    if before is not None and before.first == head.first and before.seq >= head.seq:
        return
    with suppress(OSError):
        write_private(folder / _FILE, json.dumps(vars(head)).encode())
