"""Sign-off: a person's decision on one exact action.

A request binds a SHA-256 over canonical JSON of everything that makes the action what it is. A
decision names the digest that it was given for, and is good for that action only.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol

from remit_sandbox.canonical import digest
from remit_sandbox.names import same_person as same_person

Answer = Literal["once", "session", "standing", "edit", "deny", "stop"]
"""`once`: this one call. `session`: calls of this session with the same target arguments.
`standing`: this call, and further ones with the same fixed fields, as long as that lasts.
`edit`: this call with the arguments that a person put in place of the model's.
`deny`: not this. `stop`: not this, and end the run."""

APPROVING: frozenset[Answer] = frozenset({"once", "session", "standing", "edit"})
"""The answers after which an action may run."""

SignoffState = Literal["pending", "approved", "denied", "expired", "consumed"]
"""`pending`: nobody has answered. `approved`: may run once. `denied`, `expired`: will not run.
`consumed`: has run."""

_NEXT: Mapping[SignoffState, frozenset[SignoffState]] = {
    "pending": frozenset({"approved", "denied", "expired"}),
    "approved": frozenset({"consumed", "expired", "denied"}),
    "denied": frozenset(),
    "expired": frozenset(),
    "consumed": frozenset(),
}


@dataclass(frozen=True, kw_only=True)
class Action:
    """What is to be done, bound into the digest.

    Attributes:
        skill: full name.
        version: of the pack.
        skill_hash: of the locked skill.
        arguments: the validated arguments.
        resolved: argument to the real path or host name that it stands for.
        contents: argument to what the file that it names holds now: its hash and size, or that there is none.
        session: id of the session.
        principal: for whom it is done.
        policy: digest of the policy in force.
    """

    skill: str
    version: str
    skill_hash: str
    arguments: Mapping[str, Any]
    resolved: Mapping[str, str] = field(default_factory=dict)
    session: str
    principal: str
    policy: str
    contents: Mapping[str, str] = field(default_factory=dict)

    @property
    def digest(self) -> str:
        """SHA-256 of the action without nonce and expiry: equal for the same action asked again."""
        return digest({"action": 1, **self.bound})

    @property
    def bound(self) -> dict[str, Any]:
        """What a digest is made of: everything, where there are no contents as it was before there were any."""
        return {name: value for name, value in vars(self).items() if name != "contents" or value}


@dataclass(frozen=True, kw_only=True)
class SignoffRequest:
    """A question to a person.

    Attributes:
        action: what is bound.
        nonce: makes the request single-use; also its id.
        expires: when the request lapses, seconds since 1970.
        verdict: `ask`, or `ask-apart` when a channel is needed that the agent cannot reach.
        source: what asks: `rule no-outside-mail`, `default write`, `impact destroy`.
        reason: why it asks, one sentence.
        effect: what the call can change.
        impact: what makes it dangerous.
        reach: what the skill may reach, right to entries, in words of the manifest.
        targets: the arguments that say where the action lands; empty for all of them.
        secret: arguments whose values are not shown.
        step: number of the model's turn; 0 when no model asked.
        asked_by: who asked for the call.
        agents: who asked whom, the agent that wants the call first; empty where no agent asked another.
        origins: argument to where its value came from, in words; empty where nobody knows.
        approvers: how many people must approve, each another one and none of them the principal; with 1, the
            principal may be the one.
        edits: id of the request that this one takes the place of, its arguments changed by a person.
        changes: argument to what would become of the file that it names, as lines of a unified diff, where that
            can be told.
        remark: what is said with the question: why an edit was not taken.
        covers: digest of the calls that the answer `session` lets run as well; empty where it covers nothing.
    """

    action: Action
    nonce: str = field(default_factory=lambda: secrets.token_hex(16))
    expires: float = field(default_factory=lambda: time.time() + 3600.0)
    verdict: Literal["ask", "ask-apart"] = "ask"
    source: str = ""
    reason: str = ""
    effect: str = "external"
    impact: tuple[str, ...] = ()
    reach: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    targets: tuple[str, ...] = ()
    secret: tuple[str, ...] = ()
    step: int = 0
    asked_by: str = "model"
    agents: tuple[str, ...] = ()
    origins: Mapping[str, str] = field(default_factory=dict)
    approvers: int = 1
    edits: str = ""
    changes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    remark: str = ""
    covers: str = ""

    @property
    def digest(self) -> str:
        """SHA-256 over the action, the nonce and the expiry, 64 hexadecimal digits."""
        return digest({"request": 1, "action": self.action.bound, "nonce": self.nonce, "expires": self.expires})


@dataclass(frozen=True, kw_only=True)
class SignoffDecision:
    """What a person answered.

    Attributes:
        answer: see `Answer`.
        digest: of the request that was answered.
        reason: the person's words, for the model and the record.
        by: who answered.
        channel: where: `terminal`, `command`.
    """

    answer: Answer
    digest: str
    reason: str = ""
    by: str = ""
    channel: str = ""

    @property
    def approves(self) -> bool:
        """Whether the action may run."""
        return self.answer in APPROVING


@dataclass(frozen=True, kw_only=True)
class Edit:
    """Other arguments that a person wants, in the place of an answer.

    They are checked and decided like those of the model; then the question is put again, with them.

    Attributes:
        digest: of the request that was shown.
        arguments: all of them, as JSON text.
        by: who wants it.
        channel: where.
    """

    digest: str
    arguments: str
    by: str = ""
    channel: str = ""


class SignoffStore(Protocol):
    """Where requests are kept until they are consumed; implemented durably by `remit.state`."""

    def put_signoff(self, request: SignoffRequest) -> None:
        """Keep a new pending request."""

    def decide_signoff(self, decision: SignoffDecision, *, nonce: str) -> SignoffState:
        """Apply a decision to a pending request and return the state that it has now."""


@dataclass(frozen=True, kw_only=True)
class Asked:
    """How far the answering of one request has come.

    Attributes:
        digest: of the request.
        principal: for whom the action is.
        expires: when the request lapses, seconds since 1970.
        approvers: how many people must approve.
        state: what it is in.
        people: who has approved so far, in that order.
    """

    digest: str
    principal: str
    expires: float
    approvers: int = 1
    state: SignoffState = "pending"
    people: tuple[str, ...] = ()


def answered(before: Asked, decision: SignoffDecision, *, now: float | None = None) -> tuple[Asked, str]:
    """Return where a request stands after a decision, and why the decision does not count (empty when it does).

    One refusal refuses. An approval counts once a person; where several people must approve, the
    principal is none of them, and the request stays pending until there are enough.
    """
    if decision.digest != before.digest:
        return before, "the answer was given for another action"
    if before.state != "pending":
        return before, f"it is {before.state} already"
    if not decision.approves:
        return replace(before, state="denied"), ""
    if (time.time() if now is None else now) > before.expires:
        return replace(before, state="expired"), "the answer came after the request had expired"
    why_not = _does_not_count(before, decision.by)
    if why_not:
        return before, why_not
    people = (*before.people, decision.by)
    return replace(before, people=people, state="approved" if len(people) >= before.approvers else "pending"), ""


def _does_not_count(before: Asked, person: str) -> str:
    """Return why an approval of `person` does not count; who signs alone need not be known."""
    if before.approvers < 2:
        return ""
    if not person.strip():
        return f"{before.approvers} people must approve it, and nobody says who this one is"
    if same_person(person, before.principal):
        return f"{before.approvers} other people must approve it: {person} is the one for whom it is done"
    if any(same_person(person, other) for other in before.people):
        return f"{person} has approved it already; another person must approve it, too"
    return ""


def may_follow(before: SignoffState, after: SignoffState) -> bool:
    """Tell whether a request may go from one state to another."""
    return after in _NEXT[before]


def fits(request: SignoffRequest, decision: SignoffDecision, *, now: float | None = None) -> str:
    """Return why `decision` does not settle `request`, or an empty text when it does."""
    if decision.digest != request.digest:
        return "the answer was given for another action"
    if decision.approves and (time.time() if now is None else now) > request.expires:
        return "the answer came after the request had expired"
    return ""
