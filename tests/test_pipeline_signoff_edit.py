"""Editing a call where it is asked about: checked, decided, shown again, and only then approved."""

from __future__ import annotations

from pathlib import Path

import pytest

from remit_sandbox.signoff import Answer, Edit, SignoffDecision, SignoffRequest
from tests.pipeline_parts import Bench, Person
from tests.test_pipeline_signoff_before import WRITE, answer, holds, nothing_written, written

__all__ = ["nothing_written"]


class Editor(Person):
    """Edits so often as there are arguments for it, and then answers."""

    def __init__(self, *edits: str, answer: Answer = "once") -> None:
        super().__init__(answer)
        self.edits = list(edits)

    async def ask(self, request: SignoffRequest) -> SignoffDecision | Edit:  # type: ignore[override]
        if not self.edits:
            return await super().ask(request)
        self.asked.append(request)
        return Edit(digest=request.digest, arguments=self.edits.pop(0), by="ann", channel="test")


def test_what_is_edited_here_is_asked_again_and_runs_as_it_was_edited(tmp_path: Path) -> None:
    person = Editor('{"text": "b"}', '{"text": "c"}')
    with Bench(tmp_path, WRITE, approver=person) as bench:
        result = bench.call("local.write", text="a")
        assert result.status == "ok" and written == ["c"] and 'text: "a" became "c"' in result.text
        assert [request.action.arguments["text"] for request in person.asked] == ["a", "b", "c"]
        assert {request.edits for request in person.asked[1:]} == {person.asked[0].nonce}
        answers = [record.body["answer"] for record in bench.state.records(event="signoff.answered")]
        assert answers == ["deny", "edit"] and bench.state.signoffs() == () and holds(bench)


@pytest.mark.parametrize(
    ("edit", "remark"),
    [
        ('{"text": 7}', "text"),
        ("no JSON", "not taken"),
        ('{"text": "a"}', "these are the arguments that were asked for"),
        ('{"text": "forbidden"}', "is deny"),
    ],
)
def test_an_edit_that_does_not_do_is_said_and_asked_again(tmp_path: Path, edit: str, remark: str) -> None:
    rules = [{"id": "no", "verdict": "deny", "match": {"arguments": {"text": {"eq": "forbidden"}}}}]
    person = Editor(edit)
    with Bench(tmp_path, WRITE, rules=rules, approver=person) as bench:
        assert bench.call("local.write", text="a").status == "ok" and written == ["a"]
        assert remark in person.asked[1].remark and person.asked[1].digest == person.asked[0].digest
        assert holds(bench)


def test_an_edited_call_can_still_be_denied(tmp_path: Path) -> None:
    person = Editor('{"text": "b"}', answer="deny")
    with Bench(tmp_path, WRITE, approver=person) as bench:
        assert bench.call("local.write", text="a").status == "denied" and not written
        assert bench.state.signoffs() == () and holds(bench)


def test_what_was_answered_elsewhere_meanwhile_is_not_edited_any_more(tmp_path: Path) -> None:
    class Late(Editor):
        async def ask(self, request: SignoffRequest) -> SignoffDecision | Edit:  # type: ignore[override]
            if request.edits:
                answer(bench, "deny", by="bob")
            return await super().ask(request)

    with Bench(tmp_path, WRITE, approver=Late('{"text": "b"}')) as bench:
        result = bench.call("local.write", text="a")
        assert result.status == "denied" and not written and holds(bench)


def test_an_edit_says_why_the_policy_asks_about_it_and_not_about_the_first_arguments(tmp_path: Path) -> None:
    match = {"arguments": {"text": {"eq": "a"}}}
    rules = [{"id": "no-a", "verdict": "ask", "match": match, "reason": "an a is looked at"}]
    person = Editor('{"text": "b"}')
    with Bench(tmp_path, WRITE, rules=rules, approver=person) as bench:
        assert bench.call("local.write", text="a").status == "ok" and written == ["b"]
        first, second = person.asked
        assert (first.source, first.reason) == ("rule no-a", "an a is looked at")
        assert second.source == "default write" and "an a is looked at" not in second.reason
