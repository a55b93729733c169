"""Remit as in `with_remit`, where the deployment lets sessions share the cells of the pack: it keeps nothing."""

from __future__ import annotations

from benchmarks.drivers.driving import main
from benchmarks.drivers.with_remit import Deployed


class Shared(Deployed):
    """With `shared = true`."""

    shared = True


if __name__ == "__main__":
    main(Shared)
