"""One call of a handler: sync, async, generator or async generator."""

from __future__ import annotations

import asyncio
import inspect
import sys
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
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


class Invocation:
    """One call: how it starts, and its reply when it went well or badly.

    Args:
        prepared: the handler.
        arguments: JSON text in UTF-8.
        context: what `ctx` gives.
        wording: puts errors into words.
        limit: the longest result in bytes of JSON.
    """

    def __init__(
        self,
        prepared: Prepared,
        arguments: bytes,
        context: Context,
        wording: Wording,
        *,
        limit: int = LENGTH,
    ) -> None:
        self._prepared = prepared
        self._arguments = arguments
        self.context = context
        self._wording = wording
        self._limit = limit

    def start(self) -> Any:
        """Convert the arguments and call the handler.

        Raises:
            DoesNotFit: the arguments do not convert.
            BaseException: whatever the handler raises.
        """
        values = convert(self._prepared, self._arguments)
        positional, named = self._prepared.bind(values, self.context)
        return self._prepared.function(*positional, **named)

    def success(self, value: Any) -> Reply:
        """Return the reply for what the handler returned.

        Raises:
            NotJson: it has no JSON form.
        """
        return success(value, self.context, self._wording, self._limit)

    def failure(self, error: BaseException) -> Reply:
        """Return the reply for what was raised."""
        if isinstance(error, DoesNotFit):
            return Reply(kind="invalid", errors=error.errors)
        return failure(error, self._wording)

    def run(self, runner: Runner) -> Reply:
        """Run the call to its end; whatever the handler raises becomes a reply."""
        try:
            return self.success(finish(self.start(), self.context, runner))
        except BaseException as error:
            return self.failure(error)


def success(value: Any, context: Context, wording: Wording, limit: int = LENGTH) -> Reply:
    """Return the reply that holds `value` and the follow-up calls of `context`."""
    text = to_json(value, limit=limit, mask=wording.mask)
    follow_ups = tuple(FollowUp(skill=skill, arguments=body) for skill, body in context.follow_ups)
    return Reply(kind="result", text=text, follow_ups=follow_ups)


def failure(error: BaseException, wording: Wording) -> Reply:
    """Return the reply that says what was raised."""
    return Reply(kind="failed", error=wording.line(error), traceback=wording.trace(error))


def invoke_function(function: Callable[..., Any], arguments: bytes, context: Context) -> Reply:
    """Call a trusted function of this process with JSON arguments; blocking.

    A coroutine runs in an event loop of its own, so this must not be called inside one (use
    `ainvoke_function` there). A KeyboardInterrupt passes through: it is the person's own.
    """
    try:
        invocation = _invocation(function, arguments, context)
    except CannotDescribe as error:
        return Reply(kind="failed", error=str(error))
    try:
        return invocation.success(finish(invocation.start(), context, asyncio.run))
    except (Exception, SystemExit) as error:
        return invocation.failure(error)


async def ainvoke_function(function: Callable[..., Any], arguments: bytes, context: Context) -> Reply:
    """The same inside an event loop: coroutines run in it, plain functions in a thread."""
    if not (inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function)):
        return await asyncio.to_thread(invoke_function, function, arguments, context)
    try:
        invocation = _invocation(function, arguments, context)
    except CannotDescribe as error:
        return Reply(kind="failed", error=str(error))
    try:
        return invocation.success(await settle(invocation.start(), context))
    except (Exception, SystemExit) as error:
        return invocation.failure(error)


def _invocation(function: Callable[..., Any], arguments: bytes, context: Context) -> Invocation:
    places = [(path, "<site>") for path in sys.path if path.endswith("site-packages")]
    wording = Wording(places=places, secrets=context.secrets)
    return Invocation(prepare(function), arguments, context, wording)
