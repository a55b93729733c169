"""`remit packs`: what is installed, what it may do, and switching it on and off."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.command import Home, bare, home
from tests.dist_info import MANIFEST, write_pack


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Home:
    return home(tmp_path_factory.mktemp("packs"), "good", fixtures=("good", "liar", "slow"))


def site(place: Home) -> Path:
    return Path(place.environment["PYTHONPATH"])


def test_list_shows_what_is_installed_and_what_is_enabled(place: Home) -> None:
    rows = {line.split()[0]: line.split() for line in place.remit("packs", "list").out.splitlines()[1:]}
    assert rows["good"][-1] == "enabled" and rows["slow"][-1] == "disabled"
    told = place.remit("packs", "list", "--json").json
    good = next(pack for pack in told["packs"] if pack["pack"] == "good")
    assert good["enabled"] is True and good["editable"] is False and good["version"]
    assert told["problems"] == []


def test_list_without_a_deployment_says_so(tmp_path: Path) -> None:
    made = bare(tmp_path, "good")
    ran = made.remit("packs", "list")
    assert "good" in ran.out and "There is no deployment here; make one with: remit init" in ran.err
    assert {pack["enabled"] for pack in made.remit("packs", "list", "--json").json["packs"]} == {None}


def test_a_broken_deployment_does_not_stop_the_list_and_is_said_to_be_broken(tmp_path: Path) -> None:
    made = bare(tmp_path, "good")
    (made.folder / "remit.toml").write_text("policy = 1\nx = [")
    ran = made.remit("packs", "list", expect=1)
    assert "good" in ran.out and "remit.toml:2: not valid TOML" in ran.err
    assert "There is no deployment" not in ran.err
    assert "not valid TOML" in made.remit("packs", "list", "--json", expect=1).json["error"]
    ran = made.remit("init", "--yes", expect=1)
    assert "already, and it cannot be used" in ran.err and "remove it" not in ran.err


def test_list_runs_no_code_of_a_pack(tmp_path: Path) -> None:
    made = bare(tmp_path)
    root = write_pack(site(made), "tide")
    for arguments in (("packs", "list"), ("packs", "info", "tide")):
        assert "tide" in made.remit(*arguments).out
    assert not (root / "IMPORTED").exists()


def test_info_says_in_words_what_a_pack_may_do(place: Home) -> None:
    ran = place.remit("packs", "info", "good")
    assert "may read the workspace and everything in it" in ran.out
    assert "skill good.wipe:\n  write: changes files of the deployment\n  can destroy something" in ran.out
    told = place.remit("packs", "info", "good", "--json").json
    assert set(told["skills"]) >= {"add", "wipe"} and told["settings"] == {"greeting": "Hello", "limit": 10}


def test_info_shows_that_a_declared_read_cannot_be_verified(place: Home) -> None:
    shown = place.remit("packs", "info", "liar").out
    assert "says that it is read, and its rights imply write" in shown
    assert "it declares read, which cannot be verified: it reaches the network" in shown


def test_enable_without_anybody_changes_nothing(place: Home) -> None:
    before = (place.folder / "remit.toml").read_bytes()
    ran = place.remit("packs", "enable", "slow", expect=4)
    assert "skill slow.sleep:" in ran.out
    assert "nobody is there to agree; --yes accepts what is shown" in ran.err
    assert (place.folder / "remit.toml").read_bytes() == before


def test_enable_narrows_and_disable_loses_nothing(tmp_path: Path) -> None:
    made = home(tmp_path, fixtures=("good",))
    (made.workspace / "docs").mkdir()
    (made.workspace / "docs/a.txt").write_text("inside")
    (made.workspace / "b.txt").write_text("outside")
    arguments = ("--skills", "read,greet", "--grant", "fs.read=${workspace}/docs/**", "--set", 'greeting="Hi"')
    made.remit("packs", "enable", "good", *arguments, "--yes")
    rows = {row["skill"]: row for row in made.remit("audit", "--json").json["skills"]}
    assert set(rows) == {"good.read", "good.greet", "remit.read_result"}
    assert rows["good.read"]["right"] == {"fs.read": ["${workspace}/docs/**"]}
    assert made.remit("call", "good.greet", '{"name": "Ada"}').out == "Hi, Ada\n"
    made.remit("packs", "disable", "good")
    assert "good.read" not in made.remit("audit").out
    made.remit("packs", "enable", "good", "--yes")
    again = {row["skill"]: row["right"] for row in made.remit("audit", "--json").json["skills"]}
    assert again["good.read"] == {"fs.read": ["${workspace}/docs/**"]}


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["info", "goood"], 2, ["no pack named 'goood'"]),
        (["enable", "nosuch", "--yes"], 2, ["no pack named 'nosuch' is installed", "next: remit packs list"]),
        (["disable", "nosuch"], 1, ["nosuch"]),
        (["enable", "good", "--skills", "ad", "--yes"], 2, ["'ad'", "add"]),
        (["enable", "good", "--grant", "fs.raed=${workspace}/**", "--yes"], 1, ["fs.raed"]),
        (["enable", "good", "--grant", "net=example.org:443", "--yes"], 1, ["net", "example.org:443"]),
        (["enable", "good", "--grant", "fs.read", "--yes"], 2, ["'fs.read' is no NAME=VALUE"]),
        (["enable", "good", "--set", "colour=red", "--yes"], 2, ["colour"]),
        (["enable", "good", "--set", "limit=many", "--yes"], 2, ["limit"]),
        (["enable", "good", "slow", "--skills", "add", "--yes"], 2, ["enable packs one by one"]),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_mistakes_are_named_and_change_nothing(place: Home, arguments: list[str], code: int, says: list[str]) -> None:
    before = (place.folder / "remit.toml").read_bytes(), (place.folder / "remit.lock").read_bytes()
    ran = place.remit("packs", *arguments, expect=None)
    assert ran.code == code, ran
    assert all(text in ran.err for text in says), ran.err
    assert ((place.folder / "remit.toml").read_bytes(), (place.folder / "remit.lock").read_bytes()) == before


def test_a_pack_that_forgot_its_manifest_is_named_with_the_fix(tmp_path: Path) -> None:
    made = home(tmp_path, "good", fixtures=("good", "no_manifest"))
    ran = made.remit("packs", "list")
    assert "left out: pack" in ran.err and "pack.toml" in ran.err and "  next: " in ran.err
    assert made.remit("call", "good.add", '{"a": 1}').out == "1.0\n"
    problems = made.remit("packs", "list", "--json").json["problems"]
    assert len(problems) == 1 and problems[0]["remedy"]


def test_two_packs_with_one_name_are_left_out_and_the_rest_works(tmp_path: Path) -> None:
    made = home(tmp_path, "good", fixtures=("good", "collides_a", "collides_b"))
    ran = made.remit("packs", "enable", "collides", "--yes", expect=1)
    assert "remit-test-collides-a" in ran.err and "remit-test-collides-b" in ran.err
    assert "from = " in ran.err
    listed = made.remit("packs", "list")
    assert "left out: pack collides" in listed.err
    assert made.remit("call", "good.add", '{"a": 1}').out == "1.0\n"


def test_a_pack_that_raises_at_import_is_left_out_and_the_rest_works(tmp_path: Path) -> None:
    made = home(tmp_path, "good", fixtures=("good", "raises_at_import"))
    ran = made.remit("packs", "enable", "raises", "--yes", expect=1)
    assert "pack raises cannot be imported: RuntimeError: this pack cannot be imported" in ran.err
    assert made.remit("call", "good.add", '{"a": 1}').out == "1.0\n"


def test_a_pack_that_changed_is_left_out_until_it_is_looked_at(tmp_path: Path) -> None:
    made = home(tmp_path, "good", "slow", fixtures=("good", "slow"))
    code = site(made) / "remit_test_good/skills.py"
    code.write_text(code.read_text() + "\n# changed\n")
    ran = made.remit("call", "good.add", '{"a": 1}', expect=1)
    assert "left out: pack good" in ran.err and "remit packs enable good" in ran.err
    assert made.remit("call", "slow.sleep", '{"seconds": 0}').out == "0.0\n"
    made.remit("packs", "enable", "good", "--yes")
    assert made.remit("call", "good.add", '{"a": 1}').out == "1.0\n"


def test_json_of_listings_is_json_and_nothing_else(place: Home) -> None:
    for arguments in (["packs", "list"], ["packs", "info", "good"], ["audit"], ["log", "list"]):
        assert isinstance(json.loads(place.remit(*arguments, "--json").out), dict | list), arguments


def test_list_shows_packs_that_are_enabled_and_cannot_be_used(tmp_path: Path) -> None:
    made = home(tmp_path, "good", fixtures=("good", "slow"))
    config = made.folder / "remit.toml"
    config.write_text(config.read_text() + "\n[packs.ghost]\nenabled = true\n[packs.slow]\nenabled = true\n")
    ran = made.remit("packs", "list")
    rows = {line.split()[0]: line for line in ran.out.splitlines()[1:]}
    assert rows["ghost"].endswith("enabled, NOT INSTALLED") and rows["slow"].endswith("enabled, NOT LOCKED")
    assert rows["good"].endswith(" enabled")
    assert "left out" not in ran.err  # why is what the table says
    assert "  next: pack ghost: remit sync, or: remit packs disable ghost" in ran.err
    assert "  next: pack slow: remit packs enable slow" in ran.err and "pack good" not in ran.err
    problems = made.remit("packs", "list", "--json").json["problems"]
    assert [problem["pack"] for problem in problems] == ["ghost", "slow"]


def test_list_and_info_show_that_a_pack_changed(tmp_path: Path) -> None:
    made = home(tmp_path, "good", fixtures=("good",))
    assert "note:" not in made.remit("packs", "info", "good").out
    code = site(made) / "remit_test_good/skills.py"
    code.write_text(code.read_text() + "\n# changed\n")
    assert "its files changed" in made.remit("packs", "info", "good").out
    info = site(made) / "remit_test_good-1.0.0.dist-info"
    for name in ("METADATA", "RECORD"):
        (info / name).write_text((info / name).read_text().replace("1.0.0", "1.1.0"))
    info.rename(info.with_name("remit_test_good-1.1.0.dist-info"))
    ran = made.remit("packs", "list")
    assert "enabled, CHANGED (locked: 1.0.0)" in ran.out
    assert "  next: pack good: look at what changed with remit packs enable good" in ran.err
    shown = made.remit("packs", "enable", "good", "--yes").out
    assert "  version 1.0.0 -> 1.1.0\n" in shown
    assert "CHANGED" not in made.remit("packs", "list").out


def test_info_counts_the_settings_of_the_deployment(tmp_path: Path) -> None:
    made = home(tmp_path, fixtures=("remit-weather",))
    before = made.remit("packs", "info", "weather").out
    assert "may connect to api.open-meteo.com on port 443" in before
    made.remit("packs", "enable", "weather", "--set", "endpoint=127.0.0.1:8099", "--yes")
    after = made.remit("packs", "info", "weather").out
    assert "may connect to 127.0.0.1 on port 8099" in after
    assert "may connect to api.open-meteo.com on port 443" not in after
    assert "read as it declares, which cannot be verified" in after


def test_one_pack_that_cannot_be_enabled_changes_nothing(tmp_path: Path) -> None:
    made = home(tmp_path, fixtures=("good", "slow", "raises_at_import"))
    before = (made.folder / "remit.toml").read_bytes()
    for last in ("nope", "raises"):
        made.remit("packs", "enable", "good", last, "--yes", expect=None)
        assert (made.folder / "remit.toml").read_bytes() == before
    ran = made.remit("packs", "enable", "good", "slow", "--yes")
    assert "enabled good: add" in ran.out and "enabled slow: sleep" in ran.out
    assert made.remit("call", "slow.sleep", '{"seconds": 0}').out == "0.0\n"


def test_several_values_of_one_grant(place: Home) -> None:
    two = ["${workspace}/a/**", "${workspace}/b/**"]
    for given in ([f"fs.read={','.join(two)}"], [f"fs.read={entry}" for entry in two]):
        options = [word for grant in given for word in ("--grant", grant)]
        shown = place.remit("packs", "enable", "good", *options, expect=None).out
        assert '+ grant.fs.read = ["${workspace}/a/**", "${workspace}/b/**"]' in shown


def test_a_secret_that_is_no_reference_is_not_repeated(tmp_path: Path) -> None:
    made = bare(tmp_path)
    manifest = MANIFEST + 'uses = ["secrets"]\n[permissions]\nsecrets = ["token"]\n'
    write_pack(site(made), "tide", manifest=manifest)
    made.remit("init", "--yes", "--enforcement", "available")
    ran = made.remit("packs", "enable", "tide", "--secret", "token=plain", "--yes", expect=2)
    assert "that is no reference" in ran.err and "plain" not in ran.err and "remit.toml:" not in ran.err
    made.remit("packs", "enable", "tide", "--secret", "token=env:TOKEN", "--yes")
