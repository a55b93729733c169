"""Stage 6: the handler runs, in a cell or, for functions of the host, in this process."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import inspect
import os
import sys
import threading
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from remit.pipeline import outcome
from remit.pipeline.after import run_hook
from remit.pipeline.attempt import Attempt, Ran
from remit.pipeline.convert import cannot_start, host_faults, unusable
from remit.pipeline.denials import note_denied, note_start, notes, told
from remit.pipeline.hosted import run_hosted
from remit.pipeline.start import start
from remit.pipeline.switched import ended_when_off
from remit.trace import traceparent
from remit.values import Result
from remit_sandbox.errors import CellStartError, SandboxError
from remit_sandbox.values import Reply

if TYPE_CHECKING:
    from collections.abc import Callable

    from remit_sandbox import Cell

T = TypeVar("T")

IN_PROCESS = {"all rights": "not enforced"}
"""Enforcement of functions of the host: they are trusted."""


async def execute(attempt: Attempt) -> Ran | Result:
    """Run the handler and its post-hook; `call.started` is written before, durably for writes.

    Returns:
        what it gave, or the result of a call that did not end well.

    Raises:
        StateError: `call.started` cannot be written; nothing ran.
        EnforcementError: this machine cannot confine the skill as the deployment demands.
    """
    skill = attempt.known
    if skill.function is None and skill.hosted is None:
        return await _in_cell(attempt)
    attempt.enforcement = dict(IN_PROCESS)
    stopped = await start(attempt)
    if stopped is None and skill.hosted is not None:
        return await run_hosted(attempt, skill.hosted)
    return _outcome(attempt, await _in_process(attempt)) if stopped is None else stopped


async def _in_cell(attempt: Attempt) -> Ran | Result:
    skill, sandbox = attempt.known, attempt.around.sandbox
    if skill.cell is None or sandbox is None:
        return outcome.failed(attempt, f"{skill.full} cannot run: there is no sandbox for it.")
    try:
        with host_faults():
            async with sandbox.aborrow(skill.cell, attempt.call.session) as cell:
                attempt.enforcement = dict(cell.enforcement)
                stopped = await start(attempt)
                return _outcome(attempt, await _request(attempt, cell)) if stopped is None else stopped
    except CellStartError as error:
        note_start(attempt, error)
        return cannot_start(attempt, error)
    except SandboxError as error:
        return outcome.failed(attempt, f"{skill.full} could not be called: {error}")


async def _request(attempt: Attempt, cell: Cell) -> Reply:
    skill = attempt.known
    context = attempt.context
    body = {"handler": skill.handler, "arguments": attempt.arguments.json, "context": context}
    reply: Reply | None = None
    try:
        with ended_when_off(attempt, cell):
            reply = await cell.arequest("call", body, timeout=skill.timeout, on_progress=attempt.progress)
            if reply.kind == "result" and skill.after:
                note_denied(attempt, cell, reply)
                called, reply = reply, None
                reply = await run_hook(attempt, cell, called)
    finally:
        note_denied(attempt, cell, reply)
        _tell_output(attempt, cell)
    return reply


def _tell_output(attempt: Attempt, cell: Cell) -> None:
    if attempt.around.on_event is None or not attempt.call.watched:
        return
    output = cell.output()
    for text in (output.stdout, output.stderr):
        if text:
            attempt.tell("output", attempt.around.redactor.text(text))


async def _in_process(attempt: Attempt) -> Reply:
    from remit_sandbox.inside.context import Context
    from remit_sandbox.inside.invoke import ainvoke_function, invoke_function

    skill, call = attempt.known, attempt.call
    function, arguments = skill.function, attempt.arguments.json
    assert function is not None
    context = Context(
        session=call.session, call=call.id, key=attempt.key, traceparent=traceparent(), report=attempt.progress
    )
    if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
        running = asyncio.ensure_future(ainvoke_function(function, arguments, context))
    else:
        running = asyncio.ensure_future(in_thread(lambda: invoke_function(function, arguments, context)))
    try:
        reply = await asyncio.wait_for(running, skill.timeout)
    except TimeoutError:
        return Reply(kind="timeout")
    return replace(reply, error=_without_places(reply.error)) if reply.error else reply


def _without_places(text: str) -> str:
    """Return an error of a host function without folders of this machine."""
    from remit_sandbox.inside.wording import Wording

    places = [(os.path.expanduser("~"), "~"), (sys.prefix, "<python>")]
    with contextlib.suppress(OSError):
        places.append((str(Path.cwd()), "."))
    return Wording(places=places).shorten(text)


async def in_thread(work: Callable[[], T]) -> T:
    """Run `work` in a daemon thread, so that one that never ends does not keep the program alive."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()
    surroundings = contextvars.copy_context()

    def settle(value: T | None, error: BaseException | None) -> None:
        if future.done():
            return
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(value)  # type: ignore[arg-type]

    def run() -> None:
        value: T | None = None
        failure: BaseException | None = None
        try:
            value = surroundings.run(work)
        except BaseException as error:
            failure = error
        with contextlib.suppress(RuntimeError):  # the loop was closed meanwhile, nobody waits any more
            loop.call_soon_threadsafe(settle, value, failure)

    threading.Thread(target=run, daemon=True, name="remit-host-skill").start()
    return await future


def _outcome(attempt: Attempt, reply: Reply) -> Ran | Result:
    if reply.kind != "result" and attempt.ended_by:
        text = f"{attempt.name} was ended while it ran: {attempt.ended_by}."
        return outcome.failed(attempt, text, status="cancelled")
    if reply.kind != "result":
        return told(attempt, unusable(attempt, reply))
    attempt.notes += notes(attempt)
    return Ran(text=reply.text, labels=attempt.known.labels, follow_ups=reply.follow_ups)
