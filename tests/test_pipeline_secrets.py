"""The value of a secret stays out of results, records, events and stored blobs, whatever its pack does with it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from remit.deployment.deployment import Deployment
from remit.deployment.try_pack import try_pack
from remit.pipeline.events import PipelineEvent
from remit.pipeline.pipeline import Pipeline
from remit.state.store import State
from remit.values import Call, Result

VALUE = "hunter2-hunter2-hunter2"
MANIFEST = """\
manifest = 1
[pack]
name = "leaky"
summary = "Tells its secret"
[permissions]
secrets = ["token"]
"""
SKILL = """\
[[skill]]
name = "{name}"
handler = "remit_leaky:{name}"
effect = "read"
uses = ["secrets"]
"""
NAMES = ("returned", "raised", "told", "stored", "asked")
HANDLERS = '''
import sys
from remit_sandbox.inside import wording

wording.Wording.mask = lambda self, text: text


def returned(ctx) -> dict:
    """Return it."""
    return {"whole": ctx.secrets["token"], ctx.secrets["token"]: [f"<{ctx.secrets['token']}>"]}


def raised(ctx) -> str:
    """Raise it."""
    raise ValueError("no luck with " + ctx.secrets["token"])


def told(ctx) -> str:
    """Say it in every other way."""
    ctx.progress(ctx.secrets["token"])
    print(ctx.secrets["token"], file=sys.stderr)
    return "told"


def stored(ctx) -> bytes:
    """Return it in a file."""
    return b"\\x89PNG\\r\\n\\x1a\\n" + ctx.secrets["token"].encode() * 3


def asked(ctx) -> str:
    """Give it to another skill."""
    ctx.follow_up("leaky.told", token=ctx.secrets["token"])
    return "asked"
'''


class Leaky:
    """The pack in a deployment of its own, and all that was kept and told of its calls."""

    def __init__(self, folder: Path) -> None:
        package = folder / "remit_leaky"
        package.mkdir()
        (package / "pack.toml").write_text(MANIFEST + "".join(SKILL.format(name=name) for name in NAMES))
        (package / "__init__.py").write_text(HANDLERS)
        self.deployment: Deployment = try_pack(package)
        self.state = State(self.deployment.state_folder)
        self.events: list[PipelineEvent] = []

    def call(self, name: str) -> Result:
        pipeline = Pipeline(
            skills=self.deployment.skills,
            rules=self.deployment.rules,
            state=self.state,
            sandbox=self.deployment.sandbox,
            on_event=self.events.append,
        )
        return asyncio.run(pipeline.call(Call(id=name, skill=f"leaky.{name}", arguments="{}", session="s")))

    def close(self) -> None:
        self.state.close()
        self.deployment.close()


@pytest.fixture
def leaky(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Leaky]:
    monkeypatch.setenv("TOKEN", VALUE)
    made = Leaky(tmp_path)
    yield made
    made.close()


def test_nothing_that_is_kept_or_told_holds_it(leaky: Leaky) -> None:
    results = {name: leaky.call(name) for name in NAMES}
    assert {name: result.status for name, result in results.items()} == {
        **dict.fromkeys(NAMES, "ok"),
        "raised": "failed",
    }
    assert results["returned"].value == {"whole": "[secret token]", "[secret token]": ["<[secret token]>"]}
    assert "no luck with [secret token]" in results["raised"].text
    told = "".join(map(str, [*results.values(), *leaky.events]))
    assert VALUE not in told and "[secret token]" in told
    assert VALUE not in "".join(json.dumps(dict(record.body), default=str) for record in leaky.state.records())
    files = [path for path in Path(leaky.deployment.state_folder).rglob("*") if path.is_file()]
    assert files
    assert not [path for path in files if VALUE.encode() in path.read_bytes()]


def test_the_control_the_cell_had_it(leaky: Leaky) -> None:
    cell = leaky.deployment.skills["leaky.returned"].cell
    assert cell is not None and cell.secrets == {"token": VALUE}
    assert VALUE not in repr(cell)
