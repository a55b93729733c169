"""`remit log export`: records as JSON Lines, for other programs and for auditors."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from remit.account import account
from remit.cli import screen
from remit.cli.log_filters import add_filters, wanted
from remit.cli.log_rows import at
from remit.cli.opening import add_action, add_folder
from remit.errors import UsageError

if TYPE_CHECKING:
    from remit.state.reading import Read, Wanted
    from remit.state.store import State


def configure(actions: Any) -> None:
    """Describe the action."""
    parser = add_action(
        actions,
        "export",
        "write records as JSON Lines, one a line, oldest first",
        "remit log export audit.jsonl --since 2026-11-01 --until 2026-11-30\n"
        "remit log export - --event call.finished\nremit log export case.jsonl --session 1f3a --payloads",
    )
    parser.add_argument("file", nargs="?", default="-", help="where to; - is standard output (default)")
    parser.add_argument(
        "--payloads", action="store_true", help="with arguments, texts and results; that is itself recorded"
    )
    parser.add_argument("--force", action="store_true", help="replace a file that is there")
    parser.add_argument("--json", action="store_true", help="print what was written into a file as JSON")
    add_filters(parser)
    add_folder(parser)
    parser.set_defaults(action=export)


def export(options: argparse.Namespace) -> int:
    """Write the records that fit, in flat memory; how many goes to standard error."""
    from remit.cli.log import opened_state

    with opened_state(options.folder) as state:
        filters = wanted(options, state)
        if options.payloads:
            _tell(state, filters)
        with written_to(options.file, replace=options.force) as target:
            count, erased = _write(state, filters, target, payloads=options.payloads)
    if options.json and options.file != "-":
        screen.say_json({"file": options.file, "records": count, "erased": erased, "payloads": options.payloads})
        return 0
    gone = f", the payloads of {erased} erased before" if erased else ""
    screen.warn(f"{count} records{gone}")
    return 0


def line_of(one: Read, *, payloads: bool) -> dict[str, Any]:
    """Return the value of one line.

    Every line has the record's own fields, its hash (`leaf`) and the commitment to its payload (`sealed`);
    `payload` only where it was asked for and is still there, `erased` where it is gone.
    """
    record = one.record
    line: dict[str, Any] = {"seq": record.seq, "at": at(record.time).isoformat(timespec="milliseconds")}
    for name in ("time", "event", "session", "who", "skill", "call", "effect", "verdict", "status", "trace"):
        line[name] = getattr(record, name)
    line |= {"body": one.facts, "sealed": record.sealed, "leaf": record.leaf}
    if payloads and one.payload is not None:
        line["payload"] = one.payload
    if one.erased is not None:
        line["erased"] = {"at": at(one.erased).isoformat(timespec="seconds"), "why": one.why, "bytes": one.size}
    return line


def _write(state: State, filters: Wanted, target: TextIO, *, payloads: bool) -> tuple[int, int]:
    from remit.state.reading import read

    count = erased = 0
    for one in read(state.database, filters):
        target.write(json.dumps(line_of(one, payloads=payloads), default=str) + "\n")
        count += 1
        erased += one.erased is not None
    return count, erased


def _tell(state: State, filters: Wanted) -> None:
    """Record that payloads leave the log: which, never what they say."""
    chosen = {name: value for name, value in vars(filters).items() if value}
    state.append("log.exported", body={"filters": chosen, "by": account()})


@contextmanager
def written_to(name: str, *, replace: bool = False, remedy: str = "--force replaces it") -> Iterator[TextIO]:
    """Yield where lines go; a file is private, and there only when it is complete.

    Args:
        name: of the file; `-` is standard output.
        replace: one that is there already.
        remedy: what to do where one is there that is not to be replaced.
    """
    if name == "-":
        yield sys.stdout
        sys.stdout.flush()
        return
    path = Path(name)
    if path.exists() and not replace:
        raise UsageError(f"{screen.visible(name)} is there already", remedy=remedy)
    part = path.with_name(f".{path.name}.part")
    try:
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_NOFOLLOW", 0), 0o600)
        try:
            with os.fdopen(descriptor, "w", encoding="ascii") as file:
                yield file
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)
    except OSError as error:
        raise UsageError(f"{screen.visible(name)} cannot be written: {error.strerror or error}") from error
