"""`remit audit`: the permission matrix on the screen and as JSON."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path

import pytest

from tests.command import remit
from tests.in_process import Here
from tests.packaging import build_site


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Here:
    made = Here(place=tmp_path_factory.mktemp("audit"))
    made.folder.mkdir()
    build_site(made.place, "good").rename(made.site)
    made.make("good", "files", "weather")
    arguments = ("--skills", "read_file,write_file,delete_file", "--grant", "fs.read=${workspace}/docs/**")
    made.remit("packs", "enable", "files", *arguments, "--grant", "fs.write=${workspace}/docs/**", "--yes")
    return made


def block(shown: str, skill: str) -> str:
    """Return the lines of one skill."""
    lines = shown.splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith(skill + " "))
    end = next((n for n in range(start + 1, len(lines)) if not lines[n].startswith(" ")), len(lines))
    return "\n".join(lines[start:end])


def test_it_fits_a_screen_and_says_everything_once(place: Here) -> None:
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


def test_json_has_every_column(place: Here) -> None:
    told = place.remit("audit", "--json").json
    assert {"skills", "problems", "reach", "unused", "accepted_by", "accepted_at", "findings"} <= set(told)
    row = next(row for row in told["skills"] if row["skill"] == "files.delete_file")
    assert row["permission"]["fs.write"] == ["${workspace}/**"]
    assert row["grant"]["fs.write"] == row["right"]["fs.write"] == ["${workspace}/docs/**"]
    assert (row["effect"], row["impact"], row["verdict"]) == ("write", ["destroy"], "ask")
    assert row["enforcement"]


def test_read_only_withdraws_what_writes(place: Here) -> None:
    shown = place.remit("audit", "--read-only").out
    assert "(read-only)" in shown
    rows = place.remit("audit", "--read-only=strict", "--json").json["skills"]
    assert all("fs.write" not in row["right"] for row in rows)
    weather = next(row for row in rows if row["skill"] == "weather.get_weather")
    assert weather["grant"]["net"] and "net" not in weather["right"]
    assert "in this mode:" in block(place.remit("audit", "--read-only=strict").out, "weather.get_weather")


def test_a_rule_that_may_speak_is_named(place: Here) -> None:
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
    made = Here(place=tmp_path_factory.mktemp("none")).make()
    ran = remit("audit", folder=made.folder, environment={"REMIT_STATE": str(made.place / "state")})
    assert "No skill can be called. `remit packs list` shows what is installed." in ran.out


def test_the_skill_that_lives_in_the_host_is_shown_as_not_confined(tmp_path: Path) -> None:
    made = Here(place=tmp_path).make("calc")
    rows = {row["skill"]: row for row in made.remit("audit", "--json").json["skills"]}
    assert rows["remit.read_result"]["confined"] is False
    assert rows["calc.evaluate"]["confined"] is True
    host = made.remit("audit").out.partition("remit.read_result")[2]
    assert "host" in host and "not confined" in host


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Here:
    made = Here(place=tmp_path_factory.mktemp("audited"))
    made.folder.mkdir()
    build_site(made.place, "good").rename(made.site)
    made.make("files", "good")
    made.remit("packs", "grant", "files", "fs.read=${workspace}/docs/**", "--yes")
    (made.folder / "workspace" / "docs").mkdir()
    (made.folder / "workspace" / "docs" / "a.txt").write_text("hello")
    made.remit("call", "files.read_file", '{"path": "docs/a.txt"}')
    return made


def test_it_says_what_can_be_reached_through_what_and_what_was_used(here: Here) -> None:
    shown = here.remit("audit").out
    assert "it can reach" in shown and "fs.read: ${workspace}/docs/**" in shown
    told = here.remit("audit", "--json").json
    docs = next(one for one in told["reach"] if one["entry"] == "${workspace}/docs/**")
    assert "files.read_file" in docs["skills"] and docs["calls"] == 1
    use = {row["skill"]: row["use"] for row in told["skills"]}
    assert use["files.read_file"]["calls"] == 1 and use["files.read_file"]["last"]
    assert use["good.add"]["calls"] == 0 and not use["good.add"]["last"]
    assert "good.add" in told["unused"] and "files.read_file" not in told["unused"]
    assert "remit packs disable good.add" in shown and "remit packs disable files.read_file" not in shown
    assert here.remit("audit", "--usage", "0.0000001", "--json").json["unused"].count("files.read_file") == 1
    assert here.remit("audit", "--usage", "0", expect=2).err


def test_it_says_who_allowed_what_and_when(here: Here) -> None:
    told = here.remit("audit", "--json").json
    use = {row["skill"]: row["use"] for row in told["skills"]}
    assert all(one["allowed_by"] for name, one in use.items() if name != "remit.read_result")
    before = use["files.read_file"]["allowed_at"]
    here.remit("packs", "disable", "good.wipe")
    here.remit("packs", "enable", "good.wipe", "--yes")
    after = {row["skill"]: row["use"] for row in here.remit("audit", "--json").json["skills"]}
    assert after["files.read_file"]["allowed_at"] == before
    assert after["good.wipe"]["allowed_at"] >= use["good.wipe"]["allowed_at"]
    changed = here.remit("log", "list", "--event", "policy.changed", "--json").json
    assert changed[-1]["body"]["allowed"] == ["good.wipe"] and changed[-2]["body"]["withdrawn"] == ["good.wipe"]
    assert "allowed by" in here.remit("audit").out


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["files.read_file", "fs.read", "docs/a.txt"], 0, "remit_files/pack.toml:"),
        (["files__read_file", "fs.read", "${workspace}/docs/a.txt"], 0, "the deployment gives ${workspace}/docs/**"),
        (["files.read_file", "fs.read", "b.txt"], 1, "the deployment gives less: ${workspace}/docs/**"),
        (["files.read_file", "fs.read", "/etc/passwd"], 1, "it does not ask for it"),
        (["files.read_file", "net", "evil.example:443"], 1, "under net it asks for nothing"),
        (["files.write_file", "fs.write", "x.txt"], 0, "does not exist now"),
        (["files.read_file", "fs.read", "workspace/top.txt"], 1, "paths start at the workspace"),
        (["files.rd", "fs.read", "x"], 1, "did you mean"),
        (["files.read_file", "shm", "x"], 2, "no permission"),
        (["files.read_file", "fs.read", "a\x01b"], 2, "no path pattern"),
    ],
)
def test_one_cell_is_explained_with_the_lines_that_say_so(
    here: Here, arguments: list[str], code: int, said: str
) -> None:
    told = here.remit("audit", "--why", *arguments, expect=code)
    assert said in told.out + told.err


def test_an_explanation_names_line_verdict_person_and_remedy(here: Here) -> None:
    told = here.remit("audit", "--why", "files.read_file", "fs.read", "b.txt", "--json", expect=1).json
    steps = {step["what"]: step for step in told["steps"]}
    line = next(n for n, text in enumerate(here.config.splitlines(), start=1) if text.startswith("grant.fs.read"))
    assert steps["grant"]["where"] == f"remit.toml:{line}" and steps["grant"]["allows"] is False
    assert steps["accepted"]["line"].startswith("allowed by ") and steps["verdict"]["line"].startswith("a call: allow")
    assert told["remedy"] == "remit packs grant files 'fs.read=${workspace}/docs/**,${workspace}/b.txt'"
    link = here.folder / "workspace" / "docs" / "out"
    link.symlink_to("/etc/hostname")
    out = here.remit("audit", "--why", "files.read_file", "fs.read", "docs/out", expect=1).out
    assert "no granted folder holds it, so the kernel refuses" in out
    link.unlink()
    mode = here.remit("audit", "--read-only", "--why", "files.write_file", "fs.write", "x.txt", expect=1)
    assert "read-only mode takes it away" in mode.out


def test_what_was_switched_off_is_named_with_what_restores_it(here: Here) -> None:
    why = ("audit", "--why", "files.read_file", "fs.read", "docs/a.txt")
    for name, told in ((("files",), "kill files --restore"), ((), "kill --restore")):
        here.remit("kill", *name)
        try:
            assert here.remit(*why, "--json", expect=1).json["remedy"] == f"remit {told}"
        finally:
            here.remit("kill", "--restore")


def test_ci_can_fail_on_each_kind(here: Here) -> None:
    assert here.remit("audit", "--fail-on", "widened,unlocked").out
    found = here.remit("audit", "--fail-on", "impact,unused", expect=1).err
    assert "impact: files.delete_file can be called and has the impact destroy (ask)" in found
    assert "unused: good.add was not used in 30 days" in found
    kinds = here.remit("audit", "--fail-on", "impact", "--json", expect=1).json["findings"]
    assert {one["kind"] for one in kinds} == {"impact"}
    assert "there are widened, unlocked" in here.remit("audit", "--fail-on", "odd", expect=2).err
    manifest = here.site / "remit_test_good" / "pack.toml"
    before = manifest.read_text()
    manifest.write_text(before.replace('effect = "write"', 'effect = "read"', 1))
    changed = here.remit("audit", "--fail-on", "widened,unlocked", expect=1).err
    assert "widened: pack good: skill" in changed and "declares read, it was write" in changed
    assert "unlocked: pack good: it differs from remit.lock" in changed
    manifest.write_text(before)
    text = here.config
    here.edit('write = "ask"', 'write = "allow"')
    assert "widened: the deployment" in here.remit("audit", "--fail-on", "widened", expect=1).err
    here.remit("audit", "--fail-on", "impact", expect=4)
    (here.folder / "remit.toml").write_text(text)


class Outline(HTMLParser):
    """Collects tags and attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs


def test_the_page_needs_nothing_else_and_escapes_everything(here: Here) -> None:
    target = here.place / "audit.html"
    here.remit("kill", "good", "--reason", "<script>alert(1)</script>\u202e")
    assert "wrote" in here.remit("audit", "--html", str(target)).out
    markdown = here.remit("audit", "--markdown").out
    here.remit("kill", "--restore")
    text = target.read_text()
    outline = Outline()
    outline.feed(text)
    assert not {"script", "link", "img", "iframe", "a", "form"} & set(outline.tags)
    assert not [name for name, _ in outline.attributes if name in ("src", "href") or name.startswith("on")]
    assert "&lt;script&gt;" in text and "\u202e" not in text and "prefers-color-scheme: dark" in text
    assert "default-src &#x27;none&#x27;" in text
    for told in ("files.read_file", "${workspace}/docs/**", "remit packs disable good.add", "allowed by"):
        assert told in text
    assert "\\<script\\>" in markdown and "| files.read\\_file |" in markdown
    assert here.remit("audit", "--html", str(here.place / "no" / "x.html"), expect=2).err
