"""Sign-offs over HTTP: what an approver must see, who may decide, and what came of it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from remit.errors import StateError, UsageError
from remit.http.answers import Refused
from remit.http.bodies import DecisionBody, DecisionsBody, NamedDecision
from remit.http.identity import Identity, same_person
from remit.pipeline.render import visible, visible_arguments
from remit_sandbox.signoff import SignoffDecision

if TYPE_CHECKING:
    from remit.state.answering import StoredSignoff
    from remit.state.store import State

CHANNEL = "http"
"""What records and decisions say of where an answer came from."""

_MOST = 1_000
_FINISHED = 10


class SignoffDesk:
    """Shows sign-offs and takes decisions. An approver sees all of them, a user only their own."""

    def __init__(self, state: State) -> None:
        """Take the state of the deployment."""
        self._state = state

    def list(self, who: Identity, *, everything: bool) -> dict[str, Any]:
        """Return the sign-offs that wait for an answer, or all of them, oldest first."""
        found = self._state.signoffs(everything=everything, limit=_MOST)
        return {"signoffs": [in_short(one) for one in found if _may_see(one, who)]}

    def show(self, id_: str, who: Identity) -> dict[str, Any]:
        """Return everything about one sign-off. Raises Refused (404)."""
        return self._whole(self._find(id_, who), who)

    def decide(self, id_: str, body: DecisionBody, who: Identity, *, able: Sequence[str] = ()) -> dict[str, Any]:
        """Take a decision and return the sign-off as it is now.

        Args:
            id_: of the sign-off.
            body: the decision.
            who: decides.
            able: skills that could have sent this decision themselves.

        Raises:
            Refused: there is no such sign-off (404), this person may not decide it (403), it was decided
                for another digest or is settled (409), or it has expired (410).
        """
        asked = self._find(id_, who)
        self._require_may(asked, body, who, able)
        if body.digest != asked.digest:
            raise Refused(409, "the answer is for another digest", remedy=_look(asked))
        _require_pending(asked)
        if body.answer not in ("deny", "stop") and (unreadable := _exactly(asked).get("unreadable")):
            raise Refused(409, unreadable, remedy='answer "deny"')
        decision = SignoffDecision(
            answer=body.answer, digest=body.digest, reason=body.reason, by=who.name, channel=CHANNEL
        )
        _, why_not = self._state.give_answer(asked, decision)
        now = self._state.signoff(asked.nonce)
        if why_not:
            _require_pending(now)
            raise Refused(409, f"it is as it was: {why_not}", remedy=_look(asked))
        return self._whole(now, who)

    def decide_all(self, body: DecisionsBody, who: Identity, *, able: Sequence[str] = ()) -> dict[str, Any]:
        """Take several decisions, one after the other; each has its own outcome, like an answer of its own."""
        return {"outcomes": [self._outcome_of(one, who, able) for one in body.decisions]}

    def _outcome_of(self, one: NamedDecision, who: Identity, able: Sequence[str]) -> dict[str, Any]:
        try:
            return {"id": one.id, "status": 200, "signoff": self.decide(one.id, one, who, able=able)}
        except Refused as refused:
            return {"id": one.id, "status": refused.status, **refused.body}

    def _find(self, id_: str, who: Identity) -> StoredSignoff:
        try:
            found = self._state.signoff(id_)
        except UsageError:
            found = None
        if found is None or found.nonce != id_ or not _may_see(found, who):
            raise Refused(404, "there is no such sign-off", remedy="GET /signoffs")
        return found

    def _require_may(self, asked: StoredSignoff, body: DecisionBody, who: Identity, able: Sequence[str]) -> None:
        if "approver" not in who.roles:
            raise Refused(403, f"{who.name} may not decide", remedy="it takes the role approver")
        if body.answer in ("deny", "stop"):
            return
        apart = asked.request.get("verdict") != "ask"
        if body.answer == "session" and (apart or asked.approvers > 1):
            raise Refused(403, "this is answered for one action only", remedy='answer "once"')
        if apart and not who.alone and same_person(asked.who, who.name):
            raise Refused(403, "whoever asks does not approve this", remedy="let another approver decide")
        if able:
            raise Refused(
                403,
                f"{able[0]} could send this approval itself: it may reach servers of this machine",
                remedy=f"remit signoff approve {asked.nonce[:12]} in a terminal, or decide with a token",
            )

    def _whole(self, asked: StoredSignoff, who: Identity) -> dict[str, Any]:
        return {
            **in_short(asked),
            "call": asked.call,
            **_exactly(asked),
            "people": list(asked.people),
            "decision": asked.decision,
            "outcome": self._outcome(asked, mine=same_person(asked.who, who.name)),
        }

    def _outcome(self, asked: StoredSignoff, *, mine: bool) -> dict[str, Any] | None:
        """Return what came of the call; what it gave is only for whom it ran. None: nothing yet."""
        finished = self._state.records(
            event="call.finished", session=asked.session, call=asked.call, newest_first=True, limit=_FINISHED
        )
        for record in finished:
            if record.time >= asked.created and record.status not in ("parked", ""):
                told = {"status": record.status, "time": record.time, "duration": record.body.get("duration")}
                return {**told, "text": visible(str(record.body.get("text", "")), lines=True)} if mine else told
        if asked.state != "consumed":
            return None
        lost = any((one.session, one.call) == (asked.session, asked.call) for one in self._state.in_doubt())
        return {"status": "lost" if lost else "running"}


def in_short(asked: StoredSignoff) -> dict[str, Any]:
    """Return a sign-off as a list shows it."""
    request = asked.request
    return {
        "id": asked.nonce,
        "state": asked.state,
        "digest": asked.digest,
        "skill": asked.skill,
        "who": asked.who,
        "session": asked.session,
        "verdict": request.get("verdict", "ask"),
        "source": request.get("source", ""),
        "reason": request.get("reason", ""),
        "effect": request.get("effect", ""),
        "impact": request.get("impact", []),
        "approvers": asked.approvers,
        "created": asked.created,
        "expires": asked.expires,
        "expires_in": max(0.0, round(asked.expires - time.time(), 1)),
    }


def _may_see(asked: StoredSignoff, who: Identity) -> bool:
    return "approver" in who.roles or asked.who == who.name


def _require_pending(asked: StoredSignoff) -> None:
    if asked.state == "expired":
        raise Refused(410, "it has expired", remedy="let the question be asked again")
    if asked.state != "pending":
        raise Refused(409, f"it is settled already: {asked.state}", remedy=_look(asked))


def _exactly(asked: StoredSignoff) -> dict[str, Any]:
    """Return what would run, as the digest binds it; a request that was erased or changed shows only why not."""
    try:
        request = asked.rebuilt()
    except StateError as error:
        return {"unreadable": error.message}
    action = request.action
    return {
        "version": action.version,
        "arguments": action.arguments,
        "shown": visible_arguments(action.arguments, frozenset(request.secret)),
        "secret": list(request.secret),
        "resolved": action.resolved,
        "origins": request.origins,
        "targets": list(request.targets),
        "reach": request.reach,
        "step": request.step,
        "asked_by": request.asked_by,
        "edits": request.edits,
    }


def _look(asked: StoredSignoff) -> str:
    return f"GET /signoffs/{asked.nonce} and look again"
