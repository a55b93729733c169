"""Steps on a terminal: what a person needs whole is broken between words, the rest is cut to the line."""

from __future__ import annotations

import fcntl
import io
import os
import pty
import re
import struct
import termios

from remit.cli.steps import Steps
from remit.loop.events import CallFinished, CallProposed, Event, Told, TurnRetried
from remit.values import Call, Result

REASON = "model m: POST http://127.0.0.1:9/v1/chat/completions cannot be reached (all connection attempts failed)"
RETRIED = TurnRetried(session="s", step=1, wait=1.0, reason=REASON)


def on_a_terminal(event: Event, *, columns: int) -> list[str]:
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    with os.fdopen(slave, "w") as stream:
        Steps(stream=stream).show(event)
        shown = os.read(master, 65536).decode()
    os.close(master)
    return re.sub(r"\x1b\[[0-9;]*m", "", shown).splitlines()


def test_what_must_be_read_whole_is_broken_between_words() -> None:
    lines = on_a_terminal(RETRIED, columns=60)
    assert len(lines) > 1 and all(len(line) <= 60 for line in lines)
    assert all(line.startswith("   | ") for line in lines[1:])
    assert " ".join((lines[0], *(line[5:] for line in lines[1:]))) == f"asking again in 1.0 s: {REASON}"


def test_what_may_be_cut_fits_one_line_of_the_terminal() -> None:
    (line,) = on_a_terminal(Told(session="s", step=1, text="words " * 50), columns=60)
    assert len(line) <= 60 and line.endswith("...")


def test_a_file_gets_lines_that_are_not_broken() -> None:
    stream = io.StringIO()
    Steps(stream=stream).show(RETRIED)
    assert stream.getvalue() == f"asking again in 1.0 s: {REASON}\n"


def test_a_call_that_never_began_is_named_before_its_result() -> None:
    first, held = (Call(id=name, skill="files.write_file", arguments=f'"{name}"', session="s") for name in ("a", "b"))
    stream = io.StringIO()
    steps = Steps(stream=stream)
    steps.show(CallProposed(session="s", call=first))
    for call in (first, held):
        result = Result(call=call.id, skill=call.skill, status="parked", text="waits")
        steps.show(CallFinished(session="s", call=call, result=result))
    begun = [line for line in stream.getvalue().splitlines() if line.startswith(("->", "<-"))]
    assert [line.split()[:3] for line in begun] == [
        ["->", "files.write_file", '"a"'],
        ["<-", "parked", "in"],
        ["->", "files.write_file", '"b"'],
        ["<-", "parked", "in"],
    ]
