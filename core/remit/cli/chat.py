"""`remit chat`: a conversation, turn by turn."""

from __future__ import annotations

import argparse
import secrets
import sys
from typing import TYPE_CHECKING

from remit.cli import screen
from remit.cli.opening import typed
from remit.cli.run import add_model, agent, show, tell_of_new_session
from remit.cli.steps import Steps

if TYPE_CHECKING:
    from remit.agent import Agent

COMMANDS = {
    "/help": "list these commands",
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
        while (line := ask()) is not None:
            if line.startswith("/"):
                if not obey(line.split()[0], session):
                    break
            elif line.strip():
                turn(speaker, line.strip(), session)
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
            screen.warn("\n".join(f"{name:<10}{line}" for name, line in COMMANDS.items()))
        case _:
            screen.warn(f"there is no command {screen.visible(command)}; /help lists them, a space before it asks it")
    return True


def turn(speaker: Agent, question: str, session: str) -> None:
    """Answer one question; an interrupt ends the turn only."""
    steps = Steps()
    try:
        show(speaker.run(question, session=session, on_event=steps.show))
    except KeyboardInterrupt:
        steps.stop()
        screen.warn("stopped; the session is saved")


def ask() -> str | None:
    """Read a line; None when the conversation is over. A Ctrl-C on a terminal only drops the line."""
    while True:
        try:
            line = typed("> " if sys.stdin.isatty() else "")
        except EOFError:
            return None
        except KeyboardInterrupt:
            if not sys.stdin.isatty():
                raise
            screen.warn("\n(/quit or Ctrl-D ends the conversation)")
            continue
        return line.encode("utf-8", "surrogateescape").decode("utf-8", "replace").rstrip()
