"""Labels follow values into files and out of them again; what carries none leaves none."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from remit.pipeline.touched import Before
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


def rename(path: str, name: str) -> str:
    """Give a file or folder another name; the name is no target."""
    found = Path(path)
    found.rename(found.with_name(name))
    return "renamed"


def copy(path: str, name: str) -> str:
    """Copy a file."""
    found = Path(path)
    found.with_name(name).write_bytes(found.read_bytes())
    return "copied"


def test_a_function_of_the_program_means_the_files_of_its_own_folder(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    made(bench, "write", heard("private"), path="rel", text=SECRET)
    made(bench, "write", heard("private"), path="plain", text="nothing of that")
    for path, labels in (("rel", {"private"}), (str(tmp_path / "rel"), {"private"}), ("plain", set())):
        assert made(bench, "read", path=path).labels == labels, path


@pytest.mark.skipif(not Path("/proc/self/root").exists(), reason="there is no /proc here")
def test_a_way_that_nobody_can_tell_hides_no_label(bench: Bench, tmp_path: Path) -> None:
    way = f"/proc/self/root{tmp_path}"
    made(bench, "write", heard("private"), path=str(tmp_path / "a"), text=SECRET)
    assert made(bench, "read", path=f"{way}/a").labels == {"private"}
    moving = call("local.move", source=f"{way}/a", destination=str(tmp_path / "b"))
    assert asyncio.run(bench.pipeline.call(moving)).status == "denied"
    (tmp_path / "other").write_text("x")
    (tmp_path / "link").symlink_to(way)
    assert made(bench, "read", path=str(tmp_path / "link" / "a")).labels == {"private"}
    assert made(bench, "read", path=str(tmp_path / "other")).labels == frozenset(), "the control"


def duplicate(source: str, destination: str) -> str:
    """Copy a file."""
    Path(destination).write_bytes(Path(source).read_bytes())
    return "copied"


@pytest.mark.parametrize("confined", [True, False])
@pytest.mark.parametrize("targets", [{}, {"source": "path"}, {"destination": "path"}])
def test_what_a_manifest_leaves_out_drops_no_label(tmp_path: Path, targets: dict[str, str], confined: bool) -> None:
    folder = tmp_path / "workspace"
    folder.mkdir()
    cell = CellSpec(pack="local", package="x", workspace=str(folder), rights=Rights(write=(f"{folder}/**",)))
    copying = host_skill(duplicate, effect="write", targets=targets, cell=cell if confined else None)
    for name in ("a", "plain"):
        (folder / name).write_text(name)
    with Bench(tmp_path, WRITE, READ, copying, defaults=ALLOWED) as bench:
        made(bench, "write", heard("private"), path=str(folder / "a"), text=SECRET)
        made(bench, "duplicate", source=str(folder / "plain"), destination=str(folder / "c"))
        if targets or not confined:
            assert made(bench, "read", path=str(folder / "c")).labels == set(), "the control"
        made(bench, "duplicate", source=str(folder / "a"), destination=str(folder / "b"))
        assert made(bench, "read", path=str(folder / "b")).labels == {"private"}


def test_one_target_that_can_be_told_hides_no_other(tmp_path: Path) -> None:
    def merge(first: str, second: str) -> str:
        """Merge."""
        return "merged"

    cell = CellSpec(pack="local", package="x", workspace=str(tmp_path), rights=Rights(read=(f"{tmp_path}/**",)))
    skill = host_skill(merge, targets={"first": "path", "second": "path"}, cell=cell, labels=frozenset())
    with Bench(tmp_path, WRITE, skill, defaults=ALLOWED) as bench:
        made(bench, "write", heard("private"), path=str(tmp_path / "a"), text=SECRET)
        for second, labels in (
            ("~/a", {"private"}),
            ("/proc/self/cwd/a", {"private"}),
            ("", {"private"}),
            ("c", set()),
        ):
            assert made(bench, "merge", first="b", second=second).labels == labels, second


@pytest.fixture
def blind(tmp_path: Path) -> Iterator[tuple[Bench, Path]]:
    """A pipeline in which skills name the file that they take, and not the one that they make."""
    folder = tmp_path / "workspace"
    folder.mkdir()
    cell = CellSpec(pack="local", package="x", workspace=str(folder), rights=Rights(write=(f"{folder}/**",)))
    skills = [
        host_skill(one, effect="write", targets={"path": "path"}, cell=cell) for one in (write, rename, copy, odd)
    ]
    with Bench(tmp_path, *skills, READ, defaults=ALLOWED) as made_:
        yield made_, folder


def test_labels_follow_a_file_to_a_name_that_is_no_target(blind: tuple[Bench, Path]) -> None:
    bench, folder = blind
    (folder / "old").write_text("older than all")
    (folder / "in").mkdir()
    (folder / "in/old").write_text("older than all")
    made(bench, "write", heard("private"), path=str(folder / "a"), text=SECRET)
    made(bench, "copy", path=str(folder / "a"), name="b")
    made(bench, "rename", path=str(folder / "b"), name="c")
    made(bench, "copy", path=str(folder / "old"), name="plain")
    found = {name: made(bench, "read", path=str(folder / name)).labels for name in ("a", "c", "plain", "old", "in/old")}
    assert found == {"a": {"private"}, "c": {"private"}, "plain": set(), "old": set(), "in/old": set()}
    assert not (folder / "b").exists()


def test_labels_follow_what_lies_in_a_folder_to_another_name(blind: tuple[Bench, Path]) -> None:
    bench, folder = blind
    for name in ("one", "two"):
        (folder / name).mkdir()
        (folder / name / "x").write_text("x")
    made(bench, "write", heard("private"), path=str(folder / "one/a"), text=SECRET)
    made(bench, "rename", path=str(folder / "one"), name="moved")
    assert made(bench, "read", path=str(folder / "moved/a")).labels == {"private"}
    made(bench, "rename", path=str(folder / "two"), name="other")
    assert made(bench, "read", path=str(folder / "other/x")).labels == frozenset(), "the control"


def test_as_many_files_are_looked_at_as_a_call_may_cost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def put(*names: str) -> set[str]:
        for name in names:
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).write_text(name)
        return {str(tmp_path / name) for name in names}

    put("far/x", "near/x", "near/y", "away/x")
    roots, named = [f"{tmp_path}/near/**", f"{tmp_path}/far/**", f"{tmp_path}/gone/**"], [str(tmp_path / "near/x")]
    before = Before(roots, named)
    assert before.touched() == set()
    (tmp_path / "near/link").symlink_to(tmp_path / "away")
    new = put("near/x", "near/y", "near/deep/z", "far/new", "away/x")
    new -= {*named, str(tmp_path / "away/x"), str(tmp_path / "near/deep/z")}
    new |= {str(tmp_path / "near/link"), str(tmp_path / "near/deep")}
    assert before.touched() == {*new, str(tmp_path / "near/deep/z")}
    monkeypatch.setattr("remit.pipeline.touched.MOST", 4)
    assert before.touched() == {one for one in new if "/near/" in one}


def test_what_was_beyond_the_first_look_is_new_only_by_its_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(4):
        (tmp_path / str(number)).write_text("x")
    time.sleep(0.03)  # files of the last 20 ms count as new
    monkeypatch.setattr("remit.pipeline.touched.MOST", 2)
    before = Before([f"{tmp_path}/**"], [])
    first, second, changed, _ = sorted(tmp_path.iterdir(), key=lambda one: str(one) not in before._files)
    first.unlink()
    second.unlink()
    changed.write_text("y")
    assert before.touched() == {str(changed)}


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


def test_a_single_file_that_a_skill_may_write_is_looked_at_too(tmp_path: Path) -> None:
    named, other, fresh = (tmp_path / name for name in ("named", "other", "fresh"))
    other.write_text("x")
    os.mkfifo(tmp_path / "pipe")
    before = Before([str(named), str(other), str(fresh), str(tmp_path / "pipe")], [str(named)])
    assert before.touched() == frozenset()
    time.sleep(0.03)
    for file in (named, other, fresh):
        file.write_text("y")
    assert before.touched() == {str(other), str(fresh)}


def odd(path: str) -> str:
    """Copy a file to a name that is no text."""
    Path(path).with_name("\udcff").write_text(Path(path).read_text())
    return "copied"


def test_a_file_name_that_is_no_text_has_labels_like_any_other(blind: tuple[Bench, Path]) -> None:
    bench, folder = blind
    made(bench, "write", heard("private"), path=str(folder / "a"), text=SECRET)
    made(bench, "odd", path=str(folder / "a"))
    (folder / "a").unlink()
    labels = bench.state.labels_of_files
    assert labels([str(folder / "\udcff")]) == labels([str(folder)]) == {"private"}
    assert labels([str(folder / "\udcfe")]) == frozenset(), "the control"
    (folder / "\udcff").unlink()
    assert labels([str(folder / "\udcff")]) == frozenset()


def test_another_size_tells_of_a_change_within_one_tick_of_the_clock(tmp_path: Path) -> None:
    file = tmp_path / "a"
    file.write_text("x")
    before, facts = Before([f"{tmp_path}/**"], []), os.lstat(file)
    assert before.touched() == frozenset()
    same = {"st_mode": facts.st_mode, "st_ino": facts.st_ino, "st_ctime_ns": facts.st_ctime_ns}
    before._files[str(file)] = SimpleNamespace(**same, st_size=0)  # type: ignore[assignment]
    assert before.touched() == {str(file)}
