"""Sign-off on the terminal: the question goes to the tty itself, and so does the answer."""

from __future__ import annotations

import asyncio
import contextlib
import os
import select
import threading
from collections.abc import Mapping
from dataclasses import dataclass

from remit.account import account
from remit.pipeline.question import for_session, question
from remit.pipeline.render import visible
from remit.pipeline.rows import hanging
from remit_sandbox.signoff import APPROVING, Answer, Edit, SignoffDecision, SignoffRequest

_HELP = """
  a   let this one call run, exactly as it is shown
  s   let it run, and calls of this session with the same targets as well
  e   change the arguments first: in your editor (VISUAL or EDITOR), or one
      by one; then you are asked again
  d   refuse it; you may say why, and the model reads that.
      "d wrong folder" says it at once
  q   refuse it and stop the run
Enter and Ctrl-D refuse it, too, and so does a third answer that is none of
these. Nothing runs before you have typed a or s.
A line that begins with "|" goes on with the one above it; "rtl" marks text
that runs from right to left.

"""
_NARROWER = "The window is narrower than it was, so what was shown may be broken: here it is again.\n"
_ANSWERS: dict[str, Answer] = {
    "": "deny",
    "a": "once",
    "s": "session",
    "e": "edit",
    "edit": "edit",
    "d": "deny",
    "deny": "deny",
    "n": "deny",
    "no": "deny",
    "q": "stop",
    "stop": "stop",
}
_MOST_HELP = 20
_TRIES = 3
_LONGEST = 4_096
_COLUMNS = 80


class NoTerminal(OSError):
    """The tty is gone."""


class TerminalApprover:
    """Asks on the controlling terminal, whatever standard input and output are.

    What is shown is rendered here: exact arguments, nothing cut, everything invisible made visible.
    Enter, an end of file, and an answer that is not understood three times deny. One question at a time.
    """

    apart = False
    """The agent's own run holds this terminal, so it cannot give a sign-off that must come apart."""

    def __init__(self, tty: str = "/dev/tty") -> None:
        """Name the terminal device."""
        self._tty = tty
        self._one = threading.Lock()

    @staticmethod
    def available(tty: str = "/dev/tty") -> bool:
        """Tell whether there is a terminal to ask on."""
        try:
            os.close(os.open(tty, os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC))
        except OSError:
            return False
        return True

    async def ask(self, request: SignoffRequest) -> SignoffDecision | Edit:
        """Show the request and wait for an answer or an edit; cancelling ends the wait.

        Raises:
            NoTerminal: there is no terminal, or it went away.
        """
        loop = asyncio.get_running_loop()
        future: asyncio.Future[SignoffDecision | Edit] = loop.create_future()
        given_up = threading.Event()

        def settle(answer: SignoffDecision | Edit | None, error: BaseException | None) -> None:
            if not future.done():
                future.set_exception(error) if error else future.set_result(answer)  # type: ignore[arg-type]

        def run() -> None:
            answer, failure = None, None
            try:
                answer = self._ask(request, given_up)
            except BaseException as error:
                failure = error
            if not given_up.is_set():
                with contextlib.suppress(RuntimeError):  # the loop was closed meanwhile
                    loop.call_soon_threadsafe(settle, answer, failure)

        threading.Thread(target=run, daemon=True, name="remit-signoff").start()
        try:
            return await future
        finally:
            given_up.set()

    def _ask(self, request: SignoffRequest, given_up: threading.Event) -> SignoffDecision | Edit:
        with self._one:
            if given_up.is_set():
                raise NoTerminal("nobody waits for the answer any more")
            with _Screen.open(self._tty, given_up) as screen:
                columns = screen.show(request)
                while True:
                    answer, reason = _read_answer(screen, request)
                    if answer in APPROVING and answer != "edit" and screen.columns() < columns:
                        screen.write(_NARROWER)
                        columns = screen.show(request)
                        continue
                    if answer != "edit":
                        break
                    arguments = _edited(screen, request)
                    if arguments:
                        return Edit(digest=request.digest, arguments=arguments, by=person(), channel="terminal")
        return SignoffDecision(answer=answer, digest=request.digest, reason=reason, by=person(), channel="terminal")


@dataclass(frozen=True)
class _Screen:
    """A terminal as a descriptor, with an event that ends every wait."""

    descriptor: int
    given_up: threading.Event

    @classmethod
    def open(cls, tty: str, given_up: threading.Event) -> _Screen:
        return cls(os.open(tty, os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC), given_up)

    def __enter__(self) -> _Screen:
        self.forget_typed()
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self.descriptor)

    def columns(self) -> int:
        """Return how many columns a line has; when the terminal does not say, as many as the narrowest usual one."""
        try:
            return os.get_terminal_size(self.descriptor).columns or _COLUMNS
        except OSError:
            return _COLUMNS

    def show(self, request: SignoffRequest) -> int:
        """Put a question, and return for how many columns it was laid out."""
        columns = self.columns()
        self.write(question(request, columns=columns))
        return columns

    def write(self, text: str) -> None:
        data = text.encode("utf-8", "replace")
        while data:
            data = data[os.write(self.descriptor, data) :]

    def line(self, prompt: str) -> str | None:
        """Return one typed line without its end, or None at the end of file."""
        self.write(prompt)
        data = b""
        while not data.endswith(b"\n"):
            part = self._read()
            if not part:
                return None
            data = (data + part)[:_LONGEST]
        return data.decode("utf-8", "replace").strip()

    def _read(self) -> bytes:
        while not self.given_up.is_set():
            if select.select([self.descriptor], [], [], 0.2)[0]:
                return os.read(self.descriptor, _LONGEST)
        self.write("\nThis question needs no answer here any more.\n")
        raise NoTerminal("nobody waits for the answer any more")

    def forget_typed(self) -> None:
        """Drop what was typed before the question was shown, or while an editor ran: it is no answer."""
        import termios

        try:
            termios.tcflush(self.descriptor, termios.TCIFLUSH)
        except termios.error as error:
            raise NoTerminal("this is no terminal") from error


def _read_answer(screen: _Screen, request: SignoffRequest) -> tuple[Answer, str]:
    answers = _answers(request)
    tries, helped = _TRIES, 0
    while tries:
        typed = screen.line(_prompt(answers))
        if typed is None:
            return "deny", "the terminal was closed"
        word, _, rest = typed.partition(" ")
        if word in ("?", "help") and helped < _MOST_HELP:
            helped += 1
            screen.write(_HELP)
            continue
        meant = answers.get(word.casefold())
        if meant is not None and (word in answers or meant not in APPROVING):
            return meant, _reason(screen, meant, word, rest)
        tries -= 1
        keys = ", ".join(key for key in ("a", "s", "e", "d") if key in answers)
        small = " in small letters" if meant is not None else ""
        screen.write(f"Type {keys}, q or ?{small}; nothing else allows it.\n")
    return "deny", "no clear answer"


def _answers(request: SignoffRequest) -> dict[str, Answer]:
    """Return what may be typed: not every call is for a session, and one with secret arguments cannot be edited."""
    never = set[str]() if for_session(request) else {"session"}
    never |= {"edit"} if request.secret else set()
    return {typed: answer for typed, answer in _ANSWERS.items() if answer not in never}


def _prompt(answers: Mapping[str, Answer]) -> str:
    """Return the last line of a question; with what is typed it fits into 80 columns."""
    session = "[s] session " if "s" in answers else ""
    edit = "[e] edit " if "e" in answers else ""
    return f"Allow? [a] once {session}{edit}[d] deny [q] stop [?] (Enter denies): "


def _edited(screen: _Screen, request: SignoffRequest) -> str:
    """Return the arguments as the person wants them, as JSON; empty when they were not edited."""
    from remit.pipeline.terminal_edit import NotEdited, as_text, editor, in_editor, one_by_one

    arguments, command = request.action.arguments, editor()
    try:
        if not command:
            return one_by_one(arguments, screen.line, columns=screen.columns())
        return in_editor(command, as_text(arguments), terminal=screen.descriptor, given_up=screen.given_up)
    except NotEdited as error:
        screen.forget_typed()
        lines = hanging(visible(str(error)), screen.columns(), start="Not edited: ", apart=True)
        screen.write("\n".join((*lines, "")))
        return ""


def _reason(screen: _Screen, answer: Answer, word: str, rest: str) -> str:
    if rest.strip() or answer != "deny" or not word:
        return rest.strip()[:500]
    return (screen.line("Reason for the model (Enter for none): ") or "")[:500]


def person() -> str:
    """Return who sits here: the account that this program runs under."""
    return account()
