"""Run every benchmark: `python -m benchmarks`."""

from __future__ import annotations

from benchmarks import cells, startup

if __name__ == "__main__":
    startup.main([])
    print()
    cells.main([])
