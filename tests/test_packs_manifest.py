"""Manifests: a closed vocabulary, errors that name file, key and the nearest known key."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.errors import DeploymentError, ManifestError
from remit.packs.discovery import discover
from remit.packs.manifest import (
    LARGEST,
    Manifest,
    manifest_json_schema,
    parse_manifest,
    read_manifest,
    read_pack_manifest,
)
from tests.dist_info import write_pack
from tests.packaging import PLACES

WEATHER = """\
manifest = 1
[pack]
name = "weather"
summary = "Current weather"
requires_remit = ">=0.1"

[settings]
endpoint = "api.example.com:443"
mirrors = ["a.example:443", "b.example:443"]
port = 8443
tls = true

[permissions]
net = ["${setting.endpoint}", "${setting.mirrors}", "host.example:${setting.port}"]
secrets = ["api_key"]
fs.read = ["${workspace}/**"]
limits.memory = "1GiB"

[[skill]]
name = "get_weather"
handler = "remit_weather.skills:get_weather"
effect = "read"
uses = ["net:${setting.endpoint}"]
after = "remit_weather.skills:remember"
timeout = 10
idempotent = true
cache = 60.5
targets = { city = "address" }
examples = [{ question = "Weather in Oulu?", arguments = { city = "Oulu" } }]
limits.memory = "64MiB"

[[skill]]
name = "forecast"
handler = "remit_weather.skills:forecast"
uses = ["net", "secrets"]
undo = "get_weather"
"""

SIX_LINES = """\
manifest = 1
[pack]
name = "tiny"
[[skill]]
name = "run"
handler = "tiny_pack:run"
"""

HERE = Path("pack.toml")


def _read(text: str, package: str | None = None) -> Manifest:
    return parse_manifest(text.encode(), HERE, package=package)


def _refused(text: str, package: str | None = None) -> str:
    with pytest.raises(ManifestError) as caught:
        _read(text, package)
    assert str(caught.value).startswith("pack.toml: ")
    return str(caught.value)


def test_the_design_example_is_read() -> None:
    manifest = _read(WEATHER, "remit_weather")
    skill = manifest.skills["get_weather"]
    assert (manifest.name, manifest.summary) == ("weather", "Current weather")
    assert (skill.effect, skill.timeout, skill.cache, skill.isolation) == ("read", 10, 60.5, "auto")
    assert manifest.skills["forecast"].effect == "external"
    assert manifest.digest.startswith("sha256:")
    assert manifest.tables["get_weather"] != manifest.tables["forecast"]


def test_six_lines_are_enough() -> None:
    manifest = _read(SIX_LINES)
    assert manifest.permission().words() == {}
    assert manifest.skills["run"].effect == "external"


def test_settings_are_filled_into_permissions() -> None:
    manifest = _read(WEATHER)
    assert manifest.permission().net == ("a.example:443", "api.example.com:443", "b.example:443", "host.example:8443")
    moved = manifest.settings_with({"endpoint": "localhost:8080", "mirrors": [], "port": 1})
    assert manifest.permission(moved).net == ("host.example:1", "localhost:8080")
    assert manifest.skill_permission("get_weather", moved).net == ("localhost:8080",)
    assert manifest.settings["endpoint"] == "api.example.com:443"


def test_a_skill_gets_what_it_uses() -> None:
    manifest = _read(WEATHER)
    one = manifest.skill_permission("get_weather")
    assert one.words() == {"net": ("api.example.com:443",), "limits": (f"memory={64 * 1024 * 1024}",)}
    two = manifest.skill_permission("forecast")
    assert two.secrets == ("api_key",)
    assert two.fs_read == ()
    assert two.limits == {"memory": 1024.0**3}
    assert all(manifest.skill_permission(name).within(manifest.permission()) for name in manifest.skills)


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        ({"endpiont": "x:1"}, "did you mean endpoint"),
        ({"endpoint": 1}, "of the type of its default, a text"),
        ({"tls": "yes"}, "true or false"),
        ({"port": True}, "a whole number"),
        ({"mirrors": "a:1"}, "a list of texts"),
        ({"mirrors": [1]}, "a list of texts"),
    ],
)
def test_overrides_that_are_refused(overrides: dict[str, Any], message: str) -> None:
    with pytest.raises(DeploymentError, match=message):
        _read(WEATHER).settings_with(overrides)


def test_a_setting_that_makes_no_pattern_is_the_deployments_mistake() -> None:
    manifest = _read(WEATHER)
    with pytest.raises(DeploymentError, match=r"'https://x' is no network pattern") as caught:
        manifest.permission(manifest.settings_with({"endpoint": "https://x"}))
    assert "[packs.weather.settings]" in caught.value.remedy


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("manifest = 1", "manifest = 2", "manifest: "),
        ("manifest = 1", "", "manifest: is missing"),
        ("[pack]", "[pak]", "pak: unknown key; did you mean pack?"),
        ("handler =", "handeler =", "skill run: handeler: unknown key; did you mean handler?"),
        ("handler =", "efect = 1\nhandler =", "skill run: efect: unknown key; did you mean effect?"),
        ("[[skill]]", "[permissions]\nfs.reed = []\n[[skill]]", "permissions.fs.reed: unknown key; did you mean read?"),
        ("[[skill]]", "[permissions]\nnetwork = []\n[[skill]]", "permissions.network: unknown key; did you mean net?"),
        ("[[skill]]", '[permissions]\n"fs.read" = []\n[[skill]]', "permissions.'fs.read': unknown key"),
        ("[[skill]]", '[permissions]\nnet = "h:1"\n[[skill]]', "permissions.net: "),
        ("[[skill]]", '[permissions]\nnet = ["h"]\n[[skill]]', "permissions: 'h' is no network pattern"),
        ("[[skill]]", '[permissions]\nnet = ["${setting.x}"]\n[[skill]]', "${setting.x}: there is no such setting"),
        ("[[skill]]", "[settings]\nx = 1979-05-27\n[[skill]]", "settings.x"),
        ("[[skill]]", "[settings]\nx = nan\n[[skill]]", "settings.x"),
        ("[[skill]]", "[settings]\nx = 9007199254740992\n[[skill]]", "settings.x"),
        ('name = "tiny"', 'name = "Tiny"', "pack.name: "),
        ('name = "tiny"', 'name = "t\u0456ny"', "pack.name: "),
        ('name = "tiny"', 'name = "tiny\\n"', "pack.name: "),
        ('name = "tiny"', 'name = "ti__ny"', "pack.name: "),
        ('name = "tiny"', f'name = "{"t" * 25}"', "pack.name: "),
        ('name = "run"', f'name = "{"r" * 37}"', "skill rrrrr"),
        ("tiny_pack:run", "tiny_pack.run", "skill run: handler: "),
        ("tiny_pack:run", "tiny_pack:run.inner", "skill run: handler: "),
        ("tiny_pack:run", "t\u0456ny_pack:run", "skill run: handler: "),
        ("tiny_pack:run", "other_pack:run", "skill run: handler = 'other_pack:run' lies outside the package tiny_pack"),
        ("tiny_pack:run", "tiny_packs.x:run", "lies outside the package tiny_pack"),
        ("[[skill]]", '[[skill]]\nafter = "os:system"', "after = 'os:system' lies outside"),
        ("[[skill]]", '[[skill]]\neffect = "Read"', "skill run: effect: "),
        ("[[skill]]", '[[skill]]\nimpact = ["boom"]', "skill run: impact[0]: "),
        ("[[skill]]", "[[skill]]\ntimeout = 0", "skill run: timeout: "),
        ("[[skill]]", "[[skill]]\ntimeout = inf", "skill run: timeout: "),
        ("[[skill]]", '[[skill]]\ntimeout = "10"', "skill run: timeout: "),
        ("[[skill]]", "[[skill]]\nidempotent = 1", "skill run: idempotent: "),
        ("[[skill]]", "[[skill]]\ncache = 60", 'cache needs effect = "read" and idempotent = true'),
        ("[[skill]]", '[[skill]]\nuses = ["net"]', "skill run: uses 'net'"),
        ("[[skill]]", '[[skill]]\nundo = "nothing"', "undo names nothing, which is no skill of this pack"),
        ("[[skill]]", '[[skill]]\nlimits.memory = "2GiB"', "is more than [permissions] asks for"),
        ("[[skill]]", "[[skill]]\nlimits.memroy = 1", "skill run: limits.memroy: unknown key; did you mean memory?"),
        ("[[skill]]", '[[skill]]\nname = "run"\nhandler = "tiny_pack:a"\n[[skill]]', "two skills have the name run"),
        ("[[skill]]", "[skill]", "skill: "),
        ("[[skill]]", "[[skill]", "is no TOML in UTF-8"),
    ],
)
def test_manifests_that_are_refused(old: str, new: str, message: str) -> None:
    _read(SIX_LINES, "tiny_pack")
    assert old in SIX_LINES
    assert message in _refused(SIX_LINES.replace(old, new), "tiny_pack")


def test_an_unknown_key_of_a_newer_remit_names_the_version_needed() -> None:
    newer = SIX_LINES.replace('name = "tiny"', 'name = "tiny"\nrequires_remit = ">=9.1"')
    with pytest.raises(ManifestError, match=r"pack\.requires_remit: needs remit >=9\.1") as caught:
        _read(newer)
    assert caught.value.remedy == "pip install --upgrade remit"
    with pytest.raises(ManifestError, match=r"skill run: teleport: unknown key.*the pack needs remit >=9\.1"):
        _read(newer.replace("[[skill]]", "[[skill]]\nteleport = true"))
    assert "is no version specifier" in _refused(newer.replace(">=9.1", "newest"))


def test_a_manifest_of_100_mb_is_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "pack.toml"
    path.write_text(SIX_LINES)
    with path.open("r+b") as file:
        file.truncate(100 * 1024 * 1024)
    with pytest.raises(ManifestError, match=f"at most {LARGEST // 1024} KiB"):
        read_manifest(path)
    with pytest.raises(ManifestError, match="there is no such file"):
        read_manifest(tmp_path / "absent.toml")


def test_references_to_settings_cannot_multiply() -> None:
    many = (
        '[settings]\nx = ["a.example:1", "b.example:1"]\n[permissions]\nnet = ["'
        + "${setting.x}" * 80
        + '"]\n[[skill]]'
    )
    assert "must be a text or a whole number" in _refused(SIX_LINES.replace("[[skill]]", many))
    assert "is no TOML" in _refused("x = " + "[" * 20_000)


def test_a_manifest_must_have_the_entry_points_name(tmp_path: Path) -> None:
    site = tmp_path / "site-packages"
    write_pack(site)
    pack = discover([str(site)]).packs["tide"]
    assert read_pack_manifest(pack).name == "tide"
    pack.manifest.write_text(pack.manifest.read_text().replace('name = "tide"', 'name = "files"'))
    with pytest.raises(ManifestError, match=r"pack\.name is files, and the entry point of tide-pack says tide"):
        read_pack_manifest(pack)


def test_the_hash_of_a_table_changes_with_any_value_and_not_with_layout() -> None:
    first = _read(WEATHER).tables
    assert _read(WEATHER.replace("timeout = 10", "timeout   =   10  # seconds")).tables == first
    other = _read(WEATHER.replace("timeout = 10", "timeout = 11")).tables
    assert other["get_weather"] != first["get_weather"]
    assert other["forecast"] == first["forecast"]


def test_a_byte_order_mark_and_crlf_are_read() -> None:
    text = b"\xef\xbb\xbf" + SIX_LINES.replace("\n", "\r\n").encode()
    assert parse_manifest(text, HERE).name == "tiny"


@pytest.mark.parametrize(
    "path", sorted(file for place in PLACES for file in place.glob("*/**/pack.toml")), ids=lambda path: path.parent.name
)
def test_every_manifest_of_this_project_is_read(path: Path) -> None:
    assert read_manifest(path, package=path.parent.name).skills


def test_the_schema_for_editors_is_closed_and_accepts_what_we_accept() -> None:
    import tomllib

    from jsonschema_rs import validator_for

    schema = manifest_json_schema()
    json.dumps(schema)
    validator = validator_for(schema)
    assert validator.is_valid(tomllib.loads(WEATHER))
    assert not validator.is_valid(tomllib.loads(WEATHER.replace("uses", "use")))
    assert not validator.is_valid(tomllib.loads(WEATHER.replace("[settings]", "[setings]")))


@given(st.binary(max_size=200))
def test_parsing_never_raises_but_manifest_errors(data: bytes) -> None:
    for text in (data, SIX_LINES.encode() + data):
        try:
            parse_manifest(text, HERE)
        except ManifestError:
            pass


TOML_VALUES = st.recursive(
    st.one_of(st.booleans(), st.integers(-(2**70), 2**70), st.floats(), st.text(max_size=20)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=8), inner, max_size=3)),
    max_leaves=6,
)


@given(
    st.sampled_from(["pack", "settings", "permissions", "skill", "manifest"]),
    st.sampled_from(["name", "uses", "net", "fs", "limits", "effect", "examples", "targets", "x"]),
    TOML_VALUES,
)
def test_odd_values_never_raise_but_manifest_errors(table: str, key: str, value: Any) -> None:
    import tomllib

    import tomlkit

    document = tomllib.loads(WEATHER)
    where = document[table][0] if table == "skill" else document[table]
    if isinstance(where, dict):
        where[key] = value
    else:
        document[table] = value
    try:
        text = tomlkit.dumps(document).encode()
    except (ValueError, TypeError, UnicodeEncodeError):
        return
    try:
        parse_manifest(text, HERE)
    except ManifestError:
        pass


def test_the_schema_for_editors_is_the_one_in_the_docs() -> None:
    shipped = Path(__file__).parents[1] / "docs" / "pack.schema.json"
    assert json.loads(shipped.read_text(encoding="utf-8")) == manifest_json_schema()
