"""`docs/http.md` and `examples/http` say and do what is there."""

from __future__ import annotations

import dataclasses
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from remit.http import Rates
from remit.http.bodies import LARGEST
from remit.loop import events
from remit.loop.event_json import event_name
from tests.http_parts import Apps, opened

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs/http.md").read_text(encoding="utf-8")


def test_the_example_runs() -> None:
    command = [sys.executable, "-W", "error", "-m", "examples.http"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, env=os.environ)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "the program's own page",
        "parked",
        "files.delete_file ['path = \"old.txt\"'] impact destroy",
        "403 ada may not do this",
        "approved",
        "old.txt is gone.",
        "False",
    ]


def test_the_program_of_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (program,) = re.findall(r"```python\n(.*?)```", PAGE, re.S)
    check = """
import httpx2, asyncio
async def main():
    transport = httpx2.ASGITransport(app)
    async with httpx2.AsyncClient(transport=transport, base_url="http://desk.example") as client:
        print((await client.get("/sessions")).status_code)
        print((await client.get("/sessions", headers={"x-authenticated-user": "ada"})).json())
    await app.aclose()
    deployment.close()
asyncio.run(main())
"""
    with opened(tmp_path, packs="", rules="") as deployment:
        folder = deployment.folder
    environment = {**os.environ, "REMIT_STATE": str(tmp_path / "state")}
    command = [sys.executable, "-c", program + check]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60, env=environment)
    assert done.stdout == "401\n{'sessions': []}\n", done.stderr


def test_the_page_names_every_request_event_and_limit(tmp_path: Path) -> None:
    apps = Apps()
    with opened(tmp_path, packs="", rules="") as deployment:
        app = apps(deployment)
        for route in app.routes:
            assert f"| `{route}` |" in PAGE, route
        apps.close()
    kinds = [kind for kind in vars(events).values() if isinstance(kind, type) and issubclass(kind, events.Event)]
    for kind in set(kinds) - {events.Event}:
        assert f"`{event_name(object.__new__(kind))}`" in PAGE, kind
    written = ", ".join(f"{field.name}={field.default:g}" for field in dataclasses.fields(Rates))
    assert f"`Rates({written})`" in PAGE
    assert f"{LARGEST // 1024} KiB" in PAGE
