"""`remit run`: one question, answered."""

from __future__ import annotations

import argparse
import os
import secrets
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from remit.cli import screen
from remit.cli.ending import ended_as_by_ctrl_c
from remit.cli.faults import telling_faults
from remit.cli.opening import (
    add_folder,
    add_json,
    add_no_extensions,
    add_read_only,
    approver,
    opened,
    piped,
    read_only,
    whole,
)
from remit.cli.withheld import tell_of_withheld, with_open_list
from remit.errors import UsageError

if TYPE_CHECKING:
    from remit.agent import Agent
    from remit.deployment.config import Config
    from remit.deployment.deployment import Deployment
    from remit.extensions.extensions import Extensions
    from remit.loop.outcome import RunResult, RunStatus

EXIT_CODES: Mapping[RunStatus, int] = {"answered": 0, "stopped": 1, "failed": 1, "parked": 3}
"""Status of the run to exit code."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Describe the command."""
    parser.epilog = """\
examples:
  remit run "How much is 15% of 240?"
  remit run "What is in notes.txt?" --read-only --json
  remit run "Tidy my notes up" --grant files.write_file
  remit run "Leave that. What is new?" --session 1f3a5b7c9d0e2f4a --withdraw
  remit run "Hello" --model qwen3 --base-url http://127.0.0.1:11434/v1 --dialect react
  echo "What time is it in Oslo?" | remit run -

exit codes: 0 answered, 1 stopped or failed, 3 parked
"""
    parser.add_argument("question", help="what you want to know; - reads standard input")
    parser.add_argument(
        "--attach",
        action="append",
        default=[],
        metavar="FILE",
        help="add a text file or an image to the question, as data; again for more",
    )
    add_model(parser)
    add_json(parser)
    parser.set_defaults(action=run)


def add_model(parser: argparse.ArgumentParser, *, of_new_session: bool = True) -> None:
    """Add what `run`, `chat` and `sessions resume` share; only the first two name a session by `--session`."""
    parser.add_argument("--model", help="name of the model, instead of the deployment's")
    parser.add_argument("--base-url", help="OpenAI-compatible endpoint, instead of the deployment's")
    parser.add_argument("--api-key", metavar="REF", help="where its key is kept: env:NAME or file:PATH")
    parser.add_argument("--dialect", help="how the model writes calls: native, auto, tagged, react, ...")
    if of_new_session:
        parser.add_argument("--session", help="go on with this session")
        parser.add_argument(
            "--withdraw", action="store_true", help="take back what waits for a sign-off in the session; it never runs"
        )
        add_grant(parser)
    parser.add_argument("--max-steps", type=int, help="most model turns of a run")
    parser.add_argument("--keep-raw", action="store_true", help="record raw model requests and responses")
    parser.add_argument("--yes-to-writes", action="store_true", help="no sign-off for writes (needs allow_yes)")
    add_folder(parser)
    add_read_only(parser)
    add_no_extensions(parser)


def add_grant(parser: argparse.ArgumentParser) -> None:
    """Add `--grant`, by which a person chooses what a session has."""
    parser.add_argument(
        "--grant",
        action="append",
        metavar="SKILL",
        help="the session has this skill or pack from now on, and else only what reads; again for more",
    )


def run(options: argparse.Namespace) -> int:
    """Answer the question; steps go to standard error, the answer to standard output."""
    from remit.cli.steps import Steps

    question = piped().strip() if options.question == "-" else whole(options.question)
    if not question.strip():
        raise UsageError("the question is empty")
    files = [(name, _content(name)) for name in options.attach]
    session = options.session or secrets.token_hex(8)
    with agent(options, quiet=options.json) as speaker:
        if not options.json:
            tell_of_new_session(speaker, options.session)
        steps = Steps(quiet=options.json)
        labels = labels_of_attached(options.attach, speaker)
        attached, images = _kept(files, speaker, session, labels)
        try:
            with telling_faults(speaker.state):
                result = speaker.run(
                    question,
                    session=session,
                    on_event=steps.show,
                    attached=attached,
                    attached_labels=labels,
                    images=images,
                    own_words=options.question != "-",
                    grant=options.grant,
                    withdraw=options.withdraw,
                )
        except KeyboardInterrupt:
            steps.stop()
            screen.warn(saved(session))
            raise
        result = with_open_list(speaker, result)
        if not options.json:
            show(result)
            tell_of_withheld(speaker, result)
    if options.json:
        screen.say_json(plain(result))
    return EXIT_CODES[result.status]


def _content(name: str) -> bytes:
    """Read a file that goes with the question."""
    try:
        with open(name, "rb") as file:
            return file.read()
    except OSError as error:
        why = error.strerror or error
        raise UsageError(f"{name} cannot be attached: {why}", remedy="name a text file or an image") from error


def labels_of_attached(names: Sequence[str], speaker: Agent) -> frozenset[str]:
    """Return the labels that files have which a person attaches: what was private in them stays so."""
    return speaker.state.labels_of_files([os.path.realpath(name) for name in names])


def _kept(
    files: Sequence[tuple[str, bytes]], speaker: Agent, session: str, labels: frozenset[str]
) -> tuple[list[str], list[str]]:
    """Return the texts of attached files, and the handles of images among them."""
    from remit.loop.sight import keep_image
    from remit.models.pictures import is_image, media_type_of

    texts: list[str] = []
    images: list[str] = []
    untaken: set[str] = set()
    for name, data in files:
        kind = media_type_of(data)
        if kind is not None:
            images.append(keep_image(speaker.state, session, kind, data, labels=labels))
            what = "images" if is_image(kind) else "documents"
            untaken |= set() if getattr(speaker.model, what, False) else {what}
            continue
        try:
            texts.append(data.decode("utf-8"))
        except UnicodeDecodeError as error:
            raise UsageError(
                f"{name} cannot be attached: it is neither text in UTF-8 nor an image or PDF",
                remedy="name a text file, or a PNG, JPEG, WebP, GIF or PDF",
            ) from error
    for what in sorted(untaken):
        screen.warn(
            f"note: {screen.visible(speaker.model.name)} is not known to take {what} and is told of them only; "
            f"{what} = true under [model.behaviour] sends them"
        )
    return texts, images


@contextmanager
def agent(options: argparse.Namespace, *, quiet: bool = False, who: str = "") -> Iterator[Agent]:
    """Open the deployment and an agent in it, as the options of `add_model` say.

    Args:
        options: of the command.
        quiet: say nothing beside what was asked for.
        who: for whom it acts; empty for the person at this machine.
    """
    from remit.agent import Agent
    from remit.cli.parsing import checked_dialect, checked_key

    with ended_as_by_ctrl_c(), opened(options, quiet=quiet) as own, acting_for(own, who) as deployment:
        if not (options.model or deployment.config.model.name or deployment.config.model.provider):
            raise UsageError(
                "no model is named", remedy='--model NAME --base-url URL, or name = "..." under [model] in remit.toml'
            )
        for note in () if quiet else notes(options, deployment.config, deployment.extensions):
            screen.warn(f"note: {note}")
        with Agent(
            deployment,
            model=options.model,
            base_url=options.base_url,
            api_key=checked_key(options.api_key, deployment.extensions.secret_providers),
            dialect=checked_dialect(options.dialect),
            approver=deployment.extensions.approver or approver(),
            max_steps=options.max_steps,
            read_only=read_only(options),
            keep_raw=options.keep_raw,
            yes_to_writes=options.yes_to_writes,
        ) as speaker:
            yield speaker


@contextmanager
def acting_for(deployment: Deployment, who: str) -> Iterator[Deployment]:
    """Have a deployment as it is for somebody; empty is the person at this machine."""
    if not who or who == deployment.principal:
        yield deployment
        return
    view = deployment.acting_for(who)
    try:
        yield view
    finally:
        view.close()


def notes(options: argparse.Namespace, config: Config, extensions: Extensions) -> Iterator[str]:
    """Yield what of the options does something else than a person may expect."""
    if options.yes_to_writes and not config.defaults.allow_yes:
        yield "--yes-to-writes does nothing here: the deployment lacks allow_yes = true under [defaults]"
    named = options.base_url or config.model.base_url or os.environ.get("OPENAI_BASE_URL", "").strip()
    key = options.api_key or config.model.api_key or os.environ.get("OPENAI_API_KEY", "").strip()
    if not named and not key:
        from remit.loop.chosen_model import asked_for
        from remit.models.openai import DEFAULT_URL

        if not asked_for(options.model, options.base_url, config, extensions).own:
            return
        yield f"no base URL and no API key are configured, so the model is asked at {DEFAULT_URL} without a key"


def tell_of_new_session(speaker: Agent, session: str | None) -> None:
    """Say that a session which a person names is a new one; it may be a slip of the pen."""
    if session and speaker.state.load_session(session) is None:
        screen.warn(f"note: there is no session {screen.visible(session)} yet; this begins it")


def show(result: RunResult) -> None:
    """Print the answer, or what came instead of one and what to do about it."""
    if result.answer:
        screen.say_whole(result.answer)
    if result.status != "answered":
        screen.warn(screen.hanging(result.stop_reason, start=f"{result.status}: ", stream=sys.stderr))
        screen.next_step(result.remedy)
        screen.warn(saved(result.session, parked=result.status == "parked"))


def saved(session: str, *, parked: bool = False) -> str:
    """Return how to go on with a session that was not finished."""
    if parked:
        return f"  session {session} is saved; once that is answered: remit sessions resume {session}"
    return f"  session {session} is saved; --session {session} goes on with it"


def plain(result: RunResult) -> dict[str, Any]:
    """Return the structured result in the form that `--json` prints: that of every event and of `remit.http`."""
    from remit.loop.event_json import result_json

    return result_json(result)
