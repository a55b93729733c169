"""`remit` and `python -m remit`: answer `--version` at once, hand everything else to `remit.cli`."""

from __future__ import annotations

import os
import sys


def main() -> int:
    """Run the command line; return its exit code."""
    # An entry point of group `pydantic` would be imported by the first model otherwise.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    if sys.argv[1:] in (["--version"], ["-V"]):
        from remit import __version__

        sys.stdout.write(f"remit {__version__}\n")
        return 0
    from remit.cli.main import run

    return run(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
