"""Sessions over HTTP: only one's own, and no word about others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from remit.http.answers import Refused
from remit.http.identity import Identity

if TYPE_CHECKING:
    from remit.state.sessions import SavedSession
    from remit.state.store import State

_SHOWN = 100


class SessionShelf:
    """Shows people their sessions. Whose one is, the state says: what was never anybody's is the person's here."""

    def __init__(self, state: State, person: str) -> None:
        """Take the state of the deployment, and who is at this machine."""
        self._state = state
        self._person = person

    def list(self, who: Identity) -> dict[str, Any]:
        """Return the sessions of one person changed last, newest first."""
        query = "SELECT id, status, created, updated FROM sessions WHERE who IN (?, ?) ORDER BY updated DESC LIMIT ?"
        values = (who.name, "" if who.name == self._person else who.name, _SHOWN)
        rows = self._state.database.read(lambda c: c.execute(query, values).fetchall())
        names = ("id", "status", "created", "updated")
        return {"sessions": [dict(zip(names, row, strict=True)) for row in rows]}

    def show(self, id_: str, who: Identity) -> dict[str, Any]:
        """Return a session with its messages and what waits for sign-off in it. Raises Refused (404)."""
        found = self.find(id_, who)
        waiting = [one.nonce for one in self._state.signoffs() if self._state.root_of(one.session) == found.id]
        return {
            "id": found.id,
            "status": found.status,
            "created": found.created,
            "updated": found.updated,
            "messages": list(found.transcript),
            "signoffs": waiting,
        }

    def find(self, id_: str, who: Identity) -> SavedSession:
        """Return a session of this person; one of somebody else does not exist. Raises Refused (404)."""
        query = "SELECT who FROM sessions WHERE id = ?"
        owner = self._state.database.read(lambda c: c.execute(query, (id_,)).fetchone())
        found = self._state.load_session(id_)
        if owner is None or found is None or (owner[0] or self._person) != who.name:
            raise Refused(404, "there is no such session", remedy="GET /sessions")
        return found
