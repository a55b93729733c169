"""Runs as server-sent events: the stream of `remit.loop.events`, as it happens."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from starlette.responses import Response

from remit.http.answers import HEADERS, Refused, answer, as_text
from remit.http.identity import Identity
from remit.http.runs import Runs, outcome, until_gone
from remit.loop.event_json import event_json, result_json

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

    from remit.http.runs import Work
    from remit.loop.events import Event
    from remit.loop.outcome import RunResult

STREAM = "text/event-stream"

_KEEP_ALIVE = 15.0
"""Seconds without an event after which a comment is sent, so that proxies keep the connection."""

_MOST_WAITING = 10_000
"""Events that a slow client may leave unread before its run is ended."""


class Streamed(Response):
    """A run as server-sent events: `event` is its name, `id` its number, `data` its JSON.

    The last one is `run_ended`, or `error` with the JSON of every error. A run that cannot begin is answered like
    any other request, with a status and no stream.
    """

    def __init__(self, runs: Runs, who: Identity, work: Work) -> None:
        """Take what to run. Raises Refused where there is no room."""
        runs.require_room(who)
        super().__init__(headers={**HEADERS, "content-type": STREAM, "x-accel-buffering": "no"})
        del self.headers["content-length"]
        self._runs, self._who, self._work = runs, who, work
        self._events: asyncio.Queue[Event | None] = asyncio.Queue()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Run, and send every event, until the run is over or the client has gone away."""
        async with self._runs.started(self._who, self._work, self._events.put_nowait) as run:
            run.add_done_callback(lambda _: self._events.put_nowait(None))
            telling = asyncio.create_task(self._tell(run, scope, receive, send))
            try:
                await until_gone(telling, receive)
                if telling.done():
                    telling.result()
            except OSError:
                pass  # nobody takes what is sent any more
            finally:
                telling.cancel()
                await asyncio.gather(telling, return_exceptions=True)

    async def _tell(self, run: asyncio.Task[RunResult], scope: Scope, receive: Receive, send: Send) -> None:
        event = await self._events.get()
        if event is None:
            return await _without_events(run)(scope, receive, send)
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        number = 0
        while event is not None:
            number += 1
            body = event_json(event)
            await _send(send, f"event: {body['event']}\nid: {number}\ndata: {as_text(body)}\n\n")
            event = await self._next(send)
        try:
            outcome(run)
        except Refused as refused:
            await _send(send, f"event: error\nid: {number + 1}\ndata: {as_text(refused.body)}\n\n")
        return await _send(send, "", more=False)

    async def _next(self, send: Send) -> Event | None:
        if self._events.qsize() > _MOST_WAITING:
            return None
        while True:
            try:
                return await asyncio.wait_for(self._events.get(), _KEEP_ALIVE)
            except TimeoutError:
                await _send(send, ": still there\n\n")


def _without_events(run: asyncio.Task[RunResult]) -> Response:
    try:
        return answer(result_json(outcome(run)))
    except Refused as refused:
        return refused.response


async def _send(send: Send, text: str, *, more: bool = True) -> None:
    message: dict[str, Any] = {"type": "http.response.body", "body": text.encode(), "more_body": more}
    await send(message)
