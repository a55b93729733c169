"""The commands of `remit`: which there are, what they say of themselves, and how they end."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import NoReturn

from remit.cli import screen
from remit.cli.help_text import Help
from remit.errors import RemitError

COMMANDS: Mapping[str, str] = {
    "init": "make a deployment in this folder",
    "trust": "accept the remit.toml and remit.lock of this folder",
    "run": "answer one question",
    "chat": "talk, turn by turn",
    "call": "call one skill through the whole pipeline, without a model",
    "packs": "list, inspect, enable, disable and try packs",
    "sync": "install exactly what this deployment names and locks",
    "extensions": "list, enable and disable extensions: trusted code in the host",
    "apply": "show what an edit of remit.toml changes, and accept it",
    "signoff": "show and answer calls that wait for a person",
    "policy": "check the rules, explain and test verdicts, compare deployments",
    "audit": "show what this deployment can reach, through which skill, who allowed it, and what is not used",
    "kill": "switch a skill, a pack or everything off at once",
    "secrets": "bind the secrets that packs ask for; a value is never shown",
    "state": "show and remove what Remit keeps",
    "prompt": "show exactly what the model is told",
    "model": "show which models answer and what is taken for granted of them",
    "memory": "see, set, forget and take along what is remembered of a person",
    "sessions": "list, show, resume, fork and delete conversations",
    "eval": "answer a suite of questions, judge the answers and calls, compare with before",
    "serve": "answer web requests: runs, sign-offs, sessions, the audit",
    "log": "show what happened",
    "learn": "run a skill under observation and propose the smallest permission table",
    "doctor": "show what this machine can enforce",
}
"""Command to the line that `remit --help` shows; each lives in `remit.cli.<command>`."""

EPILOG = """\
example:
  remit init --yes
  remit packs enable calc
  remit call calc.evaluate '{"expression": "15% of 240"}'
  remit run "How much is 15% of 240?"

exit codes: 0 done, 1 failed, stopped or refused, 2 wrong usage, 3 parked; 4 and 5 a change that nobody has
accepted, which widens rights or cannot be ranked; 130 interrupted, 143 ended by SIGTERM
"""


class Parser(argparse.ArgumentParser):
    """argparse with our exit code and a next step in its errors."""

    def error(self, message: str) -> NoReturn:
        """Write what is wrong and how to get help; exit with 2."""
        screen.warn(f"{self.prog}: {message}")
        screen.warn(f"try: {self.prog} --help")
        raise SystemExit(2)


def run(arguments: Sequence[str]) -> int:
    """Run one command line; return its exit code. Never raises for a user's mistake."""
    screen.prepare()
    try:
        return _run(arguments)
    except RemitError as error:
        screen.error(error.message, error.remedy)
        return error.exit_code
    except KeyboardInterrupt:
        screen.warn("interrupted")
        return 130
    except BrokenPipeError:
        sys.stderr.close()
        return 1


def _run(arguments: Sequence[str]) -> int:
    parser = Parser(
        prog="remit",
        description="Skill packs for language-model agents, each held to its permission.",
        epilog=EPILOG,
        formatter_class=Help,
    )
    parser.add_argument("-V", "--version", action="store_true", help="print the version")
    commands = parser.add_subparsers(prog="remit", dest="command", metavar="command", parser_class=Parser)
    if arguments and arguments[0] in ("-C", "--folder"):
        parser.error(f"{arguments[0]} stands after the command: remit COMMAND -C DIR")
    chosen = next((argument for argument in arguments if not argument.startswith("-")), None)
    for name, line in COMMANDS.items():
        command = commands.add_parser(
            name,
            help=line,
            description=line.capitalize() + ".",
            formatter_class=Help,
        )
        if name == chosen:
            import_module(f"remit.cli.{name}").configure(command)
    options, unknown = parser.parse_known_args(arguments)
    if unknown:
        _asked(parser, options).error(f"unrecognized arguments: {' '.join(unknown)}")
    if options.command is None:
        parser.print_help()
        return 0
    code: int = options.action(options)
    return code


def _asked(parser: argparse.ArgumentParser, options: argparse.Namespace) -> argparse.ArgumentParser:
    """Return the parser of the command, or of its action, that was named."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            chosen = action.choices.get(str(getattr(options, action.dest, "")))
            return parser if chosen is None else _asked(chosen, options)
    return parser
