"""An open deployment: usable skills with their rights, and what was left out and why."""

from __future__ import annotations

import stat
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from remit.deployment.deployment import Deployment
from remit.deployment.enable import disable, enable
from remit.deployment.init import init
from remit.deployment.trust import trust
from remit.errors import DeploymentError, PolicyError
from tests.in_process import Here
from tests.packaging import build_site
from tests.sandbox_parts import eventually

NOWHERE = Path("/nonexistent/remit.toml")


@dataclass(frozen=True, kw_only=True)
class Place:
    """A deployment's folder and the site folder of its packs."""

    folder: Path
    site: Path

    def open(self, **options: Any) -> Deployment:
        return Deployment.open(self.folder, paths=[str(self.site)], **{"managed": NOWHERE, **options})

    def enable(self, pack: str, **options: Any) -> None:
        enable(self.folder, pack, paths=[str(self.site)], managed=NOWHERE, **options).apply()

    def edit(self, old: str, new: str) -> None:
        path = self.folder / "remit.toml"
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new, 1))
        trust(self.folder)


@pytest.fixture
def place(tmp_path: Path) -> Callable[..., Place]:
    def build(*packs: str) -> Place:
        folder = tmp_path / "deployment"
        folder.mkdir()
        init(folder, enforcement="available").apply()
        return Place(folder=folder, site=build_site(tmp_path, *packs))

    return build


def problem(deployment: Deployment) -> str:
    (found,) = deployment.problems
    return f"{found} {found.remedy}"


def test_an_enabled_pack_gives_complete_skills(place: Callable[..., Place]) -> None:
    here = place("good")
    here.enable("good")
    with here.open() as deployment:
        assert deployment.problems == ()
        add, save = deployment.skills["good.add"], deployment.skills["good.save"]
        assert (add.effect, add.right, add.idempotent, add.cache) == ("read", {}, True, 60.0)
        assert add.schema["properties"].keys() == {"a", "b"}
        assert add.description.startswith("Add two numbers")
        assert add.hash.startswith("sha256:") and add.version == "1.0.0"
        assert save.effect == "write"
        workspace = here.folder / "workspace"
        assert save.cell is not None and save.cell.rights.write[-1] == f"{workspace}/out/**"
        assert (save.cell.workspace, save.cell.cwd) == (str(workspace), None) and save.cell.data is not None
        read = deployment.skills["good.read"].cell
        assert read is not None and read.rights.read == (f"{workspace}/**",) and read.rights.write == ()
        assert read.workspace == read.cwd == str(workspace) and read.data is None
        assert read.settings == {"greeting": "Hello", "limit": 10}
        assert deployment.skills["good.wipe"].impact == {"destroy"}


def test_a_skill_of_the_deployment_runs_in_its_cell(place: Callable[..., Place]) -> None:
    here = place("good")
    here.enable("good", settings={"greeting": "Salve"})
    with here.open() as deployment:
        skill = deployment.skills["good.greet"]
        assert skill.cell is not None
        with deployment.sandbox.borrow(skill.cell, "s") as cell:
            body = {"handler": skill.handler, "arguments": b'{"name": "Ann"}', "context": {"session": "s", "call": "c"}}
            assert cell.request("call", body, timeout=10).text == b'"Salve, Ann"'


def test_packs_that_nobody_enabled_give_nothing(place: Callable[..., Place]) -> None:
    here = place("good", "liar", "raises_at_import", "collides_a", "collides_b")
    with here.open() as deployment:
        assert deployment.skills == {} and deployment.problems == ()
    here.enable("liar")
    with here.open() as deployment:
        assert {skill.pack for skill in deployment.skills.values()} == {"liar"}


def test_the_effect_is_at_least_what_the_rights_imply(place: Callable[..., Place]) -> None:
    here = place("liar")
    here.enable("liar", accept_read=[])
    with here.open() as deployment:
        assert deployment.skills["liar.write"].effect == "write"
        assert deployment.skills["liar.fetch"].effect == "external"
        assert deployment.skills["liar.honest"].effect == "read"
        assert {skill.declared_effect for skill in deployment.skills.values()} == {"read"}
    here.enable("liar", accept_read=["fetch", "write"])
    with here.open() as deployment:
        assert deployment.skills["liar.fetch"].effect == "read"
        assert deployment.skills["liar.write"].effect == "write"


def test_read_only_hides_what_writes_and_removes_write_roots(place: Callable[..., Place]) -> None:
    here = place("good", "liar")
    here.enable("good")
    here.enable("liar")
    with here.open() as usual, here.open(read_only=True) as reading, here.open(read_only="strict") as strict:
        assert not usual.skills["good.save"].withheld and reading.skills["good.save"].withheld
        assert not reading.skills["good.read"].withheld and not reading.skills["liar.fetch"].withheld
        for skill in reading.skills.values():
            assert skill.cell is not None and skill.cell.rights.write == ()
            assert skill.withheld is (skill.effect != "read")
            assert not skill.withheld or (skill.right, skill.cell.rights.net, skill.cell.secrets) == ({}, (), {})
        assert any(skill.cell and skill.cell.rights.net for skill in reading.skills.values())
        assert not any(skill.cell and skill.cell.rights.net for skill in strict.skills.values())


def test_chosen_skills_are_the_only_ones(place: Callable[..., Place]) -> None:
    here = place("good")
    here.enable("good", skills=["add", "read"])
    with here.open() as deployment:
        assert set(deployment.skills) == {"good.add", "good.read"}


def test_a_grant_narrows_and_never_widens(place: Callable[..., Place]) -> None:
    here = place("good")
    here.enable("good", grants={"fs.read": ["${workspace}/docs/**"]})
    (here.folder / "workspace" / "docs").mkdir()
    with here.open() as deployment:
        skill = deployment.skills["good.read"]
        assert skill.permission == {"fs.read": ("${workspace}/**",)}
        assert skill.grant == skill.right == {"fs.read": ("${workspace}/docs/**",)}
        assert skill.cell is not None and skill.cell.rights.read == (f"{here.folder}/workspace/docs/**",)
        assert (skill.cell.workspace, skill.cell.cwd) == (f"{here.folder}/workspace", None)
    here.edit('"${workspace}/docs/**"', '"/etc/**"')
    with pytest.raises(PolicyError, match="more than it asks for") as caught:
        here.open()
    assert "fs.read: /etc/**" in str(caught.value)


def test_a_grant_that_opens_something_protected_does_not_load(place: Callable[..., Place]) -> None:
    here = place("good")
    here.enable("good")
    out = here.folder / "workspace" / "out"
    (out / "reports").mkdir(parents=True)
    here.open().close()
    (out / ".git").mkdir()
    with pytest.raises(PolicyError, match="git history") as caught:
        here.open()
    assert '"${workspace}/out/reports/**"' in caught.value.remedy
    here.enable("good", grants={"fs.write": ["${workspace}/out/reports/**"]})
    here.open().close()


def test_enabling_refuses_what_would_not_load(place: Callable[..., Place]) -> None:
    here = place("good")
    (here.folder / "workspace" / "out" / ".git").mkdir(parents=True)
    with pytest.raises(PolicyError, match="git history"):
        here.enable("good")
    with pytest.raises(PolicyError, match="more than it asks for"):
        here.enable("good", grants={"net": ["evil.example:443"], "fs.write": []})
    here.enable("good", grants={"fs.write": []})


def test_a_changed_file_disables_that_pack_alone(place: Callable[..., Place]) -> None:
    here = place("good", "liar")
    here.enable("good")
    here.enable("liar")
    skills = here.site / "remit_test_good" / "skills.py"
    original = skills.read_text()
    skills.write_text(original + "\n# changed\n")
    with here.open() as deployment:
        assert {skill.pack for skill in deployment.skills.values()} == {"liar"}
        assert "its files changed" in problem(deployment)
        assert "remit packs enable good" in problem(deployment)
    skills.write_text(original)
    with here.open() as deployment:
        assert deployment.problems == ()


def test_what_is_missing_is_said_with_the_nearest_name(place: Callable[..., Place]) -> None:
    here = place("good")
    here.enable("good")
    here.edit("[packs.good]", "[packs.goood]")
    with here.open() as deployment:
        assert deployment.skills == {}
        assert "not installed; did you mean 'good'? (remit.toml:" in problem(deployment)
    here.edit("enabled = true", "enabled = false")
    with pytest.raises(DeploymentError, match=r"remit\.toml:\d+ names pack 'goood'.*did you mean 'good'"):
        here.open()


def test_an_unlocked_pack_is_left_out(place: Callable[..., Place]) -> None:
    here = place("good")
    here.enable("good")
    (here.folder / "remit.lock").unlink()
    trust(here.folder)
    with here.open() as deployment:
        assert deployment.skills == {}
        assert "not locked" in problem(deployment) and "remit packs enable good" in problem(deployment)


def test_an_unknown_skill_is_reported_and_the_others_stay(place: Callable[..., Place]) -> None:
    here = place("good")
    here.enable("good", skills=["add"])
    here.edit('skills = ["add"]', 'skills = ["add", "reed"]')
    with here.open() as deployment:
        assert set(deployment.skills) == {"good.add"}
        assert "did you mean 'read'?" in problem(deployment)


def test_two_packs_with_one_name_load_only_with_from(place: Callable[..., Place]) -> None:
    here = place("collides_a", "collides_b", "good")
    here.enable("good")
    here.edit("[packs.good]", "[packs.collides]\nenabled = true\n[packs.good]")
    with here.open() as deployment:
        assert {skill.pack for skill in deployment.skills.values()} == {"good"}
        assert "remit-test-collides-a" in problem(deployment) and "from" in problem(deployment)
    here.edit("[packs.collides]\n", '[packs.collides]\nfrom = "remit-test-collides-b"\n')
    here.enable("collides")
    with here.open() as deployment:
        assert "collides.which" in deployment.skills
        assert deployment.skills["collides.which"].handler.startswith("remit_test_collides_b")


def test_a_required_pack_that_is_left_out_stops_everything(place: Callable[..., Place]) -> None:
    here = place("good")
    here.enable("good", required=True)
    here.open().close()
    (here.folder / "remit.lock").unlink()
    trust(here.folder)
    with pytest.raises(DeploymentError, match="required pack good: it is not locked"):
        here.open()
    disable(here.folder, "good").apply()
    with pytest.raises(DeploymentError, match="required and not enabled"):
        here.open()


def test_a_setting_that_does_not_exist_leaves_the_pack_out(place: Callable[..., Place]) -> None:
    here = place("good")
    here.enable("good")
    here.edit("[packs.good]\n", "[packs.good]\nsettings.greting = 'Hi'\n")
    with here.open() as deployment:
        assert deployment.skills == {}
        assert "greting" in problem(deployment)


def test_a_managed_file_takes_away(place: Callable[..., Place], tmp_path: Path) -> None:
    here = place("good")
    here.enable("good")
    managed = tmp_path / "managed.toml"
    managed.write_text("policy = 1\n[packs.good]\ngrant.fs.read = []\n[defaults]\nread = 'ask'\n")
    with here.open(managed=managed) as deployment:
        assert deployment.skills["good.read"].right == {}
        assert deployment.config.defaults.read == "ask"
    managed.write_text("policy = 1\n[packs.good]\nenabled = false\n")
    with here.open(managed=managed) as deployment:
        assert deployment.skills == {}


def test_hosts_that_the_deployment_names_may_be_private(place: Callable[..., Place]) -> None:
    here = place("remit-weather")
    here.enable("weather")
    with here.open() as deployment:
        cell = deployment.skills["weather.get_weather"].cell
        assert cell is not None and len(cell.rights.net) == 2 and cell.rights.private_net == ()
    here.enable("weather", settings={"endpoint": "127.0.0.1:8080"})
    with here.open() as deployment:
        cell = deployment.skills["weather.get_weather"].cell
        assert cell is not None and cell.rights.private_net == ("127.0.0.1:8080",)
        assert len(cell.rights.net) == 2


def test_state_and_data_are_private(place: Callable[..., Place]) -> None:
    here = place("good")
    here.enable("good")
    with here.open() as deployment, here.open(principal="somebody") as other:
        for folder in (deployment.state_folder, Path(str(deployment.skills["good.save"].cell.data))):  # type: ignore[union-attr]
            assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        one, two = deployment.skills["good.save"].cell, other.skills["good.save"].cell
        assert one is not None and two is not None and one.data != two.data


def test_extensions_and_foreign_flags_are_refused(place: Callable[..., Place]) -> None:
    here = place()
    here.edit("[model]", '[extensions]\nenabled = ["sink"]\n[model]')
    with pytest.raises(DeploymentError, match="sink"):
        here.open()


def test_a_right_to_write_that_no_chosen_skill_uses_gives_no_reading(place: Callable[..., Place]) -> None:
    here = place("remit-files")
    here.enable("files", skills=["read_file"], grants={"fs.read": ["${workspace}/docs/**"]})
    here.edit("grant.fs.write = []\n", "")
    (here.folder / "workspace" / "docs").mkdir()
    with here.open() as deployment:
        skill = deployment.skills["files.read_file"]
        assert skill.right == {"fs.read": ("${workspace}/docs/**",)}
        assert skill.cell is not None and skill.cell.rights.read == (f"{here.folder}/workspace/docs/**",)
    here.edit('"${workspace}/docs/**"', '"${workspace}/**"')
    with here.open() as deployment:
        assert deployment.skills["files.read_file"].right == {"fs.read": ("${workspace}/**",)}


def test_the_workspace_is_known_where_something_in_it_is_granted(place: Callable[..., Place]) -> None:
    here = place("good")
    here.enable("good")
    with here.open() as deployment:
        cells = {name: skill.cell for name, skill in deployment.skills.items()}
    workspace = f"{here.folder}/workspace"
    read, save, add = cells["good.read"], cells["good.save"], cells["good.add"]
    assert read is not None and (read.workspace, read.cwd) == (workspace, workspace)
    assert save is not None and (save.workspace, save.cwd) == (workspace, None)
    assert add is not None and (add.workspace, add.cwd) == (None, None)


def test_the_workspace_is_known_where_what_is_granted_in_it_is_not_there_yet(place: Callable[..., Place]) -> None:
    here = place("good")
    here.enable("good", grants={"fs.read": ["${workspace}/notes/**"]})
    with here.open() as deployment:
        cells = {name: skill.cell for name, skill in deployment.skills.items()}
        read, add = cells["good.read"], cells["good.add"]
        assert read is not None and (read.workspace, read.cwd) == (f"{here.folder}/workspace", None)
        assert read.rights.read == () and add is not None and add.workspace is None
        (note,) = (one for one in deployment.notes if "${workspace}/notes/**" in one)
        assert note.endswith("there is no such folder (for read)")


def test_a_cell_of_each_pack_is_prepared_ahead(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = Here(place=tmp_path).make("calc", "files")
    monkeypatch.setenv("REMIT_STATE", str(tmp_path / "state"))
    with Deployment.open(here.folder) as deployment:
        deployment.prepare()
        spec = deployment.skills["calc.evaluate"].cell
        assert spec is not None
        assert eventually(lambda: deployment.sandbox.spares(spec) > 0)
