"""`remit doctor`: says what this machine enforces, and its exit code tells whether it can confine."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from remit.cli.main import run
from remit_sandbox.escape import report
from remit_sandbox.probe import probe
from tests.command import remit


def test_it_says_what_is_enforced_by_what(tmp_path: Path) -> None:
    missing = probe().missing
    ran = remit("doctor", folder=tmp_path, expect=1 if missing else 0)
    rows = ran.out.splitlines()
    assert rows[0].split() == ["right", "enforced", "by", "how"]
    assert any(row.startswith("files: read") for row in rows)
    assert ("This machine cannot confine skills" in ran.out) is bool(missing)


def test_json_is_the_whole_probe(tmp_path: Path) -> None:
    found = probe()
    told = remit("doctor", "--json", folder=tmp_path, expect=1 if found.missing else 0).json
    assert told["missing"] == list(found.missing) and told["landlock_abi"] == found.landlock_abi
    assert [row["right"] for row in told["rows"]] == [row.right for row in found.rows]


def test_json_says_what_whoever_mends_it_must_know(tmp_path: Path) -> None:
    told = remit("doctor", "--json", folder=tmp_path, expect=None).json
    assert told["machine"].keys() == {"system", "kernel", "architecture", "python", "container"}
    rights = {row["right"]: row["by"] for row in told["rows"]}
    assert set(rights.values()) <= {"kernel", "broker", "process", "polled", "not enforced"}
    for right in ("network by name", "programs granted", "shared memory of its own", "time", "disk", "environment"):
        assert right in rights


def test_an_older_kernel_is_told_where_it_is_weaker(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("remit_sandbox.probe.probe", lambda: replace(probe(), landlock_abi=2))
    run(["doctor"])
    out = capsys.readouterr().out
    assert "before 3: truncate()" in out and "before 6: a cell may signal nobody" in out and "before 2:" not in out


FEW = ("read", "fork", "tcp", "map_private", "own_environment")


@pytest.mark.confinement
@pytest.mark.timeout(300)
def test_it_tries_to_escape_and_prints_what_became_of_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A few of the attempts; `tests/escape` makes all of them."""
    monkeypatch.setattr(report, "quick", partial(report.quick, names=FEW, levels=("1", "7")))
    code = run(["doctor", "--escape"])
    out = capsys.readouterr().out
    if "No control could be run" in out:
        assert code == 1
        pytest.skip("no control can be run where it harms nothing")
    assert code == 0, out
    rows = {row.split()[-4]: row for row in out.splitlines()[1:6]}
    assert all("works" in row and "stopped" in row for row in rows.values()), out
    assert "Landlock" in out and "seccomp" in out and "limits" in out and "process border" in out
    assert "5 attempts" in out and "5 of them work without confinement" in out


@pytest.mark.parametrize(("seen", "code"), [((), 0), (("loot",), 1)])
def test_what_got_out_is_an_exit_code_of_its_own(
    seen: tuple[str, ...], code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def found(*_: str, names: object) -> dict[str, object]:
        stopped = {"seen": [], "error": "refused"}
        columns = {"control": {"seen": ["loot"], "error": ""}, "Landlock": stopped, "seccomp": stopped}
        cells = {"warm": {"seen": list(seen), "error": ""}, "ABI 1": stopped}
        return {"found": {"read": columns | cells}, "why": "", "contained": True}

    monkeypatch.setattr(report, "run", found)
    monkeypatch.setattr("sys.platform", "linux")
    assert run(["doctor", "--escape", "--json"]) == code
    told = json.loads(capsys.readouterr().out)
    assert told["holds"] is (code == 0)
    assert told["rows"][0]["confined"] == ("got out" if code else "stopped")
    assert run(["doctor", "--escape"]) == code
    assert ("GOT OUT" in capsys.readouterr().out) is bool(code)


def test_what_fails_in_the_control_too_proves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    nothing = {"seen": [], "error": "refused"}
    columns = {"control": nothing, "Landlock": nothing, "seccomp": nothing, "warm": nothing}
    monkeypatch.setattr(report, "run", lambda *_, names: {"found": {"read": columns}, "why": ""})
    made = report.quick(names=["read"])
    assert [(row.control, row.confined) for row in made.rows] == [("fails", "no proof")] and not made.holds


def test_rows_come_in_parts_with_word_of_how_far_it_is(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    parts: list[int] = []
    shown: list[str] = []
    said: list[str] = []

    def found(*_: str, names: list[str]) -> dict[str, object]:
        so_far = capsys.readouterr()
        shown.append(so_far.out)
        said.append(so_far.err)
        parts.append(len(names))
        seen = {"seen": [], "error": "refused"}
        columns = {"control": {"seen": [], "error": ""}, "Landlock": seen, "seccomp": seen, "warm": seen}
        return {"found": dict.fromkeys(names, columns), "why": ""}

    monkeypatch.setattr(report, "run", found)
    monkeypatch.setattr("sys.platform", "linux")
    run(["doctor", "--escape"])
    assert sum(parts) == len(report.QUICK) and len(parts) > 1 and parts[0] < parts[1]
    lines = [text.count("\n") for text in shown]
    assert lines[:2] == [0, 1 + parts[0]] and lines[2:] == parts[1:-1]
    assert said[-1] == f"{sum(parts[:-1])} of {sum(parts)} tried\n" and "tried" not in capsys.readouterr().err
