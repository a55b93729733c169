"""`remit signoff`: other arguments, more calls than one, another channel, and two people."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import pytest

from remit import Agent, ScriptedModel
from remit.models.scripted import ask
from remit_sandbox.signoff import SignoffDecision
from tests.in_process import Here
from tests.signoff_parts import asked, file, parked, resumed, state, waiting


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Here:
    return Here(place=tmp_path_factory.mktemp("signoff")).make("files")


@pytest.fixture
def answered_all(here: Here) -> Iterator[None]:
    """Leave nothing that waits to the next test."""
    yield
    with state(here) as opened:
        for one in opened.signoffs():
            opened.give_answer(one, SignoffDecision(answer="deny", digest=one.digest, by="nobody"))


pytestmark = pytest.mark.usefixtures("answered_all")


RULES = """
[[rule]]
id = "keep-secret"
verdict = "deny"
match = { arguments = { path = { eq = "secret.txt" } } }
[[rule]]
id = "keep-apart"
verdict = "ask-apart"
match = { arguments = { path = { eq = "apart.txt" } } }
"""


@pytest.fixture(scope="module")
def ruled(tmp_path_factory: pytest.TempPathFactory) -> Here:
    here = Here(place=tmp_path_factory.mktemp("ruled")).make("files")
    here.edit("[packs.files]", f"{RULES}\n[packs.files]")
    here.edit("[defaults]\n", '[defaults]\ntwo_person = ["destroy"]\n')
    here.remit("trust", "--yes")
    return here


def test_what_a_person_writes_runs_and_the_model_is_told(here: Here) -> None:
    one = parked(here, path="a.txt", content="from the model")
    arguments = '{"path": "edited.txt", "content": "from a person"}'
    told = here.remit("signoff", "edit", one["id"], "--arguments", arguments, "--digest", one["digest"])
    assert "is denied as edited" in told.out and "approved: files.write_file" in told.out
    result = resumed(here, one["session"])
    assert file(here, "edited.txt") == "from a person" and file(here) != "from the model"
    text = result.calls[0].text
    assert "changed the arguments before approving" in text and 'path: "a.txt" became "edited.txt"' in text
    here.remit("log", "verify")


@pytest.mark.parametrize(
    ("arguments", "code", "why"),
    [
        ("{", 2, "JSON"),
        ('{"path": "a.txt"}', 2, "content"),
        ('{"path": "a.txt", "content": 7}', 2, "content"),
        ('{"path": "a.txt", "content": "x", "mode": "w"}', 2, "mode"),
        ('{"path": "a.txt", "content": "x"}', 2, "that were asked for"),
        ('{"path": "secret.txt", "content": "x"}', 1, "is deny (rule keep-secret"),
        ('{"path": "apart.txt", "content": "x"}', 1, "is ask-apart (rule keep-apart"),
    ],
)
def test_an_edit_that_does_not_fit_or_is_stricter_changes_nothing(
    ruled: Here, arguments: str, code: int, why: str
) -> None:
    one = asked(ruled)
    options = ["--arguments", arguments, "--digest", one["digest"]]
    told = ruled.remit("signoff", "edit", one["id"], *options, expect=code)
    assert why in told.err
    assert one["id"] in [found["id"] for found in waiting(ruled)]
    ruled.remit("signoff", "deny", one["id"])


def test_another_policy_since_then_ends_the_request(ruled: Here, tmp_path: Path) -> None:
    one = parked(ruled)
    before = ruled.config
    ruled.edit('id = "keep-secret"', 'id = "keep-hidden"')
    arguments = '{"path": "b.txt", "content": "x"}'
    told = ruled.remit("signoff", "edit", one["id"], "--arguments", arguments, "--digest", one["digest"], expect=1)
    assert "the policy has changed since this was asked" in told.err
    ruled.remit("signoff", "approve", one["id"], "--digest", one["digest"])
    assert resumed(ruled, one["session"]).status == "parked" and file(ruled) == ""
    (ruled.folder / "remit.toml").write_text(before)


def test_a_rules_ask_apart_is_answered_from_another_terminal(ruled: Here) -> None:
    one = parked(ruled, path="apart.txt")
    assert one["verdict"] == "ask-apart"
    assert "--session" in ruled.remit("signoff", "approve", one["id"], "--session", expect=2).err
    standing = ruled.remit("signoff", "approve", one["id"], "--standing", "--digest", one["digest"], expect=1)
    assert "there is no standing sign-off for it" in standing.err
    ruled.remit("signoff", "approve", one["id"], "--digest", one["digest"])
    assert resumed(ruled, one["session"]).status == "answered" and file(ruled, "apart.txt") == "x"


def test_two_people_with_tokens(ruled: Here) -> None:
    (ruled.folder / "workspace" / "old.txt").write_text("old")
    script = [ask("files.delete_file", path="old.txt")]
    with (
        mock.patch.dict(os.environ, {"REMIT_STATE": str(ruled.place / "state")}),
        Agent(ruled.folder, model=ScriptedModel(script)) as agent,
    ):
        assert agent.run("go", session="two").status == "parked"
    one = waiting(ruled)[-1]
    tokens = {name: ruled.remit("signoff", "people", "--add", name).out.strip() for name in ("ann", "bob")}
    assert "2 must approve" in ruled.remit("signoff", "show", one["id"]).out
    own = ruled.remit("signoff", "approve", one["id"], "--digest", one["digest"], expect=1)
    assert "for whom it is done" in own.err and f"approve {one['id'][:12]} --as NAME, by that person" in own.err

    def approve(name: str, token: str, expect: int = 0) -> str:
        with_token = Here(place=ruled.place, environment={"REMIT_SIGNOFF_TOKEN": token})
        ran = with_token.remit("signoff", "approve", one["id"], "--digest", one["digest"], "--as", name, expect=expect)
        return ran.out + ran.err

    assert "is not that of ann" in approve("ann", tokens["bob"], 1) and "needs a token" in approve("ann", "", 2)
    assert "approved by 1 of 2" in approve("ann", tokens["ann"])
    assert "ann has approved it already" in approve("ann", tokens["ann"], 1)
    assert (ruled.folder / "workspace" / "old.txt").exists() and "1 of 2" in ruled.remit("signoff", "list").out
    assert resumed(ruled, "two").status == "parked"
    assert "approved: files.delete_file" in approve("bob", tokens["bob"])
    assert resumed(ruled, "two").status == "answered" and not (ruled.folder / "workspace" / "old.txt").exists()
    records = ruled.remit("log", "list", "--event", "signoff.answered", "--session", "two", "--json").json
    assert [(r["body"]["by"], r["body"]["channel"]) for r in records] == [("ann", "token"), ("bob", "token")]
    assert not {tokens["ann"], tokens["bob"]} & set(json.dumps(records).split('"'))
    ruled.remit("signoff", "people", "--remove", "ann")
    assert [found["name"] for found in ruled.remit("signoff", "people", "--json").json] == ["bob"]
    assert "is not that of ann" in approve_error(ruled, tokens["ann"])


def test_a_token_in_place_of_another_is_said_and_recorded(ruled: Here) -> None:
    ruled.remit("signoff", "people", "--add", "zed")
    ran = ruled.remit("signoff", "people", "--add", "Zed")
    assert "in place of the token that zed had" in ran.err
    assert ruled.remit("signoff", "people", "--add", "Zed", "--json").json["replaced"] == ["Zed"]
    removed = ruled.remit("log", "list", "--event", "token.removed", "--json").json
    assert [record["body"]["name"] for record in removed][-2:] == ["zed", "Zed"]
    ruled.remit("signoff", "people", "--remove", "Zed")


def test_a_token_that_may_not_answer_is_said_to_be_hers(ruled: Here) -> None:
    with state(ruled) as opened:
        token = opened.add_token("vera", by="root", roles=frozenset({"user"}))
    one = asked(ruled)
    with_token = Here(place=ruled.place, environment={"REMIT_SIGNOFF_TOKEN": token})
    told = with_token.remit("signoff", "approve", one["id"], "--digest", one["digest"], "--as", "vera", expect=1).err
    assert "takes the role approver" in told and "next: remit signoff people --add vera" in told
    assert "not used without --as" in with_token.remit("signoff", "deny", one["id"]).err
    ruled.remit("signoff", "people", "--remove", "vera")


def test_an_edit_beyond_what_the_skill_may_reach_leaves_the_request_as_it_was(here: Here) -> None:
    one = parked(here)
    refused = ("signoff", "edit", one["id"], "--digest", one["digest"], "--arguments")
    ran = here.remit(*refused, json.dumps({"path": "../b.txt", "content": "y"}), expect=1)
    assert "may not reach what these arguments name: path" in ran.err
    assert waiting(here)[-1]["id"] == one["id"]
    assert "approved" in here.remit(*refused, json.dumps({"path": "b.txt", "content": "y"})).out


def approve_error(here: Here, token: str) -> str:
    one = asked(here)
    with_token = Here(place=here.place, environment={"REMIT_SIGNOFF_TOKEN": token})
    told = with_token.remit("signoff", "approve", one["id"], "--digest", one["digest"], "--as", "ann", expect=1).err
    here.remit("signoff", "deny", one["id"])
    return told


def diary(content: str) -> str:
    return json.dumps({"path": "diary.txt", "content": content, "overwrite": True})


def test_a_standing_signoff_is_listed_used_and_revoked(here: Here) -> None:
    one = parked(here, path="diary.txt", content="1", overwrite=True)
    options = ["--standing", "--uses", "2", "--for", "12h", "--fixed", "path", "--digest", one["digest"]]
    told = here.remit("signoff", "approve", one["id"], *options)
    assert "allows files.write_file with the same path, 2 more times, for 12 h" in told.out
    assert resumed(here, one["session"]).status == "answered"
    (given,) = here.remit("signoff", "standing", "--json").json
    assert (given["fixed"], given["uses"], given["state"]) == ({"path": "diary.txt"}, 2, "active")
    here.remit("call", "files.write_file", diary("2"))
    assert "1 of 2" in here.remit("signoff", "standing").out and file(here, "diary.txt") == "2"
    here.remit("call", "files.write_file", '{"path": "other.txt", "content": "2"}', expect=3)
    config = here.config
    here.edit('external = "ask"', 'external = "deny"')
    assert "void: the policy was changed" in here.remit("signoff", "standing").out
    here.remit("call", "files.write_file", diary("3"), expect=3)
    (here.folder / "remit.toml").write_text(config)
    assert "is asked about again" in here.remit("signoff", "revoke", given["id"][:8]).out
    assert "was revoked before" in here.remit("signoff", "revoke", given["id"], expect=1).err
    here.remit("call", "files.write_file", diary("4"), expect=3)
    assert file(here, "diary.txt") == "2" and here.remit("signoff", "standing", "--json").json == []
    assert "revoked" in here.remit("signoff", "standing", "--all").out
    here.remit("log", "verify")


@pytest.mark.parametrize(
    ("options", "code", "why"),
    [
        (["--uses", "3"], 2, "belong to --standing"),
        (["--standing", "--uses", "0"], 2, "uses: a number"),
        (["--standing", "--for", "soon"], 2, "no length of time"),
        (["--standing", "--for", "9999w"], 2, "up to a year"),
        (["--standing", "--fixed", "pth"], 2, "no argument 'pth'"),
        (["--standing", "--fixed", ","], 2, "names no argument"),
        (["--standing", "--session"], 2, "not allowed with"),
    ],
)
def test_options_that_do_not_fit(here: Here, options: list[str], code: int, why: str) -> None:
    one = asked(here)
    told = here.remit("signoff", "approve", one["id"], "--digest", one["digest"], *options, expect=code)
    assert why in told.err and one["id"] in [found["id"] for found in waiting(here)]


def test_what_destroys_has_no_standing_signoff(here: Here) -> None:
    (here.folder / "workspace" / "old.txt").write_text("old")
    here.remit("call", "files.delete_file", '{"path": "old.txt"}', expect=3)
    (one,) = waiting(here)
    told = here.remit("signoff", "approve", one["id"], "--digest", one["digest"], "--standing", expect=1)
    assert "signed off each time (destroy)" in told.err and waiting(here)
