"""The hostile pack as a deployment loads it: every stage of the pipeline, and the state folder of the host."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import remit_sandbox.escape
from remit.deployment.try_pack import try_pack
from remit.pipeline.pipeline import Pipeline
from remit.state.store import State
from remit.values import Call, Result
from remit_sandbox.escape.attempts import ATTEMPTS
from tests.sandbox_parts import plain_python

pytestmark = pytest.mark.confinement

PACKAGE = Path(remit_sandbox.escape.__file__).parent / "remit_hostile"
OURS = ("read", "read_raw", "append", "make", "unlink", "truncate", "own_symlink", "rename_in", "chmod")


class Attacked:
    """A deployment with the hostile pack, and files to attack."""

    def __init__(self, folder: Path) -> None:
        self.workspace = folder / "workspace"
        for name in ("outside", "docs", "work"):
            (self.workspace / name).mkdir(parents=True)
        self.secret, self.canary = self.workspace / "outside" / "secret", self.workspace / "outside" / "canary"
        self.note = self.workspace / "docs" / "note"
        self.fill()
        self.deployment = try_pack(PACKAGE, enforcement="kernel", workspace=self.workspace)
        self.state = State(self.deployment.state_folder)
        self.pipeline = Pipeline(
            skills=self.deployment.skills,
            rules=self.deployment.rules,
            state=self.state,
            sandbox=self.deployment.sandbox,
            unattended="deny",
        )

    def fill(self) -> None:
        self.secret.write_text("the secret")
        self.canary.write_text("canary")
        self.note.write_text("note")

    def facts(self) -> dict[str, str]:
        names = {name: str(self.workspace / name) for name in ("outside", "docs", "work")}
        return {**names, "secret": str(self.secret), "canary": str(self.canary), "note": str(self.note)}

    def attack(self, name: str, **more: str) -> Result:
        arguments = {"module": ATTEMPTS[name].module, "name": name, "facts": json.dumps(self.facts() | more)}
        call = Call(id=name, skill="hostile.attack", arguments=json.dumps(arguments), session="s")
        return asyncio.run(self.pipeline.call(call))

    def look(self) -> dict[str, object]:
        files = [path for top in ("outside", "docs") for path in sorted((self.workspace / top).rglob("*"))]
        return {str(path): (path.read_text(), path.stat().st_mode, path.stat().st_mtime_ns) for path in files}

    def close(self) -> None:
        self.state.close()
        self.deployment.close()


@pytest.fixture
def attacked(tmp_path: Path) -> Iterator[Attacked]:
    made = Attacked(tmp_path.resolve())
    yield made
    made.close()


def test_what_is_granted_works_and_nothing_else(attacked: Attacked) -> None:
    assert set(attacked.deployment.skills) == {"hostile.attack"}, attacked.deployment.problems
    before = attacked.look()
    for name in OURS:
        result = attacked.attack(name)
        assert "the secret" not in str(result), name
        assert attacked.look() == before, name
    granted = attacked.attack("read", secret=str(attacked.note))
    assert "note" in str(granted)


@pytest.mark.parametrize("name", OURS)
def test_the_control_works(attacked: Attacked, name: str) -> None:
    before = attacked.look()
    code = (
        f"import json, os, sys\nsys.path[:0] = {sys_path()!r}\nos.chdir({str(attacked.workspace / 'work')!r})\n"
        f"import remit_hostile\n"
        f"print(remit_hostile.attack({ATTEMPTS[name].module!r}, {name!r}, {json.dumps(attacked.facts())!r}))"
    )
    done = plain_python(code)
    assert done.returncode == 0, done.stderr
    assert "the secret" in done.stdout or attacked.look() != before


def sys_path() -> list[str]:
    from remit_sandbox.supervisor.client import site_folders

    return [str(PACKAGE.parent), *site_folders()]


def test_the_state_of_the_host_is_out_of_reach(attacked: Attacked) -> None:
    folder = Path(attacked.deployment.state_folder)
    attacked.attack("read")
    (database,) = folder.rglob("state.db")
    before = database.stat().st_size
    assert before
    result = attacked.attack("list_folder", outside=str(folder))
    assert "state.db" not in str(result)
    assert "SQLite" not in str(attacked.attack("read", secret=str(database)))
    attacked.attack("truncate", note=str(database))
    attacked.attack("unlink", note=str(database))
    assert database.stat().st_size >= before
    assert any(record.event == "call.finished" for record in attacked.state.records())
