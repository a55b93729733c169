"""`remit packs inspect, grant, diff` and switching single skills: looking before, giving less, being told."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.command import remit
from tests.dist_info import write_pack
from tests.in_process import Here
from tests.wheel_parts import MANIFEST, METADATA, write_wheel

PACK = """\
manifest = 1
[pack]
name = "tide"
[permissions]
net = ["a.example:443", "b.example:443"]
fs.read = ["${workspace}/**"]
[[skill]]
name = "ask"
handler = "tide_pack:run"
effect = "read"
uses = ["net:a.example:443"]
[[skill]]
name = "look"
handler = "tide_pack:run"
effect = "read"
uses = ["fs.read"]
"""
CODE = 'def run() -> str:\n    """Run."""\n    return "ran"\n'


@pytest.fixture
def here(tmp_path: Path) -> Here:
    made = Here(place=tmp_path).make()
    write_pack(made.site, manifest=PACK, files={"__init__.py": CODE})
    return made


def test_a_wheel_is_read_before_it_is_installed(here: Here) -> None:
    needs = METADATA.format(version="1.4").replace("\n\n", "\nRequires-Dist: pytest; extra == 'test'\n\n")
    wheel = write_wheel(here.place / "wheels", files={"{info}/METADATA": needs})
    told = here.remit("packs", "inspect", str(wheel))
    for line in (
        "tide 1.4 (tide_pack-1.4-py3-none-any.whl): Tides",
        "may connect to tides.example on port 443",
        "skill tide.run:",
        "it declares read, which cannot be verified",
        "uses net; at most 30 s",
        "depends on: packaging>=20\n",
        "only with an extra, which is never installed unasked: pytest; extra == 'test'",
        "would install 6 files: tide_pack-1.4.dist-info/METADATA",
    ):
        assert line in told.out
    facts = here.remit("packs", "inspect", str(wheel), "--json").json
    assert facts["skills"]["run"]["effect"] == "external" and facts["skills"]["run"]["declared_effect"] == "read"
    assert facts["wheel"]["sha256"] in told.out and len(facts["files"]) == 6
    assert not list(here.place.rglob("IMPORTED"))


def test_what_must_not_be_installed_is_refused_with_the_reason(here: Here) -> None:
    wheel = write_wheel(here.place / "wheels", files={"x.pth": "import os", "tide_pack/pack.toml": MANIFEST + "?"})
    told = here.remit("packs", "inspect", str(wheel), expect=1)
    assert "refused: it installs the start-up file" in told.err and "refused: tide_pack/pack.toml" in told.err
    assert [p["pack"] for p in here.remit("packs", "inspect", str(wheel), "--json", expect=1).json["problems"]] == [
        "tide",
        "tide",
    ]


def test_a_project_and_an_installed_pack_are_inspected_too(here: Here) -> None:
    project = here.place / "project"
    (project / "tide_pack").mkdir(parents=True)
    (project / "tide_pack" / "pack.toml").write_text(PACK)
    (project / "tide_pack" / "__init__.py").write_text(CODE)
    assert "(folder " in here.remit("packs", "inspect", str(project)).out
    assert "tide 1.4 (installed)" in here.remit("packs", "inspect", "tide").out
    assert "remit packs add waves" in here.remit("packs", "inspect", "waves", expect=2).err


def test_what_a_description_says_is_made_visible(here: Here) -> None:
    evil = MANIFEST.replace('"Tides"', '"Ti\\u202Edes"')
    wheel = write_wheel(here.place / "wheels", files={"tide_pack/pack.toml": evil})
    assert "Ti\\u202edes" in here.remit("packs", "inspect", str(wheel)).out


def test_single_skills_are_switched_on_and_off(here: Here) -> None:
    assert 'skills = ["ask"]' in here.remit("packs", "enable", "tide.ask", "--yes").out
    assert 'skills = ["ask"]' in here.config
    here.remit("packs", "enable", "tide.look", "--yes")
    assert 'skills = ["ask", "look"]' in here.config
    gone = here.remit("packs", "disable", "tide.ask")
    assert gone.out == "disabled skills of tide: ask; left: look\n"
    assert here.remit("packs", "disable", "tide.ask").out == gone.out  # it is off already
    assert "did you mean 'look'" in here.remit("packs", "disable", "tide.lok", expect=1).err
    assert "none, so it is off" in here.remit("packs", "disable", "tide.look").out
    assert "enabled = false" in here.config
    assert "not both" in here.remit("packs", "enable", "tide.ask", "--skills", "look", expect=2).err


def test_what_is_switched_off_is_not_observed_either(here: Here) -> None:
    here.remit("packs", "enable", "tide", "--yes")
    here.remit("kill", "tide", "--reason", "leaks")
    refused = here.remit("learn", "tide.look", "{}", "--yes", expect=1)
    assert "tide is switched off here: leaks" in refused.err and "with far more rights" not in refused.err


def test_the_skills_of_a_whole_pack_can_be_narrowed_one_by_one(here: Here) -> None:
    here.remit("packs", "enable", "tide", "--yes")
    here.remit("packs", "disable", "tide.ask")
    assert 'skills = ["look"]' in here.config
    shutil.rmtree(here.site)
    here.site.mkdir()
    here.remit("packs", "disable", "tide.look")
    assert "enabled = false" in here.config


def test_a_grant_is_changed_key_by_key(here: Here) -> None:
    here.remit("packs", "enable", "tide", "--yes")
    here.remit("packs", "grant", "tide", "fs.read=${workspace}/docs/**")
    assert 'grant.fs.read = ["${workspace}/docs/**"]' in here.config and "grant.net" in here.config
    wider = here.remit("packs", "grant", "tide", "--all", "fs.read", expect=4)
    assert "new right: skill look: fs.read: ${workspace}/**" in wider.out and "nothing was changed" in wider.err
    here.remit("packs", "grant", "tide", "--all", "fs.read", "--yes")
    assert "fs.read" not in here.config and "grant.net" in here.config
    here.remit("packs", "grant", "tide", "net=")
    assert "grant.net = []" in here.config
    for wrong in (["net=evil.example:443"], ["odd=1"], []):
        assert here.remit("packs", "grant", "tide", *wrong, expect=None).code in (1, 2)
    here.remit("packs", "disable", "tide")
    assert "not enabled" in here.remit("packs", "grant", "tide", "net=", expect=2).err


def exchange(here: Here, manifest: str, version: str = "1.5") -> None:
    shutil.rmtree(here.site)
    write_pack(here.site, manifest=manifest, version=version, files={"__init__.py": CODE})


def test_diff_names_every_widening_and_its_exit_code_says_which_kind(here: Here) -> None:
    here.remit("packs", "enable", "tide", "--yes")
    assert "nothing differs" in here.remit("packs", "diff").out
    exchange(here, PACK)
    assert "= its version is 1.5, it was 1.4" in here.remit("packs", "diff").out
    exchange(here, PACK.replace("net:a.example:443", "net"))
    wider = here.remit("packs", "diff", expect=4)
    assert "+ skill ask asks for net: b.example:443" in wider.out
    told = here.remit("packs", "diff", "tide", "--json", expect=4).json
    assert told["rank"] == "widens" and told["packs"][0]["changes"][0]["rank"] == "widens"
    exchange(here, PACK.replace('effect = "read"\nuses = ["fs.read"]', 'effect = "read"\nuses = []'))
    assert "- skill look no longer asks for fs.read" in here.remit("packs", "diff", "tide").out
    exchange(here, PACK.replace('name = "look"', 'name = "look"\nidempotent = true'))
    assert "? skill look: its table in pack.toml changed" in here.remit("packs", "diff", expect=5).out


def test_a_wheel_is_compared_with_what_is_locked_or_installed_and_two_wheels_with_each_other(here: Here) -> None:
    old = write_wheel(here.place / "old", version="1.4")
    wider = MANIFEST.replace('uses = ["net"]', 'uses = ["net"]\nimpact = []').replace('"read"', '"write"')
    new = write_wheel(here.place / "new", version="1.5", files={"tide_pack/pack.toml": wider})
    told = here.remit("packs", "diff", str(old), str(new)).out
    assert "- skill run declares write, it was read" in told and "tide 1.4 (tide_pack-1.4" in told
    assert "+ skill run declares read, it was write" in here.remit("packs", "diff", str(new), str(old), expect=4).out
    here.remit("packs", "enable", "tide", "--yes")
    against = here.remit("packs", "diff", str(new), expect=4).out
    assert "locked 1.4 -> tide 1.5" in against and "+ skill run is new" in against
    static = here.remit("packs", "diff", str(new), "--static", expect=4)
    assert "were not compared" in static.out
    assert not list(here.place.rglob("IMPORTED"))
    assert here.remit("packs", "diff", "a", "b", "c", expect=2).err


def test_a_broken_manifest_shows_in_the_list(here: Here) -> None:
    here.remit("packs", "enable", "tide", "--yes")
    assert "BROKEN" not in here.remit("packs", "list").out
    (here.site / "tide_pack" / "pack.toml").write_text("manifest = 1\n")
    told = here.remit("packs", "list")
    assert "enabled, BROKEN" in told.out and "pack: is missing" in told.err
    (row,) = [pack for pack in here.remit("packs", "list", "--json").json["packs"] if pack["pack"] == "tide"]
    assert row["broken"] is True


def test_as_a_program(here: Here) -> None:
    wheel = write_wheel(here.place / "wheels")
    environment = {"REMIT_STATE": str(here.place / "state")}
    ran = remit("packs", "inspect", str(wheel), "--json", folder=here.folder, environment=environment)
    assert json.loads(ran.out)["pack"] == "tide"
