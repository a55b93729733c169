"""Telling somebody, outside of any cell, that a call waits for a person: a command, a webhook, or both."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from remit_sandbox.signoff import SignoffRequest

if TYPE_CHECKING:
    from remit.pipeline.attempt import Attempt

_HIDDEN = "[not recorded]"
_LONGEST = 300


@dataclass(frozen=True, kw_only=True)
class Notifier:
    """Who is told, as `[notify]` says.

    Attributes:
        folder: the deployment's; answers are given there, and the command runs there.
        command: a program and its arguments; empty for none.
        webhook: an address; None for none.
        arguments: tell the arguments of the call, too.
        timeout: seconds that each may take.
    """

    folder: Path
    command: tuple[str, ...] = ()
    webhook: str | None = None
    arguments: bool = False
    timeout: float = 10.0

    def message(self, request: SignoffRequest) -> dict[str, Any]:
        """Return what is told of a request; values of arguments only where that is wanted."""
        action = request.action
        says_values = request.source.partition(" ")[0] not in ("rule", "impact")
        told: dict[str, Any] = {
            "event": "signoff.asked",
            "what": action.skill,
            "why": request.source if says_values and not self.arguments else f"{request.source}: {request.reason}",
            "until": datetime.fromtimestamp(request.expires, UTC).isoformat(timespec="seconds"),
            "where": f"remit signoff show {request.nonce[:12]} in {self.folder}",
            "id": request.nonce,
            "digest": request.digest,
            "verdict": request.verdict,
            "effect": request.effect,
            "impact": list(request.impact),
            "approvers": request.approvers,
            "session": action.session,
            "principal": action.principal,
            **({"agents": list(request.agents)} if request.agents else {}),
        }
        if self.arguments:
            shown = {n: _HIDDEN if n in request.secret else value for n, value in action.arguments.items()}
            told |= {"arguments": shown, "resolved": dict(action.resolved)}
        return told

    async def tell(self, message: Mapping[str, Any]) -> dict[str, str]:
        """Tell everybody; return `command` and `webhook`, as far as they are wanted, each with what went wrong."""
        data = json.dumps(message, default=str).encode()
        ways = {"command": self._run, "webhook": self._post}
        wanted = [name for name in ways if getattr(self, name)]
        errors = await asyncio.gather(*(ways[name](data) for name in wanted))
        return dict(zip(wanted, errors, strict=True))

    async def _run(self, data: bytes) -> str:
        return await asyncio.to_thread(_run, self.command, data, self.folder, self.timeout)

    async def _post(self, data: bytes) -> str:
        import httpx2

        assert self.webhook is not None
        headers = {"Content-Type": "application/json"}
        try:
            async with asyncio.timeout(self.timeout), httpx2.AsyncClient(timeout=self.timeout) as client:
                reply = await client.post(self.webhook, content=data, headers=headers)
        except TimeoutError:
            return f"it did not answer within {self.timeout:g} seconds"
        except Exception as error:
            return f"it could not be reached ({type(error).__name__})"
        return "" if reply.is_success else f"it answered {reply.status_code}"


async def notified(attempt: Attempt, request: SignoffRequest) -> list[str]:
    """Tell of a parked call; record how that went, and return for people what went wrong."""
    notify = attempt.around.notify
    if notify is None:
        return []
    outcomes = await notify.tell(notify.message(request))
    for how, error in outcomes.items():
        attempt.note("signoff.notified", {"nonce": request.nonce, "how": how, "ok": not error}, {"error": error})
    troubles = [f"the {how} of [notify] failed, so nobody was told that way: {e}" for how, e in outcomes.items() if e]
    attempt.notes += troubles
    return troubles


def _run(command: tuple[str, ...], data: bytes, folder: Path, timeout: float) -> str:
    """Run a program with `data` as its input; return what went wrong. It and its children end with the time limit."""
    try:
        process = subprocess.Popen(
            command,
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        return f"{command[0]} could not be started ({getattr(error, 'strerror', None) or error})"
    with process:
        try:
            _, told = process.communicate(data, timeout=timeout)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            return f"{command[0]} was not done within {timeout:g} seconds and was ended"
    if process.returncode == 0:
        return ""
    last = (told.decode("utf-8", "replace").strip().splitlines() or [""])[-1][:_LONGEST]
    return f"{command[0]} ended with {process.returncode}" + (f": {last}" if last else "")
