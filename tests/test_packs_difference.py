"""Comparing two versions of a pack: every widening is named, and none is ever called the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import tomlkit
from hypothesis import given, settings
from hypothesis import strategies as st

from remit.packs.difference import Wanted, compare_wanted, wanted_by_lock, wanted_by_manifest
from remit.packs.hashes import digest_of
from remit.packs.locked import LockedPack, LockedSkill
from remit.packs.manifest import Manifest, parse_manifest
from remit.packs.permissions import Permission
from remit.packs.skill_difference import rest_digest
from remit.values import EFFECTS, IMPACTS


def manifest_of(skills: dict[str, dict[str, Any]], permissions: dict[str, Any], settings: dict[str, Any]) -> Manifest:
    """Return a manifest; a skill uses every permission that it names under `uses`."""
    tables = [{"name": name, "handler": "tide_pack:run", **table} for name, table in skills.items()]
    flat = {key: value for key, value in permissions.items() if not key.startswith("fs.")}
    files = {key[3:]: value for key, value in permissions.items() if key.startswith("fs.")}
    document = {"manifest": 1, "pack": {"name": "tide"}, "settings": settings, "permissions": {**flat, "fs": files}}
    return parse_manifest(tomlkit.dumps({**document, "skill": tables}).encode(), Path("pack.toml"))


def wanted(manifest: Manifest, **options: Any) -> Wanted:
    return wanted_by_manifest(
        manifest, **{"distribution": "tide-pack", "version": "1", "package": "tide_pack", "files": "same", **options}
    )


def locked(manifest: Manifest, *, settings: bool = True) -> Wanted:
    """Return the same as a lock tells it: tables and settings by their digest alone; an older one knows no settings."""
    skills = {
        name: LockedSkill(
            table=manifest.tables[name],
            rest=rest_digest(table) if settings else "",
            content="sha256:" + "0" * 64,
            effect=table.effect,
            impact=tuple(table.impact),
            permission=manifest.skill_permission(name),
        )
        for name, table in manifest.skills.items()
    }
    pack = LockedPack(
        distribution="tide-pack",
        version="1",
        package="tide_pack",
        files="same",
        manifest=manifest.digest,
        settings=digest_of(dict(manifest.settings)) if settings else "",
        permission=manifest.permission(),
        skills=skills,
    )
    return wanted_by_lock(pack)


BASE = {"net": ["a.example:443"], "fs.read": ["${workspace}/docs/**"]}
SKILL = {"effect": "write", "uses": ["net"], "impact": ["destroy"], "secret_arguments": ["code"], "timeout": 5}


@pytest.mark.parametrize(
    ("change", "rank", "line"),
    [
        ({}, "same", ""),
        ({"effect": "read"}, "widens", "skill run declares read, it was write"),
        ({"effect": "external"}, "narrows", "skill run declares external, it was write"),
        ({"impact": []}, "widens", "no longer declares the impact destroy"),
        ({"impact": ["destroy", "money"]}, "narrows", "declares the impact money"),
        ({"uses": []}, "narrows", "skill run no longer asks for net: a.example:443"),
        ({"uses": ["net", "fs.read"]}, "widens", "skill run asks for fs.read: ${workspace}/docs/**"),
        ({"secret_arguments": []}, "widens", "its argument code would be written to records"),
        ({"timeout": 60}, "widens", "may run 60 s, it was 5 s"),
        ({"timeout": 1}, "narrows", "may run 1 s"),
        ({"returns": ["private"]}, "narrows", "labelled private"),
        ({"targets": {"to": "address"}}, "unranked", 'targets {} becomes {"to": "address"}'),
        ({"after": "tide_pack:hook"}, "unranked", "after null becomes"),
        ({"idempotent": True}, "unranked", "idempotent false becomes true"),
    ],
)
def test_each_part_of_a_skill_is_ranked(change: dict[str, Any], rank: str, line: str) -> None:
    old = manifest_of({"run": SKILL}, BASE, {})
    new = manifest_of({"run": {**SKILL, **change}}, BASE, {})
    found = compare_wanted(wanted(old), wanted(new))
    assert found.rank == rank, found
    assert line in "\n".join(found.lines())
    if line:
        assert len(found.changes) == 1
        ranked = {"effect", "impact", "uses"} & set(change)
        assert compare_wanted(locked(old), wanted(new)).rank == (rank if ranked else "unranked")
        assert compare_wanted(locked(old, settings=False), wanted(new)).rank in (rank, "unranked")


def test_a_new_skill_widens_and_one_that_goes_narrows() -> None:
    one, two = manifest_of({"run": SKILL}, BASE, {}), manifest_of({"run": SKILL, "walk": {}}, BASE, {})
    assert compare_wanted(wanted(one), wanted(two)).lines("widens") == ("skill walk is new",)
    assert compare_wanted(wanted(two), wanted(one)).lines() == ("skill walk is gone",)
    assert compare_wanted(wanted(two), wanted(one)).rank == "narrows"


def test_a_wider_ceiling_is_named_even_where_no_skill_uses_it() -> None:
    old, new = manifest_of({"run": SKILL}, BASE, {}), manifest_of({"run": SKILL}, {**BASE, "exec": ["git"]}, {})
    assert compare_wanted(wanted(old), wanted(new)).lines("widens") == ("the pack asks for exec: git",)


def test_settings_and_identity_cannot_be_ranked() -> None:
    old, new = manifest_of({"run": SKILL}, BASE, {"city": "Oslo"}), manifest_of({"run": SKILL}, BASE, {"city": "Bonn"})
    assert compare_wanted(wanted(old), wanted(new)).lines() == ("setting city: its default 'Oslo' becomes 'Bonn'",)
    for known in (True, False):
        assert compare_wanted(locked(old, settings=known), wanted(new)).rank == "unranked"
    assert compare_wanted(locked(old, settings=False), wanted(old)).rank == "same"
    other = compare_wanted(wanted(old), wanted(old, distribution="tides"))
    assert (other.rank, other.lines()) == ("unranked", ("it comes from tides, it was tide-pack",))
    assert compare_wanted(wanted(old), wanted(old, editable=True)).rank == "widens"


def test_other_code_of_the_same_rights_is_the_same_and_says_so() -> None:
    manifest = manifest_of({"run": SKILL}, BASE, {})
    found = compare_wanted(locked(manifest), wanted(manifest, files="other"))
    assert found.rank == "unranked" and "not known" in found.lines("unranked")[0]
    assert "its code changed" in found.lines("same")


ENTRIES = {
    "net": ["a.example:443", "b.example:443", "*.example:443", "*:443", "*:80"],
    "fs.read": ["${workspace}/**", "${workspace}/a/**", "${workspace}/a/b.txt", "/etc/hosts", "/etc/**"],
    "fs.write": ["${workspace}/**", "${workspace}/a/**", "${data}/**"],
    "exec": ["git", "ls"],
    "secrets": ["token", "key"],
}


@st.composite
def manifests(draw: st.DrawFn) -> Manifest:
    permissions = {
        key: draw(st.lists(st.sampled_from(entries), unique=True, max_size=3)) for key, entries in ENTRIES.items()
    }
    asked = [key for key, entries in permissions.items() if entries]
    skills = {}
    for name in draw(st.lists(st.sampled_from(["a", "b", "c"]), unique=True, min_size=1)):
        skills[name] = {
            "effect": draw(st.sampled_from(EFFECTS)),
            "impact": draw(st.lists(st.sampled_from(IMPACTS), unique=True, max_size=2)),
            "uses": draw(st.lists(st.sampled_from(asked), unique=True, max_size=3)) if asked else [],
            "timeout": draw(st.sampled_from([1, 5])),
            "secret_arguments": draw(st.lists(st.sampled_from(["x", "y"]), unique=True)),
            "idempotent": draw(st.booleans()),
        }
    return manifest_of(skills, permissions, draw(st.dictionaries(st.just("size"), st.integers(0, 2))))


HOSTS = ["a.example", "b.example", "c.example", "example", "other.test"]
PATHS = ["${workspace}/a/b.txt", "${workspace}/a/c.txt", "${workspace}/d.txt", "${data}/x", "/etc/hosts", "/etc/passwd"]


def reach(permission: Permission) -> set[tuple[str, str]]:
    """Return the concrete things that a permission opens, found without the code under test."""
    opened = {("exec", name) for name in permission.exec} | {("secret", name) for name in permission.secrets}
    for entry in permission.net:
        pattern, _, port = entry.rpartition(":")
        suffix = pattern.removeprefix("*")
        fits = [host for host in HOSTS if host == pattern or (pattern.startswith("*") and host.endswith(suffix))]
        opened |= {("net", f"{host}:{port}") for host in fits}
    for key, entries in (("read", permission.fs_read), ("write", permission.fs_write)):
        for entry in entries:
            below = entry.removesuffix("**")
            opened |= {(key, path) for path in PATHS if path == entry or (below != entry and path.startswith(below))}
    return opened


@settings(max_examples=100)
@given(old=manifests(), new=manifests(), by_lock=st.booleans())
def test_a_widening_is_never_called_the_same(old: Manifest, new: Manifest, by_lock: bool) -> None:
    found = compare_wanted(locked(old) if by_lock else wanted(old), wanted(new))
    wider = [
        name
        for name in new.skills
        if name not in old.skills
        or reach(new.skill_permission(name)) - reach(old.skill_permission(name))
        or EFFECTS.index(new.skills[name].effect) < EFFECTS.index(old.skills[name].effect)
        or set(old.skills[name].impact) - set(new.skills[name].impact)
    ]
    for name in wider:
        assert any(f"skill {name} " in line for line in found.lines("widens")), (name, found)
    if wider or reach(new.permission()) - reach(old.permission()):
        assert found.rank == "widens" and found.exit_code == 4
    if found.rank in ("same", "narrows"):
        for name, table in new.skills.items():
            assert set(old.skills[name].secret_arguments) <= set(table.secret_arguments)
            assert table.timeout <= old.skills[name].timeout
            assert table.idempotent == old.skills[name].idempotent
        assert old.settings == new.settings
    if found.rank == "same":
        assert old.tables == new.tables and old.permission() == new.permission()


@given(manifest=manifests())
@settings(max_examples=40)
def test_a_pack_is_the_same_as_itself(manifest: Manifest) -> None:
    assert compare_wanted(wanted(manifest), wanted(manifest)).changes == ()
    assert compare_wanted(locked(manifest), wanted(manifest)).changes == ()
