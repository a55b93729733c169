"""What whole records tell: calls without verdict or sign-off, and approvals used twice or for something else."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from remit.evidence import conduct
from remit.evidence.verify import Verified, verify
from remit.state.chain import Entry
from remit.state.store import State
from tests.evidence_parts import call_entries


def told(folder: Path, *calls: list[Entry]) -> Verified:
    """Verify a log of these calls."""
    with State(folder) as state:
        for entries in calls:
            state.append_all(entries, durable=False)
    return verify(folder / "state.db")


def only(found: Verified) -> tuple[str, int]:
    """Return kind and number of the only finding."""
    assert found.count == 1, found.findings
    (finding,) = found.findings
    return finding.kind, finding.seq


def test_honest_calls_pass(tmp_path: Path) -> None:
    assert told(tmp_path, *(call_entries(number) for number in range(20))).holds


def test_a_call_without_a_verdict(tmp_path: Path) -> None:
    entries = [entry for entry in call_entries(1) if entry.event != "call.decided"]
    assert only(told(tmp_path, entries)) == ("run without verdict", 2)


def test_a_call_that_was_denied(tmp_path: Path) -> None:
    denied = [replace(e, verdict="deny") if e.event == "call.decided" else e for e in call_entries(1)]
    assert only(told(tmp_path, denied)) == ("run without verdict", 3)


@pytest.mark.parametrize("missing", ["signoff.asked", "signoff.answered"])
def test_a_call_that_nobody_approved(tmp_path: Path, missing: str) -> None:
    entries = [entry for entry in call_entries(5) if entry.event != missing]
    assert only(told(tmp_path, entries)) == ("run without verdict", 4)


def test_a_call_that_a_person_refused(tmp_path: Path) -> None:
    entries = call_entries(5)
    entries[3] = replace(entries[3], body={**entries[3].body, "answer": "deny"})
    assert only(told(tmp_path, entries)) == ("run without verdict", 5)


def test_a_call_without_the_sign_off_that_it_needed(tmp_path: Path) -> None:
    entries = [entry for entry in call_entries(5) if not entry.event.startswith("signoff.")]
    entries[2] = replace(entries[2], body={"signoff": None})
    assert only(told(tmp_path, entries)) == ("run without verdict", 3)


@pytest.mark.parametrize(("by", "holds"), [("cy", True), ("ben", False), ("BEN ", False), ("ann", False), ("", False)])
def test_two_people_who_must_approve_are_two(tmp_path: Path, by: str, holds: bool) -> None:
    entries = call_entries(5)
    entries[2] = replace(entries[2], body={**entries[2].body, "approvers": 2})
    entries.insert(3, replace(entries[3], body={**entries[3].body, "by": by}))
    found = told(tmp_path, entries)
    assert found.holds if holds else only(found) == ("run without verdict", 6)


def test_a_standing_sign_off_is_one(tmp_path: Path) -> None:
    entries = [entry for entry in call_entries(5) if entry.event != "signoff.answered"]
    entries[2] = replace(entries[2], event="signoff.reused", body={"for": "standing"})
    entries[3] = replace(entries[3], body={"signoff": None})
    assert told(tmp_path, entries).holds


def test_a_grant_for_the_session_is_a_sign_off(tmp_path: Path) -> None:
    entries = [entry for entry in call_entries(5) if entry.event != "signoff.answered"]
    entries[2] = replace(entries[2], event="signoff.reused", body={"for": "session"})
    entries[3] = replace(entries[3], body={"signoff": None})
    assert told(tmp_path, entries).holds


def test_an_approval_used_twice(tmp_path: Path) -> None:
    again = [replace(e, call="c-again") for e in call_entries(5) if not e.event.startswith("signoff.")]
    assert only(told(tmp_path, call_entries(5), call_entries(6), again)) == ("approval used twice", 13)


@pytest.mark.parametrize(
    ("event", "field"), [("call.started", "digest"), ("call.started", "signed"), ("signoff.answered", "digest")]
)
def test_what_ran_is_not_what_was_approved(tmp_path: Path, event: str, field: str) -> None:
    entries = [replace(e, body={**e.body, field: "other"}) if e.event == event else e for e in call_entries(5)]
    assert only(told(tmp_path, entries)) == ("executed other than approved", 5)


def test_what_was_forgotten_is_looked_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conduct, "_REMEMBERED", 1)
    opened = [entry for number in (5, 10, 15, 20) for entry in call_entries(number)[:4]]
    rest = [entry for number in (5, 10, 15, 20) for entry in call_entries(number)[4:]]
    again = [replace(e, call="c-again") for e in call_entries(5) if not e.event.startswith("signoff.")]
    assert told(tmp_path, opened, rest).holds
    assert only(told(tmp_path, again)) == ("approval used twice", 27)
