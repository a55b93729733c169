"""Plain words and proposed grants."""

from __future__ import annotations

import tomllib
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from remit.packs.manifest import parse_manifest
from remit.packs.permissions import NOTHING, Permission
from remit.packs.words import explain_in_words, explain_skill, grant_lines, propose_grant

MANIFEST = parse_manifest(
    b"""\
manifest = 1
[pack]
name = "tide"
[settings]
host = "api.example:443"
[permissions]
net = ["${setting.host}", "*.other.example:443"]
secrets = ["key"]
fs.read = ["${workspace}/**"]
fs.write = ["${workspace}/out/**"]
exec = ["git"]
[[skill]]
name = "look"
handler = "tide_pack:look"
effect = "read"
uses = ["net:${setting.host}"]
[[skill]]
name = "save"
handler = "tide_pack:save"
effect = "read"
impact = ["destroy"]
uses = ["fs.write"]
[[skill]]
name = "think"
handler = "tide_pack:think"
""",
    Path("pack.toml"),
)


def test_what_is_allowed_is_said_gravest_first() -> None:
    words = explain_in_words(
        Permission.parse(
            {
                "fs": {"read": ["/**", "${data}/**", "/etc/hosts"], "write": ["${workspace}/out/**"]},
                "net": ["*:443"],
                "secrets": ["key"],
                "exec": ["git"],
                "env": ["LANG"],
                "shm": True,
                "limits": {"memory": "1GiB"},
            }
        )
    )
    assert words[0].startswith("may run the program git")
    assert words[1] == "may change everything in out (in the workspace)"
    assert "ANY host on port 443" in words[2]
    assert "EVERY file" in " ".join(words)
    assert words[-1] == "has a limit of its own: memory 1024 MiB"
    assert explain_in_words(NOTHING) == ["has no right beyond computing: no files, no network, no programs, no secrets"]
    assert explain_in_words(Permission(net=("*.a.example:1",))) == [
        "may connect to every host under a.example on port 1"
    ]
    assert explain_in_words(Permission(fs_read=("${data}/notes/a.txt", "/srv/**", "${workspace}/**"))) == [
        "may read the file notes/a.txt (in the pack's own data folder)",
        "may read everything in /srv",
        "may read the workspace and everything in it",
    ]


def test_what_cannot_be_verified_is_said_once() -> None:
    words = explain_skill(MANIFEST, "look")
    assert words[:2] == [
        "external: acts on the world outside",
        "it declares read, which cannot be verified: it reaches the network "
        '(accept_read = ["look"] would take it as read)',
    ]
    accepted = explain_skill(MANIFEST, "look", accept_read=True)
    assert accepted[0] == "read as it declares, which cannot be verified: it reaches the network"
    assert len(accepted) == len(words) - 1


def test_a_skill_is_described_with_what_it_is_given() -> None:
    asked = MANIFEST.permission()
    less = Permission.granted({"net": []}, asked)
    assert "may connect to api.example on port 443" in explain_skill(MANIFEST, "look", grant=asked)
    assert explain_skill(MANIFEST, "look", grant=less)[0] == "read: changes nothing"
    assert not any("connect" in line for line in explain_skill(MANIFEST, "look", grant=less))


def test_impact_and_understated_effects_are_said() -> None:
    words = explain_skill(MANIFEST, "save", accept_read=True)
    assert words[:3] == [
        "write: changes files of the deployment",
        "says that it is read, and its rights imply write",
        "can destroy something",
    ]
    assert explain_skill(MANIFEST, "think")[0] == "external: acts on the world outside"


def test_the_proposed_grant_leaves_out_what_no_skill_uses() -> None:
    grant = propose_grant(MANIFEST)
    assert grant == Permission(net=("api.example:443",), fs_write=("${workspace}/out/**",))
    assert propose_grant(MANIFEST, skills=["think"]) == NOTHING
    moved = MANIFEST.settings_with({"host": "inside.example:8443"})
    assert propose_grant(MANIFEST, moved, skills=["look"]).net == ("inside.example:8443",)
    assert grant.within(MANIFEST.permission())


@given(st.lists(st.sampled_from(["look", "save", "think"])))
def test_grant_lines_give_the_grant(skills: list[str]) -> None:
    asked = MANIFEST.permission()
    grant = propose_grant(MANIFEST, skills=skills)
    table = tomllib.loads("\n".join(grant_lines(grant, asked)))
    assert Permission.granted(table.get("grant"), asked) == grant


def test_grant_lines_write_only_what_differs() -> None:
    asked = Permission.parse({"net": ["h:1"], "shm": True, "limits": {"memory": "2GiB", "cpu": 2.5}})
    assert grant_lines(asked, asked) == []
    less = Permission.parse({"net": ["h:1"], "limits": {"cpu": 1.5}})
    lines = grant_lines(less, asked)
    assert lines == ["grant.shm = false", "grant.limits.cpu = 1.5", f"grant.limits.memory = {512 * 1024 * 1024}"]
    assert Permission.granted(tomllib.loads("\n".join(lines))["grant"], asked) == less


def test_writing_into_what_is_its_own_is_said_of_a_skill_that_reads() -> None:
    table = """\
manifest = 1
[pack]
name = "notes"
[permissions]
fs.write = ["${data}/**"]
[[skill]]
name = "keep"
handler = "notes_pack:keep"
effect = "read"
uses = ["fs.write"]
[[skill]]
name = "look"
handler = "notes_pack:look"
effect = "read"
uses = []
"""
    notes = parse_manifest(table.encode(), Path("pack.toml"))
    assert explain_skill(notes, "keep") == [
        "read: changes nothing but what is the pack's own",
        "may change the pack's own data folder and everything in it",
    ]
    assert explain_skill(notes, "look")[0] == "read: changes nothing"
    elsewhere = parse_manifest(table.replace("${data}", "${workspace}").encode(), Path("pack.toml"))
    assert explain_skill(elsewhere, "keep")[0] == "write: changes files of the deployment"
