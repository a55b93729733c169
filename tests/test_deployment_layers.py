"""The managed file, the deployment's file and the flags of a run: a lower layer never relaxes."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from remit.deployment.changes import compare
from remit.deployment.config import Config
from remit.deployment.deployment import Deployment
from remit.deployment.init import init
from remit.deployment.keeping import CellsConfig
from remit.deployment.layers import combine, load_managed
from remit.deployment.trust import trust
from remit.errors import DeploymentError, UsageError
from remit.packs.lock import Lock
from remit.policy.config import DefaultsConfig
from remit.policy.decide import approvers, decide
from remit.policy.grants import ENABLES_LESS
from remit.policy.rules import Rules, Scene
from remit.provenance.ledger import Ledger
from remit.provenance.level import SETTLES_LESS
from remit.skills import Skill
from remit.values import IMPACTS, VERDICTS, Effect

VERDICT = st.sampled_from(VERDICTS)
DEFAULTS_KEYS: dict[str, Any] = {
    "read": VERDICT,
    "write": VERDICT,
    "external": VERDICT,
    "unattended": st.sampled_from(["park", "deny"]),
    "enforcement": st.sampled_from(["kernel", "available"]),
    "allow_yes": st.booleans(),
    "allow_rules": st.booleans(),
    "provenance": st.sampled_from(SETTLES_LESS),
    "check_egress": st.booleans(),
    "two_person": st.lists(st.sampled_from(IMPACTS), unique=True),
    "session_grants": st.sampled_from(ENABLES_LESS),
    "max_depth": st.integers(1, 10),
}
DEFAULTS = st.fixed_dictionaries({}, optional=DEFAULTS_KEYS)
NAMES = st.lists(st.sampled_from(["a", "b", "c"]), unique=True)
PACK = st.fixed_dictionaries(
    {},
    optional={"enabled": st.booleans(), "required": st.booleans(), "skills": NAMES, "accept_read": NAMES},
)
RULE = st.fixed_dictionaries({"verdict": VERDICT, "match": st.fixed_dictionaries({"skill": NAMES.filter(bool)})})
CONFIG = st.builds(
    lambda defaults, packs, rules, hosts: {
        "defaults": defaults,
        "packs": packs,
        "rule": [{"id": f"r{number}", **rule} for number, rule in enumerate(rules)],
        "host_skills": hosts,
    },
    DEFAULTS,
    st.dictionaries(st.sampled_from(["one", "two"]), PACK),
    st.lists(RULE, max_size=3),
    st.fixed_dictionaries({}, optional={"allow": NAMES}),
)


def config(**tables: Any) -> Config:
    return Config.model_validate(tables)


def no_laxer(both: DefaultsConfig, one: DefaultsConfig, said: Collection[str]) -> None:
    """Assert that nothing that `one` said is relaxed in `both`."""
    for key, order in (("provenance", SETTLES_LESS), ("session_grants", ENABLES_LESS)):
        if key in said:
            assert order.index(getattr(both, key)) >= order.index(getattr(one, key))
    if {"provenance", "check_egress"} & set(said):
        assert both.egress >= one.egress
    if "two_person" in said:
        assert set(both.two_person) >= set(one.two_person)


@given(CONFIG, CONFIG)
def test_a_lower_layer_never_relaxes_what_the_upper_one_wrote(upper_table: Any, lower_table: Any) -> None:
    upper, lower = Config.model_validate(upper_table), Config.model_validate(lower_table)
    both = combine(upper, lower).config
    for key in upper.defaults.model_fields_set & {"read", "write", "external"}:
        assert VERDICTS.index(getattr(both.defaults, key)) >= VERDICTS.index(getattr(upper.defaults, key))
    for key, strict in (("unattended", "deny"), ("enforcement", "kernel")):
        if key in upper.defaults.model_fields_set and getattr(upper.defaults, key) == strict:
            assert getattr(both.defaults, key) == strict
    no_laxer(both.defaults, upper.defaults, upper.defaults.model_fields_set)
    held = [(rule.verdict, rule.match) for rule in both.rules]
    assert all((rule.verdict, rule.match) in held for rule in upper.rules)
    for name, pack in upper.packs.items():
        found = both.packs.get(name)
        if found is None:
            continue
        assert not (found.enabled and "enabled" in pack.model_fields_set and not pack.enabled)
        assert found.required or not pack.required
        if pack.skills is not None:
            assert found.skills is not None and set(found.skills) <= set(pack.skills)
        if "accept_read" in pack.model_fields_set:
            assert set(found.accept_read) <= set(pack.accept_read)
    if "allow" in upper.host_skills.model_fields_set:
        assert set(both.host_skills.allow) <= set(upper.host_skills.allow)


@given(CONFIG, CONFIG)
def test_an_upper_layer_never_relaxes_the_deployment_either(upper_table: Any, lower_table: Any) -> None:
    upper, lower = Config.model_validate(upper_table), Config.model_validate(lower_table)
    both = combine(upper, lower).config
    for key in ("read", "write", "external"):
        assert VERDICTS.index(getattr(both.defaults, key)) >= VERDICTS.index(getattr(lower.defaults, key))
    no_laxer(both.defaults, lower.defaults, DefaultsConfig.model_fields)
    assert {rule.id for rule in lower.rules if rule.verdict != "allow"} <= {rule.id for rule in both.rules}
    for name, pack in both.packs.items():
        assert not pack.enabled or lower.packs[name].enabled


@given(DEFAULTS, DEFAULTS)
def test_the_flags_of_a_run_only_tighten_defaults(own_table: Any, flags: Any) -> None:
    own = config(defaults=own_table)
    both = combine(None, own, {"defaults": flags}).config
    for key in ("read", "write", "external"):
        assert VERDICTS.index(getattr(both.defaults, key)) >= VERDICTS.index(getattr(own.defaults, key))
    assert both.defaults.allow_yes <= own.defaults.allow_yes
    no_laxer(both.defaults, own.defaults, DefaultsConfig.model_fields)
    assert own.defaults.unattended == "park" or both.defaults.unattended == "deny"


def _heard(said: str) -> Ledger:
    ledger = Ledger()
    ledger.hear(said)
    return ledger


EFFECTS: tuple[Effect, ...] = ("read", "write", "external")
SEND = Skill(pack="m", name="send", description="", schema={"type": "object"}, targets={"to": "url"})
SKILLS = [replace(SEND, effect=effect, impact=frozenset(impact)) for effect in EFFECTS for impact in ((), ("money",))]
HEARD = (None, _heard("Look at https://docs.example/a"), _heard("Hello"))


def verdicts(defaults: DefaultsConfig, effects: Collection[str]) -> list[int]:
    """Return how strict every kind of call is with these defaults, and how many people it then needs."""
    rules = Rules.load((), defaults, skills={})
    found = []
    for skill in SKILLS:
        if skill.effect in effects:
            for scene in (Scene(), Scene(yes_to_writes=True)):
                for ledger in HEARD:
                    decided = decide(skill, {"to": "https://docs.example/a"}, rules, scene, ledger)
                    found += [VERDICTS.index(decided.verdict), approvers(skill, rules)]
    return found


def all_at_least(both: list[int], one: list[int]) -> bool:
    return all(combined >= alone for combined, alone in zip(both, one, strict=True))


@given(DEFAULTS, DEFAULTS)
@example({"write": "ask"}, {"provenance": "targets"})
@example({"write": "ask"}, {"allow_yes": True})
@example({"read": "ask"}, {"check_egress": True})
@example({"external": "ask", "provenance": "strict"}, {"provenance": "targets"})
@example({"write": "ask"}, {"provenance": "targets", "external": "ask"})
def test_no_verdict_is_laxer_than_either_layer_alone(upper_table: Any, lower_table: Any) -> None:
    assert set(DEFAULTS_KEYS) == set(DefaultsConfig.model_fields), "every key is tried"
    upper, lower = config(defaults=upper_table), config(defaults=lower_table)
    both = combine(upper, lower).config.defaults
    said = [effect for effect in EFFECTS if effect in upper.defaults.model_fields_set]
    assert all_at_least(verdicts(both, said), verdicts(upper.defaults, said))
    assert all_at_least(verdicts(both, EFFECTS), verdicts(lower.defaults, EFFECTS))
    assert "max_depth" not in upper_table or both.max_depth <= upper.defaults.max_depth
    assert both.max_depth <= lower.defaults.max_depth
    flagged = combine(None, lower, {"defaults": upper_table}).config.defaults
    assert all_at_least(verdicts(flagged, EFFECTS), verdicts(lower.defaults, EFFECTS))


def test_the_managed_file_may_let_a_deployment_settle_its_questions() -> None:
    own = config(defaults={"provenance": "targets", "allow_yes": True})
    asks = config(defaults={"write": "ask"})
    assert verdicts(combine(asks, own).config.defaults, ["write"]) == verdicts(asks.defaults, ["write"])
    assert [note.split()[0] for note in combine(asks, own).notes] == ["defaults.allow_yes", "defaults.provenance"]
    assert combine(asks, own).config.defaults.egress, "what it asks about is asked about still"
    permits = config(defaults={"write": "ask", "provenance": "targets", "allow_yes": True})
    found = combine(permits, own)
    assert (found.config.defaults.provenance, found.config.defaults.allow_yes, found.notes) == ("targets", True, ())
    silent = combine(config(defaults={"read": "ask"}), own).config.defaults
    assert (silent.provenance, silent.allow_yes) == ("targets", True), "it asks about no change"


@given(DEFAULTS, DEFAULTS)
@example({"read": "ask"}, {"read": "ask", "check_egress": True})
@example({"read": "ask"}, {"read": "ask", "provenance": "targets"})
def test_a_step_that_makes_any_call_laxer_is_never_ranked_as_narrower(old_table: Any, new_table: Any) -> None:
    old, new = config(defaults=old_table), config(defaults=new_table)
    rank = compare(old, Lock(), new, Lock()).rank
    if not all_at_least(verdicts(new.defaults, EFFECTS), verdicts(old.defaults, EFFECTS)):
        assert rank in ("widens", "unranked")


def test_allow_rules_of_a_lower_layer_need_the_upper_ones_word() -> None:
    own = config(rule=[{"id": "yes", "verdict": "allow"}, {"id": "no", "verdict": "deny"}])
    silent = combine(config(), own)
    assert [rule.id for rule in silent.config.rules] == ["no"]
    assert "yes" in silent.notes[0]
    assert len(combine(config(defaults={"allow_rules": True}), own).config.rules) == 2
    assert len(combine(None, own).config.rules) == 2


def test_flags_change_the_model_and_nothing_that_is_not_theirs() -> None:
    own = config(model={"name": "a", "base_url": "http://one.example/v1"})
    assert combine(None, own, {"model": {"name": "b"}}).config.model.name == "b"
    assert combine(None, own, {"model": {"name": "b"}}).config.model.base_url == "http://one.example/v1"
    with pytest.raises(UsageError, match="cannot override packs"):
        combine(None, own, {"packs": {}})
    with pytest.raises(UsageError, match=r"model\.nmae"):
        combine(None, own, {"model": {"nmae": "b"}})


def test_what_the_managed_file_says_about_the_model_wins_over_flags() -> None:
    upper = config(model={"base_url": "http://inside.example/v1"})
    own = config(model={"name": "a", "base_url": "http://outside.example/v1"})
    both = combine(upper, own, {"model": {"base_url": "http://flag.example/v1"}}).config.model
    assert (both.name, both.base_url) == ("a", "http://inside.example/v1")


def test_names_of_packs_are_folded_and_two_spellings_are_an_error() -> None:
    assert set(combine(None, config(packs={"My-Pack": {}})).config.packs) == {"my_pack"}
    with pytest.raises(DeploymentError, match="two spellings"):
        combine(None, config(packs={"my-pack": {}, "my_pack": {}}))


def test_only_the_managed_file_can_accept_digests() -> None:
    with pytest.raises(DeploymentError, match="managed"):
        combine(None, config(trust=["sha256:0"]))
    assert combine(config(trust=["sha256:0"]), config()).config.trust == ()


def test_a_managed_file_is_optional_and_read_like_any_other(tmp_path: Path) -> None:
    path = tmp_path / "managed.toml"
    assert load_managed(path) is None
    path.write_text("policy = 1\n[defaults]\nread = 'ask'\n")
    found = load_managed(path)
    assert found is not None and found.config.defaults.read == "ask"


@pytest.mark.parametrize(
    ("upper", "lower", "holds"),
    [
        ({}, {}, (64, 2048)),
        ({}, {"most": 200, "memory_mb": 4096}, (200, 4096)),
        ({"most": 50}, {"most": 200, "memory_mb": 4096}, (50, 4096)),
        ({"most": 50, "memory_mb": 512}, {"most": 8}, (8, 512)),
    ],
)
def test_of_two_limits_of_cells_the_smaller_counts(
    upper: dict[str, int], lower: dict[str, int], holds: tuple[int, int]
) -> None:
    cells = CellsConfig(**lower).within(CellsConfig(**upper))
    assert (cells.most, cells.memory_mb) == holds


def test_a_deployment_says_how_many_cells_stand_ready(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REMIT_STATE", str(tmp_path / "state"))
    (tmp_path / "d").mkdir()
    init(tmp_path / "d").apply()
    file = tmp_path / "d" / "remit.toml"
    file.write_text(file.read_text() + "\n[cells]\nmost = 7\nmemory_mb = 100\n")
    trust(tmp_path / "d")
    with Deployment.open(tmp_path / "d") as deployment:
        caps = deployment.sandbox._caps
        assert (caps.cells, caps.memory) == (7, 100 << 20)
    file.write_text(file.read_text().replace("most = 7", "most = 0"))
    with pytest.raises(DeploymentError, match=r"cells\.most"):
        Deployment.open(tmp_path / "d")
