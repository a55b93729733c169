"""Sign-off on the terminal: the question goes to the tty itself, and so does the answer."""

from __future__ import annotations

import asyncio
import contextlib
import getpass
import os
import select
import threading
from dataclasses import dataclass

from remit.pipeline.render import visible, visible_arguments
from remit_sandbox.signoff import Answer, SignoffDecision, SignoffRequest

_ASK = "Allow? [a] once  [s] for this session  [d] deny  [q] deny and stop the run   (Enter denies): "
_ANSWERS: dict[str, Answer] = {
    "": "deny",
    "a": "once",
    "allow": "once",
    "s": "session",
    "session": "session",
    "d": "deny",
    "deny": "deny",
    "n": "deny",
    "no": "deny",
    "q": "stop",
    "stop": "stop",
}
_TRIES = 3
_LONGEST = 4_096


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

    async def ask(self, request: SignoffRequest) -> SignoffDecision:
        """Show the request and wait for an answer; cancelling ends the wait.

        Raises:
            NoTerminal: there is no terminal, or it went away.
        """
        loop = asyncio.get_running_loop()
        future: asyncio.Future[SignoffDecision] = loop.create_future()
        given_up = threading.Event()

        def settle(answer: SignoffDecision | None, error: BaseException | None) -> None:
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

    def _ask(self, request: SignoffRequest, given_up: threading.Event) -> SignoffDecision:
        with self._one:
            if given_up.is_set():
                raise NoTerminal("nobody waits for the answer any more")
            with _Screen.open(self._tty, given_up) as screen:
                screen.write(question(request, columns=screen.columns()))
                answer, reason = _read_answer(screen)
        return SignoffDecision(answer=answer, digest=request.digest, reason=reason, by=person(), channel="terminal")


def question(request: SignoffRequest, *, columns: int = 0, session_key: str = "[s]") -> str:
    """Return what a person is shown for `request`: plain text, every argument whole.

    Args:
        request: what is asked.
        columns: of the terminal; prose is broken between words to fit, 0 breaks nothing. Arguments are
            never broken: they are shown exactly.
        session_key: what a person types to allow it for the session; empty where that cannot be answered.
    """
    action = request.action
    impact = f", {', '.join(request.impact)}" if request.impact else ""
    many = request.approvers > 1
    lines = [
        "",
        f"--- sign-off needed: {visible(action.skill)} {visible(action.version)}".rstrip(),
        f"effect     {request.effect}{impact}",
        f"asked by   {request.asked_by}" + (f", step {request.step}" if request.step else ""),
        *_prose("because", f"{visible(request.source)}: {visible(request.reason)}", columns),
        *([f"people     {request.approvers} must approve, none of them {visible(action.principal)}"] * many),
        *_table("may reach", [f"{k}: {visible(entry)}" for k, v in request.reach.items() for entry in v]),
        *_table("resolved", [f"{visible(k)} -> {visible(v)}" for k, v in action.resolved.items()]),
        *_table("arguments", visible_arguments(action.arguments, frozenset(request.secret))),
        *_origins(request),
        *(_prose("session", _session_scope(request, session_key), columns) if session_key else []),
        "",
    ]
    return "\n".join(lines)


def _origins(request: SignoffRequest) -> list[str]:
    """Return where each value came from, where that is known."""
    rows = [f"{visible(name)} from {visible(origin)}" for name, origin in request.origins.items()]
    return _table("came", rows) if rows else []


def _session_scope(request: SignoffRequest, key: str) -> str:
    """Return what the answer `s` would cover, so that nobody has to guess."""
    fixed = ", ".join(map(visible, request.targets))
    what = f"the same {fixed}, whatever the other arguments" if fixed else "exactly these arguments"
    return f"{key} allows {visible(request.action.skill)} again in this session with {what}"


def _prose(name: str, text: str, columns: int) -> list[str]:
    """Return rows of a sentence, broken between its words."""
    if not columns:
        return _table(name, [text])
    import textwrap

    size = max(columns - 11, 20)
    return _table(name, textwrap.wrap(text, size, break_long_words=False, break_on_hyphens=False))


def _table(name: str, rows: list[str]) -> list[str]:
    return [f"{name if number == 0 else '':<10} {row}" for number, row in enumerate(rows or ["(none)"])]


@dataclass(frozen=True)
class _Screen:
    """A terminal as a descriptor, with an event that ends every wait."""

    descriptor: int
    given_up: threading.Event

    @classmethod
    def open(cls, tty: str, given_up: threading.Event) -> _Screen:
        return cls(os.open(tty, os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC), given_up)

    def __enter__(self) -> _Screen:
        self._forget_typed()
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self.descriptor)

    def columns(self) -> int:
        """Return how many columns a line has; 0 when the terminal does not say."""
        try:
            return os.get_terminal_size(self.descriptor).columns
        except OSError:
            return 0

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

    def _forget_typed(self) -> None:
        """What was typed before the question was shown is no answer to it."""
        import termios

        try:
            termios.tcflush(self.descriptor, termios.TCIFLUSH)
        except termios.error as error:
            raise NoTerminal("this is no terminal") from error


def _read_answer(screen: _Screen) -> tuple[Answer, str]:
    for _ in range(_TRIES):
        typed = screen.line(_ASK)
        if typed is None:
            return "deny", "the terminal was closed"
        word, _, rest = typed.partition(" ")
        answer = _ANSWERS.get(word.casefold())
        if answer is not None:
            return answer, _reason(screen, answer, word, rest)
        screen.write("Type a, s, d or q; nothing else allows it.\n")
    return "deny", "no clear answer"


def _reason(screen: _Screen, answer: Answer, word: str, rest: str) -> str:
    if rest.strip() or answer != "deny" or not word:
        return rest.strip()[:500]
    return (screen.line("Reason for the model (Enter for none): ") or "")[:500]


def person() -> str:
    """Return who sits here: the name of the account that this program runs under, whatever variables say."""
    try:
        import pwd
    except ImportError:  # no POSIX system
        return getpass.getuser()
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return f"uid {os.getuid()}"
