"""One call of a handler: sync, async, generator or async generator."""

from __future__ import annotations

import asyncio
import inspect
import sys
from collections.abc import AsyncIterator, Callable, Coroutine, Hashable, Iterator
from functools import lru_cache
from typing import Any

from remit_sandbox.inside.annotations import CannotDescribe
from remit_sandbox.inside.context import Context
from remit_sandbox.inside.convert import DoesNotFit, convert
from remit_sandbox.inside.results import LENGTH, to_json
from remit_sandbox.inside.signature import Prepared, prepare
from remit_sandbox.inside.wording import Wording
from remit_sandbox.values import FollowUp, Reply

Runner = Callable[[Coroutine[Any, Any, Any]], Any]
"""Runs one coroutine to its end and returns its value, as `asyncio.run` does."""

MOST_KEPT = 256
"""Functions of this process whose signatures are kept."""

FINISHED = {str, int, float, bool, type(None), dict, list, tuple, bytes}
"""What is a result as it is; asking anything else whether it can be awaited costs more than a short call."""


def finish(value: Any, context: Context, run: Runner) -> Any:
    """Return the result behind what a handler returned.

    A generator's yielded text is progress; its result is what it returns, or else the last value
    it yields. Awaitables are awaited.
    """
    if inspect.isgenerator(value):
        value = _drain(value, context)
    return run(settle(value, context)) if needs_loop(value) else value


def needs_loop(value: Any) -> bool:
    """Tell whether `value` only becomes a result inside an event loop."""
    return inspect.isawaitable(value) or inspect.isasyncgen(value)


async def settle(value: Any, context: Context) -> Any:
    """Return the result behind an awaitable or async generator."""
    if inspect.isasyncgen(value):
        return await _adrain(value, context)
    value = await value
    return _drain(value, context) if inspect.isgenerator(value) else value


def _drain(generator: Iterator[Any], context: Context) -> Any:
    last: Any = None
    while True:
        try:
            last = next(generator)
        except StopIteration as end:
            return last if end.value is None else end.value
        if isinstance(last, str):
            context.progress(last)


async def _adrain(generator: AsyncIterator[Any], context: Context) -> Any:
    last: Any = None
    async for last in generator:
        if isinstance(last, str):
            context.progress(last)
    return last


def start(prepared: Prepared, arguments: bytes, context: Context | None) -> Any:
    """Convert the arguments (JSON text in UTF-8) and call the handler.

    Args:
        prepared: the handler.
        arguments: JSON text in UTF-8.
        context: what `ctx` gives; may be None for a handler that does not ask for it.

    Raises:
        DoesNotFit: the arguments do not convert.
        BaseException: whatever the handler raises.
    """
    positional, named = prepared.bind(convert(prepared, arguments), context)
    return prepared.function(*positional, **named)


def success(value: Any, context: Context, wording: Wording, limit: int = LENGTH) -> Reply:
    """Return the reply that holds `value` and the follow-up calls of `context`.

    Raises:
        NotJson: it has no JSON form.
    """
    text = to_json(value, limit=limit, mask=wording.hides)
    follow_ups = tuple(FollowUp(skill=skill, arguments=body) for skill, body in context.follow_ups)
    return Reply(kind="result", text=text, follow_ups=follow_ups)


def failure(error: BaseException, wording: Wording) -> Reply:
    """Return the reply that says what was raised."""
    if isinstance(error, DoesNotFit):
        return Reply(kind="invalid", errors=error.errors)
    return Reply(kind="failed", error=wording.line(error), traceback=wording.trace(error))


def invoke_function(function: Callable[..., Any], arguments: bytes, context: Context) -> Reply:
    """Call a trusted function of this process with JSON arguments; blocking.

    A coroutine runs in an event loop of its own, so this must not be called inside one (use
    `ainvoke_function` there). A KeyboardInterrupt passes through: it is the person's own.
    """
    try:
        prepared, wording = _prepared(function, context)
    except CannotDescribe as error:
        return Reply(kind="failed", error=str(error))
    try:
        return success(finish(start(prepared, arguments, context), context, asyncio.run), context, wording)
    except (Exception, SystemExit) as error:
        return failure(error, wording)


async def ainvoke_function(function: Callable[..., Any], arguments: bytes, context: Context) -> Reply:
    """The same inside an event loop: coroutines run in it, plain functions in a thread."""
    if not (inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function)):
        return await asyncio.to_thread(invoke_function, function, arguments, context)
    try:
        prepared, wording = _prepared(function, context)
    except CannotDescribe as error:
        return Reply(kind="failed", error=str(error))
    try:
        return success(await settle(start(prepared, arguments, context), context), context, wording)
    except (Exception, SystemExit) as error:
        return failure(error, wording)


def _prepared(function: Callable[..., Any], context: Context) -> tuple[Prepared, Wording]:
    places = [(path, "<site>") for path in sys.path if path.endswith("site-packages")]
    prepared = _kept(function) if isinstance(function, Hashable) else prepare(function)
    return prepared, Wording(places=places, secrets=context.secrets)


_kept = lru_cache(maxsize=MOST_KEPT)(prepare)
"""A function's signature does not change from call to call, and its model takes longer to build than most calls."""
