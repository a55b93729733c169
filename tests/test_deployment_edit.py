"""Editing `remit.toml`: comments, order and line ends stay, and what cannot be edited is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remit.deployment.edit import Key, edited_pack, planned_files, write_files
from remit.deployment.files import read_files
from remit.deployment.load import parse_config
from remit.errors import DeploymentError
from remit.packs.lock import Lock

PATH = Path("remit.toml")
TEXT = """\
policy = 1  # the form

# weather is for the trip
[packs.weather]  # ours
enabled = false  # until May
grant.net = ["a.example:443"]

[packs.weather.settings]
endpoint = "a.example:443"  # inside

[[rule]]  # last
id = "x"
verdict = "deny"
"""


def edit(text: str, values: dict[Key, Any], pack: str = "weather") -> str:
    return edited_pack(text, pack, values, PATH)


def test_only_what_is_meant_changes() -> None:
    edited = edit(TEXT, {("enabled",): True, ("settings", "endpoint"): "b.example:443"})
    assert edited == TEXT.replace("enabled = false", "enabled = true").replace(
        'endpoint = "a.example:443"', 'endpoint = "b.example:443"'
    )


def test_a_new_pack_is_written_at_the_end() -> None:
    edited = edit(TEXT, {("enabled",): True, ("grant", "fs", "read"): ["${workspace}/**"]}, "files")
    assert edited.startswith(TEXT)
    assert edited.endswith('[packs.files]\nenabled = true\ngrant.fs.read = ["${workspace}/**"]\n')
    assert edit("policy = 1", {("enabled",): True}) == "policy = 1\n\n[packs.weather]\nenabled = true\n"


def test_dotted_keys_are_added_and_removed() -> None:
    values: dict[Key, Any] = {("grant", "net"): None, ("grant", "fs", "read"): [], ("grant", "fs", "write"): []}
    config = parse_config(edit(TEXT, values), PATH).packs["weather"]
    assert config.grant.given() == {"fs.read": (), "fs.write": ()}
    again = parse_config(edit(edit(TEXT, values), dict.fromkeys(values)), PATH).packs["weather"]
    assert again.grant.given() == {}


def test_another_spelling_of_the_pack_is_kept() -> None:
    text = TEXT.replace("packs.weather", "packs.Wea-Ther")
    edited = edit(text, {("enabled",): True}, "wea_ther")
    assert edited == text.replace("enabled = false", "enabled = true")


@pytest.mark.parametrize(
    "text",
    [
        'policy = 1\npacks = { weather = { enabled = false, grant = { net = ["a.example:1"] } } }\n',
        "policy = 1\n[packs]\nweather.enabled = false\n",
        "policy = 1\n[packs]\nweather = { enabled = false }\n",
        "policy = 1\n[packs.weather.grant]\nnet = []\n[packs.weather]\nenabled = false\n",
        "policy = 1\n[packs.weather]\nenabled = false\ngrant = { fs = { read = [] } }\n",
    ],
)
def test_other_ways_to_write_a_table_are_edited_or_refused_but_never_bent(text: str) -> None:
    values: dict[Key, Any] = {("enabled",): True, ("grant", "fs", "read"): ["${workspace}/a"]}
    before = parse_config(text, PATH)
    try:
        after = parse_config(edit(text, values), PATH)
    except DeploymentError as error:
        assert "[packs.weather]" in error.remedy
        return
    assert after.packs["weather"].enabled
    assert after.packs["weather"].grant.fs.read == ("${workspace}/a",)
    assert after.packs["weather"].grant.net == before.packs["weather"].grant.net


KEYS: list[Key] = [
    ("skills",),
    ("grant", "net"),
    ("grant", "fs", "read"),
    ("grant", "fs", "write"),
    ("settings", "endpoint"),
]
VALUE = st.lists(st.text(max_size=8), max_size=3)


@settings(deadline=None)
@given(st.lists(st.tuples(st.sampled_from(KEYS), st.none() | VALUE), max_size=6), st.booleans())
def test_any_sequence_of_edits_says_what_was_meant(steps: list[tuple[Key, Any]], enabled: bool) -> None:
    text = edit(TEXT, {("enabled",): enabled})
    for key, value in steps:
        text = edit(text, {key: value})
    assert parse_config(text, PATH).packs["weather"].enabled is enabled
    assert text.count("#") >= TEXT.count("#") - 2
    assert parse_config(text, PATH).rules == parse_config(TEXT, PATH).rules


def test_windows_line_ends_stay(tmp_path: Path) -> None:
    path = tmp_path / "remit.toml"
    path.write_bytes(TEXT.replace("\n", "\r\n").encode())
    files = read_files(tmp_path)
    write_files(files, edit(files.config.text, {("enabled",): True}), Lock())
    assert path.read_bytes() == TEXT.replace("enabled = false", "enabled = true").replace("\n", "\r\n").encode()


def test_files_that_changed_meanwhile_are_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "remit.toml"
    path.write_text(TEXT)
    files = read_files(tmp_path)
    text = edit(files.config.text, {("enabled",): True})
    path.write_text(TEXT + "# mine\n")
    with pytest.raises(DeploymentError, match="changed meanwhile"):
        write_files(files, text, Lock())
    assert path.read_text() == TEXT + "# mine\n"
    path.write_text(TEXT)
    write_files(files, text, Lock())
    assert path.read_text() == text
    assert planned_files(read_files(tmp_path), text, Lock()).digest == read_files(tmp_path).digest
