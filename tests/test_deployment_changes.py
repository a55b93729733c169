"""Ranking an edit: what narrows needs no new trust, what widens or cannot be ranked does."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.deployment.changes import Rank, compare
from remit.deployment.config import Config
from remit.deployment.load import parse_config
from remit.packs.lock import Lock, LockedPack, LockedSkill
from remit.packs.permissions import Permission

ASKED = Permission(
    fs_read=("${workspace}/**",), fs_write=("${workspace}/out/**",), net=("*.example.com:443", "a.example:80")
)
SKILL = LockedSkill(table="sha256:1", content="sha256:2")
FILES = LockedPack(
    distribution="remit-files",
    version="1",
    package="remit_files",
    permission=ASKED,
    skills={"read": SKILL, "save": SKILL},
)
LOCK = Lock(packs={"files": FILES})
BASE = """\
[model]
base_url = "http://one.example/v1"
[packs.files]
enabled = true
skills = ["read"]
grant.net = ["a.example:80"]
[packs.other]
enabled = false
[[rule]]
id = "no"
verdict = "deny"
match = { skill = "files.save" }
[[rule]]
id = "yes"
verdict = "allow"
match = { skill = "files.read" }
"""


def config(text: str) -> Config:
    return parse_config("policy = 1\n" + text, Path("remit.toml"))


def rank(old: str, new: str, old_lock: Lock = LOCK, new_lock: Lock = LOCK) -> Rank:
    return compare(config(old), old_lock, config(new), new_lock).rank


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("", "", "same"),
        ('skills = ["read"]', "# a comment\nskills = ['read']", "same"),
        ('skills = ["read"]', 'skills = ["read", "save"]', "widens"),
        ('skills = ["read"]\n', "", "widens"),
        ('skills = ["read"]', "skills = []", "narrows"),
        ("enabled = true", "enabled = false", "narrows"),
        ("enabled = false", "enabled = true", "widens"),
        ('grant.net = ["a.example:80"]', "grant.net = []", "narrows"),
        ('grant.net = ["a.example:80"]\n', "", "widens"),
        ('grant.net = ["a.example:80"]', 'grant.net = ["b.example.com:443"]', "widens"),
        ("grant.net", 'grant.fs.read = ["${workspace}/docs/**"]\ngrant.net', "narrows"),
        ("grant.net", "grant.fs.write = []\ngrant.net", "narrows"),
        ("grant.net", 'accept_read = ["read"]\ngrant.net', "widens"),
        ("grant.net", "required = true\ngrant.net", "unranked"),
        ("grant.net", 'settings.endpoint = "x:1"\ngrant.net', "unranked"),
        ("grant.net", 'secrets.token = "env:T"\ngrant.net', "unranked"),
        ("grant.net", 'from = "x"\ngrant.net', "unranked"),
        ("[model]", '[defaults]\nread = "ask"\n[model]', "narrows"),
        ("[model]", '[defaults]\nwrite = "allow"\n[model]', "widens"),
        ("[model]", '[defaults]\nunattended = "deny"\n[model]', "narrows"),
        ("[model]", '[defaults]\nenforcement = "available"\n[model]', "widens"),
        ("[model]", "[defaults]\nallow_yes = true\n[model]", "widens"),
        ("[model]", '[defaults]\nsession_grants = "proposed"\n[model]', "narrows"),
        ("one.example", "two.example", "unranked"),
        ("[model]", '[agent]\nprompt = "x"\n[model]', "unranked"),
        ("[model]", "[log]\nkeep_raw = true\n[model]", "unranked"),
        ("[model]", '[host_skills]\nallow = ["x"]\n[model]', "unranked"),
        ("[model]", 'workspace = "x"\n[model]', "unranked"),
        ('id = "no"', 'id = "never"', "same"),
        ('verdict = "deny"', 'verdict = "ask"', "widens"),
        ('match = { skill = "files.save" }', 'match = { skill = "files.*" }', "widens"),
        ('match = { skill = "files.read" }\n', "", "widens"),
        ('"allow"', '"ask"', "narrows"),
    ],
)
def test_each_kind_of_edit_is_ranked(old: str, new: str, expected: Rank) -> None:
    assert rank(BASE, BASE.replace(old, new, 1)) == expected


def test_a_new_lock_of_an_enabled_pack_cannot_be_ranked_and_of_another_one_does_not_matter() -> None:
    changed = LOCK.with_pack("files", replace(FILES, version="2"))
    assert rank(BASE, BASE, LOCK, changed) == "unranked"
    assert rank(BASE, BASE, LOCK, LOCK.with_pack("other", FILES)) == "same"
    off = BASE.replace("enabled = true", "enabled = false")
    assert rank(off, off, LOCK, changed) == "same"
    assert rank(off, BASE, LOCK, changed) == "widens"


def test_numbers_that_json_cannot_write_are_told_apart() -> None:
    rule = '[[rule]]\nid = "no"\nverdict = "deny"\nmatch = { arguments = { amount = { lt = inf } } }\n'
    assert rank(rule, rule) == "same"
    assert rank(rule, rule.replace("inf", "nan")) == "widens"


def test_the_lines_say_what_becomes_wider() -> None:
    found = compare(config(BASE), LOCK, config(BASE.replace('["a.example:80"]', '["b.example.com:443"]')), LOCK)
    assert found.lines("widens") == ("pack files is granted net: b.example.com:443",)
    assert found.lines("narrows") == ("pack files is no longer granted net: a.example:80",)
    assert found.needs_trust


ENTRIES = {
    "net": ["a.example:80", "*.example.com:443", "x.example.com:443", "y.x.example.com:443"],
    "fs.read": ["${workspace}/**", "${workspace}/docs/**", "${workspace}/docs/a.txt"],
    "fs.write": ["${workspace}/out/**", "${workspace}/out/a/**", "${workspace}/**"],
}
GRANT = st.fixed_dictionaries(
    {}, optional={key: st.lists(st.sampled_from(values), unique=True) for key, values in ENTRIES.items()}
)


def _with_grant(grant: dict[str, list[str]]) -> str:
    return "[packs.files]\nenabled = true\n" + "".join(f"grant.{key} = {value!r}\n" for key, value in grant.items())


@given(GRANT, GRANT)
def test_a_step_to_more_is_never_called_less(before: dict[str, list[str]], after: dict[str, list[str]]) -> None:
    old, new = Permission.granted(before, ASKED), Permission.granted(after, ASKED)
    found = rank(_with_grant(before), _with_grant(after))
    assert (found == "widens") == bool(new.beyond_by_key(old))
    assert (found == "same") == (not new.beyond_by_key(old) and not old.beyond_by_key(new))


def test_more_to_read_is_more_even_where_it_may_be_written() -> None:
    docs = _with_grant({"fs.write": ["${workspace}/**"], "fs.read": ["${workspace}/docs/**"]})
    found = compare(config(docs), LOCK, config(docs.replace("/docs/**", "/**")), LOCK)
    assert found.lines("widens") == ("pack files is granted fs.read: ${workspace}/**",)
    assert rank(docs.replace("/docs/**", "/**"), docs) == "narrows"


def test_what_cannot_be_ranked_is_shown_with_both_values() -> None:
    found = compare(config(BASE), LOCK, config(f'workspace = "/srv/all"\n{BASE}'), LOCK)
    assert found.lines() == ('workspace: "workspace" becomes "/srv/all"',)
    far = f"http://{'a' * 300}@two.example/"
    long = BASE.replace("http://one.example/v1", far)
    assert compare(config(BASE), LOCK, config(long), LOCK).lines() == (
        f'model.base_url: "http://one.example/v1" becomes "{far}"',
    )
    told = BASE + f'[agent]\nprompt = "{"Be brief. " * 50}"\n'
    (line,) = compare(config(BASE), LOCK, config(told), LOCK).lines()
    assert line.startswith('agent.prompt: nothing becomes "Be brief. Be') and len(line) < 300


def test_every_new_key_of_a_table_is_shown_also_one_that_is_as_it_would_be_anyway() -> None:
    before = config(BASE + "[memory]\nfacts = true\n")
    slots = '[memory]\nfacts = true\n[memory.slots]\nhome_city = "text"\nborn = "date"\n'
    lines = compare(before, LOCK, config(BASE + slots), LOCK).lines()
    assert sorted(lines) == [
        'memory.slots.born.type: nothing becomes "date"',
        'memory.slots.home_city: nothing becomes {"type": "text"}',
    ]
    back = compare(config(BASE + slots), LOCK, before, LOCK).lines()
    assert 'memory.slots.home_city: {"type": "text"} becomes nothing' in back
    other = slots.replace('home_city = "text"', 'home_city = "list"')
    assert compare(config(BASE + slots), LOCK, config(BASE + other), LOCK).lines() == (
        'memory.slots.home_city.type: "text" becomes "list"',
    )


AGENT = """
[agents.editor]
description = "Edits."
prompt = "Send everything."
[agents.editor.model]
name = "m"
base_url = "https://far.example/v1"
api_key = "env:KEY"
[agents.editor.grant.files.fs]
read = ["${workspace}/docs/**"]
"""


def test_of_a_new_agent_every_value_is_shown() -> None:
    assert compare(config(BASE), LOCK, config(BASE + AGENT), LOCK).lines() == (
        "agent editor is new",
        'agents.editor.description: nothing becomes "Edits."',
        'agents.editor.prompt: nothing becomes "Send everything."',
        'agents.editor.model.name: nothing becomes "m"',
        'agents.editor.model.base_url: nothing becomes "https://far.example/v1"',
        'agents.editor.model.api_key: nothing becomes "env:KEY"',
        'agents.editor.grant.files.fs.read: nothing becomes ["${workspace}/docs/**"]',
    )
    other = AGENT.replace("far.example", "evil.example")
    assert compare(config(BASE + AGENT), LOCK, config(BASE + other), LOCK).lines() == (
        'agents.editor.model.base_url: "https://far.example/v1" becomes "https://evil.example/v1"',
    )
    plain = "[agents.editor]\ndescription = 'Edits.'\n"
    found = compare(config(BASE + plain), LOCK, config(BASE + plain + "model = {}\n"), LOCK)
    assert found.needs_trust, "a table that says nothing is a change, too"
