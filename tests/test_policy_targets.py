"""Targets that are paths: what nobody can tell the file of is refused before anybody is asked about it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from remit.argument_paths import may_be_text
from remit.pipeline.present import contents
from remit.pipeline.resources import resolved
from remit.policy.config import DefaultsConfig, RuleConfig
from remit.policy.decide import decide
from remit.policy.rules import Rules, Scene
from remit.provenance.ledger import Ledger
from remit.skills import Skill
from remit.values import Decision
from remit_sandbox import CellSpec, Rights

UNCLEAR = ("//proc/self/cwd/b.txt", "/tmp/../proc/self/cwd/b.txt", "link/b.txt", "/dev/fd/3", "a\0b")


def skill(workspace: Path, **more: Any) -> Skill:
    spec = CellSpec(pack="p", package="p", workspace=str(workspace), rights=Rights(write=(f"{workspace}/**",)))
    given: dict[str, Any] = {"effect": "write", "targets": {"path": "path"}, "cell": spec, **more}
    return Skill(pack="raw", name="put", description="", schema={"type": "object"}, **given)


def decided(one: Skill, defaults: dict[str, Any] | None = None, *rules: dict[str, Any], **arguments: Any) -> Decision:
    ledger = Ledger()
    ledger.hear("Write it into " + " ".join(map(str, arguments.values())))
    configs = [RuleConfig.model_validate(rule) for rule in rules]
    loaded = Rules.load(configs, DefaultsConfig.model_validate(defaults or {}), skills={one.full: one})
    return decide(one, arguments, loaded, Scene(), ledger)


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    (tmp_path / "link").symlink_to("/proc/self/cwd")
    (tmp_path / "b.txt").write_text("one")
    return tmp_path


@pytest.mark.parametrize("path", UNCLEAR)
def test_a_change_of_a_file_that_nobody_can_tell_is_refused_whatever_allows_it(workspace: Path, path: str) -> None:
    one = skill(workspace)
    for defaults in ({}, {"write": "allow"}, {"provenance": "targets"}):
        found = decided(one, defaults, path=path)
        assert (found.verdict, found.source) == ("deny", "its paths") and path not in found.reason, defaults
        assert "without /proc" in found.remedy.split("\n")[0]
    allow = {"id": "free", "verdict": "allow", "match": {"skill": "raw.put"}}
    assert decided(one, None, allow, path=path).verdict == "deny"
    assert decided(one, None, allow, path="b.txt").verdict == "allow", "the control"
    assert decided(one, {"provenance": "targets"}, path="b.txt").verdict == "allow", "the control"


@pytest.mark.parametrize("path", UNCLEAR[:4])
def test_a_rule_about_a_folder_meets_what_leads_there_through_processes(workspace: Path, path: str) -> None:
    rule = {
        "id": "keep",
        "verdict": "deny",
        "match": {"skill": "raw.put", "arguments": {"path": {"path_under": [f"{workspace}/protected"]}}},
    }
    reading = skill(workspace, effect="read")
    reading = replace(reading, schema={"type": "object", "properties": {"path": {"type": "string"}}})
    assert decided(reading, None, rule, path=path).source == "rule keep", "doubt counts against a call"
    assert decided(reading, None, rule, path="b.txt").verdict == "allow", "the control"


def test_a_read_that_nobody_is_asked_about_may_look_at_its_own_process(workspace: Path) -> None:
    reading = skill(workspace, effect="read")
    assert decided(reading, path="/proc/self/status").verdict == "allow"
    assert decided(reading, {"read": "ask"}, path="/proc/self/status").verdict == "deny", "no approval could bind it"
    assert decided(reading, {"read": "ask"}, path="b.txt").verdict == "ask", "the control"


def test_what_names_no_file_or_one_that_can_be_told_is_asked_about_as_ever(workspace: Path) -> None:
    one = skill(workspace)
    for path in (
        "",
        "~/x",
        "file:a",
        "https://a/b",
        "a//b",
        "new/../b.txt",
        f"{workspace}/b.txt",
        f"/{'a' * 300}",
        None,
    ):
        assert decided(one, path=path).verdict == "ask", path
    assert decided(replace(one, cell=None), path="b.txt").verdict == "ask"
    own = replace(one, cell=CellSpec(pack="p", package="p"))
    assert decided(own, path="notes.txt").verdict == "ask", "in the cell's own folder"
    assert decided(own, path="../notes.txt").verdict == "deny"


def test_a_number_in_the_place_of_a_path_is_refused(workspace: Path) -> None:
    assert decided(skill(workspace), path=3).verdict == "deny"
    assert decided(skill(workspace, targets={"path": "id"}), path=3).verdict == "ask", "the control"


def test_paths_inside_objects_are_bound_whatever_the_object_looks_like(workspace: Path) -> None:
    one = skill(workspace, targets={"files": "path"})
    arguments = {"files": [{"path": "b.txt", "mode": 420, "content": "long text " * 2_000}, {"c.txt": ["b.txt"]}]}
    places = resolved(one, arguments)
    assert places['files[0]["path"]'] == str(workspace / "b.txt")
    assert places['files[1]{"c.txt"}'] == str(workspace / "c.txt")
    assert places['files[1]["c.txt"][0]'] == str(workspace / "b.txt")
    held = contents(one, places)
    assert "sha256" in held['files[0]["path"]'] and held['files[1]{"c.txt"}'] == "nothing"
    assert decided(one, **arguments).verdict == "ask"
    assert decided(one, files=[{"path": "link/b.txt"}]).verdict == "deny"


def test_a_target_where_no_text_can_stand_is_no_path() -> None:
    number = {"type": "integer"}
    part = {"type": "object", "properties": {"n": number, "path": {"anyOf": [{"type": "string"}, {"type": "null"}]}}}
    root = {"type": "object", "properties": {"n": number, "part": part, "many": {"type": "array", "items": part}}}
    assert all(may_be_text(root, way) for way in ("part", "many", "many[].path", "part.path"))
    assert not any(may_be_text(root, way) for way in ("n", "part.n", "many[].n"))
