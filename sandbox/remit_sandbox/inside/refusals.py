"""What a cell was refused, in words that name the missing permission.

The kernel refuses with a bare error number. Here it becomes a sentence, and an entry that the answer carries
to the host. It is the cell's own account, which proves nothing; what the host's broker refuses, it tells itself.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from types import FrameType
from typing import Any

from remit_sandbox.inside.context import Context

MOST = 20
"""Refusals that one answer carries."""

LENGTH = 200
"""Characters of what was wanted."""

Entry = tuple[str, str, str]
"""Permission key, what was wanted, and the grant that is missing."""

_SHARED = ("multiprocessing/synchronize.py", "multiprocessing/shared_memory.py")
_FORKING = ("multiprocessing/popen_fork.py", "multiprocessing/popen_spawn_posix.py", "multiprocessing/util.py")
_noted: list[Entry] = []


def note(right: str, what: str, missing: str) -> None:
    """Remember a refusal for the next answer."""
    entry = (right, what[:LENGTH], missing[:LENGTH])
    if len(_noted) < MOST and entry not in _noted:
        _noted.append(entry)


def take() -> list[list[str]]:
    """What was refused since it was last asked."""
    taken = [list(entry) for entry in _noted]
    _noted.clear()
    return taken


def why(error: BaseException) -> str:
    """Return what an error of the kernel means for the pack's author, empty when it is no such error."""
    if isinstance(error, (TypeError, AttributeError)):
        return _told_workspace(error)
    if not isinstance(error, PermissionError):
        return ""
    for frame in reversed(list(_frames(error))):
        file = frame.f_code.co_filename
        if file.endswith(_SHARED):
            return _told("shm", "shared memory", "shm = true")
        if file.endswith("/subprocess.py"):
            return "" if _is_about_the_folder(error, frame) else _told_program(frame.f_locals)
        if file.endswith(_FORKING):
            return _told("exec", "a process of its own", 'isolation = "process" and limits.processes')
    return ""


def _told_workspace(error: BaseException) -> str:
    """Return why `ctx.workspace` is None, where an error comes from a function that used it as a path."""
    if "NoneType" not in str(error):
        return ""
    used = (frame for frame in _frames(error) if "workspace" in frame.f_code.co_names)
    if not any(_is_without_workspace(value) for frame in used for value in frame.f_locals.values()):
        return ""
    return "this skill has no right to the workspace; add fs.read under [permissions] and uses"


def _is_without_workspace(value: object) -> bool:
    return isinstance(value, Context) and value.workspace is None


def _is_about_the_folder(error: OSError, frame: FrameType) -> bool:
    """Whether a child could not enter its working directory, which is no matter of the program."""
    folder = frame.f_locals.get("cwd")
    return folder is not None and error.filename == folder


def _told_program(names: dict[str, Any]) -> str:
    program = names.get("executable") or names.get("args") or "a program"
    if isinstance(program, (list, tuple)):
        program = program[0] if program else "a program"
    name = os.path.basename(os.fsdecode(program)) if isinstance(program, (str, bytes, os.PathLike)) else "a program"
    note("exec", name, missing := f"exec = [{json.dumps(name)}]")
    return f"this skill has no right to run {name} (missing: {missing})"


def _told(right: str, what: str, missing: str) -> str:
    note(right, what, missing)
    return f"this skill has no right to {what} (missing: {missing})"


def _frames(error: BaseException) -> Iterator[FrameType]:
    trace = error.__traceback__
    while trace is not None:
        yield trace.tb_frame
        trace = trace.tb_next
