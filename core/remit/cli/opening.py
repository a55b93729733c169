"""What several commands share: opening a deployment, asking yes or no, reading text from a pipe."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from remit.cli import screen
from remit.cli.help_text import Help
from remit.cli.waiting import waiting

if TYPE_CHECKING:
    from remit.deployment.deployment import Deployment
    from remit.extensions.values import ExtensionProblem
    from remit.packs.installed import PackProblem
    from remit.packs.listing import ListedProblem
    from remit.pipeline.attempt import Approver
    from remit.values import ReadOnly


def add_action(actions: Any, name: str, line: str, examples: str) -> argparse.ArgumentParser:
    """Add an action of a command, with its line in the list of actions and its examples.

    Args:
        actions: what `add_subparsers` returned.
        name: of the action.
        line: what it does.
        examples: whole command lines, one a line.
    """
    shown = "".join(f"  {example}\n" for example in examples.strip().splitlines())
    parser: argparse.ArgumentParser = actions.add_parser(
        name,
        help=line,
        description=f"{line[0].upper()}{line[1:]}.",
        epilog=f"example{'s' if shown.count(chr(10)) > 1 else ''}:\n{shown}",
        formatter_class=Help,
    )
    return parser


def add_folder(parser: argparse.ArgumentParser) -> None:
    """Add `-C`, the deployment's folder."""
    parser.add_argument("-C", "--folder", default=".", metavar="DIR", help="folder of the deployment (default: here)")


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add `--json`."""
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")


def add_read_only(parser: argparse.ArgumentParser) -> None:
    """Add `--read-only` and `--read-only=strict`."""
    parser.add_argument(
        "--read-only",
        "--read-only=strict",
        action=_ReadOnlyFlag,
        nargs=0,
        default=False,
        help="withdraw every right to write; with =strict the network, too",
    )


class _ReadOnlyFlag(argparse.Action):
    """A flag with one written form that says more; an optional value would swallow the word after it."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: object,
        option_string: str | None = None,
    ) -> None:
        """Keep the stricter of what was asked for."""
        strict = (option_string or "").endswith("=strict") or namespace.read_only == "strict"
        namespace.read_only = "strict" if strict else True


def add_no_extensions(parser: argparse.ArgumentParser) -> None:
    """Add `--no-extensions`."""
    parser.add_argument("--no-extensions", action="store_true", help="load none of the deployment's extensions")


def read_only(options: argparse.Namespace) -> ReadOnly:
    """Return the mode that `--read-only` asks for."""
    mode: ReadOnly = options.read_only
    return mode


@contextmanager
def opened(options: argparse.Namespace, *, quiet: bool = False, skill: str = "") -> Iterator[Deployment]:
    """Open the deployment that `options` name, and say on standard error what of it was left out.

    Args:
        options: with `folder`, and what `add_read_only` and `add_no_extensions` add.
        quiet: say nothing.
        skill: what this is about, as it was written: nothing is noted about the rights of other packs then.
    """
    from remit.deployment.deployment import Deployment

    with waiting("opening the deployment"):
        found = Deployment.open(
            options.folder,
            read_only=read_only(options),
            extensions=not getattr(options, "no_extensions", False),
        )
    with found as deployment:
        if not quiet:
            pack = skill.replace("__", ".").partition(".")[0]
            _warn_some(deployment.problems, pack)
            warn_extension_problems(deployment.extensions.problems)
            notes = [note for note in deployment.notes if not pack or _is_about(note, pack)]
            for note in (*notes, *deployment.rules.warnings):
                screen.warn(f"note: {screen.visible(note)}")
        yield deployment


MOST_LEFT_OUT = 3
"""Packs that are left out and named with the reason, where the command is not about them."""


def _is_about(note: str, pack: str) -> bool:
    return not note.startswith("pack ") or note.startswith(f"pack {pack}: ")


def _warn_some(problems: Sequence[PackProblem], pack: str) -> None:
    """Say which packs are left out; of many only how many, and the reason for the one that this is about."""
    names = sorted({problem.pack for problem in problems} - {pack})
    if len(names) <= MOST_LEFT_OUT:
        warn_problems(problems)
        return
    warn_problems(problem for problem in problems if problem.pack == pack)
    shown = ", ".join(map(screen.visible, names[:MOST_LEFT_OUT]))
    screen.warn(f"left out: {len(names)} packs, whole or in part ({shown}, ...)")
    screen.next_step("remit packs list, and: remit policy check")


def warn_problems(problems: Iterable[PackProblem | ListedProblem]) -> None:
    """Say on standard error which packs are left out, why, and what to do."""
    for problem in problems:
        screen.warn(f"left out: pack {screen.visible(problem.pack)}: {screen.visible(problem.reason)}")
        screen.next_step(problem.remedy)


def warn_extension_problems(problems: Iterable[ExtensionProblem]) -> None:
    """Say on standard error which extensions are left out, why, and what to do."""
    for problem in problems:
        screen.warn(f"left out: extension {screen.visible(problem.extension)}: {screen.visible(problem.reason)}")
        screen.next_step(problem.remedy)


def approver() -> Approver | None:
    """Return the person at the terminal, or None when nobody is there.

    A question may come through a pipe and an answer go into a file; somebody is there as long as one
    of input and error output is the terminal.
    """
    from remit.pipeline.terminal import TerminalApprover

    somebody = sys.stdin.isatty() or sys.stderr.isatty()
    return TerminalApprover() if somebody and TerminalApprover.available() else None


def agreed(question: str, *, yes: bool, quiet: bool = False) -> bool:
    """Ask on the terminal; no answer, and no terminal, mean no. `quiet` asks nobody: what prints JSON takes `--yes`."""
    if yes:
        return True
    if quiet or not sys.stdin.isatty():
        screen.warn("nobody is there to agree; --yes accepts what is shown")
        return False
    try:
        return typed(_fitting(f"{question} [y/N]")).strip().lower() in ("y", "yes")
    except EOFError:
        return False


def _fitting(question: str) -> str:
    """Return a question in lines that fit the terminal with what is typed after it, none of them broken in a word."""
    import textwrap

    room = screen.columns(sys.stdout)
    if room:
        lines = textwrap.wrap(question, max(room - 4, 20), break_long_words=False, break_on_hyphens=False)
        question = "\n".join(lines)
    return f"{question} "


def typed(prompt: str) -> str:
    """Read a line that a person types. Raises EOFError at the end of input.

    On a terminal the wait looks up now and then: a Ctrl-C between the prompt and the read would
    otherwise be noticed only after the next line.
    """
    if not sys.stdin.isatty():
        return input(prompt)
    import select

    sys.stdout.write(prompt)
    sys.stdout.flush()
    while not select.select([sys.stdin], [], [], 0.2)[0]:
        pass
    return input()


def piped() -> str:
    """Read standard input as UTF-8; bytes that are none become U+FFFD."""
    return sys.stdin.buffer.read().decode("utf-8-sig", errors="replace")


def whole(text: str) -> str:
    """Return an argument of the command line as proper text: bytes that were no UTF-8 become U+FFFD."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
