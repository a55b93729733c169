"""Sign-off on a real terminal: what is shown, what each key does, and that silence denies."""

from __future__ import annotations

import asyncio
import json
import os
import pty
import select
import sys
import termios
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from remit.pipeline.question import question
from remit.pipeline.terminal import TerminalApprover
from remit_sandbox.signoff import Action, Edit, SignoffDecision, SignoffRequest

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
    source="default write",
    reason="it changes something",
    effect="write",
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


def decided(found: SignoffDecision | Edit) -> SignoffDecision:
    assert isinstance(found, SignoffDecision)
    return found


async def _answer(terminal: Terminal, *lines: str) -> SignoffDecision:
    task = asyncio.create_task(TerminalApprover(terminal.name).ask(REQUEST))
    for line in lines:
        await asyncio.to_thread(terminal.shown, ": ")
        terminal.types(line)
    return decided(await asyncio.wait_for(task, 20))


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


@pytest.mark.parametrize("typed", ["A", "S", "allow", "session"])
def test_only_what_the_screen_names_approves(terminal: Terminal, typed: str) -> None:
    async def main() -> SignoffDecision:
        task = asyncio.create_task(TerminalApprover(terminal.name).ask(REQUEST))
        await asyncio.to_thread(terminal.shown, "(Enter denies): ")
        for _ in range(3):
            terminal.types(f"{typed}\n")
            hint = " in small letters" if typed.isupper() else ""
            await asyncio.to_thread(terminal.shown, f"Type a, s, e, d, q or ?{hint}; nothing else allows it.")
        return decided(await asyncio.wait_for(task, 20))

    assert asyncio.run(main()).answer == "deny"


def test_a_refusal_may_be_in_capitals(terminal: Terminal) -> None:
    decision = asyncio.run(_answer(terminal, "D too dangerous\n"))
    assert (decision.answer, decision.reason) == ("deny", "too dangerous")


def test_yes_is_not_enough(terminal: Terminal) -> None:
    async def main() -> SignoffDecision:
        task = asyncio.create_task(TerminalApprover(terminal.name).ask(REQUEST))
        for _ in range(3):
            await asyncio.to_thread(terminal.shown, "(Enter denies): ")
            terminal.types("yes\n")
        return decided(await asyncio.wait_for(task, 20))

    assert asyncio.run(main()).answer == "deny"


def test_what_was_typed_before_the_question_is_no_answer(terminal: Terminal) -> None:
    terminal.types("a\n")

    async def main() -> SignoffDecision:
        task = asyncio.create_task(TerminalApprover(terminal.name).ask(REQUEST))
        await asyncio.to_thread(terminal.shown, "(Enter denies): ")
        terminal.types("\n")
        return decided(await asyncio.wait_for(task, 20))

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
        return [decided(await asyncio.wait_for(task, 20)).answer for task in tasks]

    assert asyncio.run(main()) == ["once", "once"]


def test_there_is_no_terminal() -> None:
    assert not TerminalApprover.available("/nonexistent/tty")
    with pytest.raises(OSError):
        asyncio.run(TerminalApprover("/nonexistent/tty").ask(REQUEST))


def test_the_whole_action_is_shown_and_nothing_hides() -> None:
    text = question(REQUEST)
    assert "files.delete_file 1.2" in text and "default write" in text and "fs.write: ${workspace}/**" in text
    assert "x" * 5_000 + "END" in text
    assert "\u202e" not in text and "\\u202e" in text
    assert "path -> /w/a" in text
    assert "with exactly these arguments" in text
    assert "the same path, whatever" in question(replace(REQUEST, targets=("path",)))


def test_nothing_that_is_asked_about_each_time_is_offered_for_the_session() -> None:
    each_time: tuple[dict[str, Any], ...] = ({"impact": ("destroy",)}, {"verdict": "ask-apart"}, {"approvers": 2})
    for changes in each_time:
        text = question(replace(REQUEST, **changes))
        assert "in this session" not in text and "exactly these arguments" not in text, changes
    assert "in this session" in question(REQUEST), "the control"
    assert "destroy" in question(replace(REQUEST, impact=("destroy",)))


def test_secret_arguments_are_not_shown() -> None:
    text = question(replace(REQUEST, secret=("note",)))
    assert "END" not in text and "note = (secret)" in text


def test_prose_is_broken_between_words_and_arguments_wherever_it_must_be() -> None:
    rule = "rule no-deleting-at-night"
    request = replace(REQUEST, source=rule, reason="nothing in this folder is ever deleted without a second look")
    lines = question(request, columns=50).splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith("because"))
    end = next(number for number, line in enumerate(lines) if line.startswith("may reach"))
    assert end - start > 1 and all(len(line) <= 50 for line in lines[start:end])
    assert " ".join(line[11:] for line in lines[start:end]) == f"{rule}: {request.reason}"
    assert all(len(line) <= 50 for line in lines) and "x" * 5_000 + "END" in "".join(line[11:] for line in lines)


def script(folder: Path, body: str) -> str:
    """Return an editor: a program that changes the file that it is given."""
    program = folder / "editor"
    program.write_text(f"#!{sys.executable}\nimport json, sys\npath = sys.argv[-1]\nold = open(path).read()\n{body}\n")
    program.chmod(0o755)
    return f"{program} --wait"


async def _edit(terminal: Terminal, request: SignoffRequest, *steps: tuple[str, str]) -> SignoffDecision | Edit:
    task = asyncio.create_task(TerminalApprover(terminal.name).ask(request))
    for until, typed in steps:
        await asyncio.to_thread(terminal.shown, until)
        terminal.types(typed)
    return await asyncio.wait_for(task, 20)


def test_the_arguments_are_edited_in_the_persons_editor(
    terminal: Terminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("VISUAL", raising=False)
    body = 'assert chr(0x202e) not in old and "\\\\u202e" in old\n'
    body += 'new = {**json.loads(old), "note": "short"}\nopen(path, "w").write(json.dumps(new))'
    monkeypatch.setenv("EDITOR", script(tmp_path, body))
    found = asyncio.run(_edit(terminal, REQUEST, ("(Enter denies): ", "e\n")))
    assert isinstance(found, Edit) and (found.digest, found.channel) == (REQUEST.digest, "terminal") and found.by
    assert json.loads(found.arguments) == {"path": "a\u202etxt.exe", "note": "short"}


def test_an_editor_that_fails_changes_nothing_and_the_question_stays(
    terminal: Terminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VISUAL", script(tmp_path, "sys.exit(3)"))
    steps = (("(Enter denies): ", "e\n"), ("ended with 3", "\n"))
    found = asyncio.run(_edit(terminal, REQUEST, *steps))
    assert isinstance(found, SignoffDecision) and found.answer == "deny"


def test_without_an_editor_each_argument_is_asked_for(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("VISUAL", "EDITOR"):
        monkeypatch.delenv(name, raising=False)
    action = replace(REQUEST.action, arguments={"path": "a", "count": 1, "note": "n", "keep": True})
    steps = (
        ("(Enter denies): ", "e\n"),
        ("out): ", "b c\n"),
        ("out): ", "many\n"),
        ("That is no JSON", "2\n"),
        ("out): ", "-\n"),
        ("out): ", "\n"),
    )
    found = asyncio.run(_edit(terminal, replace(REQUEST, action=action), *steps))
    assert isinstance(found, Edit) and json.loads(found.arguments) == {"path": "b c", "count": 2, "keep": True}


def test_an_approval_in_a_window_made_narrower_is_asked_for_again(terminal: Terminal) -> None:
    def resize(columns: int) -> None:
        descriptor = os.open(terminal.name, os.O_RDWR | os.O_NOCTTY)
        termios.tcsetwinsize(descriptor, (24, columns))
        os.close(descriptor)

    async def main() -> SignoffDecision:
        resize(100)
        task = asyncio.create_task(TerminalApprover(terminal.name).ask(REQUEST))
        await asyncio.to_thread(terminal.shown, "(Enter denies): ")
        resize(40)
        terminal.types("a\n")
        again = await asyncio.to_thread(terminal.shown, "(Enter denies): ")
        shown = again.split("here it is again.\r\n")[1].split("Allow?")[0].splitlines()
        assert all(len(line) <= 40 for line in shown) and not task.done()
        terminal.types("a\n")
        return decided(await asyncio.wait_for(task, 20))

    assert asyncio.run(main()).answer == "once"


def test_help_explains_and_is_no_answer(terminal: Terminal) -> None:
    steps = (("(Enter denies): ", "?\n"), ("Nothing runs before", "a\n"))
    found = asyncio.run(_edit(terminal, REQUEST, *steps))
    assert isinstance(found, SignoffDecision) and found.answer == "once"


@pytest.mark.parametrize(
    ("request_", "key"),
    [
        (replace(REQUEST, edits="before"), "s"),
        (replace(REQUEST, impact=("destroy",)), "s"),
        (replace(REQUEST, secret=("note",)), "e"),
    ],
)
def test_what_cannot_be_answered_is_not_offered(terminal: Terminal, request_: SignoffRequest, key: str) -> None:
    steps = tuple(("(Enter denies): ", f"{key}\n") for _ in range(3))
    found = asyncio.run(_edit(terminal, request_, *steps))
    assert isinstance(found, SignoffDecision) and (found.answer, found.reason) == ("deny", "no clear answer")
