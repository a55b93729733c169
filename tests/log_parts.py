"""Logs for tests: written as the pipeline writes them, at times of the test's choice."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from remit.state.records import Entry
from remit.state.store import State
from tests.command import Ran

NOON = 1_780_000_000.0
"""Seconds since 1970 at which these logs begin."""


def call_entries(
    call: str,
    *,
    session: str = "s1",
    skill: str = "calc.evaluate",
    who: str = "ada",
    at: float = NOON,
    verdict: str = "allow",
    status: str = "ok",
    effect: str = "read",
    arguments: Any = None,
    text: str = "2",
    reason: str = "",
    duration: float | None = 0.5,
    source: str = "default read",
) -> list[Entry]:
    """Return the records of one call that ended, a second apart."""
    common: dict[str, Any] = {"session": session, "skill": skill, "call": call, "who": who}
    decided = {**common, "effect": effect, "verdict": verdict}
    entries = [
        Entry(event="call.proposed", time=at, sealed={"arguments": arguments or {"n": 1}}, **common),
        Entry(
            event="call.decided",
            time=at + 1,
            body={"verdict": verdict, "source": source, "reason": reason or "it reads"},
            **decided,
        ),
    ]
    if status not in ("denied", "invalid", "parked"):
        entries.append(Entry(event="call.started", time=at + 2, body={"effect": effect}, **decided))
    body = {"status": status, "duration": duration, "started": status not in ("denied", "invalid", "parked")}
    sealed = {"text": text, "reason": reason}
    return [*entries, Entry(event="call.finished", time=at + 3, body=body, sealed=sealed, status=status, **decided)]


def written(folder: Path, *entries: Entry) -> State:
    """Return a state in `folder` with these records, still open."""
    state = State(folder)
    state.append_all(entries, durable=False)
    return state


class Here:
    """Runs `remit log` in this process over a state that a test has written."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self._capsys = capsys

    def log(self, *arguments: str, expect: int = 0) -> Ran:
        """Run one action and check its exit code."""
        from remit.cli.main import run

        self._capsys.readouterr()
        try:
            code = run(["log", *arguments])
        except SystemExit as ended:
            code = int(ended.code or 0)
        found = self._capsys.readouterr()
        assert code == expect, (arguments, found)
        return Ran(code=code, out=found.out, err=found.err)


@pytest.fixture
def here(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Here]:
    """Return what runs `remit log` over the state in `tmp_path/state`."""
    folder = tmp_path / "state"

    def opened(_: str) -> State:
        return State(folder)

    monkeypatch.setattr("remit.cli.log.opened_state", opened)
    monkeypatch.setenv("TZ", "UTC")
    yield Here(folder, capsys)
