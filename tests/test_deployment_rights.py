"""What must always hold of rights: never wider than the permission, never wider because of another pack."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from remit.deployment.config import PackConfig
from remit.deployment.deployment import Deployment
from remit.deployment.rights import in_mode, pack_grant, resolve_right
from remit.deployment.trust import trust
from remit.errors import PolicyError
from remit.packs.describe import SkillDescription
from remit.packs.discovery import discover
from remit.packs.lock import Lock, lock_pack, write_lock
from remit.packs.manifest import Manifest, parse_manifest, read_manifest
from remit.packs.permissions import Permission
from remit.values import EFFECTS

NOWHERE = Path("/nonexistent/remit.toml")
ENTRIES = {
    "net": ["a.example:443", "*.example:443", "b.a.example:443", "*:443", "127.0.0.1:80", "${setting.host}"],
    "fs.read": ["${workspace}/**", "${workspace}/docs/**", "${workspace}/docs/a.txt", "${data}/**"],
    "fs.write": ["${workspace}/out/**", "${workspace}/out/deep/**", "${data}/**"],
    "env": ["LANG", "EDITOR"],
    "secrets": ["token"],
}


def lists(*, settings_too: bool) -> st.SearchStrategy[dict[str, list[str]]]:
    def choose(values: list[str]) -> st.SearchStrategy[list[str]]:
        kept = [value for value in values if settings_too or "setting" not in value]
        return st.lists(st.sampled_from(kept), unique=True, max_size=3)

    return st.fixed_dictionaries({}, optional={key: choose(values) for key, values in ENTRIES.items()})


ASKED = lists(settings_too=True)
GRANTED = lists(settings_too=False)


def text(name: str, permission: dict[str, list[str]], effects: tuple[str, ...] = ("read", "external")) -> str:
    uses = [key for key, entries in permission.items() if entries]
    skills = "".join(
        f'[[skill]]\nname = "s{number}"\nhandler = "remit_{name}:run"\neffect = "{effect}"\nuses = {uses}\n'
        for number, effect in enumerate(effects)
    )
    asked = "".join(f"{key} = {entries}\n" for key, entries in permission.items())
    return f'manifest = 1\n[pack]\nname = "{name}"\n[settings]\nhost = "h.example:443"\n[permissions]\n{asked}{skills}'


def manifest(permission: dict[str, list[str]]) -> Manifest:
    return parse_manifest(text("one", permission).encode(), Path("pack.toml"))


def config(grant: dict[str, list[str]], **more: Any) -> PackConfig:
    files = {key.removeprefix("fs."): value for key, value in grant.items() if key.startswith("fs.")}
    plain = {key: value for key, value in grant.items() if not key.startswith("fs.")}
    return PackConfig.model_validate({"enabled": True, "grant": {**plain, "fs": files}, **more})


@given(ASKED, GRANTED, GRANTED)
def test_a_grant_is_never_wider_than_its_permission_or_the_layer_above(
    asked: dict[str, list[str]], grant: dict[str, list[str]], upper: dict[str, list[str]]
) -> None:
    one = manifest(asked)
    wanted = Permission.granted(grant, one.permission())
    try:
        given_ = pack_grant(one, config(grant), upper)
    except PolicyError:
        assert not wanted.within(one.permission())
        return
    assert wanted.within(one.permission())
    assert given_.grant.within(one.permission())
    assert given_.grant.within(wanted)
    assert given_.grant.within(Permission.granted(upper, one.permission()))
    assert given_.private_net <= set(given_.grant.net)


@given(ASKED, st.sampled_from([True, "strict"]))
def test_a_mode_only_takes_away(asked: dict[str, list[str]], mode: Any) -> None:
    permission = manifest(asked).permission()
    narrowed = in_mode(permission, mode)
    assert narrowed.within(permission)
    assert narrowed.fs_write == ()
    assert mode is True or narrowed.net == ()
    assert in_mode(permission, False) == permission


@given(ASKED)
def test_only_hosts_that_the_deployer_wrote_may_be_private(asked: dict[str, list[str]]) -> None:
    one = manifest(asked)
    assert pack_grant(one, config({}), {}).private_net == frozenset()
    moved = pack_grant(one, config({}, settings={"host": "inside.example:8443"}), {})
    expected = {"inside.example:8443"} & set(moved.grant.net)
    assert moved.private_net == expected


def test_a_granted_literal_address_may_be_private_and_a_repeated_public_name_may_not() -> None:
    one = manifest({"net": ["127.0.0.1:80", "a.example:443"]})
    same = pack_grant(one, config({"net": ["127.0.0.1:80", "a.example:443"]}), {})
    assert same.private_net == {"127.0.0.1:80"}
    assert pack_grant(one, config({}), {}).private_net == frozenset()
    one = manifest({"net": ["*.example:443"]})
    assert pack_grant(one, config({"net": ["*.example:443"]}), {}).private_net == frozenset()
    own = pack_grant(one, config({"net": ["inside.example:443"]}), {})
    assert own.private_net == {"inside.example:443"}


def test_a_part_that_the_pack_itself_names_is_not_the_deployers_word() -> None:
    whole = text("one", {"net": ["*.example:443"]})
    one = parse_manifest(whole.replace("['net']", "['net:a.example:443']").encode(), Path("pack.toml"))
    grant = {"net": ["a.example:443", "b.example:443"]}
    assert pack_grant(one, config(grant), {}).private_net == {"b.example:443"}


def test_programs_and_variables_are_resolved_on_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EDITOR", "ed")
    monkeypatch.delenv("PAGER", raising=False)
    right = Permission.parse({"exec": ["sh", "no-such-program"], "env": ["EDITOR", "PAGER"]})
    found = resolve_right(right, {})
    assert len(found.rights.exec) == 1 and found.rights.exec[0].startswith("/")
    assert found.rights.env == {"EDITOR": "ed"}
    assert found.notes == ("there is no program no-such-program",)


def install(site: Path, name: str, manifest_text: str) -> None:
    """Lay a pack out as pip does; nothing of it is ever imported here."""
    package, info = site / f"remit_{name}", site / f"remit_{name}-1.0.dist-info"
    package.mkdir(parents=True, exist_ok=True)
    info.mkdir(exist_ok=True)
    (package / "__init__.py").write_text("raise SystemExit('imported')\n")
    (package / "pack.toml").write_text(manifest_text)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: remit-{name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[remit.packs]\n{name} = remit_{name}\n")
    names = [
        f"remit_{name}/__init__.py",
        f"remit_{name}/pack.toml",
        *(f"{info.name}/{n}" for n in ("METADATA", "entry_points.txt", "RECORD")),
    ]
    (info / "RECORD").write_text("".join(f"{entry},,\n" for entry in names))


def lock_all(folder: Path, site: Path, packs: dict[str, str]) -> None:
    lock = Lock()
    inventory = discover([str(site)])
    for name in packs:
        installed = inventory.get(name)
        found = read_manifest(installed.manifest, package=installed.package)
        described = {
            skill: SkillDescription(name=skill, description="d", schema={"type": "object", "properties": {}})
            for skill in found.skills
        }
        lock = lock.with_pack(name, lock_pack(installed, found, described))
    write_lock(folder / "remit.lock", lock)
    tables = "".join(f"[packs.{name}]\n{body}\n" for name, body in packs.items())
    (folder / "remit.toml").write_text("policy = 1\n" + tables)
    trust(folder)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(ASKED, ASKED, st.sampled_from(EFFECTS), st.sampled_from([False, True, "strict"]), st.booleans())
def test_adding_a_pack_never_changes_what_another_one_may_do(
    one: dict[str, list[str]], two: dict[str, list[str]], effect: str, mode: Any, enabled: bool
) -> None:
    with tempfile.TemporaryDirectory() as place:
        folder, site = Path(place).resolve() / "deployment", Path(place).resolve() / "site"
        folder.mkdir()
        install(site, "one", text("one", one, (effect, "read")))
        lock_all(folder, site, {"one": "enabled = true"})
        with Deployment.open(folder, paths=[str(site)], read_only=mode, managed=NOWHERE) as deployment:
            before, problems = deployment.skills, deployment.problems
        install(site, "two", text("two", two))
        body = f"enabled = {str(enabled).lower()}\naccept_read = ['s0']\nsettings.host = 'x.example:443'"
        lock_all(folder, site, {"one": "enabled = true", "two": body})
        with Deployment.open(folder, paths=[str(site)], read_only=mode, managed=NOWHERE) as deployment:
            after = {name: skill for name, skill in deployment.skills.items() if skill.pack == "one"}
            added = [skill for skill in deployment.skills.values() if skill.pack == "two"]
            again = tuple(problem for problem in deployment.problems if problem.pack == "one")
        assert after == before
        assert again == problems
        assert enabled or not added
        for skill in (*after.values(), *added):
            permission, grant, right = (
                Permission.parse(value) for value in (skill.permission, skill.grant, skill.right)
            )
            assert grant.within(permission) and right.within(grant)
            assert EFFECTS.index(skill.effect) >= EFFECTS.index(skill.declared_effect)
            assert skill.cell is not None and set(skill.cell.rights.net) <= set(right.net)
            assert not mode or not skill.cell.rights.write
            assert skill.withheld is (bool(mode) and skill.effect != "read")
            assert not skill.withheld or not skill.right
            assert skill.effect != "read" or not right.writes


def test_the_layer_above_holds_for_reading_whatever_may_be_written() -> None:
    one = manifest({"fs.read": ["${workspace}/**"], "fs.write": ["${workspace}/**"]})
    upper = {"fs.read": ("${workspace}/docs/**",)}
    under = pack_grant(one, config({}), upper).grant
    assert under.fs_read == ("${workspace}/docs/**",) and under.fs_write == ("${workspace}/**",)
    assert pack_grant(one, config({}), {}).grant.fs_read == ("${workspace}/**",)


def test_a_grant_that_is_too_wide_is_answered_with_what_the_pack_asks_for() -> None:
    one = manifest({"fs.read": ["${workspace}/docs/**"]})
    with pytest.raises(PolicyError, match=r"more than it asks for: fs\.read: \$\{workspace\}/\*\*") as caught:
        pack_grant(one, config({"fs.read": ["${workspace}/**"]}), {})
    assert caught.value.remedy == "grant at most what it asks for: fs.read = ${workspace}/docs/**"
    pack_grant(one, config({"fs.read": ["${workspace}/docs/**"]}), {})
