"""Editing the arguments of a call on the terminal: in the person's editor, or one by one where there is none."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from remit.pipeline.render import visible, visible_json
from remit.pipeline.rows import hanging
from remit.plain_file import read_plain

LARGEST = 16 * 1024 * 1024
"""Bytes of what comes back from an editor."""

_LOOK_SECONDS = 0.2
_MOST_ASKED = 10
_ODD = re.compile(r"[^ -~\n]")


class NotEdited(Exception):
    """Nothing was edited; the message says why, for the person."""


def editor() -> str:
    """Return the person's editor, as they say in `VISUAL` or `EDITOR`; empty where they say nothing."""
    return os.environ.get("VISUAL", "").strip() or os.environ.get("EDITOR", "").strip()


def as_text(arguments: Mapping[str, Any]) -> str:
    """Return arguments as JSON to be edited; what would not show itself is written as an escape of JSON."""
    text = json.dumps(dict(arguments), ensure_ascii=False, indent=2)
    return _ODD.sub(lambda found: found[0] if visible(found[0]) == found[0] else json.dumps(found[0])[1:-1], text)


def in_editor(command: str, text: str, *, terminal: int, given_up: threading.Event) -> str:
    """Let the person edit `text` and return what they saved.

    Args:
        command: of the editor, with its options.
        text: what they find in the file.
        terminal: descriptor of the terminal that the editor gets.
        given_up: ends the editor, when nobody waits for the answer any more.

    Raises:
        NotEdited: the editor cannot be run, failed, or left no text.
    """
    with TemporaryDirectory(prefix="remit-") as folder:
        path = Path(folder, "arguments.json")
        path.write_text(text + "\n", encoding="utf-8")
        try:
            order = [*shlex.split(command), str(path)]
            process = subprocess.Popen(order, stdin=terminal, stdout=terminal, stderr=terminal)
        except (OSError, ValueError) as error:
            raise NotEdited(f"the editor {command!r} cannot be run: {error}") from None
        code = _ended(process, given_up)
        if code:
            raise NotEdited(f"the editor {command!r} ended with {code}")
        try:
            return read_plain(path, LARGEST).decode("utf-8")
        except (OSError, ValueError) as error:
            raise NotEdited(f"what the editor left cannot be read: {error}") from None


def _ended(process: subprocess.Popen[bytes], given_up: threading.Event) -> int:
    """Wait until an editor has ended; one that nobody waits for is asked to end, and then made to."""
    asked = 0
    while True:
        try:
            return process.wait(timeout=_LOOK_SECONDS)
        except subprocess.TimeoutExpired:
            if given_up.is_set():
                process.kill() if asked >= _MOST_ASKED else process.terminate()
                asked += 1


def one_by_one(arguments: Mapping[str, Any], line: Callable[[str], str | None], *, columns: int = 0) -> str:
    """Ask for each argument in turn and return all of them as JSON text.

    Args:
        arguments: as they are.
        line: shows a prompt and returns what was typed, None at the end of file.
        columns: of the terminal; 0 breaks no lines.

    Raises:
        NotEdited: the end of file came.
    """
    asked = ((name, _asked(name, old, line, columns)) for name, old in arguments.items())
    return json.dumps({name: new for name, new in asked if new is not _GONE})


_GONE = object()


def _asked(name: str, old: Any, line: Callable[[str], str | None], columns: int) -> Any:
    shown = "\n".join((*hanging(f"{visible(name)} = {visible_json(old)}", columns, apart=True), ""))
    kind = "text" if isinstance(old, str) else "JSON"
    while True:
        typed = line(f"{shown}  new value as {kind} (Enter keeps it, - leaves it out): ")
        if typed is None:
            raise NotEdited("the terminal was closed")
        if typed in ("", "-"):
            return _GONE if typed else old
        if isinstance(old, str) and not typed.startswith('"'):
            return typed
        try:
            return json.loads(typed)
        except (ValueError, RecursionError) as error:
            shown = f"That is no JSON: {error}.\n"
