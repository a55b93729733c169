"""Edits, standing answers and what is taken back over HTTP: with the checks of the command line."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

from remit import Deployment
from remit.evidence.verify import verify
from remit.http import App, Rates
from remit.state.store import State
from tests.http_parts import Apps, asked, opened, pending, scripted, served
from tests.test_http_signoffs import decide, get, known


@pytest.fixture(scope="module")
def deployment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    with opened(tmp_path_factory.mktemp("answers")) as found:
        yield found


@pytest.fixture(scope="module")
def app(deployment: Deployment) -> Iterator[App]:
    apps = Apps()
    yield apps(deployment, identify=known, agent=scripted, rates=Rates(requests=100_000, burst=10_000))
    apps.close()


def send(app: App, path: str, body: Any = None, *, by: str = "grace") -> Any:
    return asked(app, "POST", path, json=body, headers={"x-user": by})


def edit(app: App, one: dict[str, Any], *, by: str = "grace", **body: Any) -> Any:
    return send(app, f"/signoffs/{one['id']}/edit", {"digest": one["digest"], **body}, by=by)


@pytest.fixture
def waiting(app: App, deployment: Deployment) -> Iterator[dict[str, Any]]:
    """A run of bob that waits with `write new.txt`, in a workspace without that file."""
    (deployment.workspace / "new.txt").unlink(missing_ok=True)
    parked = send(app, "/runs", {"question": "write new.txt"}, by="bob").json()
    (one,) = get(app, f"/sessions/{parked['session']}", "bob").json()["signoffs"]
    yield get(app, f"/signoffs/{one}").json()
    for left in get(app, "/signoffs").json()["signoffs"]:
        decide(app, left["id"], left["digest"], "deny")


def resume(app: App, one: dict[str, Any]) -> Any:
    return send(app, f"/sessions/{one['session']}/resume", by="bob").json()


def test_what_a_file_holds_and_would_become_is_shown(app: App, waiting: dict[str, Any]) -> None:
    assert waiting["contents"] == {"path": "nothing"}
    assert waiting["changes"] == {"path": ["a new file, if it is made of content", "+hello", "\\ no line end"]}


def test_an_approver_edits_a_call_and_it_runs_so(app: App, deployment: Deployment, waiting: dict[str, Any]) -> None:
    arguments = {"path": "new.txt", "content": "hello\u202e\n"}
    before = edit(app, waiting, arguments=arguments, preview=True)
    assert before.status_code == 200 and before.json()["changes"]["path"][1] == "+hello\\u202e"
    assert before.json()["changed"] == ['content: "hello" became "hello\\u202e\\n"']
    assert get(app, f"/signoffs/{waiting['id']}").json()["state"] == "pending", "a preview answers nothing"
    done = edit(app, waiting, arguments=arguments).json()
    assert (done["state"], done["edits"], done["decision"]["answer"]) == ("approved", waiting["id"], "edit")
    assert done["digest"] != waiting["digest"] and done["decision"]["digest"] == done["digest"]
    assert get(app, f"/signoffs/{waiting['id']}").json()["state"] == "denied"
    assert "grace changed the arguments" in resume(app, waiting)["answer"]
    assert (deployment.workspace / "new.txt").read_text() == arguments["content"]
    assert get(app, f"/signoffs/{done['id']}").json()["outcome"]["status"] == "ok"
    assert verify(deployment.state_folder / "state.db").holds


@pytest.mark.parametrize(
    ("by", "change", "status", "why"),
    [
        ("ada", {}, 403, "may not do this"),
        ("grace", {"digest": "0" * 64}, 409, "another digest"),
        ("grace", {"arguments": {"path": 7}}, 400, "path"),
        ("grace", {"arguments": {"path": "new.txt", "content": "hello"}}, 400, "that were asked for"),
        ("grace", {"arguments": {"path": "new.txt", "content": "hello", "evil": 1}}, 400, "evil"),
        ("grace", {"arguments": "text"}, 400, "arguments"),
        ("grace", {"unknown": 1}, 400, "unknown"),
    ],
)
def test_an_edit_that_may_not_be_changes_nothing(
    app: App, waiting: dict[str, Any], by: str, change: dict[str, Any], status: int, why: str
) -> None:
    body: dict[str, Any] = {"digest": waiting["digest"], "arguments": {"path": "new.txt", "content": "b"}, **change}
    found = send(app, f"/signoffs/{waiting['id']}/edit", body, by=by)
    assert found.status_code == status and why in found.json()["error"]["message"], found.text
    assert get(app, f"/signoffs/{waiting['id']}").json()["state"] == "pending"


def test_what_is_of_another_policy_or_skill_is_not_edited(app: App, deployment: Deployment) -> None:
    request = pending(deployment, "ada")
    found = edit(app, {"id": request.nonce, "digest": request.digest}, arguments={"path": "b", "content": "y"})
    assert found.status_code == 403 and "has changed since this was asked" in found.json()["error"]["message"]


def test_an_approval_is_void_once_the_file_has_changed(
    app: App, deployment: Deployment, waiting: dict[str, Any]
) -> None:
    assert decide(app, waiting["id"], waiting["digest"]).json()["state"] == "approved"
    (deployment.workspace / "new.txt").write_text("somebody else's")
    assert resume(app, waiting)["status"] == "parked"
    assert (deployment.workspace / "new.txt").read_text() == "somebody else's"
    anew = [one for one in get(app, "/signoffs").json()["signoffs"] if one["session"] == waiting["session"]]
    assert [one["id"] == waiting["id"] for one in anew] == [False]


def test_an_approval_is_taken_back_until_it_is_used(app: App, deployment: Deployment, waiting: dict[str, Any]) -> None:
    path = f"/signoffs/{waiting['id']}/revoke"
    assert send(app, path).status_code == 409, "nobody has approved it"
    decide(app, waiting["id"], waiting["digest"])
    assert send(app, path, by="ada").status_code == 403
    assert send(app, path).json()["state"] == "denied"
    assert resume(app, waiting)["status"] == "parked" and not (deployment.workspace / "new.txt").exists()
    with State(deployment.state_folder) as state:
        (record,) = [one for one in state.records(event="signoff.revoked") if one.body["nonce"] == waiting["id"]]
    assert record.body["by"] == "grace"


def test_a_standing_answer_covers_calls_to_come_until_it_is_taken_back(
    app: App, deployment: Deployment, waiting: dict[str, Any]
) -> None:
    scope = {"uses": 2, "lasts": "2h", "fixed": ["path", "content"]}
    given = decide(app, waiting["id"], waiting["digest"], "standing", standing=scope)  # type: ignore[arg-type]
    assert given.json()["decision"]["answer"] == "standing"
    (one,) = get(app, "/standing").json()["standing"]
    assert (one["state"], one["uses"], one["by"], one["channel"]) == ("active", 2, "grace", "http")
    assert one["fixed"] == {"content": "hello", "path": "new.txt"} and 7000 < one["expires"] - time.time() <= 7200
    assert get(app, "/standing", "ada").json() == {"standing": []}
    assert [two["id"] for two in get(app, "/standing", "bob").json()["standing"]] == [one["id"]]
    assert resume(app, waiting)["status"] == "answered"
    assert send(app, "/runs", {"question": "write new.txt"}, by="bob").json()["status"] == "answered"
    (one,) = get(app, "/standing").json()["standing"]
    assert one["uses"] == 1
    assert send(app, f"/standing/{one['id']}/revoke", by="bob").json()["state"] == "revoked"
    assert send(app, f"/standing/{one['id']}/revoke").status_code == 409
    assert send(app, f"/standing/{one['id'][:8]}/revoke").status_code == 404
    assert send(app, "/runs", {"question": "write new.txt"}, by="bob").json()["status"] == "parked"
    assert get(app, "/standing").json() == {"standing": []}
    assert len(get(app, "/standing?all=1").json()["standing"]) == 1
    assert verify(deployment.state_folder / "state.db").holds


@pytest.mark.parametrize(
    ("request_", "scope", "status", "why"),
    [
        ({}, {"uses": 0}, 400, "uses"),
        ({}, {"lasts": "soon"}, 400, "no length of time"),
        ({}, {"fixed": ["pth"]}, 400, "no argument 'pth'"),
        ({"impact": ("destroy",)}, {}, 403, "signed off each time"),
        ({"verdict": "ask-apart"}, {}, 403, "for one action only"),
        ({"approvers": 2}, {}, 403, "for one action only"),
    ],
)
def test_a_standing_answer_that_may_not_be_is_refused(
    app: App, deployment: Deployment, request_: dict[str, Any], scope: dict[str, Any], status: int, why: str
) -> None:
    one = pending(deployment, "ada", **request_)
    found = decide(app, one.nonce, one.digest, "standing", standing=scope)  # type: ignore[arg-type]
    assert found.status_code == status and why in found.json()["error"]["message"], found.text
    other = decide(app, one.nonce, one.digest, "once", standing={})  # type: ignore[arg-type]
    assert other.status_code == 400 and "belongs to the answer standing" in other.json()["error"]["message"]
    assert get(app, f"/signoffs/{one.nonce}").json()["state"] == "pending"


def test_two_people_must_approve_an_edit_too(app: App, deployment: Deployment, waiting: dict[str, Any]) -> None:
    with State(deployment.state_folder) as state:
        from dataclasses import replace

        two = replace(state.signoff(waiting["id"]).rebuilt(), nonce="2" * 32, approvers=2)
        state.put_signoff(two, call="c9")
    arguments = {"path": "new.txt", "content": "both"}
    done = edit(app, {"id": two.nonce, "digest": two.digest}, arguments=arguments).json()
    assert done["state"] == "pending" and done["people"] == ["grace"]
    again = decide(app, done["id"], done["digest"])
    assert again.status_code == 409
    assert decide(app, done["id"], done["digest"], by="bob").status_code == 409, "it is bob's own"


def test_real_servers_take_edits(app: App, waiting: dict[str, Any]) -> None:
    with served(app, **{"x-user": "grace"}) as client:
        body = {"digest": waiting["digest"], "arguments": {"path": "new.txt", "content": "c"}}
        assert client.post(f"/signoffs/{waiting['id']}/edit", json=body).json()["state"] == "approved"
        assert client.post(f"/signoffs/{waiting['id']}/edit", json=body).status_code == 409
