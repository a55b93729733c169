"""What a process uses, as the kernel tells it. Nothing is known where there is no /proc."""

from __future__ import annotations

import sys
import time
from pathlib import Path

_PRIVATE = (b"Private_Clean:", b"Private_Dirty:", b"Private_Hugetlb:")
_SCHEDULED = 2


def private_memory(pid: int) -> int:
    """Bytes that would be free without this process; 0 where nobody can say. Costs about 0.2 ms for a cell."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_bytes().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith(_PRIVATE))


def processor_time(pid: int) -> float:
    """Seconds of CPU time that all threads of a process have taken so far, to the nanosecond.

    Where nobody can say, it is a number that never comes twice. The clock's number is that of
    clock_getcpuclockid(3) on Linux.
    """
    try:
        return time.clock_gettime(~pid << 3 | _SCHEDULED) if sys.platform == "linux" else time.monotonic()
    except OSError:
        return time.monotonic()
