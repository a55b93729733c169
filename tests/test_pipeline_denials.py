"""A denied connection, program or start: in the log as `sandbox.denied`, and named in the result."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from remit.deployment.deployment import Deployment
from remit.deployment.try_pack import try_pack
from remit.pipeline.pipeline import Pipeline
from remit.state.store import State
from remit.values import Call, Result
from tests import web_servers

MANIFEST = """\
manifest = 1
[pack]
name = "reach"
summary = "Reaches out"
[permissions]
net = ["localhost:{port}", "*.granted.example:443"]
exec = ["{program}"]
[[skill]]
name = "fetch"
handler = "remit_reach:fetch"
effect = "read"
uses = ["net"]
[[skill]]
name = "quiet"
handler = "remit_reach:quiet"
effect = "read"
uses = ["net"]
[[skill]]
name = "nowhere"
handler = "remit_reach:fetch"
effect = "read"
[[skill]]
name = "start"
handler = "remit_reach:start"
effect = "external"
uses = ["exec"]
"""
HANDLERS = '''
import subprocess
import urllib.request


def fetch(url: str) -> str:
    """Fetch."""
    with urllib.request.urlopen(url, timeout=10) as answer:
        return answer.read().decode()


def quiet(url: str) -> str:
    """Fetch, and say nothing of what goes wrong."""
    try:
        return fetch(url)
    except OSError:
        return "nothing found"


def start(program: str) -> str:
    """Run a program."""
    return subprocess.run([program, "hi"], capture_output=True, text=True, check=True).stdout
'''


class Reach:
    """The pack in a deployment of its own, and its log."""

    def __init__(self, folder: Path, port: int) -> None:
        package = folder / "remit_reach"
        package.mkdir()
        self.program = str(shutil.copy(os.path.realpath("/bin/echo"), folder / "tool"))
        (package / "pack.toml").write_text(MANIFEST.format(port=port, program=self.program))
        (package / "__init__.py").write_text(HANDLERS)
        self.deployment: Deployment = try_pack(package, private_net=True)
        self.state = State(self.deployment.state_folder)

    def call(self, skill: str, **arguments: Any) -> Result:
        pipeline = Pipeline(
            skills=self.deployment.skills,
            rules=self.deployment.rules,
            state=self.state,
            sandbox=self.deployment.sandbox,
        )
        call = Call(id=skill, skill=f"reach.{skill}", arguments=json.dumps(arguments), session="s1")
        return asyncio.run(pipeline.call(call))

    def denied(self) -> list[Any]:
        return [record for record in self.state.records() if record.event == "sandbox.denied"]

    def close(self) -> None:
        self.state.close()
        self.deployment.close()


@pytest.fixture
def web() -> Iterator[int]:
    with web_servers.serving(web_servers.plain()) as port:
        yield port


@pytest.fixture
def reach(tmp_path: Path, web: int) -> Iterator[Reach]:
    made = Reach(tmp_path, web)
    yield made
    made.close()


def test_a_denied_connection_is_recorded_and_told(reach: Reach, web: int) -> None:
    granted = reach.call("fetch", url=f"http://localhost:{web}/")
    assert granted.status == "ok" and reach.denied() == []
    result = reach.call("fetch", url="http://evil.example:8080/")
    assert result.status == "failed"
    assert "evil.example:8080" in result.text and 'net = ["evil.example:8080"]' in result.text
    assert "its author would add" in result.remedy and 'net = ["evil.example:8080"]' in result.remedy
    (record,) = reach.denied()
    assert (record.skill, record.session, record.call) == ("reach.fetch", "s1", "fetch")
    assert record.body == {
        "pack": "reach",
        "right": "net",
        "what": "evil.example:8080",
        "host": "evil.example",
        "port": 8080,
        "missing": 'net = ["evil.example:8080"]',
        "seen_by": "broker",
    }


def test_one_that_the_skill_keeps_to_itself_is_recorded_all_the_same(reach: Reach) -> None:
    result = reach.call("quiet", url="http://evil.example/")
    assert (result.status, result.value) == ("ok", "nothing found")
    assert any("evil.example:80" in note for note in result.notes)
    assert [record.body["what"] for record in reach.denied()] == ["evil.example:80"]


def test_without_a_network_only_the_cell_can_say_it(reach: Reach) -> None:
    result = reach.call("nowhere", url="http://evil.example/")
    assert result.status == "failed" and 'missing: net = ["evil.example:80"]' in result.text
    assert [(r.body["what"], r.body["seen_by"]) for r in reach.denied()] == [("evil.example:80", "cell")]


def test_a_grant_that_is_missing_is_told_from_a_permission(reach: Reach) -> None:
    from remit.pipeline.denials import remedy
    from remit_sandbox.values import Denied

    class Known:
        pack, permission = "reach", reach.deployment.skills["reach.fetch"].permission

    class Tried:
        known = Known()

    missing = 'net = ["a.granted.example:443"]'
    denied = Denied(right="net", what="a.granted.example:443", missing=missing, seen_by="broker")
    found = remedy(Tried(), [denied])  # type: ignore[arg-type]
    assert found == f"if it shall: in [packs.reach] give it grant.{missing}"


@pytest.mark.confinement
def test_another_program_is_told(reach: Reach) -> None:
    assert reach.call("start", program=reach.program).value == "hi\n"
    result = reach.call("start", program=os.path.realpath("/bin/cat"))
    assert 'missing: exec = ["cat"]' in result.text
    assert [(r.body["right"], r.body["what"]) for r in reach.denied()] == [("exec", "cat")]


def test_a_program_that_changed_is_refused_and_recorded(reach: Reach) -> None:
    assert reach.call("start", program=reach.program).status == "ok"
    with open(reach.program, "ab") as file:
        file.write(b"x")
    result = reach.call("start", program=reach.program)
    assert result.status == "failed" and "the granted tool: is another program" in result.text
    assert reach.program in result.reason and reach.program not in result.text
    assert "open the deployment again" in result.remedy
    (record,) = reach.denied()
    assert record.body["seen_by"] == "supervisor" and "changed or replaced" in record.body["what"]
