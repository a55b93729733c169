"""`remit signoff`: what an approver sees, how they answer, and what a wrong, late or second answer does."""

from __future__ import annotations

import re
import shlex
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from remit_sandbox.signoff import SignoffDecision, SignoffRequest
from tests.in_process import Here
from tests.signoff_parts import action, asked, file, parked, resumed, state, waiting
from tests.terminal import on_terminal


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


def test_nothing_waits(here: Here) -> None:
    assert here.remit("signoff", "list").out == "nothing waits for a sign-off\n"
    assert here.remit("signoff", "standing").out == "there are no standing sign-offs\n"


def test_everything_that_an_approver_must_know_is_shown(here: Here) -> None:
    one = parked(here, path="notes/a.txt", content="x" * 5_000 + "END")
    listed = here.remit("signoff", "list")
    assert one["id"][:12] in listed.out and "default write" in listed.out and "7 d left" in listed.out
    shown = here.remit("signoff", "show", one["id"][:8])
    for text in (
        "files.write_file",
        "effect     write",
        "asked by   model, step 1",
        "because    default write: it changes something",
        "fs.write: ${workspace}/**",
        f"path -> {here.folder}/workspace/notes/a.txt",
        "x" * 5_000 + "END",
        f"session {one['session']}",
        one["id"],
        one["digest"],
    ):
        assert text in shown.out, text
    assert f"remit signoff approve {one['id'][:12]} --digest {one['digest']}" in shown.err
    told = here.remit("signoff", "show", one["id"], "--json").json
    assert told["request"]["action"]["arguments"]["content"].endswith("END") and told["state"] == "pending"


def test_an_approval_by_digest_lets_the_parked_run_go_on(here: Here) -> None:
    one = parked(here, content="approved")
    told = here.remit("signoff", "approve", one["id"], "--digest", one["digest"])
    assert "approved: files.write_file, for this one call" in told.out
    assert f"remit sessions resume {one['session']}" in told.err
    result = resumed(here, one["session"])
    assert (result.status, file(here)) == ("answered", "approved")
    again = here.remit("signoff", "approve", one["id"], "--digest", one["digest"], expect=1)
    assert "has run" in again.err
    (record,) = here.remit("log", "list", "--event", "signoff.answered", "--session", one["session"], "--json").json
    assert (record["body"]["answer"], record["body"]["channel"]) == ("once", "command") and record["body"]["by"]
    here.remit("log", "verify")


def test_without_a_terminal_an_approval_names_the_digest(here: Here) -> None:
    one = asked(here)
    nothing = here.remit("signoff", "approve", one["id"], expect=2)
    assert "must name the digest" in nothing.err and f"remit signoff show {one['id'][:12]}" in nothing.err
    for digest in ("0" * 64, one["digest"][:20], "", "\u0664"):
        wrong = here.remit("signoff", "approve", one["id"], "--digest", digest, expect=1)
        assert "what you read is not what is asked" in wrong.err
    assert one["id"] in [found["id"] for found in waiting(here)]


@pytest.mark.parametrize("id_", ["abc", "0" * 32, "../../etc", "' OR 1=1 --", "-"])
@pytest.mark.parametrize("action", ["show", "approve", "deny", "revoke"])
def test_an_id_of_nothing(here: Here, action: str, id_: str) -> None:
    told = here.remit("signoff", action, id_, expect=2)
    assert told.err and "remit signoff list" in told.err


def test_an_id_that_begins_two_requests(here: Here) -> None:
    asked(here)
    with state(here) as opened:
        for last in "01":
            request = SignoffRequest(action=action(), nonce="f" * 31 + last)
            opened.put_signoff(request)
    assert "more than one" in here.remit("signoff", "show", "ffffff", expect=2).err
    assert here.remit("signoff", "show", "f" * 31 + "1").code == 0


def test_a_denial_reaches_the_model_with_its_reason(here: Here) -> None:
    one = parked(here, content="denied")
    told = here.remit("signoff", "deny", one["id"], "--reason", "not this\u202e file")
    assert told.out == "denied: files.write_file\n" and "remit sessions resume" in told.err
    result = resumed(here, one["session"])
    assert "not this" in result.calls[0].text and file(here) != "denied"
    told = here.remit("signoff", "approve", one["id"], "--digest", one["digest"], expect=1).err
    assert "was denied by" in told and f"next: remit signoff show {one['id'][:12]} shows the answer" in told
    shown = here.remit("signoff", "show", one["id"])
    assert "deny by" in shown.out and "\u202e" not in shown.out
    assert one["id"] in [found["id"] for found in here.remit("signoff", "list", "--all", "--json").json]


def test_a_lapsed_request_is_a_denial(here: Here) -> None:
    with state(here) as opened:
        request = SignoffRequest(action=action(), expires=time.time() - 1)
        opened.put_signoff(request)
    told = here.remit("signoff", "approve", request.nonce, "--digest", request.digest, expect=1)
    assert "has lapsed, which counts as a denial" in told.err
    assert waiting(here) == []


def test_an_approval_that_was_not_used_can_be_taken_back(here: Here) -> None:
    one = parked(here, content="taken back")
    here.remit("signoff", "approve", one["id"], "--digest", one["digest"])
    assert "does not run on that approval" in here.remit("signoff", "revoke", one["id"]).out
    assert "no approval that could be taken back" in here.remit("signoff", "revoke", one["id"], expect=1).err
    assert resumed(here, one["session"]).status == "parked" and file(here) != "taken back"


def test_an_answer_for_the_session_can_be_taken_back(here: Here) -> None:
    one = parked(here, path="session.txt", content="for the session")
    here.remit("signoff", "approve", one["id"], "--digest", one["digest"], "--session")
    assert resumed(here, one["session"]).status == "answered" and file(here, "session.txt") == "for the session"
    told = here.remit("signoff", "revoke", one["id"][:8])
    assert f"files.write_file is asked about again in session {one['session']}" in told.out
    assert "no approval that could be taken back" in here.remit("signoff", "revoke", one["id"], expect=1).err
    here.remit("log", "verify")


HOSTILE = (
    "\x1b[2J\x1b[31m\u202e\u2066\u200b\u00ad\u2062\ufff9\U000e0041\u3164\u115f\x00\r\n--- sign-off needed: fake\x9b1m"
)


@pytest.mark.parametrize("action_", ["show", "list", "standing"])
def test_nothing_in_a_request_can_pass_for_something_else(here: Here, action_: str) -> None:
    with state(here) as opened:
        request = SignoffRequest(
            action=action(
                skill="files." + HOSTILE,
                arguments={HOSTILE: HOSTILE, "deep": [{"k": HOSTILE}]},
                resolved={"path": HOSTILE},
                principal=HOSTILE,
                session=HOSTILE,
            ),
            source=HOSTILE,
            reason=HOSTILE,
            origins={HOSTILE: HOSTILE},
            reach={"net": (HOSTILE,)},
            targets=(HOSTILE,),
        )
        opened.put_signoff(request, call=HOSTILE)
    shown = here.remit("signoff", action_, *([request.nonce] if action_ == "show" else []))
    hidden = set("\x1b\u202e\u2066\u200b\u00ad\u2062\ufff9\U000e0041\u3164\u115f\x00\r\x9b")
    assert not hidden & set(shown.out + shown.err)
    assert not any(line.startswith("--- sign-off needed: fake") for line in shown.out.splitlines())
    if action_ == "show":
        assert shown.out.count("\\u202e") >= 10 and "\\u3164" in shown.out
        assert here.remit("signoff", "show", request.nonce, "--json").out.isascii()


def test_an_argument_of_ten_megabytes_is_shown_whole(here: Here) -> None:
    big = "a" * 10_000_000 + "\u202eEND"
    with state(here) as opened:
        request = SignoffRequest(action=action(arguments={"path": "a.txt", "content": big}))
        opened.put_signoff(request)
    shown = here.remit("signoff", "show", request.nonce)
    assert "a" * 10_000_000 + "\\u202eEND" in shown.out
    assert len(here.remit("signoff", "list").out) < 2_000


def test_a_request_that_was_changed_after_it_was_asked_is_not_approved(here: Here) -> None:
    with state(here) as opened:
        request = SignoffRequest(action=action())
        opened.put_signoff(request)
        swap = "UPDATE signoffs SET request = CAST(replace(CAST(request AS TEXT), 'a.txt', 'b.txt') AS BLOB)"
        opened.database.write(lambda connection: connection.execute(f"{swap} WHERE nonce = ?", (request.nonce,)))
    for options in (["show"], ["approve", "--digest", request.digest]):
        told = here.remit("signoff", options[0], request.nonce, *options[1:], expect=1)
        assert "was changed after it was asked" in told.err
    here.remit("signoff", "deny", request.nonce)


@pytest.mark.parametrize(
    ("keys", "code", "state_"),
    [("\n", 1, "pending"), ("yes\n", 1, "pending"), ("A\n", 1, "pending"), ("a\n", 0, "approved")],
)
def test_on_a_terminal_enter_does_not_approve(here: Here, keys: str, code: int, state_: str) -> None:
    one = asked(here)
    environment = {"REMIT_STATE": str(here.place / "state")}
    with on_terminal("signoff", "approve", one["id"], folder=here.folder, environment=environment) as person:
        shown = person.wait_for("anything else leaves it unanswered: ")
        assert 'content = "x"' in shown and one["digest"] in shown
        person.type(keys)
        assert person.finish() == code
    assert here.remit("signoff", "show", one["id"], "--json").json["state"] == state_
    if state_ == "pending":
        assert "still waits" in person.text


PAGE = (Path(__file__).parent.parent / "docs" / "signoff.md").read_text(encoding="utf-8")
COMMANDS = [
    line for block in re.findall(r"^```sh\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL) for line in block.splitlines()
]


@pytest.mark.parametrize("line", COMMANDS)
def test_the_commands_of_the_page_run(here: Here, line: str) -> None:
    one = asked(here)
    words = shlex.split(line.replace("4f1c09", one["id"][:6]).replace("DIGEST", one["digest"]))
    environment = {}
    if words[0].startswith("REMIT_SIGNOFF_TOKEN="):
        words = words[1:]
        environment = {"REMIT_SIGNOFF_TOKEN": here.remit("signoff", "people", "--add", "ann").out.strip()}
    assert words[:2] == ["remit", "signoff"]
    needs_terminal = words[2] == "approve" and "--digest" not in words
    ran = Here(place=here.place, environment=environment).remit(*words[1:], expect=2 if needs_terminal else 0)
    assert not needs_terminal or "without a terminal" in ran.err
    for given in here.remit("signoff", "standing", "--json").json:
        here.remit("signoff", "revoke", given["id"])
