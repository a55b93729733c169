"""A model that plays a script: for tests, rehearsals and demonstrations without an endpoint."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from remit.errors import ModelError
from remit.models.protocol import ModelDelta, ModelReply, ModelRequest, OnDelta, ToolCall, Usage, encode

Line = str | ToolCall | Sequence[ToolCall] | ModelReply | Exception
"""One turn: an answer, one or more calls, a whole reply, or an error to raise."""

Script = Iterable[Line | Callable[[ModelRequest], Line]] | Callable[[ModelRequest], Line]


def ask(skill: str, /, **arguments: Any) -> ToolCall:
    """Return a call of `skill` (`calc.evaluate` or `calc__evaluate`) for a script."""
    return ToolCall(name=skill, arguments=json.dumps(arguments, ensure_ascii=False))


class ScriptedModel:
    """Plays `script`: its lines one a turn, or what a function makes of each request.

    ```python
    ScriptedModel([ask("calc.evaluate", expression="6*7"), "It is 42."])
    ScriptedModel(lambda request: request.messages[-1].content.upper())
    ```

    Attributes:
        requests: every request so far, oldest first.
    """

    def __init__(self, script: Script, *, name: str = "scripted") -> None:
        self._function = script if callable(script) else None
        self._lines = iter(()) if callable(script) else iter(script)
        self._name = name
        self.requests: list[ModelRequest] = []

    @property
    def name(self) -> str:
        """The name given to it."""
        return self._name

    async def complete(self, request: ModelRequest, *, on_delta: OnDelta | None = None) -> ModelReply:
        """Play the next line. Raises ModelError when the script is over, and errors of the script."""
        self.requests.append(request)
        reply = _reply(self._line(request), request)
        if on_delta is not None and reply.text:
            on_delta(ModelDelta(kind="text", text=reply.text))
        return reply

    async def aclose(self) -> None:
        """Do nothing: nothing is open."""

    def _line(self, request: ModelRequest) -> Line:
        if self._function is not None:
            return self._function(request)
        try:
            line = next(self._lines)
        except StopIteration:
            raise ModelError(f"the script of {self._name} has no line for turn {len(self.requests)}") from None
        return line(request) if callable(line) else line


def _reply(line: Line, request: ModelRequest) -> ModelReply:
    match line:
        case ModelReply():
            return line
        case Exception():
            raise line
        case str():
            return ModelReply(text=line, usage=_usage(request, line))
        case ToolCall():
            return ModelReply(calls=(line,), usage=_usage(request, line.arguments))
        case _:
            return ModelReply(calls=tuple(line), usage=_usage(request, str(line)))


def _usage(request: ModelRequest, reply: str) -> Usage:
    """Return a plausible count: a token for every four bytes, so that budgets can be rehearsed."""
    asked = sum(len(message.wire) for message in request.messages)
    return Usage(input_tokens=asked // 4 + 1, output_tokens=len(encode(reply)) // 4 + 1)
