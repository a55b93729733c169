"""`remit trust` shows every value of a deployment that is not the standard one, whichever table it stands in."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from remit.deployment.closed import Closed
from remit.deployment.config import Config
from remit.deployment.files import DeploymentFiles
from remit.deployment.leaves import as_text, leaves, said
from remit.deployment.load import ConfigFile
from remit.deployment.summary import summary
from remit.packs.lock import Lock

BASE: dict[str, Any] = {
    "model": {"name": "m", "fallback": [{"name": "n", "base_url": "http://n.example"}]},
    "agents": {"editor": {"description": "Edits.", "model": {"name": "o", "fallback": [{"name": "p"}]}}},
    "packs": {"on": {"enabled": True}, "off": {"skills": ["x"]}},
    "extensions": {"enabled": ["vault"], "settings": {"vault": {"a": 1}}},
    "memory": {"slots": {"city": {"description": "Where."}}},
    "rule": [{"id": "first", "verdict": "ask"}],
}
"""A deployment that has one of every table of which there may be several."""

BEFORE = Config.model_validate(BASE)

VALUES: tuple[Any, ...] = (
    *(True, False, 7, 777, 0.7777, "env:MARKED", "file:marked", "marked-value", "https://marked.example/v1"),
    *(["marked-value"], ["marked-######"], {"marked": "value"}, {"marked": "env:MARKED"}, {"time": 77}),
    *({"input": 7.5, "output": 8.5}, ["destroy"], ["email"], {"marked": {"eq": "value"}}, {"skill": "marked.value"}),
    *({"agent": "marked"}, {"marked": {"net": ["marked.example"]}}),
)


def shown(config: Config) -> list[str]:
    text = ConfigFile(path=Path("remit.toml"), data=b"", text="", config=config)
    return list(summary(DeploymentFiles(folder=Path(), config=text, lock_data=b"", lock=Lock())))


def with_value(body: dict[str, Any], key: tuple[str, ...], value: Any) -> dict[str, Any]:
    changed = json.loads(json.dumps(body))
    place = changed
    for part in key[:-1]:
        place = place[int(part)] if isinstance(place, list) else place.setdefault(part, {})
    place[key[-1]] = value
    return changed


def others(config: type[Config], body: dict[str, Any], key: tuple[str, ...]) -> Iterator[tuple[Any, Config]]:
    """Yield values that may stand at `key` and differ from what stands there, each with the whole configuration."""
    before = leaves(config.model_validate(body))
    for value in (*VALUES, *_words(config)):
        try:
            found = config.model_validate(with_value(body, key, value))
        except ValidationError:
            continue
        if leaves(found) != before:
            yield value, found


@cache
def _words(config: type[BaseModel]) -> tuple[Any, ...]:
    """Return the words of every closed set, alone and as a list."""

    def words(node: Any) -> Iterator[str]:
        if isinstance(node, dict):
            yield from map(str, node.get("enum", ()))
        for value in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
            yield from words(value)

    found = dict.fromkeys(words(TypeAdapter(config).json_schema()))
    return tuple(one for word in found for one in (word, [word]))


def keys_of(config: Config) -> list[tuple[str, ...]]:
    return [key for key in leaves(config) if key != ("policy",)]


@pytest.mark.parametrize("key", keys_of(BEFORE), ids=".".join)
def test_every_value_is_shown(key: tuple[str, ...]) -> None:
    usual = shown(BEFORE)
    tried = list(islice(others(Config, BASE, key), 2))
    assert tried, f"no value of VALUES fits {'.'.join(key)}: add one"
    for value, config in tried:
        lines = [line for line in shown(config) if line not in usual]
        assert lines or shown(config) != usual, (key, value)
        text, before = "\n".join(lines), leaves(BEFORE)
        for path, one in said(config).items():
            if before.get(path) != one and not isinstance(one, bool):
                for word in re.findall(r"\w[\w#:/.-]*", as_text(one)):
                    assert word in text, (path, one, lines)


class LaterTable(Closed):
    """A table that somebody adds tomorrow."""

    upload: str = ""
    inner: dict[str, LaterPart] = Field(default_factory=dict)


class LaterPart(Closed):
    """One of several in it."""

    to: str = ""


LaterTable.model_rebuild()


class LaterConfig(Config):
    """`remit.toml` as it may be tomorrow."""

    later: LaterTable = Field(default_factory=LaterTable)


def test_a_table_that_is_added_later_is_shown() -> None:
    assert "later" not in "\n".join(shown(LaterConfig.model_validate(BASE)))
    body = {**BASE, "later": {"upload": "https://far.example", "inner": {"a": {"to": "b"}, "c": {}}}}
    lines = shown(LaterConfig.model_validate(body))
    start = lines.index("further settings:")
    for line in ('later.upload = "https://far.example"', 'later.inner.a.to = "b"', "later.inner.c = {}"):
        assert f"  {line}" in lines[start:]


def test_where_texts_and_keys_go_is_said_in_words() -> None:
    body = {
        "model": {"name": "anthropic:claude", "api_key": "env:A"},
        "agents": {
            "editor": {
                "description": "Edits.",
                "prompt": "Send everything.",
                "model": {
                    "name": "m",
                    "base_url": "https://far.example/v1",
                    "api_key": "env:B",
                    "fallback": [{"name": "n", "base_url": "https://farther.example"}],
                },
            },
            "plain": {"description": "Reads."},
        },
        "notify": {"webhook": "https://hook.example/x", "arguments": True},
        "telemetry": {"export": "otlp", "content": True},
        "memory": {"facts": True},
        "log": {"keep_raw": True},
    }
    lines = shown(Config.model_validate(body))
    for line in (
        "model requests go to the model provider anthropic of an extension, with the key of env:A",
        'agent editor may be asked by others: "Edits."',
        "  its model requests go to https://far.example/v1, with the key of env:B",
        "  when that model is down, requests go to n at https://farther.example",
        '  its model is told: "Send everything."',
        'agent plain may be asked by others: "Reads."',
        "whoever is told of a call that waits is told its arguments, too",
        "runs are exported to where the OTEL_* variables say (otlp), with arguments, results and messages",
        "what the model notes of a person is kept, and told to the model when a session begins (facts)",
        "  log.keep_raw = true",
    ):
        assert line in lines, lines


def test_what_is_the_standard_is_not_shown() -> None:
    assert shown(Config()) == ["without a rule: read allow, write ask, external ask"]
    assert said(Config()) == {}
