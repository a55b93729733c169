"""Run the benchmarks that need no endpoint: `python -m benchmarks`."""

from __future__ import annotations

from benchmarks import (
    calculation,
    cells,
    dialects,
    discovery,
    log,
    many_cells,
    python_engine,
    rights,
    skill_search,
    startup,
    verdicts,
)

if __name__ == "__main__":
    for benchmark in (
        startup,
        discovery,
        cells,
        rights,
        many_cells,
        calculation,
        python_engine,
        dialects,
        log,
        verdicts,
        skill_search,
    ):
        benchmark.main([])
        print()
