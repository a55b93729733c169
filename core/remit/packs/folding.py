"""Names that mean the same: this is asked at every start, and imports nothing."""

from __future__ import annotations


def fold(name: str) -> str:
    """Fold a name as PEP 503 does: lower case, runs of `-`, `_` and `.` become one `-`."""
    folded = name.lower().replace("_", "-").replace(".", "-")
    while "--" in folded:
        folded = folded.replace("--", "-")
    return folded
