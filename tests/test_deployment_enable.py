"""Enabling, disabling and starting a deployment: a proposal first, then exactly that."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from remit.deployment.config import ModelConfig
from remit.deployment.deployment import Deployment
from remit.deployment.enable import disable, enable
from remit.deployment.glance import enabled_packs
from remit.deployment.init import init
from remit.deployment.load import load_config
from remit.deployment.trust import trust
from remit.errors import DeploymentError, NotTrusted, PackError, UsageError
from remit.packs.lock import read_lock
from tests.dist_info import MANIFEST, write_pack
from tests.packaging import ROOT, build_site


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "deployment"
    place.mkdir()
    init(place, enforcement="available").apply()
    return place


def test_nothing_is_written_before_apply(folder: Path, tmp_path: Path) -> None:
    site = build_site(tmp_path, "good")
    before = (folder / "remit.toml").read_text()
    proposal = enable(folder, "good", paths=[str(site)])
    assert (folder / "remit.toml").read_text() == before
    assert not (folder / "remit.lock").exists()
    assert proposal.changes.lines("widens") == ("pack good is enabled",)
    assert any("good.save" in line for line in proposal.lines)
    proposal.apply()
    assert (folder / "remit.toml").read_text().startswith(before)
    assert set(read_lock(folder / "remit.lock").packs) == {"good"}
    with Deployment.open(folder, paths=[str(site)]) as deployment:
        assert "good.add" in deployment.skills


def test_a_proposal_that_is_out_of_date_is_not_applied(folder: Path, tmp_path: Path) -> None:
    site = build_site(tmp_path, "good")
    proposal = enable(folder, "good", paths=[str(site)])
    with (folder / "remit.toml").open("a") as file:
        file.write("# mine\n")
    with pytest.raises(DeploymentError, match="changed meanwhile"):
        proposal.apply()


def test_the_least_that_the_chosen_skills_need_is_proposed(folder: Path, tmp_path: Path) -> None:
    site = build_site(tmp_path, "good")
    proposal = enable(folder, "good", skills=["read"], paths=[str(site)])
    assert proposal.grant.words() == {"fs.read": ("${workspace}/**",)}
    assert proposal.skills == ("read",)
    assert any("not enabled:" in line and "save" in line for line in proposal.lines)
    proposal.apply()
    assert load_config(folder / "remit.toml").config.packs["good"].grant.fs.write == ()


def test_a_declared_read_that_nobody_can_verify_is_shown(folder: Path, tmp_path: Path) -> None:
    site = build_site(tmp_path, "liar")
    proposal = enable(folder, "liar", paths=[str(site)])
    assert proposal.unverified == ("fetch",)
    assert [line for line in proposal.lines if "cannot be verified" in line] == [
        "  read as it declares, which cannot be verified: it reaches the network"
    ]
    strict = enable(folder, "liar", accept_read=[], paths=[str(site)])
    assert strict.unverified == ()
    strict.apply()
    assert load_config(folder / "remit.toml").config.packs["liar"].accept_read == ()


def test_a_pack_that_cannot_be_imported_is_not_enabled(folder: Path, tmp_path: Path) -> None:
    site = build_site(tmp_path, "raises_at_import", "good")
    with pytest.raises(PackError, match="cannot be imported"):
        enable(folder, "raises", paths=[str(site)])
    assert not (folder / "remit.lock").exists()
    enable(folder, "good", paths=[str(site)]).apply()


def test_unknown_names_come_with_the_nearest(folder: Path, tmp_path: Path) -> None:
    site = build_site(tmp_path, "good")
    with pytest.raises(PackError, match="did you mean good"):
        enable(folder, "goood", paths=[str(site)])
    with pytest.raises(UsageError, match="did you mean 'read'"):
        enable(folder, "good", skills=["reed"], paths=[str(site)])
    with pytest.raises(DeploymentError, match="names no pack 'good'"):
        disable(folder, "good")


def test_enabling_needs_an_accepted_deployment(tmp_path: Path) -> None:
    site = build_site(tmp_path, "good")
    cloned = tmp_path / "cloned"
    cloned.mkdir()
    (cloned / "remit.toml").write_text('policy = 1\n[defaults]\nenforcement = "available"\n')
    with pytest.raises(NotTrusted):
        enable(cloned, "good", paths=[str(site)])
    trust(cloned)
    enable(cloned, "good", paths=[str(site)]).apply()


def test_disabling_keeps_the_table_and_the_lock(folder: Path, tmp_path: Path) -> None:
    site = build_site(tmp_path, "good")
    enable(folder, "good", settings={"greeting": "Salve"}, paths=[str(site)]).apply()
    proposal = disable(folder, "Good")
    assert proposal.changes.rank == "narrows"
    proposal.apply()
    assert enabled_packs(folder) == {"good": False}
    assert set(read_lock(folder / "remit.lock").packs) == {"good"}
    with Deployment.open(folder, paths=[str(site)]) as deployment:
        assert deployment.skills == {}
    enable(folder, "good", paths=[str(site)]).apply()
    assert load_config(folder / "remit.toml").config.packs["good"].settings == {"greeting": "Salve"}


def test_disabling_does_not_accept_what_nobody_accepted(tmp_path: Path) -> None:
    cloned = tmp_path / "cloned"
    cloned.mkdir()
    (cloned / "remit.toml").write_text("policy = 1\n[packs.good]\nenabled = true\n")
    disable(cloned, "good").apply()
    assert enabled_packs(cloned) == {"good": False}
    with pytest.raises(NotTrusted):
        Deployment.open(cloned)


def test_enabling_again_after_an_upgrade_locks_again(folder: Path, tmp_path: Path) -> None:
    site = build_site(tmp_path, "good")
    enable(folder, "good", paths=[str(site)]).apply()
    with (site / "remit_test_good" / "skills.py").open("a") as file:
        file.write("\n# two\n")
    with Deployment.open(folder, paths=[str(site)]) as deployment:
        assert deployment.problems
    proposal = enable(folder, "good", paths=[str(site)])
    assert proposal.changes.rank == "unranked"
    proposal.apply()
    with Deployment.open(folder, paths=[str(site)]) as deployment:
        assert not deployment.problems


def test_init_writes_a_commented_file_and_a_workspace(tmp_path: Path) -> None:
    site = build_site(tmp_path, "good", "raises_at_import")
    place = tmp_path / "new"
    place.mkdir()
    model = ModelConfig(name='odd "name"', base_url="http://127.0.0.1:1/v1", api_key="env:KEY")
    proposal = init(
        place, workspace="files", model=model, packs=["good", "raises"], unattended="deny", enforcement="available"
    )
    assert not list(place.iterdir())
    started = proposal.apply(paths=[str(site)])
    assert started.enabled == ("good",)
    assert started.problems[0].pack == "raises"
    config = load_config(place / "remit.toml").config
    assert config.model.name == 'odd "name"' and config.model.api_key == "env:KEY"
    assert config.defaults.unattended == "deny" and config.workspace == "files"
    assert (place / "files").is_dir()
    assert "#" in (place / "remit.toml").read_text()
    with pytest.raises(DeploymentError, match="already"):
        init(place)


def test_init_refuses_a_workspace_around_the_policy(tmp_path: Path) -> None:
    for workspace in (".", "..", str(tmp_path)):
        with pytest.raises(DeploymentError, match="workspace"):
            init(tmp_path, workspace=workspace)
    assert not (tmp_path / "remit.toml").exists()
    with pytest.raises(DeploymentError, match="no folder"):
        init(tmp_path / "none")


def test_a_glance_never_fails(tmp_path: Path) -> None:
    assert enabled_packs(tmp_path) is None
    path = tmp_path / "remit.toml"
    for text, expected in (
        ("[packs.A-b]\nenabled = true\n[packs.c]\n", {"a_b": True, "c": False}),
        ("packs = 3", None),
        ("packs = ", None),
        ("", {}),
    ):
        path.write_text(text)
        assert enabled_packs(tmp_path) == expected


ENABLE = """\
import sys
from remit.deployment.enable import enable
from remit.errors import EnforcementError
try:
    enable(sys.argv[1], "good", paths=[sys.argv[2]]).apply()
except EnforcementError as error:
    sys.exit(f"{error} | {error.remedy}")
print("enabled")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the filter that hides Landlock is for Linux")
def test_a_machine_that_cannot_confine_is_refused_unless_the_deployment_says_available(tmp_path: Path) -> None:
    site = build_site(tmp_path, "good")
    hide = [sys.executable, str(ROOT / ".ci" / "without_landlock.py")]
    said = {}
    for enforcement in ("kernel", "available"):
        place = tmp_path / enforcement
        place.mkdir()
        init(place, enforcement=enforcement).apply()
        command = [*hide, sys.executable, "-c", ENABLE, str(place), str(site)]
        said[enforcement] = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert said["kernel"].returncode == 1
    assert "cannot confine" in said["kernel"].stderr and 'enforcement = "available"' in said["kernel"].stderr
    assert said["available"].stdout == "enabled\n", said["available"].stderr


def test_what_is_shown_is_what_the_chosen_skills_are_given(folder: Path, tmp_path: Path) -> None:
    site = [str(build_site(tmp_path, "good"))]
    few = enable(folder, "good", skills=["read"], grants={"fs.read": ["${workspace}/docs/**"]}, paths=site)
    shown = "\n".join(few.lines)
    assert "its skills together:\n  may read everything in docs (in the workspace)\nskill good.read:" in shown
    assert "may change" not in shown and "the workspace and everything in it" not in shown
    assert '  + grant.fs.read = ["${workspace}/docs/**"]\n  + grant.fs.write = []' in shown
    none = enable(folder, "good", skills=["read"], grants={"fs.read": []}, paths=site)
    assert not any("may read" in line for line in none.lines)
    whole = "\n".join(enable(folder, "good", paths=site).lines)
    assert "may change everything in out (in the workspace)" in whole
    assert "may read the workspace and everything in it" in whole


def test_other_skills_move_the_least_grant_and_leave_a_chosen_one(folder: Path, tmp_path: Path) -> None:
    site = [str(build_site(tmp_path, "good"))]
    enable(folder, "good", skills=["read"], grants={"fs.read": ["${workspace}/docs/**"]}, paths=site).apply()
    more = enable(folder, "good", skills=["read", "save"], paths=site)
    assert "  new right: skill save was not among the chosen ones" in more.lines
    more.apply()
    grant = load_config(folder / "remit.toml").config.packs["good"].grant.given()
    assert grant == {"fs.read": ("${workspace}/docs/**",)}
    with Deployment.open(folder, paths=site) as deployment:
        assert deployment.skills["good.save"].right["fs.write"] == ("${data}/**", "${workspace}/out/**")


def test_an_upgrade_shows_its_new_rights_first(folder: Path, tmp_path: Path) -> None:
    site = build_site(tmp_path, "good")
    enable(folder, "good", paths=[str(site)]).apply()
    again = enable(folder, "good", paths=[str(site)])
    assert "changed since it was accepted:" not in again.lines
    (info,) = site.glob("remit_test_good-*.dist-info")
    metadata = info / "METADATA"
    metadata.write_text(metadata.read_text().replace("Version: 1.0.0", "Version: 1.1.0"))
    package = site / "remit_test_good"
    manifest = (package / "pack.toml").read_text()
    greet = 'handler = "remit_test_good.skills:greet"\neffect = "read"\n'
    manifest = manifest.replace(greet, f'{greet}uses = ["fs.read"]\n').replace('impact = ["destroy"]\n', "")
    (package / "pack.toml").write_text(manifest)
    code = (package / "skills.py").read_text()
    (package / "skills.py").write_text(code.replace("Add two numbers", "Add up two numbers"))
    lines = enable(folder, "good", paths=[str(site)]).lines
    start = lines.index("changed since it was accepted:")
    assert lines[start + 1 : start + 4] == (
        "  new right: skill greet: fs.read: ${workspace}/**",
        "  less careful: skill wipe no longer declares the impact destroy",
        "  version 1.0.0 -> 1.1.0",
    )
    rest = lines[start + 4 : lines.index("its skills together:")]
    assert rest[0].startswith("  the code of its skills")
    assert "  skill add changed: its description" in rest
    assert "  skill greet changed: its table in pack.toml" in rest
    assert not any("skill read changed" in line for line in rest)


def test_a_pack_without_a_usable_skill_is_not_enabled(folder: Path, tmp_path: Path) -> None:
    site = tmp_path / "site"
    broken = MANIFEST.replace('handler = "{package}:run"', 'handler = "{package}:nowhere"')
    write_pack(site, "tide", manifest=broken)
    before = (folder / "remit.toml").read_text()
    with pytest.raises(PackError, match="pack tide has no skill that can be used: skill run: ") as caught:
        enable(folder, "tide", paths=[str(site)])
    assert caught.value.remedy == "its author has to change it"
    assert (folder / "remit.toml").read_text() == before
    one_of_two = broken + '[[skill]]\nname = "second"\nhandler = "{package}:run"\n'
    write_pack(tmp_path / "other", "tide", manifest=one_of_two)
    proposal = enable(folder, "tide", paths=[str(tmp_path / "other")])
    assert proposal.skills == ("second",) and set(proposal.refused) == {"run"}


def test_proposals_can_follow_one_another(folder: Path, tmp_path: Path) -> None:
    site = [str(build_site(tmp_path, "good", "slow"))]
    first = enable(folder, "good", paths=site)
    second = enable(folder, "slow", paths=site, following=first)
    with pytest.raises(DeploymentError, match="changed meanwhile"):
        second.apply()
    first.apply()
    second.apply()
    with Deployment.open(folder, paths=site) as deployment:
        assert {skill.pack for skill in deployment.skills.values()} == {"good", "slow"}


def test_a_secret_is_bound_by_reference_and_a_value_is_never_repeated(folder: Path, tmp_path: Path) -> None:
    site = tmp_path / "site"
    write_pack(site, "tide", manifest=MANIFEST + 'uses = ["secrets"]\n[permissions]\nsecrets = ["token"]\n')
    with pytest.raises(UsageError, match="secret token of pack tide: that is no reference") as caught:
        enable(folder, "tide", secrets={"token": "hunter2"}, paths=[str(site)])
    assert "hunter2" not in str(caught.value) and "token=env:TOKEN" in caught.value.remedy
    with pytest.raises(UsageError, match="asks for no secret 'tokn'; did you mean 'token'"):
        enable(folder, "tide", secrets={"tokn": "env:TOKEN"}, paths=[str(site)])
    enable(folder, "tide", secrets={"token": "env:TOKEN"}, paths=[str(site)]).apply()
    assert load_config(folder / "remit.toml").config.packs["tide"].secrets == {"token": "env:TOKEN"}
