"""Run the benchmarks that need no endpoint: `python -m benchmarks`."""

from __future__ import annotations

from benchmarks import calculation, cells, dialects, python_engine, startup

if __name__ == "__main__":
    for benchmark in (startup, cells, calculation, python_engine, dialects):
        benchmark.main([])
        print()
