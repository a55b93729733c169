"""Parts for tests of `remit signoff`: requests of real runs, and ones put without a run."""

from __future__ import annotations

import os
import secrets
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

from remit import Agent, ScriptedModel
from remit.models.scripted import ask
from remit.state.store import State
from remit_sandbox.signoff import Action, SignoffRequest
from tests.in_process import Here


def waiting(here: Here) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = here.remit("signoff", "list", "--json").json
    return found


def state(here: Here) -> State:
    (folder,) = (here.place / "state" / "deployments").iterdir()
    return State(folder)


def parked(here: Here, *, skill: str = "files.write_file", **arguments: Any) -> dict[str, Any]:
    """Let an agent ask for one call, which is parked with its session; return the request."""
    script = [ask(skill, **{"path": "a.txt", "content": "x", **arguments})]
    with (
        mock.patch.dict(os.environ, {"REMIT_STATE": str(here.place / "state")}),
        Agent(here.folder, model=ScriptedModel(script)) as agent,
    ):
        assert agent.run("go", session=secrets.token_hex(4)).status == "parked"
    return waiting(here)[-1]


_real: dict[Path, SignoffRequest] = {}


def asked(here: Here, **arguments: Any) -> dict[str, Any]:
    """Put the question that `parked` would lead to, without the run that waits for it; return the request."""
    with state(here) as opened:
        if here.place not in _real:
            _real[here.place] = opened.signoff(parked(here)["id"]).rebuilt()
        real = _real[here.place]
        action = replace(real.action, arguments={**real.action.arguments, **arguments})
        request = replace(real, action=action, nonce=secrets.token_hex(16))
        opened.put_signoff(request)
    return {"id": request.nonce, "digest": request.digest}


def resumed(here: Here, session: str) -> Any:
    with (
        mock.patch.dict(os.environ, {"REMIT_STATE": str(here.place / "state")}),
        Agent(here.folder, model=ScriptedModel(["Done."])) as agent,
    ):
        return agent.resume(session)


def file(here: Here, name: str = "a.txt") -> str:
    path = here.folder / "workspace" / name
    return path.read_text() if path.exists() else ""


def action(**changes: Any) -> Action:
    facts: dict[str, Any] = {
        "skill": "files.write_file",
        "version": "1",
        "skill_hash": "h",
        "arguments": {"path": "a.txt"},
        "session": "s",
        "principal": "p",
        "policy": "d",
    }
    return Action(**{**facts, **changes})
