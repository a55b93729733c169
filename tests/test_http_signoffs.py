"""Sign-offs over HTTP: what is shown, who may decide, and that an approval is used once, whoever asks."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from remit import Agent, Deployment, ScriptedModel
from remit.http import App, Identity
from remit.http.reachable import reaching_this_machine
from remit.skills import Skill
from remit.state.store import State
from tests.http_parts import Apps, asked, opened, pending, reply, scripted, served

PEOPLE = {
    "ada": Identity(name="ada", roles=frozenset({"user"})),
    "bob": Identity(name="bob"),
    "grace": Identity(name="grace", roles=frozenset({"approver"})),
}


def known(request: Any) -> Identity | None:
    return PEOPLE.get(request.headers.get("x-user", ""))


@pytest.fixture(scope="module")
def deployment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    with opened(tmp_path_factory.mktemp("signoffs")) as found:
        yield found


@pytest.fixture
def new_app() -> Iterator[Apps]:
    apps = Apps()
    yield apps
    apps.close()


@pytest.fixture
def app(new_app: Apps, deployment: Deployment) -> App:
    return new_app(deployment, identify=known, agent=scripted)


def decide(app: App, id_: str, digest: str, answer: str = "once", *, by: str = "grace", **more: str) -> Any:
    body = {"digest": digest, "answer": answer, **more}
    return asked(app, "POST", f"/signoffs/{id_}/decision", json=body, headers={"x-user": by})


def get(app: App, path: str, who: str = "grace") -> Any:
    return asked(app, "GET", path, headers={"x-user": who})


def test_an_approver_sees_everything_that_is_bound(app: App, deployment: Deployment) -> None:
    hidden = "a\u202etxt.exe\u200b\x1b[2J"
    request = pending(
        deployment,
        "ada",
        arguments={"path": hidden, "content": "x" * 50_000},
        impact=("destroy",),
        effect="write",
        origins={"path": "the user's own words"},
        reach={"fs.write": ("${workspace}/**",)},
        targets=("path",),
    )
    found = asked(app, "GET", f"/signoffs/{request.nonce}", headers={"x-user": "grace"})
    one = found.json()
    assert found.text.isascii()
    assert one["arguments"] == {"path": hidden, "content": "x" * 50_000}
    assert "".join(one["shown"]).isprintable() and "\\u202e" in "".join(one["shown"])
    assert max(map(len, one["shown"])) > 50_000, "nothing is cut"
    assert one["digest"] == request.digest and one["expires"] == request.expires
    assert one["impact"] == ["destroy"] and one["effect"] == "write" and one["source"] == "default write"
    assert one["origins"] == {"path": "the user's own words"} and one["reach"] == {"fs.write": ["${workspace}/**"]}
    assert one["state"] == "pending" and one["decision"] is None and one["outcome"] is None


def test_secret_arguments_are_not_shown(app: App, deployment: Deployment) -> None:
    request = pending(deployment, "ada", arguments={"path": "a", "token": "hunter2"}, secret=("token",))
    found = get(app, f"/signoffs/{request.nonce}")
    assert "hunter2" not in found.text and found.json()["secret"] == ["token"]
    assert "token = (secret)" in found.json()["shown"]


def test_a_user_sees_only_their_own_and_an_approver_all(app: App, deployment: Deployment) -> None:
    hers, his = pending(deployment, "ada"), pending(deployment, "bob")
    ids = {who: {one["id"] for one in get(app, "/signoffs", who).json()["signoffs"]} for who in ("ada", "grace")}
    assert hers.nonce in ids["ada"] and his.nonce not in ids["ada"]
    assert {hers.nonce, his.nonce} <= ids["grace"]
    assert get(app, f"/signoffs/{his.nonce}", "ada").status_code == 404
    assert get(app, f"/signoffs/{hers.nonce}", "ada").status_code == 200
    assert get(app, f"/signoffs/{hers.nonce[:8]}").status_code == 404, "the whole id, not a part of it"
    assert decide(app, hers.nonce, hers.digest).status_code == 200
    pending_now = [one["id"] for one in get(app, "/signoffs").json()["signoffs"]]
    assert hers.nonce not in pending_now
    assert hers.nonce in [one["id"] for one in get(app, "/signoffs?all=1").json()["signoffs"]]


def test_a_decision_is_for_one_digest_once(app: App, deployment: Deployment) -> None:
    request, other = pending(deployment, "ada"), pending(deployment, "ada", arguments={"path": "b", "content": "y"})
    wrong = decide(app, request.nonce, other.digest)
    assert wrong.status_code == 409 and "another digest" in wrong.json()["error"]["message"]
    right = decide(app, request.nonce, request.digest, reason="looks right")
    assert right.status_code == 200 and right.json()["state"] == "approved"
    assert right.json()["decision"] == {
        "answer": "once",
        "digest": request.digest,
        "reason": "looks right",
        "by": "grace",
        "channel": "http",
    }
    again = decide(app, request.nonce, request.digest, "deny", by="bob")
    assert again.status_code == 409 and "settled already: approved" in again.json()["error"]["message"]
    with State(deployment.state_folder) as state:
        (record,) = [r for r in state.records(event="signoff.answered") if r.body["nonce"] == request.nonce]
    assert (record.body["by"], record.body["channel"], record.who) == ("grace", "http", "ada")


def test_a_late_decision_is_gone(app: App, deployment: Deployment) -> None:
    late, soon = pending(deployment, "ada", expires=time.time() - 1), pending(deployment, "ada")
    found = decide(app, late.nonce, late.digest)
    assert found.status_code == 410 and "expired" in found.json()["error"]["message"]
    assert decide(app, soon.nonce, soon.digest).status_code == 200
    assert decide(app, "0" * 32, soon.digest).status_code == 404


def test_several_are_decided_at_once_each_with_its_own_outcome(app: App, deployment: Deployment) -> None:
    one, two, late = pending(deployment, "ada"), pending(deployment, "ada"), pending(deployment, "ada", expires=1.0)
    body = [
        {"id": one.nonce, "digest": one.digest, "answer": "once"},
        {"id": two.nonce, "digest": one.digest, "answer": "once"},
        {"id": late.nonce, "digest": late.digest, "answer": "once"},
        {"id": one.nonce, "digest": one.digest, "answer": "deny"},
        {"id": two.nonce, "digest": two.digest, "answer": "deny", "reason": "not this"},
    ]
    headers = {"x-user": "grace"}
    found = asked(app, "POST", "/signoffs/decisions", json={"decisions": body}, headers=headers)
    assert [outcome["status"] for outcome in found.json()["outcomes"]] == [200, 409, 410, 409, 200]
    assert [outcome["id"] for outcome in found.json()["outcomes"]] == [one["id"] for one in body]
    assert asked(app, "POST", "/signoffs/decisions", json={"decisions": []}, headers=headers).status_code == 400
    many = {"decisions": body * 21}
    assert asked(app, "POST", "/signoffs/decisions", json=many, headers=headers).status_code == 400


def test_what_has_an_impact_is_answered_each_time(app: App, deployment: Deployment) -> None:
    for impact, status in (("destroy",), 403), ((), 200):
        request = pending(deployment, "Bob", impact=impact)
        assert decide(app, request.nonce, request.digest, "session", by="bob").status_code == status


@pytest.mark.parametrize(
    ("by", "verdict", "answer", "status"),
    [
        ("ada", "ask", "once", 403),  # a user does not decide, not even about their own
        ("ada", "ask", "deny", 403),
        ("bob", "ask", "once", 200),
        ("bob", "ask", "session", 200),
        ("bob", "ask-apart", "once", 403),  # it is bob's own
        ("bob", "ask-apart", "deny", 200),
        ("grace", "ask-apart", "once", 200),
        ("grace", "ask-apart", "session", 403),
    ],
)
def test_who_may_decide_what(app: App, deployment: Deployment, by: str, verdict: Any, answer: str, status: int) -> None:
    request = pending(deployment, "ada" if by == "ada" else "Bob", verdict=verdict)
    if by == "ada":
        assert get(app, f"/signoffs/{request.nonce}", "ada").status_code == 200
    found = decide(app, request.nonce, request.digest, answer, by=by)
    assert found.status_code == status, found.text
    left = get(app, f"/signoffs/{request.nonce}").json()["state"]
    assert left == ("pending" if status == 403 else "denied" if answer == "deny" else "approved")


def test_where_two_must_approve_one_is_not_enough(app: App, deployment: Deployment) -> None:
    request = pending(deployment, "ada", verdict="ask-apart", approvers=2)
    assert decide(app, request.nonce, request.digest, by="grace").json()["state"] == "pending"
    again = decide(app, request.nonce, request.digest, by="grace")
    assert again.status_code == 409 and "already" in again.json()["error"]["message"]
    second = decide(app, request.nonce, request.digest, by="bob").json()
    assert second["state"] == "approved" and second["people"] == ["grace", "bob"]


@pytest.mark.confinement
def test_the_person_alone_decides_unless_a_skill_could(new_app: Apps, deployment: Deployment) -> None:
    alone = new_app(deployment)
    request, other = pending(deployment, "person", verdict="ask-apart"), pending(deployment, "person")
    assert decide(alone, request.nonce, request.digest).status_code == 200

    def fetch(url: str) -> str:
        """Fetch anything."""
        return url

    def able(view: Deployment, principal: str) -> Agent:
        return Agent(view, principal=principal, model=ScriptedModel(reply), skills=[fetch])

    config = deployment.config
    allowed = config.host_skills.model_copy(update={"allow": ("fetch",)})
    deployment.config = config.model_copy(update={"host_skills": allowed})
    try:
        for app in (new_app(deployment, agent=able), new_app(deployment)):
            refused = decide(app, other.nonce, other.digest)
            assert (
                refused.status_code == 403 and "could send this approval itself" in refused.json()["error"]["message"]
            )
        assert decide(app, other.nonce, other.digest, "deny").status_code == 200, "to refuse is always allowed"
    finally:
        deployment.config = config


@pytest.mark.confinement
def test_which_skills_reach_this_machine(deployment: Deployment) -> None:
    from dataclasses import replace

    skills = dict(deployment.skills)
    assert reaching_this_machine(skills.values()) == ()
    first = skills["files.read_file"]
    assert first.cell is not None
    private = replace(first.cell, rights=replace(first.cell.rights, private_net=("127.0.0.1:8080",)))
    assert reaching_this_machine([replace(first, cell=private)]) == ("files.read_file",)
    own = Skill(pack="local", name="fetch", description="", schema={}, confined=False, function=len)
    assert reaching_this_machine([own, first]) == ("local.fetch",)
    assert reaching_this_machine([replace(own, pack="remit")], ["fetch"]) == ("fetch",)


def test_two_apps_of_one_deployment_use_an_approval_once(new_app: Apps, deployment: Deployment) -> None:
    """The whole way, with real servers: parked in one, signed and resumed through both at the same moment."""
    first, second = (new_app(deployment, identify=known, agent=scripted) for _ in range(2))
    with served(first, **{"x-user": "bob"}) as one, served(second, **{"x-user": "bob"}) as two:
        parked = one.post("/runs", json={"question": "move new.txt"}).json()
        assert parked["status"] == "parked", parked
        (waiting,) = two.get(f"/sessions/{parked['session']}").json()["signoffs"]
        shown = two.get(f"/signoffs/{waiting}").json()
        assert shown["verdict"] == "ask-apart" and shown["source"] == "rule moving"
        body = {"digest": shown["digest"], "answer": "once"}
        assert two.post(f"/signoffs/{waiting}/decision", json=body).status_code == 403, "it is bob's own"
        early = one.post(f"/sessions/{parked['session']}/resume").json()
        assert early["status"] == "parked", "nobody has answered yet"
        decided = two.post(f"/signoffs/{waiting}/decision", json=body, headers={"x-user": "grace"})
        assert decided.json()["state"] == "approved"

        answers: list[Any] = []
        resume = [
            threading.Thread(target=lambda c=client: answers.append(c.post(f"/sessions/{parked['session']}/resume")))
            for client in (one, two, one, two)
        ]
        for thread in resume:
            thread.start()
        for thread in resume:
            thread.join()
        codes = sorted(answer.status_code for answer in answers)
        assert codes[0] == 200 and set(codes[1:]) <= {200, 409}, [answer.text for answer in answers]
        done = one.get(f"/signoffs/{waiting}").json()
        assert done["state"] == "consumed" and done["outcome"]["status"] == "ok" and done["outcome"]["text"]
        told = two.get(f"/signoffs/{waiting}", headers={"x-user": "grace"}).json()["outcome"]
        assert told["status"] == "ok" and "text" not in told, "what it gave is for whom it ran"
    with State(deployment.state_folder) as state:
        started = list(state.records(event="call.started", session=parked["session"]))
    assert len(started) == 1
    assert (deployment.workspace / "new.txt").read_text() == "old"
