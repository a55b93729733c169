"""Sign-offs over HTTP: what an approver must see, who may decide, and what came of it."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from remit.deployment.viewing import view_of
from remit.errors import DeniedCall, StateError, UsageError
from remit.http.answers import Refused
from remit.http.bodies import DecisionBody, DecisionsBody, EditBody, NamedDecision, StandingBody
from remit.http.identity import Identity, same_person
from remit.pipeline.covering import standing_for
from remit.pipeline.editing import approve_edit, differences, editable, edited
from remit.pipeline.question import changed_files
from remit.pipeline.render import visible, visible_arguments
from remit_sandbox.signoff import Answer, SignoffDecision, SignoffRequest

if TYPE_CHECKING:
    from remit.deployment.deployment import Deployment
    from remit.state.answering import StoredSignoff
    from remit.state.standing import StandingSignoff
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
        self._require_may(asked, body.answer, who, able)
        _require_digest(asked, body.digest)
        _require_pending(asked)
        if body.answer not in ("deny", "stop") and (unreadable := _exactly(asked).get("unreadable")):
            raise Refused(409, unreadable, remedy='answer "deny"')
        standing = _standing(asked, body, who)
        decision = SignoffDecision(
            answer=body.answer, digest=body.digest, reason=body.reason, by=who.name, channel=CHANNEL
        )
        _, why_not = self._state.give_answer(asked, decision, standing=standing)
        now = self._state.signoff(asked.nonce)
        if why_not:
            _require_pending(now)
            raise Refused(409, f"it is as it was: {why_not}", remedy=_look(asked))
        return self._whole(now, who)

    def edit(
        self, id_: str, body: EditBody, who: Identity, deployment: Deployment, *, able: Sequence[str] = ()
    ) -> dict[str, Any]:
        """Put other arguments in the place of those that were asked, approved; return the sign-off that has them.

        They are checked against the locked schema and decided by the policy. With `preview` nothing is answered:
        what would be approved is returned.

        Raises:
            Refused: as `decide`; the arguments do not fit (400), or may not be put in the place of the others (403).
        """
        asked = self._find(id_, who)
        self._require_may(asked, "edit", who, able)
        _require_digest(asked, body.digest)
        _require_pending(asked)
        text = json.dumps(body.arguments)
        with _refusing(), view_of(deployment, asked.who) as view:
            request = asked.rebuilt()
            skill = editable(request, view.skills, view.rules)
            found = edited(request, text, skill=skill, rules=view.rules, by=who.name)
        if body.preview:
            return {**exactly(found), "changed": differences(request, found)}
        _, why_not = approve_edit(self._state, asked, found, by=who.name, channel=CHANNEL)
        if why_not:
            _require_pending(self._state.signoff(asked.nonce))
            raise Refused(409, f"it is as it was: {why_not}", remedy=_look(asked))
        return self._whole(self._state.signoff(found.nonce), who)

    def revoke(self, id_: str, who: Identity) -> dict[str, Any]:
        """Take an approval back that has not been used, and return the sign-off as it is now. Raises Refused."""
        asked = self._find(id_, who)
        if not self._state.withdraw_approval(asked, by=who.name):
            raise Refused(409, f"it has no approval that could be taken back: it is {asked.state}", remedy=_look(asked))
        return self._whole(self._state.signoff(asked.nonce), who)

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

    def _require_may(self, asked: StoredSignoff, answer: Answer, who: Identity, able: Sequence[str]) -> None:
        if "approver" not in who.roles:
            raise Refused(403, f"{who.name} may not decide", remedy="it takes the role approver")
        if answer in ("deny", "stop"):
            return
        apart = asked.request.get("verdict") != "ask"
        each_time = apart or asked.approvers > 1 or (answer == "session" and asked.request.get("impact"))
        if answer in ("session", "standing") and each_time:
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


def _require_digest(asked: StoredSignoff, digest: str) -> None:
    if digest != asked.digest:
        raise Refused(409, "the answer is for another digest", remedy=_look(asked))


def _standing(asked: StoredSignoff, body: DecisionBody, who: Identity) -> StandingSignoff | None:
    """Return the standing sign-off that comes with an answer, None for none. Raises Refused."""
    if body.answer != "standing":
        if body.standing is not None:
            raise Refused(400, "standing: it belongs to the answer standing", remedy="see docs/http.md")
        return None
    how = body.standing or StandingBody()
    with _refusing():
        return standing_for(
            asked.rebuilt(),
            nonce=asked.nonce,
            by=who.name,
            channel=CHANNEL,
            uses=how.uses,
            lasts=how.lasts,
            fixed=how.fixed,
        )


@contextlib.contextmanager
def _refusing() -> Iterator[None]:
    """Answer with what is wrong with an answer: it does not fit (400), may not be given (403), or comes too late."""
    try:
        yield
    except UsageError as error:
        raise Refused(400, error.message, remedy=error.remedy) from None
    except DeniedCall as error:
        raise Refused(403, error.message, remedy="see docs/signoff.md") from None
    except StateError as error:
        raise Refused(409, error.message, remedy='answer "deny"') from None


def _exactly(asked: StoredSignoff) -> dict[str, Any]:
    """Return what would run, as the digest binds it; a request that was erased or changed shows only why not."""
    try:
        return exactly(asked.rebuilt())
    except StateError as error:
        return {"unreadable": error.message}


def exactly(request: SignoffRequest) -> dict[str, Any]:
    """Return what would run, as a digest binds it."""
    action = request.action
    return {
        "version": action.version,
        "arguments": action.arguments,
        "shown": visible_arguments(action.arguments, frozenset(request.secret)),
        "secret": list(request.secret),
        "resolved": action.resolved,
        "contents": action.contents,
        "changes": changed_files(request),
        "origins": request.origins,
        "targets": list(request.targets),
        "reach": request.reach,
        "step": request.step,
        "asked_by": request.asked_by,
        "agents": list(request.agents),
        "edits": request.edits,
    }


def _look(asked: StoredSignoff) -> str:
    return f"GET /signoffs/{asked.nonce} and look again"
