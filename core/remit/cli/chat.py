"""`remit chat`: a conversation, turn by turn."""

from __future__ import annotations

import argparse
import secrets
import sys
from typing import TYPE_CHECKING, Unpack

from remit.cli import screen
from remit.cli.ending import terminated
from remit.cli.faults import telling_faults
from remit.cli.opening import typed
from remit.cli.run import add_model, agent, show, tell_of_new_session
from remit.cli.steps import Steps
from remit.cli.withheld import with_open_list
from remit.errors import UsageError

if TYPE_CHECKING:
    from remit.agent import Agent
    from remit.loop.terms import Asked

COMMANDS = {
    "/help": "list these commands",
    "/grant": "SKILL: the session has this skill from your next question on",
    "/resume": "go on with what waited for a sign-off, once it is answered",
    "/withdraw": "your next question takes back what waits for a sign-off",
    "/session": "show the session's id",
    "/quit": "end the conversation (also /exit, Ctrl-D)",
}
"""What a line may be instead of a question."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Describe the command."""
    parser.epilog = """\
examples:
  remit chat
  remit chat --session 1f3a --read-only

/help lists the commands; /quit or the end of input (Ctrl-D) ends the conversation; an empty line asks again.
Ctrl-C stops a run, never the conversation. A line that starts with a space is a question, whatever follows.
"""
    add_model(parser)
    parser.set_defaults(action=chat)


def chat(options: argparse.Namespace) -> int:
    """Talk until the input ends; every turn goes on in the same session."""
    session = options.session or secrets.token_hex(8)
    with agent(options) as speaker:
        tell_of_new_session(speaker, options.session)
        if speaker.deployment is not None:
            speaker.deployment.prepare()
        opening = f"session {session}, model {speaker.model.name}; /help lists commands"
        screen.warn(screen.styled(opening, "dim", sys.stderr))
        granted: list[str] = options.grant or []
        withdraw: bool = options.withdraw
        while (line := ask()) is not None:
            if line.startswith("/grant"):
                granted += chosen(speaker, line.split()[1:])
            elif line.strip() == "/resume":
                turn(speaker, None, session)
            elif line.strip() == "/withdraw":
                withdraw = True
                screen.warn("your next question takes back what waits for a sign-off in this session")
            elif line.startswith("/"):
                if not obey(line.split()[0], session):
                    break
            elif line.strip():
                turn(speaker, line.strip(), session, grant=granted or None, withdraw=withdraw)
                granted, withdraw = [], False
    screen.warn(f"remit chat --session {session} goes on with this conversation")
    return 0


def obey(command: str, session: str) -> bool:
    """Follow a command; False when it ends the conversation."""
    match command:
        case "/quit" | "/exit":
            return False
        case "/session":
            screen.warn(session)
        case "/help":
            screen.warn(
                "\n".join(
                    screen.hanging(line, start=f"{name:<11}", indent=11, stream=sys.stderr)
                    for name, line in COMMANDS.items()
                )
            )
        case _:
            screen.warn(f"there is no command {screen.visible(command)}; /help lists them, a space before it asks it")
    return True


def chosen(speaker: Agent, names: list[str]) -> list[str]:
    """Return the skills that a person wants to have, none when one of them is unknown."""
    try:
        if not names:
            raise UsageError("which skill?", remedy="/grant files.write_file")
        speaker.terms(grant=names)
    except UsageError as error:
        screen.warn(screen.visible(error.message))
        screen.next_step(error.remedy)
        return []
    screen.warn(f"from your next question on: {screen.visible(', '.join(names))}")
    return names


def turn(speaker: Agent, question: str | None, session: str, **asked: Unpack[Asked]) -> None:
    """Answer one question, or go on (None); an interrupt ends the turn only, and so does what cannot be asked now."""
    steps = Steps()
    try:
        with telling_faults(speaker.state):
            if question is None:
                result = speaker.resume(session, on_event=steps.show)
            else:
                result = speaker.run(question, session=session, on_event=steps.show, **asked)
        show(with_open_list(speaker, result))
        if result.status == "parked":
            screen.warn("  or here: /resume once it is answered, /withdraw before another question")
    except UsageError as error:
        steps.stop()
        screen.warn(screen.visible(error.message))
        screen.next_step(error.remedy)
    except KeyboardInterrupt:
        steps.stop()
        screen.warn("stopped; the session is saved")
        if terminated():
            raise


def ask() -> str | None:
    """Read a line; None when the conversation is over. A Ctrl-C on a terminal only drops the line."""
    while True:
        try:
            line = typed("> " if sys.stdin.isatty() else "")
        except EOFError:
            return None
        except KeyboardInterrupt:
            if not sys.stdin.isatty() or terminated():
                raise
            screen.warn("\n(/quit or Ctrl-D ends the conversation)")
            continue
        return line.encode("utf-8", "surrogateescape").decode("utf-8", "replace").rstrip()
