"""`remit call`: one call through the whole pipeline, without a model."""

from __future__ import annotations

import argparse
import secrets
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from remit.cli import screen
from remit.cli.opening import (
    add_folder,
    add_json,
    add_no_extensions,
    add_read_only,
    opened,
    piped,
    read_only,
    whole,
)
from remit.cli.opening import approver as somebody
from remit.cli.waiting import Waiting, waiting

if TYPE_CHECKING:
    from remit.deployment.deployment import Deployment
    from remit.pipeline.attempt import Approver
    from remit.pipeline.events import PipelineEvent
    from remit.values import Result, Status

EXIT_CODES: Mapping[Status, int] = {"ok": 0, "invalid": 2, "parked": 3}
"""Status of the call to exit code; 1 for every other."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Describe the command."""
    parser.epilog = """\
examples:
  remit call calc.evaluate '{"expression": "2 + 2"}'
  remit call files.read_file '{"path": "notes.txt"}' --json
  echo '{"city": "Oslo"}' | remit call weather.get_weather -

What needs sign-off is asked on the terminal; without one the call is parked (remit signoff). There is no --yes.
Once it is approved, the same call runs with the --session that was named when it was parked.
--json prints {"status", "result", "reason", "duration"}, and the session of a parked call.
exit codes: 0 ok, 1 denied, failed or timed out, 2 invalid, 3 parked
"""
    parser.add_argument("skill", help="the skill, as PACK.SKILL")
    parser.add_argument("arguments", nargs="?", default="", help="its arguments as JSON; - reads standard input")
    parser.add_argument("--session", help="the session of a parked call that was approved meanwhile")
    add_folder(parser)
    add_json(parser)
    add_read_only(parser)
    add_no_extensions(parser)
    parser.set_defaults(action=call)


def call(options: argparse.Namespace) -> int:
    """Make the call, print its result, return the exit code of its status."""
    arguments = piped() if options.arguments == "-" else whole(options.arguments)
    with opened(options, quiet=options.json, skill=options.skill) as deployment:
        session = options.session or secrets.token_hex(8)
        result = make(deployment, options.skill, arguments, mode=read_only(options), session=session)
        told = explained(deployment, result, options.skill)
    show(told, as_json=options.json, session=session)
    # A skill that is there and cannot be called is no wrong usage.
    return EXIT_CODES.get(result.status, 1) if told.reason == result.reason else 1


def make(
    deployment: Deployment,
    skill: str,
    arguments: str,
    *,
    mode: Any = False,
    on_event: Any = None,
    session: str = "",
    approver: Approver | None = None,
) -> Result:
    """Take one call through the pipeline of `deployment`, asked by a person; no session means a new one.

    Asked is the deployment's channel or the person at the terminal, unless an approver is given.
    """
    import asyncio

    from remit.pipeline.configured import checkpoints_of, notifier_of, redactor_of, telemetry_of
    from remit.pipeline.observing import observed
    from remit.pipeline.pipeline import Pipeline
    from remit.state.store import State
    from remit.values import Call

    redactor = redactor_of(deployment.config)
    with State(deployment.state_folder) as state, waiting(screen.visible(skill)) as sign:
        deployment.extensions.listen(state)
        pipeline = Pipeline(
            skills=deployment.skills,
            rules=deployment.rules,
            state=state,
            sandbox=deployment.sandbox,
            approver=approver or deployment.extensions.approver or somebody(),
            unattended=deployment.config.defaults.unattended,
            principal=deployment.principal,
            read_only=mode,
            durable_reads=deployment.config.log.reads == "durable",
            checkpoints=checkpoints_of(deployment.config, state),
            redactor=redactor,
            telemetry=telemetry_of(deployment.config, redactor),
            notify=notifier_of(deployment.config, deployment.folder),
            on_event=observed(
                deployment.extensions,
                state,
                deployment.skills,
                redactor,
                _heard(sign, screen.visible(skill), on_event or progress),
            ),
        )
        own = session or secrets.token_hex(8)
        asked = Call(id="c1", skill=skill, arguments=arguments, session=own, asked_by="person")
        return asyncio.run(pipeline.call(asked))


def _heard(sign: Waiting, skill: str, listen: Callable[[PipelineEvent], None]) -> Callable[[PipelineEvent], None]:
    """Return a listener that keeps the moving sign out of the way of questions and of what is shown."""

    def hear(event: PipelineEvent) -> None:
        sign.stop()
        listen(event)
        if event.kind not in ("asking", "finished"):
            sign.start(skill)

    return hear


def explained(deployment: Deployment, result: Result, written: str) -> Result:
    """Return `result`, with the reason and the way out where a skill that is installed cannot be called here.

    For people only: a model is never told of skills that it cannot see.
    """
    if result.status != "invalid" or written in deployment.skills:
        return result
    from dataclasses import replace

    from remit.deployment.remedies import allow_remedy

    found = allow_remedy(deployment, written)
    if found.reason.startswith("there is no skill"):
        return replace(result, remedy=found.remedy)
    return replace(result, text=f"{found.reason}; nothing was run.", reason=found.reason, remedy=found.remedy)


def progress(event: PipelineEvent) -> None:
    """Show on standard error what a skill says while it runs."""
    if event.kind == "progress":
        screen.warn(f"  {screen.visible(event.skill)}: {screen.clipped(event.text, 100)}")


def show(result: Result, *, as_json: bool, session: str = "") -> None:
    """Print a result: the text that a model would read, or the JSON form; and what a person can do about it."""
    if as_json:
        screen.say_json(plain(result) | ({"session": session} if result.status == "parked" else {}))
    elif result.status == "ok":
        screen.say_whole(result.text)
    else:
        screen.warn(screen.hanging(result.text, start=f"{result.status}: ", stream=sys.stderr))
        screen.next_step(result.remedy)
        if result.status == "parked" and session:
            screen.next_step(f"once it is approved, make the same call with --session {session}")


def plain(result: Result) -> dict[str, Any]:
    """Return a result in the form that `--json` prints."""
    return {
        "status": result.status,
        "result": result.value,
        "reason": result.reason,
        "duration": round(result.duration, 6),
    }
