"""The loop of a cell: one request, one answer, whatever the pack does.

Requests, and what answers them (each carries the request's `id`):

- `open`: pack, package, location, paths, settings, secrets, workspace, data, cwd, env, net, and
  optionally result_limit in bytes and observe. `ready`, or `broken` with error and traceback.
- `describe`: skills as name to [handler, post-hook or null]. `described` with skills as name to
  schema, description, notes, error.
- `convert`: handler, arguments. `converted`, or `invalid` with errors as [path, message].
- `call`: handler, arguments, context (session, call, key, traceparent). Any number of `progress` with text, then
  `result` with text and follow_ups as [skill, arguments], or `invalid`, or `failed` with error
  and traceback.
- `after`: after, call (skill, arguments), result, context. As `call`.

Any answer may carry `denied`, as [right, what, missing], and with `observe` also `observed`.
Arguments and results are JSON text in UTF-8; handlers and post-hooks `package.module:function`.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable, Coroutine, Mapping
from typing import TYPE_CHECKING, Any, NoReturn

from remit_sandbox.errors import ProtocolError
from remit_sandbox.inside import refusals
from remit_sandbox.inside.channel import Channel
from remit_sandbox.inside.context import Call, Context
from remit_sandbox.inside.convert import DoesNotFit, convert
from remit_sandbox.inside.describe import describe, described_fields
from remit_sandbox.inside.invoke import FINISHED, failure, finish, start
from remit_sandbox.inside.network import install
from remit_sandbox.inside.opening import OpenPack, open_pack, package_folder, prepare_process, wording_for
from remit_sandbox.inside.results import to_json
from remit_sandbox.inside.signature import Prepared, check_hook, prepare, wants_context
from remit_sandbox.inside.streams import Streams
from remit_sandbox.inside.text import well_formed
from remit_sandbox.values import Described, Reply

if TYPE_CHECKING:
    from remit_sandbox.inside.observe import Observer

Answer = dict[str, Any]


def serve(frames_fd: int, broker_fd: int | None, tmp: str) -> NoReturn:
    """Serve requests until the host closes the channel; ends the process, never returns.

    Called in a process that is already confined. The first request must be `open`.

    Args:
        frames_fd: connected socket to the host; the cell takes it over.
        broker_fd: connected socket to the host's network broker, None without a net right.
        tmp: the cell's private folder.
    """
    code = 70
    try:
        _Server(Channel(frames_fd), broker_fd, tmp).run()
        code = 0
    finally:
        os._exit(code)


class _Server:
    def __init__(self, channel: Channel, broker_fd: int | None, tmp: str) -> None:
        self._channel = channel
        self._broker_fd = broker_fd
        self._tmp = tmp
        self._streams = Streams()
        self._pack: OpenPack | None = None
        self._prepared: dict[str, Prepared] = {}
        self._loop: asyncio.Runner | None = None
        self._observer: Observer | None = None
        self._operations: Mapping[str, Callable[[Answer], Answer]] = {
            "open": self._open,
            "describe": self._describe,
            "convert": self._convert,
            "call": self._call,
            "after": self._after,
        }

    def run(self) -> None:
        while (request := self._next()) is not None:
            identity = request["id"]
            self._channel.begin(identity)
            answer = self._operations[request["op"]](request)
            answer["id"] = identity
            if denied := refusals.take():
                answer["denied"] = denied
            if self._observer is not None:
                answer["observed"] = self._observer.report()
            self._streams.flush()
            self._channel.answer(answer)
            self._streams.restore()

    def _next(self) -> Answer | None:
        """Read on when a pack's timer or signal handler raises into the wait."""
        while True:
            try:
                return self._channel.read()
            except ProtocolError:
                return None
            except BaseException:
                continue

    def _open(self, frame: Answer) -> Answer:
        prepare_process(frame, self._tmp)
        wording = wording_for(frame, self._tmp)
        if frame.get("observe"):
            from remit_sandbox.inside.observe import Observer

            self._observer = Observer(package_folder(frame) or "/nowhere")
            self._observer.install()
        try:
            install(self._broker_fd if frame.get("net") else None)
            self._pack = open_pack(frame, self._tmp, wording)
        except BaseException as error:
            return {"op": "broken", "error": wording.line(error), "traceback": wording.trace(error)}
        return {"op": "ready"}

    def _describe(self, frame: Answer) -> Answer:
        skills = {
            name: described_fields(self._described(handler, after))
            for name, (handler, after) in frame["skills"].items()
        }
        return {"op": "described", "skills": skills}

    def _described(self, handler: str, after: str | None) -> Described:
        try:
            if after:
                check_hook(self._opened.load(after))
            return describe(self._handler(handler))
        except BaseException as error:
            return Described(error=self._opened.wording.line(error))

    def _convert(self, frame: Answer) -> Answer:
        try:
            convert(self._handler(frame["handler"]), frame["arguments"])
        except DoesNotFit as error:
            return _plain(Reply(kind="invalid", errors=error.errors))
        except BaseException as error:
            return _plain(failure(error, self._opened.wording))
        return {"op": "converted"}

    def _call(self, frame: Answer) -> Answer:
        pack = self._opened
        try:
            prepared = self._handler(frame["handler"])
            context = self._context(frame) if prepared.context else None
            value = start(prepared, frame["arguments"], context)
            if type(value) not in FINISHED:
                context = context or self._context(frame)
                value = finish(value, context, self._run)
            return _result(value, context, pack)
        except BaseException as error:
            return _plain(failure(error, pack.wording))

    def _after(self, frame: Answer) -> Answer:
        pack = self._opened
        try:
            context = self._context(frame)
            return _result(self._hook_value(frame, context), context, pack)
        except BaseException as error:
            return _plain(failure(error, pack.wording))

    def _hook_value(self, frame: Answer, context: Context) -> Any:
        """Return what the post-hook makes of the result; the result itself when it returns None."""
        hook = self._opened.load(frame["after"])
        call = Call(skill=frame["call"]["skill"], arguments=json.loads(frame["call"]["arguments"] or b"{}"))
        named = {"ctx": context} if wants_context(hook) else {}
        value = finish(hook(call, json.loads(frame["result"]), **named), context, self._run)
        return json.loads(frame["result"]) if value is None else value

    def _context(self, frame: Answer) -> Context:
        about = frame.get("context") or {}
        identity = frame["id"]
        mask = self._opened.wording.mask

        def report(text: str) -> None:
            self._channel.progress(identity, mask(well_formed(text)))

        return self._opened.context(
            about.get("session", ""), about.get("call", ""), report, about.get("traceparent", ""), about.get("key", "")
        )

    @property
    def _opened(self) -> OpenPack:
        if self._pack is None:
            raise RuntimeError("the first request must be `open`")
        return self._pack

    def _handler(self, reference: str) -> Prepared:
        if reference not in self._prepared:
            self._prepared[reference] = prepare(self._opened.load(reference))
        return self._prepared[reference]

    def _run(self, work: Coroutine[Any, Any, Any]) -> Any:
        """Run async work in one loop that lives as long as the cell, so that clients can be kept."""
        if self._loop is None:
            self._loop = asyncio.Runner()
        try:
            return self._loop.run(work)
        except Exception:
            raise
        except BaseException:
            self._loop = None
            raise


def _result(value: Any, context: Context | None, pack: OpenPack) -> Answer:
    text = to_json(value, limit=pack.limit, mask=pack.wording.hides)
    return {"op": "result", "text": text, "follow_ups": context.follow_ups if context else ()}


def _plain(reply: Reply) -> Answer:
    if reply.kind == "invalid":
        return {"op": "invalid", "errors": [[item.path, item.message] for item in reply.errors]}
    return {"op": "failed", "error": reply.error, "traceback": reply.traceback}
