"""Runs pip where nothing can be built: `python -P wheels_only.py ARGUMENTS OF PIP`.

`--only-binary :all:` does not hold for a requirement that brings its own address (`x @ https://.../x.tar.gz` or
`git+...`): pip would fetch it and run its build, just to learn what it needs. Every build runs in a child process, so
none may be started. The one exception is `keyring`, which pip asks for passwords. Imports nothing of Remit.
"""

from __future__ import annotations

import os
import runpy
import sys
from typing import Any

_STARTS = frozenset({"subprocess.Popen", "os.system", "os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn"})


def refuse_programs(event: str, arguments: tuple[Any, ...]) -> None:
    """Audit hook: PermissionError for every program but keyring."""
    if event not in _STARTS:
        return
    command = arguments[1] if event == "subprocess.Popen" else ()
    program = command[0] if isinstance(command, (list, tuple)) and command else ""
    if os.path.basename(os.fsdecode(program)).removesuffix(".exe") != "keyring":
        raise PermissionError("a source distribution would have to be built, and that runs its code")


if __name__ == "__main__":
    sys.addaudithook(refuse_programs)
    sys.argv[0] = "pip"
    runpy.run_module("pip", run_name="__main__", alter_sys=True)
