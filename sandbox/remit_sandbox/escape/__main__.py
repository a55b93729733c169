"""Prints what every attempt came to: `python -m remit_sandbox.escape [ATTEMPT ...]`."""

from __future__ import annotations

import sys

from remit_sandbox.escape.arena import run, run_all
from remit_sandbox.escape.table import rows_of, summary, written

if __name__ == "__main__":
    found = run("full", names=sys.argv[1:]) if sys.argv[1:] else run_all()
    rows = rows_of(found)
    print(written(rows))
    print()
    print(summary(rows, why=found["why"]))
