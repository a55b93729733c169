"""Sign-off on a real terminal: what is shown, what each key does, and that silence denies."""

from __future__ import annotations

import asyncio
import os
import pty
import select
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

import pytest

from remit.pipeline.terminal import TerminalApprover, question
from remit_sandbox.signoff import Action, SignoffDecision, SignoffRequest

REQUEST = SignoffRequest(
    action=Action(
        skill="files.delete_file",
        version="1.2",
        skill_hash="h",
        arguments={"path": "a\u202etxt.exe", "note": "x" * 5_000 + "END"},
        resolved={"path": "/w/a"},
        session="s",
        principal="p",
        policy="d",
    ),
    source="impact destroy",
    reason="it destroys something",
    effect="write",
    impact=("destroy",),
    reach={"fs.write": ("${workspace}/**",)},
)


@dataclass
class Terminal:
    """The person's side of a pseudo-terminal."""

    master: int
    name: str

    def shown(self, until: str, seconds: float = 10.0) -> str:
        text, end = "", time.monotonic() + seconds
        while until not in text and time.monotonic() < end:
            if select.select([self.master], [], [], 0.1)[0]:
                text += os.read(self.master, 65_536).decode("utf-8", "replace")
        assert until in text, text[-500:]
        return text

    def types(self, text: str) -> None:
        os.write(self.master, text.encode())


@pytest.fixture
def terminal() -> Iterator[Terminal]:
    master, slave = pty.openpty()
    yield Terminal(master, os.ttyname(slave))
    os.close(master)
    os.close(slave)


async def _answer(terminal: Terminal, *lines: str) -> SignoffDecision:
    task = asyncio.create_task(TerminalApprover(terminal.name).ask(REQUEST))
    for line in lines:
        await asyncio.to_thread(terminal.shown, ": ")
        terminal.types(line)
    return await asyncio.wait_for(task, 20)


@pytest.mark.parametrize(
    ("lines", "answer", "reason"),
    [
        (("a\n",), "once", ""),
        (("s\n",), "session", ""),
        (("q\n",), "stop", ""),
        (("d too dangerous\n",), "deny", "too dangerous"),
        (("\n",), "deny", ""),
        (("\x04",), "deny", "the terminal was closed"),
    ],
)
def test_each_answer(terminal: Terminal, lines: tuple[str, ...], answer: str, reason: str) -> None:
    decision = asyncio.run(_answer(terminal, *lines))
    assert (decision.answer, decision.reason, decision.digest) == (answer, reason, REQUEST.digest)
    assert decision.by and decision.channel == "terminal"


def test_yes_is_not_enough(terminal: Terminal) -> None:
    async def main() -> SignoffDecision:
        task = asyncio.create_task(TerminalApprover(terminal.name).ask(REQUEST))
        for _ in range(3):
            await asyncio.to_thread(terminal.shown, "(Enter denies): ")
            terminal.types("yes\n")
        return await asyncio.wait_for(task, 20)

    assert asyncio.run(main()).answer == "deny"


def test_what_was_typed_before_the_question_is_no_answer(terminal: Terminal) -> None:
    terminal.types("a\n")

    async def main() -> SignoffDecision:
        task = asyncio.create_task(TerminalApprover(terminal.name).ask(REQUEST))
        await asyncio.to_thread(terminal.shown, "(Enter denies): ")
        terminal.types("\n")
        return await asyncio.wait_for(task, 20)

    assert asyncio.run(main()).answer == "deny"


def test_cancelling_ends_the_wait(terminal: Terminal) -> None:
    async def main() -> None:
        task = asyncio.create_task(TerminalApprover(terminal.name).ask(REQUEST))
        await asyncio.to_thread(terminal.shown, "(Enter denies): ")
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())


def test_two_questions_come_one_after_the_other(terminal: Terminal) -> None:
    async def main() -> list[str]:
        approver = TerminalApprover(terminal.name)
        tasks = [asyncio.create_task(approver.ask(replace(REQUEST, nonce=str(n)))) for n in range(2)]
        for _ in tasks:
            await asyncio.to_thread(terminal.shown, "(Enter denies): ")
            terminal.types("a\n")
        return [(await asyncio.wait_for(task, 20)).answer for task in tasks]

    assert asyncio.run(main()) == ["once", "once"]


def test_there_is_no_terminal() -> None:
    assert not TerminalApprover.available("/nonexistent/tty")
    with pytest.raises(OSError):
        asyncio.run(TerminalApprover("/nonexistent/tty").ask(REQUEST))


def test_the_whole_action_is_shown_and_nothing_hides() -> None:
    text = question(REQUEST)
    assert "files.delete_file 1.2" in text and "impact destroy" in text and "fs.write: ${workspace}/**" in text
    assert "x" * 5_000 + "END" in text
    assert "\u202e" not in text and "\\u202e" in text
    assert "path -> /w/a" in text
    assert "with exactly these arguments" in text
    assert "the same path, whatever" in question(replace(REQUEST, targets=("path",)))


def test_secret_arguments_are_not_shown() -> None:
    text = question(replace(REQUEST, secret=("note",)))
    assert "END" not in text and "note = (secret)" in text


def test_prose_is_broken_between_words_and_arguments_are_not() -> None:
    rule = "rule no-deleting-at-night"
    request = replace(REQUEST, source=rule, reason="nothing in this folder is ever deleted without a second look")
    lines = question(request, columns=50).splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith("because"))
    end = next(number for number, line in enumerate(lines) if line.startswith("may reach"))
    assert end - start > 1 and all(len(line) <= 50 for line in lines[start:end])
    assert " ".join(line[11:] for line in lines[start:end]) == f"{rule}: {request.reason}"
    assert any("x" * 5_000 + "END" in line for line in lines)
