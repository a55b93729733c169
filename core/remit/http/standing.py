"""Standing sign-offs over HTTP: which there are, and taking them back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from remit.errors import UsageError
from remit.http.answers import Refused
from remit.http.identity import Identity
from remit.pipeline.covering import facts_of, void_of

if TYPE_CHECKING:
    from remit.deployment.deployment import Deployment
    from remit.state.standing import StandingSignoff
    from remit.state.store import State


class StandingDesk:
    """Shows standing sign-offs and takes them back. An approver sees all of them, a user only their own."""

    def __init__(self, state: State, deployment: Deployment) -> None:
        """Take the state, and the deployment that decides whether one has become void."""
        self._state, self._deployment = state, deployment

    def list(self, who: Identity, *, everything: bool) -> dict[str, Any]:
        """Return those that cover calls, or all of them, oldest first."""
        found = self._state.standing_signoffs(everything=everything)
        return {"standing": [self._facts(one) for one in found if _may_see(one, who)]}

    def revoke(self, id_: str, who: Identity) -> dict[str, Any]:
        """Take one back and return it as it is now.

        Raises:
            Refused: there is none (404), or it was revoked before (409).
        """
        one = self._find(id_, who)
        if not self._state.revoke_standing(one, by=who.name):
            raise Refused(409, "it was revoked before", remedy="GET /standing?all=1")
        return self._facts(self._find(id_, who))

    def _find(self, id_: str, who: Identity) -> StandingSignoff:
        try:
            found = self._state.standing_signoff(id_)
        except UsageError:
            found = None
        if found is None or found.id != id_ or not _may_see(found, who):
            raise Refused(404, "there is no such standing sign-off", remedy="GET /standing")
        return found

    def _facts(self, one: StandingSignoff) -> dict[str, Any]:
        return facts_of(one, void_of(one, self._deployment.skills, self._deployment.rules.digest))


def _may_see(one: StandingSignoff, who: Identity) -> bool:
    return "approver" in who.roles or one.pattern.principal == who.name
