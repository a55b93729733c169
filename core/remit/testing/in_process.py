"""Runs a pack's handlers in this process, without any cell: for an author's debugger and coverage.

This is the only place of Remit that imports a pack into the process that asks for it, and only for a test that says
`cells=False`. Nothing is confined here.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from types import MappingProxyType
from typing import Any

from remit.packs.installed import InstalledPack
from remit_sandbox.inside.context import Call, Context
from remit_sandbox.inside.convert import DoesNotFit, convert
from remit_sandbox.inside.invoke import failure, finish, needs_loop, settle, start, success
from remit_sandbox.inside.opening import OpenPack
from remit_sandbox.inside.signature import prepare, wants_context
from remit_sandbox.inside.wording import Wording
from remit_sandbox.values import CellSpec, Output, Reply

ENFORCEMENT: Mapping[str, str] = MappingProxyType({"all rights": "not enforced"})
"""What a call in this process records."""


class InProcess:
    """Stands where the sandbox stands; its cells are this process."""

    def __init__(self, installed: InstalledPack) -> None:
        self._installed = installed
        self._modules: dict[str, Any] = {}
        self._folder = tempfile.TemporaryDirectory(prefix="remit-test-")
        self._import()

    def _import(self) -> None:
        """Import the package from where the pack lies; a copy of the same name is put aside until `close`."""
        self._modules = _taken_out(self._installed.package)
        sys.path.insert(0, self._installed.location)
        try:
            importlib.invalidate_caches()
            importlib.import_module(self._installed.package)
        finally:
            sys.path.remove(self._installed.location)

    @asynccontextmanager
    async def aborrow(self, spec: CellSpec, session: str) -> AsyncIterator[InProcessCell]:
        """Yield what answers the requests of one call."""
        del session
        yield InProcessCell(spec, self._folder.name)

    def close(self) -> None:
        """Forget the package, and remove the temporary folder."""
        _taken_out(self._installed.package)
        sys.modules.update(self._modules)
        self._folder.cleanup()


class InProcessCell:
    """Answers the requests of a call as a cell does: `convert`, `call`, `after`."""

    enforcement = ENFORCEMENT
    denials = None

    def __init__(self, spec: CellSpec, tmp: str) -> None:
        surroundings = Context(
            settings=spec.settings,
            secrets=spec.secrets,
            workspace=spec.workspace,
            data=spec.data,
            tmp=tmp,
            readable=(*spec.rights.read, *spec.rights.write),
        )
        folder = f"{spec.location}/{spec.package}" if spec.location else None
        wording = Wording(folder=folder, places=[(spec.location or "", "<pack>")], secrets=spec.secrets)
        self._pack = OpenPack(package=spec.package, surroundings=surroundings, wording=wording)

    async def arequest(
        self, op: str, body: Mapping[str, Any], *, timeout: float, on_progress: Callable[[str], None] | None = None
    ) -> Reply:
        """Run one request to its end; a debugger may stop in it, so `timeout` does not count."""
        del timeout
        about = body.get("context") or {}
        context = self._pack.surroundings.again(
            about.get("session", ""),
            about.get("call", ""),
            on_progress or _unheard,
            traceparent=about.get("traceparent", ""),
            key=about.get("key", ""),
        )
        try:
            if op == "convert":
                convert(prepare(self._pack.load(body["handler"])), body["arguments"])
                return Reply(kind="result")
            value = self._begun(op, body, context)
            value = await settle(value, context) if needs_loop(value) else finish(value, context, asyncio.run)
            if op == "after" and value is None:
                value = json.loads(body["result"])
            return success(value, context, self._pack.wording)
        except DoesNotFit as error:
            return Reply(kind="invalid", errors=error.errors)
        except (Exception, SystemExit) as error:
            return failure(error, self._pack.wording)

    def _begun(self, op: str, body: Mapping[str, Any], context: Context) -> Any:
        if op == "call":
            return start(prepare(self._pack.load(body["handler"])), body["arguments"], context)
        hook = self._pack.load(body["after"])
        call = Call(skill=body["call"]["skill"], arguments=json.loads(body["call"]["arguments"] or b"{}"))
        named = {"ctx": context} if wants_context(hook) else {}
        return hook(call, json.loads(body["result"]), **named)

    def kill(self) -> None:
        """Do nothing: this process goes on."""

    def output(self) -> Output:
        """Nothing: what is printed goes where this process prints."""
        return Output()


def _unheard(text: str) -> None:
    del text


def _taken_out(package: str) -> dict[str, Any]:
    """Remove a package from the imported modules and return what was removed."""
    names = [name for name in sys.modules if name == package or name.startswith(f"{package}.")]
    return {name: sys.modules.pop(name) for name in names}
