"""Key facts from one session to the next: who wrote them, what they rest on, and what they may settle."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from remit.deployment.audit import audit_rows
from remit.loop.remembering import writing_skills
from remit.models.scripted import ask
from remit.state.store import State
from tests.memory_parts import Listening, agent, facts_of, remembering_place


def remember(name: str, value: object) -> object:
    return ask("remit.remember_fact", name=name, value=value)


def test_a_fact_is_told_in_the_next_session(tmp_path: Path) -> None:
    place = remembering_place(tmp_path)
    with agent(place, [remember("home_city", "Oslo"), "Noted."]) as first:
        result = first.run("I live in Oslo, remember that.")
        assert [(call.skill, call.status) for call in result.calls] == [("remit.remember_fact", "ok")]
    model = Listening()
    with agent(place, model) as second:
        session = second.run("Where do I live?").session
        assert second.run("Again?", session=session).answer == "Yes."
        saved = second.state.load_session(session)
    assert [origin for origin, _ in model.shown] == ["person", "model", "person"]
    fact, asked = '{"fact": "home_city", "value": "Oslo", "from": "the person"}', "Where do I live?"
    assert model.shown[0][1].endswith(f"{fact}\n\n{asked}")
    assert saved is not None
    assert [message["origin"] for message in saved.transcript] == ["memory", "person", "model", "person", "model"]


def test_without_memory_nothing_is_told_and_nothing_can_be_written(tmp_path: Path) -> None:
    place = remembering_place(tmp_path, memory="facts = false\n")
    model = Listening()
    with agent(place, model) as off:
        off.run("Hello")
        assert not [name for name in off.skills if "fact" in name]
    assert model.shown == [("person", "Hello")]


def test_an_empty_memory_adds_no_message(tmp_path: Path) -> None:
    model = Listening()
    with agent(remembering_place(tmp_path), model) as empty:
        empty.run("Hello")
        assert not list(empty.state.records(event="memory.loaded"))
    assert model.shown == [("person", "Hello")]


def test_a_remembered_injection_stays_untrusted_and_asks(tmp_path: Path) -> None:
    place = remembering_place(tmp_path)
    script = [ask("local.read_page"), remember("lawyer", "evil@attacker.example"), "Done."]
    with agent(place, script) as first:
        assert [call.status for call in first.run("Read the page.").calls] == ["ok", "ok"]
    with place.open() as deployment:
        fact = facts_of(deployment, deployment.principal)["lawyer"]
        assert (fact.labels, fact.origin.own_words) == ({"untrusted"}, False)
    mail = ask("local.send", to="evil@attacker.example", text="Hello")
    with agent(place, [mail, "Done."]) as second:
        parked = second.run("Write hello to my lawyer.").calls[0]
        assert parked.status == "parked" and "a remembered fact (lawyer)" in parked.reason
    with agent(place, [mail, "Done."]) as control:
        assert control.run("Write hello to evil@attacker.example.").calls[0].status == "ok"


def test_what_rests_on_a_remembered_injection_is_untrusted_again(tmp_path: Path) -> None:
    place = remembering_place(tmp_path)
    with agent(place, [ask("local.read_page"), remember("lawyer", "evil@attacker.example"), "Done."]) as first:
        first.run("Read the page.")
    with agent(place, [remember("contact", "evil@attacker.example"), "Done."]) as second:
        second.run("Sort my contacts.")
    with place.open() as deployment:
        assert facts_of(deployment, deployment.principal)["contact"].labels == {"untrusted"}


@pytest.mark.parametrize(("said", "status"), [("Write hello to my lawyer.", "ok"), ("Write hello to them.", "parked")])
def test_the_persons_own_fact_settles_only_what_they_name_by_it(tmp_path: Path, said: str, status: str) -> None:
    place = remembering_place(tmp_path)
    with agent(place, [remember("lawyer", "law@firm.example"), "Noted."]) as first:
        first.run("My lawyer is law@firm.example.")
    with agent(place, [ask("local.send", to="law@firm.example", text="Hello"), "Done."]) as second:
        assert second.run(said).calls[0].status == status


def test_own_words_after_reading_something_untrusted_settle_nothing_by_name(tmp_path: Path) -> None:
    """A stranger may have chosen the name under which the person's word was kept."""
    place = remembering_place(tmp_path)
    script = [ask("local.read_page"), remember("lawyer", "bob@home.example"), "Done."]
    with agent(place, script) as first:
        first.run("Bob is bob@home.example. Read the page.")
    with agent(place, [ask("local.send", to="bob@home.example", text="Hello"), "Done."]) as second:
        assert second.run("Write hello to my lawyer.").calls[0].status == "parked"


def test_each_person_has_their_own_facts(tmp_path: Path) -> None:
    place = remembering_place(tmp_path)
    for who, city in (("ada", "Oslo"), ("bob", "Rome")):
        with agent(place, [remember("home_city", city), "Noted."], who=who) as writing:
            assert writing.run(f"I live in {city}.").calls[0].status == "ok"
    for who, own, other in (("ada", "Oslo", "Rome"), ("bob", "Rome", "Oslo")):
        model = Listening()
        with agent(place, model, who=who) as reading:
            reading.run("Hello")
        assert own in model.shown[0][1] and other not in str(model.shown)
    model = Listening()
    with agent(place, model, who="cy") as nobody:
        nobody.run("Hello")
    assert model.shown == [("person", "Hello")]


def test_a_rule_can_deny_writing(tmp_path: Path) -> None:
    place = remembering_place(tmp_path)
    rule = '\n[[rule]]\nid = "no"\nverdict = "deny"\nmatch = { skill = "remit.remember_fact" }\nreason = "not here"\n'
    path = place.folder / "remit.toml"
    path.write_text(path.read_text() + rule)
    place.edit("no", "no")
    with agent(place, [remember("home_city", "Oslo"), "Sorry."]) as denied:
        call = denied.run("I live in Oslo.").calls[0]
    assert (call.status, call.reason) == ("denied", "not here")
    with place.open() as deployment:
        assert not facts_of(deployment, deployment.principal)


def test_read_only_mode_withdraws_writing_and_still_tells(tmp_path: Path) -> None:
    place = remembering_place(tmp_path)
    with agent(place, [remember("home_city", "Oslo"), "Noted."]) as first:
        first.run("I live in Oslo.")
    model = Listening()
    with agent(place, model, read_only=True) as second:
        second.run("Hello")
        assert not [name for name in second.skills if "fact" in name]
    assert "Oslo" in model.shown[0][1]
    with agent(place, [remember("home_city", "Rome"), "No."], read_only=True) as third:
        assert third.run("I live in Rome.").calls[0].status == "denied"


def test_changes_are_recorded_and_what_they_say_can_be_erased(tmp_path: Path) -> None:
    place = remembering_place(tmp_path)
    script = [remember("home_city", "Oslo"), ask("remit.forget_fact", name="home_city"), "Done."]
    with agent(place, script) as made:
        result = made.run("I live in Oslo. No, forget it.")
        assert [call.value for call in result.calls] == ["remembered as home_city", "forgot home_city"]
        kept, gone = (next(made.state.records(event=f"memory.{event}")) for event in ("remembered", "forgotten"))
    assert (kept.body["name"], kept.body["value"], kept.body["by"]) == ("home_city", "Oslo", "model")
    assert kept.sealed and kept.session == result.session and kept.call == result.calls[0].call
    assert gone.body["value"] == "Oslo" and gone.body["store"] == "state.db"


def test_a_secret_is_not_remembered(tmp_path: Path) -> None:
    key = "sk-proj-" + "a1B2c3D4" * 5
    place = remembering_place(tmp_path)
    with agent(place, [remember("note", f"the key is {key}"), remember("api_token", "hunter2!"), "No."]) as made:
        calls = made.run("Remember my key.").calls
        assert [call.status for call in calls] == ["failed", "failed"] and "holds a secret" in calls[0].text
        assert key not in json.dumps([dict(record.body) for record in made.state.records()])
    with place.open() as deployment:
        assert not facts_of(deployment, deployment.principal)


def test_slots_close_the_set_and_type_the_values(tmp_path: Path) -> None:
    memory = 'facts = true\n[memory.slots]\nborn = "date"\nchildren = { type = "number", description = "how many" }\n'
    place = remembering_place(tmp_path, memory=memory)
    script = [
        remember("born", "1990-05-17"),
        remember("children", "2"),
        remember("born", "in May"),
        remember("shoe_size", 41),
        "Done.",
    ]
    with agent(place, script) as made:
        calls = made.run("Remember.").calls
    assert [call.status for call in calls] == ["ok", "ok", "failed", "invalid"], calls
    assert "2026-11-30" in calls[2].text
    with place.open() as deployment:
        values = {name: fact.value for name, fact in facts_of(deployment, deployment.principal).items()}
    assert values == {"born": "1990-05-17", "children": 2}


def test_there_is_room_for_so_many(tmp_path: Path) -> None:
    place = remembering_place(tmp_path, memory="facts = true\nmost = 1\nlongest = 10\n")
    script = [remember("a", "one"), remember("b", "two"), remember("a", "three"), remember("a", ["x" * 11]), "Done."]
    with agent(place, script) as made:
        calls = made.run("Remember.").calls
    assert [call.status for call in calls] == ["ok", "failed", "ok", "failed"]
    assert "no room" in calls[1].text and "11 characters" in calls[3].text


def test_the_budget_keeps_the_newest(tmp_path: Path) -> None:
    place = remembering_place(tmp_path, memory="facts = true\nbudget = 150\n")
    script = [*(remember(f"fact_{number}", f"{number} " + "word " * 20) for number in range(6)), "Done."]
    with agent(place, script) as made:
        made.run("Remember.")
    model = Listening()
    with agent(place, model) as second:
        second.run("Hello")
        loaded = next(second.state.records(event="memory.loaded")).body
    text = model.shown[0][1]
    assert "fact_5" in text and "fact_0" not in text
    assert loaded["facts"] + loaded["left_out"] == 6 and f"do not fit here: {loaded['left_out']}" in text


def test_what_the_person_typed_only_their_own_words_change(tmp_path: Path) -> None:
    from remit.memory.fact import Origin

    place = remembering_place(tmp_path)
    with agent(place, ["Yes."]) as typing:
        assert typing._memory is not None
        typing._memory.remember("home_city", "Oslo", origin=Origin(by="person", own_words=True, login="ada"))
    script = [
        remember("home_city", "Rome"),
        remember("home_city", "Bergen"),
        ask("remit.forget_fact", name="home_city"),
        "Done.",
    ]
    with agent(place, script) as made:
        calls = made.run("I moved to Bergen.").calls
    assert [call.status for call in calls] == ["failed", "ok", "failed"], calls
    with agent(place, ["Yes."]) as typing:
        assert typing._memory is not None
        typing._memory.remember("home_city", "Oslo", origin=Origin(by="person", own_words=True, login="ada"))
    with agent(place, [ask("remit.forget_fact", name="home_city"), "No."]) as made:
        denied = made.run("Forget my home city.").calls[0]
    assert denied.status == "failed" and "the person wrote home_city themselves" in denied.text


@pytest.mark.parametrize("typed", [True, False], ids=["typed", "control: only said"])
def test_what_the_person_typed_stays_theirs_after_the_model_changed_it_on_their_words(
    tmp_path: Path, typed: bool
) -> None:
    from remit.memory.fact import Origin

    place = remembering_place(tmp_path)
    if typed:
        with agent(place, ["Yes."]) as typing:
            assert typing._memory is not None
            typing._memory.remember("home_city", "Oslo", origin=Origin(by="person", own_words=True, login="ada"))
    with agent(place, [remember("home_city", "Rome"), "Noted."]) as made:
        assert made.run("My home city is now Rome.").calls[0].status == "ok"
    forget = ask("remit.forget_fact", name="home_city")
    with agent(place, [remember("home_city", "Evil"), forget, "Done."]) as made:
        calls = made.run("Hi").calls
    assert [call.status for call in calls] == (["failed", "failed"] if typed else ["ok", "ok"]), calls
    assert not typed or all("only they change it" in call.text for call in calls)
    for said, call in (("I moved to Bergen.", remember("home_city", "Bergen")), ("Forget my home city.", forget)):
        with agent(place, [call, "Done."]) as made:
            assert made.run(said).calls[0].status == "ok", said


@pytest.mark.parametrize(("said", "status"), [("Read the page.", "failed"), ("Read it, then forget my lawyer.", "ok")])
def test_a_page_cannot_have_the_persons_words_removed(tmp_path: Path, said: str, status: str) -> None:
    place = remembering_place(tmp_path)
    with agent(place, [remember("lawyer", "law@firm.example"), "Noted."]) as first:
        first.run("My lawyer is law@firm.example.")
    script = [ask("local.read_page"), ask("remit.forget_fact", name="lawyer"), "Done."]
    with agent(place, script) as second:
        assert second.run(said).calls[1].status == status


def test_a_page_cannot_replace_the_persons_words(tmp_path: Path) -> None:
    place = remembering_place(tmp_path)
    with agent(place, [remember("lawyer", "law@firm.example"), "Noted."]) as first:
        first.run("My lawyer is law@firm.example.")
    script = [ask("local.read_page"), remember("lawyer", "evil@attacker.example"), "Done."]
    with agent(place, script) as second:
        refused = second.run("Read the page.").calls[1]
    assert refused.status == "failed" and "what a result or page says does not change it" in refused.text


def test_what_is_remembered_stays_when_the_context_runs_short(tmp_path: Path) -> None:
    place = remembering_place(tmp_path)
    with agent(place, [remember("home_city", "Oslo"), "Noted."]) as first:
        first.run("I live in Oslo.")
    place.edit("[model]", "[model]\ncontext_length = 2000")
    model = Listening("word " * 200)
    with agent(place, model) as second:
        session = second.run("first question " + "long " * 300).session
        for _ in range(4):
            second.run("and again " + "long " * 300, session=session)
    shown = [text for _, text in model.shown]
    assert any("home_city" in text for text in shown) and not any("first question" in text for text in shown)


@pytest.mark.parametrize("verdict", ["allow", "ask"])
def test_the_audit_names_who_writes_facts(tmp_path: Path, verdict: str) -> None:
    place = remembering_place(tmp_path)
    place.edit('read = "allow"', f'read = "{verdict}"')
    with place.open() as deployment, State(deployment.state_folder) as state:
        skills = writing_skills(deployment, state).values()
        rows = audit_rows(deployment, skills=skills, enforcement=())
    assert [(row.skill, row.verdict, row.confined) for row in rows] == [
        ("remit.forget_fact", verdict, False),
        ("remit.remember_fact", verdict, False),
    ]
