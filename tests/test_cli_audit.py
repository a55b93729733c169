"""`remit audit`: the permission matrix on the screen and as JSON."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.command import Home, home


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Home:
    made = home(tmp_path_factory.mktemp("audit"), "good", "files", "weather", fixtures=("good",))
    arguments = ("--skills", "read_file,write_file,delete_file", "--grant", "fs.read=${workspace}/docs/**")
    made.remit("packs", "enable", "files", *arguments, "--grant", "fs.write=${workspace}/docs/**", "--yes")
    return made


def block(shown: str, skill: str) -> str:
    """Return the lines of one skill."""
    lines = shown.splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith(skill + " "))
    end = next((n for n in range(start + 1, len(lines)) if not lines[n].startswith(" ")), len(lines))
    return "\n".join(lines[start:end])


def test_it_fits_a_screen_and_says_everything_once(place: Home) -> None:
    shown = place.remit("audit").out
    assert max(map(len, shown.splitlines()[1:])) <= 110
    delete = block(shown, "files.delete_file")
    assert "write" in delete and "destroy" in delete and "ask" in delete and "(impact destroy)" in delete
    assert delete.count("fs.write: ${workspace}/docs/**") == 1
    assert "fs.write: ${workspace}/**" in delete and "given:" in delete
    assert block(shown, "good.add").count("nothing") == 1
    assert "read*" in block(shown, "weather.get_weather")
    networked = block(shown, "weather.get_weather")
    assert ("broker" in networked or "NOT ENFORCED" in networked) and "broker" not in block(shown, "good.add")


def test_json_has_every_column(place: Home) -> None:
    told = place.remit("audit", "--json").json
    assert set(told) == {"skills", "problems"}
    row = next(row for row in told["skills"] if row["skill"] == "files.delete_file")
    assert row["permission"]["fs.write"] == ["${workspace}/**"]
    assert row["grant"]["fs.write"] == row["right"]["fs.write"] == ["${workspace}/docs/**"]
    assert (row["effect"], row["impact"], row["verdict"]) == ("write", ["destroy"], "ask")
    assert row["enforcement"]


def test_read_only_withdraws_what_writes(place: Home) -> None:
    shown = place.remit("audit", "--read-only").out
    assert "(read-only)" in shown
    rows = place.remit("audit", "--read-only=strict", "--json").json["skills"]
    assert all("fs.write" not in row["right"] for row in rows)
    weather = next(row for row in rows if row["skill"] == "weather.get_weather")
    assert weather["grant"]["net"] and "net" not in weather["right"]
    assert "in this mode:" in block(place.remit("audit", "--read-only=strict").out, "weather.get_weather")


def test_a_rule_that_may_speak_is_named(place: Home) -> None:
    path = place.folder / "remit.toml"
    before = path.read_text()
    rule = 'id = "read"\nverdict = "deny"\nmatch = { skill = "files.read_file" }\n'
    path.write_text(f'{before}\n[[rule]]\n{rule}unless = {{ arguments = {{ path = {{ eq = "a.txt" }} }} }}\n')
    place.remit("trust", "--yes")
    shown = block(place.remit("audit").out, "files.read_file")
    assert "(default read)" in shown and "may vary: rule read" in shown
    path.write_text(before)
    place.remit("trust", "--yes")


def test_without_skills_it_says_where_to_look(tmp_path_factory: pytest.TempPathFactory) -> None:
    ran = home(tmp_path_factory.mktemp("none")).remit("audit")
    assert "No skill can be called. `remit packs list` shows what is installed." in ran.out


def test_the_skill_that_lives_in_the_host_is_shown_as_not_confined(tmp_path: Path) -> None:
    made = home(tmp_path, "calc")
    rows = {row["skill"]: row for row in made.remit("audit", "--json").json["skills"]}
    assert rows["remit.read_result"]["confined"] is False
    assert rows["calc.evaluate"]["confined"] is True
    host = made.remit("audit").out.partition("remit.read_result")[2]
    assert "host" in host and "not confined" in host
