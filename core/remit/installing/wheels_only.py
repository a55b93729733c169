"""Runs pip where nothing can be built: `python -P wheels_only.py ARGUMENTS OF PIP`.

`--only-binary :all:` does not hold for a requirement that brings its own address (`x @ https://.../x.tar.gz` or
`git+...`): pip would fetch it and run its build, just to learn what it needs. Every build runs in a child process, so
none may be started. The one exception is `keyring`, which pip asks for passwords. Imports nothing of Remit.

Where the variable REMIT_JOURNAL names a folder, it notes there that pip has begun, and at the end when it wrote what:
who comes after a crash of Remit, which pip may outlive, knows by that what is pip's work and what is another hand's.
"""

from __future__ import annotations

import json
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


def written(infos: list[str]) -> dict[str, int]:
    """Return `.dist-info` folders that are whole, with when their RECORD was written, in nanoseconds since 1970."""
    found = {}
    for info in infos:
        try:
            found[info] = os.stat(os.path.join(info, "RECORD")).st_mtime_ns
        except OSError:
            continue
    return found


def note(folder: str, name: str, content: object) -> None:
    """Write a file that is there after a power cut, too, before pip goes on."""
    with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
        json.dump(content, file)
        file.flush()
        os.fsync(file.fileno())


def planned(folder: str) -> list[str]:
    """Return the `.dist-info` folders that pip is about to write."""
    with open(os.path.join(folder, "journal.json"), "rb") as file:
        return list(json.load(file)["infos"])


if __name__ == "__main__":
    sys.addaudithook(refuse_programs)
    sys.argv[0] = "pip"
    journal = os.environ.pop("REMIT_JOURNAL", "")
    if journal:
        note(journal, "begun", True)
    try:
        runpy.run_module("pip", run_name="__main__", alter_sys=True)
    finally:
        if journal:
            note(journal, "ended", written(planned(journal)))
