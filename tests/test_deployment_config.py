"""`remit.toml`: what it can say, and how what it cannot say is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.deployment.config import Config
from remit.deployment.load import load_config, parse_config
from remit.deployment.source import MAX_CONFIG_BYTES, line_of
from remit.errors import DeploymentError

FULL = """\
policy = 1
workspace = "docs"

[model]
name = "gpt-5-mini"
base_url = "https://api.example.com/v1"
api_key = "env:KEY"
dialect = "react"
temperature = 0

[defaults]
read = "allow"
unattended = "deny"
allow_yes = true

[packs.files]
enabled = true
required = true
skills = ["read_file", "search"]
grant.fs.read = ["${workspace}/docs/**"]
grant.fs.write = []
accept_read = ["search"]
from = "remit-files"

[packs.weather.settings]
endpoint = "weather.example:443"

[packs.weather.secrets]
token = "file:/run/secrets/weather"

[extensions]
enabled = []

[host_skills]
allow = ["lookup"]

[log]
keep_raw = true

[[rule]]
id = "no-outside-mail"
verdict = "deny"
match = { skill = "mail.send" }
unless = { arguments = { to = { each = { domain = ["acme.example"] } } } }
reason = "Mail may only go to acme.example"
"""


def parse(text: str) -> Config:
    return parse_config(text, Path("remit.toml"))


def refusal(text: str) -> str:
    with pytest.raises(DeploymentError) as caught:
        parse(text)
    return str(caught.value)


def test_everything_that_the_design_names_is_read() -> None:
    config = parse(FULL)
    files = config.packs["files"]
    assert files.enabled and files.required and files.from_ == "remit-files"
    assert files.grant.given() == {"fs.read": ("${workspace}/docs/**",), "fs.write": ()}
    assert config.packs["weather"].enabled is False
    assert config.packs["weather"].settings == {"endpoint": "weather.example:443"}
    assert config.rules[0].id == "no-outside-mail"
    assert config.defaults.unattended == "deny" and config.defaults.write == "ask"
    assert config.log.keep_raw and config.host_skills.allow == ("lookup",)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "[packs.files]\ngrant.fs.raed = []",
            "remit.toml:3: unknown key `packs.files.grant.fs.raed`; did you mean `read`?",
        ),
        ("[packs.files]\nenable = true", "did you mean `enabled`?"),
        (
            "[defaults]\nenforcment = 'kernel'",
            "remit.toml:3: unknown key `defaults.enforcment`; did you mean `enforcement`?",
        ),
        ("[model]\nnmae = 'x'", "did you mean `name`?"),
        ("[pack.x]\nenabled = true", "did you mean `packs`?"),
        ("[[rules]]\nid = 'a'\nverdict = 'deny'", "did you mean `rule`?"),
        (
            "[[rule]]\nid = 'a'\nverdict = 'deny'\nmacth = {}",
            "remit.toml:5: unknown key `rule.macth`; did you mean `match`? (rule a)",
        ),
        ("[log]\nzzzz = 1", "known here: keep_raw"),
    ],
)
def test_an_unknown_key_names_file_line_key_and_the_nearest(text: str, expected: str) -> None:
    assert expected in refusal("policy = 1\n" + text)


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("[packs.files]\nenabled = 'yes'", "packs.files.enabled"),
        ("[packs.files]\nskills = 'search'", "packs.files.skills"),
        ("[defaults]\nread = 'allways'", "defaults.read"),
        ("[defaults]\nunattended = 'allow'", "defaults.unattended"),
        ("[model]\ntemperature = 'hot'", "model.temperature"),
        ("[agent]\nmax_steps = 0", "agent.max_steps"),
    ],
)
def test_a_value_of_another_type_names_line_and_key(text: str, key: str) -> None:
    assert f"remit.toml:3: `{key}`" in refusal("policy = 1\n" + text)


@pytest.mark.parametrize("key", ["[model]\napi_key", "[packs.w.secrets]\ntoken"])
def test_a_secret_is_a_reference_and_a_value_is_never_repeated(key: str) -> None:
    said = refusal(f'policy = 1\n{key} = "sk-very-secret"')
    assert "env:NAME" in said
    assert "very-secret" not in said
    assert parse(f'policy = 1\n{key} = "env:TOKEN"')


def test_the_version_must_be_there_and_known() -> None:
    assert "`policy` is missing" in refusal("[model]\n")
    assert "`policy`" in refusal("policy = 2")


def test_byte_order_mark_and_windows_line_ends_are_read(tmp_path: Path) -> None:
    path = tmp_path / "remit.toml"
    path.write_bytes(b"\xef\xbb\xbf" + FULL.replace("\n", "\r\n").encode())
    assert load_config(path).config == parse(FULL)


def test_files_that_cannot_be_read_say_why(tmp_path: Path) -> None:
    path = tmp_path / "remit.toml"
    with pytest.raises(DeploymentError, match=r"there is no remit\.toml") as caught:
        load_config(path)
    assert caught.value.remedy == "run `remit init`"
    path.write_bytes(b"policy = 1\nworkspace = '\xff'\n")
    with pytest.raises(DeploymentError, match=r"remit\.toml:2: not UTF-8"):
        load_config(path)
    path.write_bytes(b"policy = \n")
    with pytest.raises(DeploymentError, match="line 1"):
        load_config(path)
    path.write_bytes(b"#" * (MAX_CONFIG_BYTES + 1))
    with pytest.raises(DeploymentError, match="larger than"):
        load_config(path)
    path.unlink()
    path.mkdir()
    with pytest.raises(DeploymentError, match="no regular file"):
        load_config(path)


def test_lines_are_found_in_dotted_and_nested_tables() -> None:
    assert line_of(FULL, ("packs", "files", "grant", "fs", "read")) == 20
    assert line_of(FULL, ("packs", "weather", "settings", "endpoint")) == 26
    assert line_of(FULL, ("rule", 0, "verdict")) == 42
    assert line_of(FULL, ("rule", 1)) is None
    assert line_of(FULL, ("nothing",)) is None


@given(st.text(max_size=200))
def test_any_text_is_read_or_refused_in_words(text: str) -> None:
    try:
        parse("policy = 1\n" + text)
    except DeploymentError as error:
        assert str(error)
