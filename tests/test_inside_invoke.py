"""Calls of handlers of every kind, in this process."""

from __future__ import annotations

import asyncio
import inspect
import json
import sys
from collections.abc import AsyncIterator, Generator, Iterator
from typing import Any

import pytest

from remit_sandbox.inside.context import Context
from remit_sandbox.inside.invoke import ainvoke_function, invoke_function
from remit_sandbox.values import FollowUp, Reply


def add(a: int, b: int = 2) -> int:
    return a + b


async def aadd(a: int, b: int = 2) -> int:
    await asyncio.sleep(0)
    return a + b


def steps(n: int) -> Generator[str, None, int]:
    for number in range(n):
        yield f"step {number}"
    return n


def rows(n: int) -> Iterator[Any]:
    for number in range(n):
        yield {"row": number}


async def asteps(n: int) -> AsyncIterator[Any]:
    for number in range(n):
        await asyncio.sleep(0)
        yield f"step {number}"
    yield {"done": n}


def both(function: Any, arguments: str, **surroundings: Any) -> tuple[Reply, list[str]]:
    """Call it blocking and in an event loop, which must not differ."""
    reports: list[list[str]] = [[], []]
    blocking = invoke_function(function, arguments.encode(), Context(report=reports[0].append, **surroundings))
    context = Context(report=reports[1].append, **surroundings)
    looped = asyncio.run(ainvoke_function(function, arguments.encode(), context))
    assert (blocking.kind, blocking.text, blocking.error) == (looped.kind, looped.text, looped.error)
    assert reports[0] == reports[1]
    return blocking, reports[0]


@pytest.mark.parametrize("function", [add, aadd])
def test_plain_and_async(function: Any) -> None:
    assert both(function, '{"a": 1}')[0].text == b"3"
    assert both(function, '{"a": "1"}')[0].kind == "invalid"


def test_generators_report_and_return() -> None:
    reply, progress = both(steps, '{"n": 2}')
    assert (reply.text, progress) == (b"2", ["step 0", "step 1"])


def test_a_generator_that_returns_nothing_gives_its_last_value() -> None:
    reply, progress = both(rows, '{"n": 3}')
    assert (json.loads(reply.text), progress) == ({"row": 2}, [])


def test_async_generators_report_and_end_with_their_result() -> None:
    reply, progress = both(asteps, '{"n": 2}')
    assert (json.loads(reply.text), progress) == ({"done": 2}, ["step 0", "step 1"])


def test_a_plain_function_that_returns_a_coroutine() -> None:
    def tool(a: int) -> Any:
        return aadd(a)

    assert both(tool, '{"a": 1}')[0].text == b"3"


def test_context_gives_what_the_deployment_gives(tmp_path: Any) -> None:
    def tool(ctx) -> list[Any]:  # type: ignore[no-untyped-def]
        return [ctx.settings["k"], ctx.workspace, ctx.data, ctx.session, ctx.call, "key" in ctx.secrets]

    surroundings = {
        "settings": {"k": 1},
        "workspace": str(tmp_path),
        "session": "s",
        "call": "c",
        "secrets": {"key": "v"},
    }
    assert json.loads(both(tool, "{}", **surroundings)[0].text) == [1, str(tmp_path), None, "s", "c", True]


def test_settings_cannot_be_changed_and_secrets_do_not_print() -> None:
    context = Context(settings={"k": 1}, secrets={"key": "hunter22"})
    with pytest.raises(TypeError):
        context.settings["k"] = 2  # type: ignore[index]
    assert "hunter22" not in repr(context.secrets)
    assert context.secrets["key"] == "hunter22"


def test_follow_ups_and_their_limit() -> None:
    def tool(n: int, ctx) -> str:  # type: ignore[no-untyped-def]
        for number in range(n):
            ctx.follow_up("good.add", skill="x", self=number)
        return "asked"

    reply = both(tool, '{"n": 3}')[0]
    assert reply.follow_ups[2] == FollowUp(skill="good.add", arguments=b'{"skill":"x","self":2}')
    refused = both(tool, '{"n": 4}')[0]
    assert refused.kind == "failed"
    assert "at most 3 follow-up calls" in refused.error


def test_follow_up_arguments_must_be_json() -> None:
    def tool(ctx) -> None:  # type: ignore[no-untyped-def]
        ctx.follow_up("a.b", x=object())

    assert both(tool, "{}")[0].kind == "failed"


def test_what_a_handler_raises_becomes_one_safe_line() -> None:
    def tool(how: str) -> None:
        if how == "exit":
            sys.exit(3)
        if how == "lines":
            raise ValueError("one\ntwo  three")
        if how == "long":
            raise ValueError("x" * 100_000)
        raise ValueError("the key is hunter22")

    assert both(tool, '{"how": "exit"}')[0].error == "the handler ended its process: exit code 3"
    assert both(tool, '{"how": "lines"}')[0].error == "ValueError: one two three"
    assert len(both(tool, '{"how": "long"}')[0].error) == 500
    secret = both(tool, '{"how": "key"}', secrets={"api": "hunter22"})[0]
    assert secret.error == "ValueError: the key is [secret api]"
    assert "hunter22" not in secret.traceback
    assert "in tool" in secret.traceback


def test_an_error_that_cannot_be_shown() -> None:
    class Evil(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no")

        __repr__ = __str__
        __eq__ = None  # type: ignore[assignment]

    def tool() -> None:
        raise Evil

    assert both(tool, "{}")[0].error == "Evil: (its text cannot be shown)"


def test_secrets_are_masked_in_results() -> None:
    def tool(ctx) -> str:  # type: ignore[no-untyped-def]
        return f"token {ctx.secrets['api']}"

    assert both(tool, "{}", secrets={"api": "hunter22"})[0].text == b'"token [secret api]"'


def test_a_result_without_json_form_names_the_type_alone() -> None:
    class Response:
        pass

    def tool() -> Any:
        return Response()

    reply = both(tool, "{}")[0]
    assert reply.kind == "failed"
    assert "Response" in reply.error
    assert "0x" not in reply.error


def test_a_function_that_cannot_be_described_fails() -> None:
    def tool(**extra: int) -> None: ...

    assert "**extra" in both(tool, "{}")[0].error


def test_the_persons_own_interrupt_passes_through() -> None:
    def tool() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        invoke_function(tool, b"{}", Context())


def test_cancelling_passes_through() -> None:
    async def forever() -> None:
        await asyncio.Event().wait()

    async def main() -> None:
        task = asyncio.create_task(ainvoke_function(forever, b"{}", Context()))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())


def test_the_signature_of_a_function_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def fresh(a: int) -> int:
        return a

    class Unhashable:
        __hash__ = None  # type: ignore[assignment]

        def __call__(self, a: int) -> int:
            return a

    read: list[Any] = []
    signature = inspect.signature
    monkeypatch.setattr(inspect, "signature", lambda one: read.append(one) or signature(one))
    for _ in range(3):
        assert invoke_function(fresh, b'{"a": 1}', Context()).text == b"1"
    assert read == [fresh]
    assert invoke_function(Unhashable(), b'{"a": 2}', Context()).text == b"2"
