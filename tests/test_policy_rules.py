"""Loading rules: what can never match does not load, what is not installed warns."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from remit.errors import PolicyError
from remit.policy.config import DefaultsConfig, RuleConfig
from remit.policy.rules import Rules
from remit.skills import Skill

MAIL = Skill(
    pack="mail",
    name="send",
    description="",
    schema={
        "type": "object",
        "properties": {
            "to": {"type": "array", "items": {"$ref": "#/$defs/Address"}},
            "cc": {"anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "null"}], "default": None},
            "subject": {"type": "string"},
            "urgent": {"type": "boolean", "default": False},
            "size": {"type": "integer"},
            "kind": {"enum": ["note", "letter"]},
            "options": {"$ref": "#/$defs/Options"},
            "extra": {},
        },
        "required": ["to", "subject"],
        "$defs": {
            "Address": {"type": "string"},
            "Options": {
                "type": "object",
                "properties": {"retry": {"type": "integer", "default": 3}, "via": {"type": "string"}},
            },
        },
    },
    effect="external",
)
READ = Skill(
    pack="files",
    name="read",
    description="",
    schema={"type": "object", "properties": {"path": {"type": "string"}}},
    effect="read",
)
SKILLS = {skill.full: skill for skill in (MAIL, READ)}


def load(*rules: dict[str, Any], **options: Any) -> Rules:
    configs = [RuleConfig.model_validate({"id": f"r{n}", "verdict": "deny", **r}) for n, r in enumerate(rules)]
    return Rules.load(configs, DefaultsConfig(), skills=SKILLS, **options)


def about(argument: str, operators: dict[str, Any], skill: str = "mail.send") -> dict[str, Any]:
    return {"match": {"skill": skill, "arguments": {argument: operators}}}


@pytest.mark.parametrize(
    ("argument", "operators"),
    [
        ("to", {"each": {"domain": ["a.example"]}}),
        ("cc", {"any": {"domain": ["a.example"]}}),
        ("cc", {"eq": None}),
        ("subject", {"eq": "x"}),
        ("subject", {"len": {"gt": 10}}),
        ("urgent", {"eq": True}),
        ("size", {"lt": 3}),
        ("kind", {"in": ["note", "letter"]}),
        ("options.retry", {"gt": 5}),
        ("options", {"len": {"gt": 1}}),
        ("extra", {"host": ["a.example"]}),
    ],
)
def test_rules_that_can_match_load(argument: str, operators: dict[str, Any]) -> None:
    assert load(about(argument, operators)).warnings == ()


@pytest.mark.parametrize(
    ("argument", "operators", "message"),
    [
        ("too", {"eq": "x"}, "did you mean to"),
        ("options.retries", {"eq": 1}, "no argument options.retries"),
        ("to", {"domain": ["a.example"]}, "needs string, the argument is array"),
        ("to", {"each": {"lt": 3}}, "compare"),
        ("subject", {"each": {"eq": "x"}}, "needs array"),
        ("subject", {"lt": 3}, "compare"),
        ("urgent", {"eq": "true"}, "no value it can have"),
        ("size", {"eq": 1.5}, "no value it can have"),
        ("size", {"gt": "2026-01-01"}, "compare"),
        ("kind", {"in": ["note", "postcard"]}, "postcard"),
        ("kind", {"domain": ["a.example"]}, ""),
        ("size", {"len": {"lt": 1}}, "needs"),
    ],
)
def test_rules_that_can_never_match_are_refused(argument: str, operators: dict[str, Any], message: str) -> None:
    if not message:
        load(about(argument, operators))
        return
    with pytest.raises(PolicyError, match=message) as caught:
        load(about(argument, operators))
    assert "r0" in str(caught.value) and caught.value.remedy


def test_exceptions_are_checked_alike() -> None:
    unless = {"match": {"skill": "mail.send"}, "unless": {"arguments": {"recipient": {"eq": "x"}}}}
    with pytest.raises(PolicyError, match="no argument recipient"):
        load(unless)


def test_a_rule_about_what_is_not_installed_warns() -> None:
    rules = load(about("to", {"eq": "x"}, "mail.sent"), {"match": {"skill": ["files.*", "calc.*", "*"]}})
    assert len(rules.warnings) == 2
    assert "did you mean mail.send" in rules.warnings[0] and "calc.*" in rules.warnings[1]


def test_a_wide_rule_needs_the_argument_in_one_skill_only() -> None:
    assert load(about("path", {"path_under": ["/srv"]}, "*")).warnings == ()
    with pytest.raises(PolicyError, match="no argument paths"):
        load(about("paths", {"path_under": ["/srv"]}, "*"))


def test_ids_are_unique() -> None:
    with pytest.raises(PolicyError, match="two rules"):
        load({"id": "same"}, {"id": "same"})


@pytest.mark.parametrize(
    "rule",
    [
        {"id": "", "verdict": "deny"},
        {"id": "a b", "verdict": "deny"},
        {"id": "a", "verdict": "maybe"},
        {"id": "a"},
        {"id": "a", "verdict": "deny", "mtach": {}},
        {"id": "a", "verdict": "deny", "match": {"effect": "reed"}},
        {"id": "a", "verdict": "deny", "match": {"skill": []}},
        {"id": "a", "verdict": "deny", "match": {"arguments": {"x": {"regex": "a"}}}},
    ],
)
def test_what_is_unknown_is_an_error(rule: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        RuleConfig.model_validate(rule)


def test_no_scene_is_both() -> None:
    with pytest.raises(PolicyError, match="no scene"):
        load({"when": {"interactive": True, "unattended": True}})
    load({"when": {"interactive": True, "unattended": False}})


def test_operands_are_checked_with_the_rules_name(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="r0"):
        load(about("path", {"path_under": ["docs"]}, "files.read"))
    assert load(about("path", {"path_under": ["docs"]}, "files.read"), folder=tmp_path).warnings == ()
    load(about("path", {"path_under": ["${workspace}/a"]}, "files.read"), anchors={"workspace": str(tmp_path)})


def test_the_digest_ignores_order_and_sees_every_change() -> None:
    one, two = about("size", {"lt": 3}), about("size", {"gt": 3})
    one["id"], two["id"] = "one", "two"
    assert load(one, two).digest == load(two, one).digest
    assert load(one).digest != load(one, two).digest
    assert load({**one, "verdict": "ask"}).digest != load(one).digest
    changed = Rules.load([], DefaultsConfig(write="deny"), skills=SKILLS)
    assert changed.digest != Rules.load([], None, skills=SKILLS).digest


def test_a_relative_folder_beside_the_workspace_warns(tmp_path: Path) -> None:
    anchors = {"workspace": str(tmp_path / "workspace")}

    def warnings(*folders: str) -> tuple[str, ...]:
        return load(
            about("path", {"path_under": list(folders)}, "files.read"), folder=tmp_path, anchors=anchors
        ).warnings

    (warning,) = warnings("secret")
    assert f"means {tmp_path / 'secret'}; for one of the workspace write '${{workspace}}/secret'" in warning
    assert warnings("workspace/secret", ".", "${workspace}/secret", "/srv") == ()


def test_a_wide_rule_may_be_about_a_pack_that_is_left_out() -> None:
    (warning,) = load(about("paths", {"path_under": ["/srv"]}, "*"), incomplete=True).warnings
    assert "no skill that is here has this argument" in warning
    with pytest.raises(PolicyError, match="no argument paths"):
        load(about("paths", {"eq": 1}, "mail.send"), incomplete=True)


def test_a_misspelt_skill_of_a_pack_that_is_not_enabled_is_suggested(tmp_path: Path, private_state: Path) -> None:
    from remit import Deployment
    from remit.cli.main import run

    assert run(["init", "--yes", "--enforcement", "available", "--packs", "calc", "-C", str(tmp_path)]) == 0
    config = tmp_path / "remit.toml"
    rules = {"a": "files.delete_fil", "b": "fils.*", "c": "files.read_file", "d": "calc.evaluat"}
    for id_, skill in rules.items():
        rule = f'\n[[rule]]\nid = "{id_}"\nverdict = "deny"\nmatch = {{ skill = "{skill}" }}\nreason = "no"\n'
        config.write_text(config.read_text() + rule)
    with Deployment.open(tmp_path, require_trust=False) as deployment:
        warnings = {line.split()[1]: line for line in deployment.rules.warnings}
    off = "which is installed and not enabled?"
    assert warnings["a"].endswith(f"did you mean files.delete_file, {off}")
    assert warnings["b"].endswith(f"did you mean files.*, {off}")
    assert warnings["c"].endswith("files.read_file, which is not enabled here")
    assert warnings["d"].endswith("did you mean calc.evaluate?")
