"""`remit chat`: a conversation, turn by turn."""

from __future__ import annotations

import argparse
import secrets
import sys
from typing import TYPE_CHECKING

from remit.cli import screen
from remit.cli.opening import typed
from remit.cli.run import add_model, agent, show
from remit.cli.steps import Steps

if TYPE_CHECKING:
    from remit.agent import Agent


def configure(parser: argparse.ArgumentParser) -> None:
    """Describe the command."""
    parser.epilog = """\
examples:
  remit chat
  remit chat --session 1f3a --read-only

An empty line asks again; /quit or the end of input ends the conversation. Ctrl-C stops a run, not the conversation.
"""
    add_model(parser)
    parser.set_defaults(action=chat)


def chat(options: argparse.Namespace) -> int:
    """Talk until the input ends; every turn goes on in the same session."""
    session = options.session or secrets.token_hex(8)
    with agent(options) as speaker:
        screen.warn(screen.styled(f"session {session}, model {speaker.model.name}; /quit ends", "dim", sys.stderr))
        while (question := ask()) is not None:
            if question:
                turn(speaker, question, session)
    screen.warn(f"remit chat --session {session} goes on with this conversation")
    return 0


def turn(speaker: Agent, question: str, session: str) -> None:
    """Answer one question; an interrupt ends the turn only."""
    steps = Steps()
    try:
        show(speaker.run(question, session=session, on_event=steps.show))
    except KeyboardInterrupt:
        steps.stop()
        screen.warn("stopped; the session is saved")


def ask() -> str | None:
    """Read a line; None when the conversation is over."""
    try:
        line = typed("> " if sys.stdin.isatty() else "")
    except (EOFError, KeyboardInterrupt):
        return None
    line = line.encode("utf-8", "surrogateescape").decode("utf-8", "replace").strip()
    return None if line in ("/quit", "/exit") else line
