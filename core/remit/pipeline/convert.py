"""Before a person is asked: the arguments are converted in a cell without any right."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from remit.errors import EnforcementError
from remit.pipeline import outcome
from remit.pipeline.attempt import Attempt
from remit.values import Result
from remit_sandbox.errors import CannotConfine, CellStartError, SandboxError, SupervisorError
from remit_sandbox.values import CellSpec, FieldError, Reply, Rights

_SECONDS = 10.0
_GRANTED = re.compile(r"the granted path /(?:[^:/]*/)*([^:/]*):")


async def convert(attempt: Attempt) -> Result | None:
    """Convert the arguments as the handler will get them, so that nobody approves what cannot run.

    Returns:
        `invalid` when they do not convert, `failed` when the pack cannot even start, or None.
    """
    skill, sandbox = attempt.known, attempt.around.sandbox
    if skill.cell is None or sandbox is None:
        return None
    body = {"handler": skill.handler, "arguments": attempt.arguments.json}
    try:
        with host_faults():
            async with sandbox.aborrow(without_rights(skill.cell), attempt.call.session) as cell:
                reply = await cell.arequest("convert", body, timeout=_SECONDS)
    except CellStartError as error:
        return cannot_start(attempt, error)
    except SandboxError as error:
        return outcome.failed(attempt, f"{skill.full} could not be called: {error}")
    return None if reply.kind == "result" else unusable(attempt, reply)


def without_rights(spec: CellSpec) -> CellSpec:
    """Return `spec` with the same package and working directory, and no right at all."""
    rights = Rights(limits=spec.rights.limits)
    isolation = "fresh" if spec.isolation == "process" else spec.isolation
    return replace(spec, rights=rights, secrets={}, data=None, isolation=isolation)


def unusable(attempt: Attempt, reply: Reply) -> Result:
    """Return the result for a reply that is no result, in words that the model can use."""
    name = attempt.name
    attempt.traceback = reply.traceback
    if reply.kind == "invalid":
        return outcome.invalid(attempt, does_not_fit(name, reply.errors))
    if reply.kind == "timeout":
        seconds = f"{attempt.known.timeout:g}"
        text = f"{name} was not done within {seconds} seconds and was stopped."
        return outcome.failed(attempt, text, status="timeout")
    if reply.kind == "cancelled":
        return outcome.failed(attempt, f"{name} was cancelled.", status="cancelled")
    what = "failed" if reply.kind == "failed" else "ended without an answer"
    error = outcome.shorten(reply.error, 1_000, attempt.around.redactor)
    return outcome.failed(attempt, f"{name} {what}: {error}" if error else f"{name} {what}.")


def does_not_fit(name: str, errors: tuple[FieldError, ...]) -> str:
    """Return which arguments a handler could not take, one line each."""
    lines = [f"- {error.path or 'arguments'}: {error.message}" for error in errors]
    return "\n".join([f"The arguments of {name} do not fit, so nothing was run:", *lines])


def cannot_start(attempt: Attempt, error: CellStartError) -> Result:
    """Return the result for a pack whose code cannot even be imported, or whose cell was refused."""
    if error.by == "supervisor":
        return _not_confined(attempt, error)
    attempt.traceback = error.traceback
    text = f"{attempt.name} cannot run: its pack did not start: {outcome.shorten(error.reason, 1_000)}"
    remedy = f"try it with `remit packs try` or leave it out with `remit packs disable {error.pack}`"
    return outcome.ended(attempt, "failed", text, remedy=remedy)


def _not_confined(attempt: Attempt, error: CellStartError) -> Result:
    """Return the result for a grant that is not what it was; the model reads no folder of this machine."""
    why = outcome.shorten(_GRANTED.sub(r"the granted \1:", error.reason), 1_000)
    text = f"{attempt.name} cannot run: {why}"
    remedy = "open the deployment again, which takes grants and programs as they are then; `remit doctor` tells more"
    return outcome.ended(attempt, "failed", text, reason=f"{attempt.name}: {error.reason}", remedy=remedy)


@contextmanager
def host_faults() -> Iterator[None]:
    """Turn what no skill can be blamed for into errors that stop the run.

    Raises:
        EnforcementError: the machine cannot confine as demanded, or the supervisor is gone.
    """
    try:
        yield
    except CannotConfine as error:
        raise EnforcementError(
            str(error),
            remedy='run `remit doctor`; `[defaults] enforcement = "available"` runs without what is missing',
        ) from error
    except SupervisorError as error:
        raise EnforcementError(
            f"no cell could be started: {error}", remedy="run `remit doctor` to see what is wrong"
        ) from error
