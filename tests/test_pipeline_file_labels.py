"""Labels follow values into files and out of them again; what carries none leaves none."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from remit.policy.config import DefaultsConfig
from remit.provenance.ledger import Ledger
from remit.state.store import State
from remit.values import Result
from remit_sandbox import CellSpec, Rights
from remit_sandbox.inside.context import Context
from tests.pipeline_parts import Bench, call, host_skill

SECRET = "the account of ann holds nine thousand and twelve crowns in all"
ACCOUNT = "GB29NWBK60161331926819"


def write(path: str, text: str) -> str:
    """Write a file."""
    Path(path).write_text(text)
    return "written"


def move(source: str, destination: str) -> str:
    """Move a file."""
    Path(source).rename(destination)
    return "moved"


def read(path: str) -> str:
    """Read a file, or the files of a folder."""
    found = Path(path)
    files = sorted(found.iterdir()) if found.is_dir() else [found]
    return "\n".join(file.read_text() for file in files)


WRITE = host_skill(write, effect="write", targets={"path": "path"})
MOVE = host_skill(move, effect="write", targets={"source": "path", "destination": "path"})
READ = host_skill(read, targets={"path": "path"}, labels=frozenset())
ALLOWED = {"write": "allow", "provenance": "targets"}


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    with Bench(tmp_path, WRITE, MOVE, READ, defaults=ALLOWED) as made:
        yield made


def heard(*labels: str) -> Ledger:
    ledger = Ledger()
    ledger.hear("Keep that")
    ledger.read(f"It says: {SECRET}. {ACCOUNT}", skill="bank.look", call="c0", labels=frozenset(labels))
    return ledger


def made(bench: Bench, name: str, /, ledger: Ledger | None = None, **arguments: Any) -> Result:
    result = asyncio.run(bench.pipeline.call(replace(call(f"local.{name}", **arguments), ledger=ledger)))
    assert result.status == "ok", result.text
    return result


@pytest.mark.parametrize("label", ["private", "untrusted"])
@pytest.mark.parametrize("text", [f"Note: {SECRET}", f"pay {ACCOUNT}"])
def test_what_is_written_keeps_its_labels_when_another_session_reads_it(
    bench: Bench, tmp_path: Path, label: str, text: str
) -> None:
    made(bench, "write", heard(label), path=str(tmp_path / "a"), text=text)
    made(bench, "write", heard(label), path=str(tmp_path / "b"), text="nothing of that")
    assert made(bench, "read", path=str(tmp_path / "a")).labels == {label}
    assert made(bench, "read", path=str(tmp_path / "b")).labels == frozenset(), "the control"
    (added,) = bench.state.records(event="label.added")
    assert added.body["labels"] == [label]


def test_every_way_to_the_file_is_the_same_file(bench: Bench, tmp_path: Path) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    (tmp_path / "link").symlink_to(inside)
    made(bench, "write", heard("private"), path=str(tmp_path / "link" / "a"), text=SECRET)
    for way in (inside / "a", inside, tmp_path / "link" / ".." / "inside" / "a"):
        assert made(bench, "read", path=str(way)).labels == {"private"}, way
    (tmp_path / "insider").write_text("x")
    assert made(bench, "read", path=str(tmp_path / "insider")).labels == frozenset()


def test_labels_move_with_a_file_and_are_gone_with_it(bench: Bench, tmp_path: Path) -> None:
    first, second = tmp_path / "a", tmp_path / "b"
    made(bench, "write", heard("private"), path=str(first), text=SECRET)
    made(bench, "move", source=str(first), destination=str(second))
    assert made(bench, "read", path=str(second)).labels == {"private"}
    made(bench, "read", path=str(second))
    made(bench, "write", path=str(first), text="new")
    assert made(bench, "read", path=str(first)).labels == frozenset()


def test_a_skill_that_names_no_file_may_have_read_all_that_it_can(tmp_path: Path) -> None:
    def count() -> int:
        """Count."""
        return 1

    cell = CellSpec(pack="local", package="x", workspace=str(tmp_path), rights=Rights(read=(f"{tmp_path}/**",)))
    reading = host_skill(count, cell=cell, labels=frozenset())
    blind = replace(reading, name="blind", cell=replace(cell, rights=Rights()))
    with Bench(tmp_path, WRITE, reading, blind, defaults=ALLOWED) as bench:
        made(bench, "write", heard("private"), path=str(tmp_path / "a"), text=SECRET)
        assert made(bench, "count").labels == {"private"}
        assert made(bench, "blind").labels == frozenset()


def test_what_cannot_be_noted_is_not_written(bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from remit.errors import StateError

    def full(*_: object) -> None:
        raise StateError("the disk is full")

    monkeypatch.setattr(State, "label_files", full)
    with pytest.raises(StateError):
        made(bench, "write", heard("private"), path=str(tmp_path / "a"), text=SECRET)
    assert not (tmp_path / "a").exists()
    made(bench, "write", heard(), path=str(tmp_path / "a"), text="x")


def test_private_data_in_a_file_does_not_leave_unasked_in_another_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from remit import Agent, ScriptedModel, skill
    from remit.deployment.config import Config
    from remit.local_skills import local_skill
    from remit.models.scripted import ask

    def publish(text: str, about: str) -> str:
        """Publish a text."""
        return "published"

    config = Config(defaults=DefaultsConfig.model_validate({"provenance": "targets", "write": "allow"}))
    monkeypatch.setattr("remit.agent.standard_config", lambda: config)
    found = {"local.read": READ, "local.write": WRITE, "local.publish": local_skill(skill(effect="external")(publish))}
    found["local.publish"] = replace(found["local.publish"], targets={"place": "name"})
    monkeypatch.setattr("remit.agent.all_skills", lambda *_: dict(found))
    path = str(tmp_path / "note")
    script: list[Any] = [
        ask("local.write", path=path, text=SECRET),
        "ok",
        ask("local.read", path=path),
        ask("local.publish", text=SECRET, about="bank account"),
    ]
    for labels, status in ((("private",), "denied"), ((), "ok")):
        with Agent(model=ScriptedModel([*script, "done"]), unattended="deny") as bot:
            monkeypatch.setattr("remit.loop.sources.Ledger", lambda labels=labels: heard(*labels))
            bot.run("Keep it")
            monkeypatch.setattr("remit.loop.sources.Ledger", Ledger)
            result = bot.run("Publish the note about my bank account")
            assert result.calls[-1].status == status, result.calls[-1].text


@pytest.mark.parametrize("label", ["private", "untrusted"])
def test_what_a_follow_up_call_tells_brings_its_labels(tmp_path: Path, label: str) -> None:
    def second() -> str:
        """Second."""
        return SECRET

    def first(ctx: Context, ask: bool) -> str:
        """First."""
        if ask:
            ctx.follow_up("local.second")
        return "first"

    skills = host_skill(first, labels=frozenset()), host_skill(second, labels=frozenset({label}))
    with Bench(tmp_path, *skills) as bench:
        with_it, control = made(bench, "first", ask=True), made(bench, "first", ask=False)
        assert SECRET in with_it.text and with_it.labels == {label}
        assert control.labels == frozenset()
