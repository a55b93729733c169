"""What the records tell: did every call that ran have a verdict, and every approval its one use?

Memory stays flat: what is remembered of calls and approvals is limited, and what was forgotten is looked up.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, Generic, TypeVar

from remit.evidence.findings import Findings
from remit.evidence.reading import LogFile
from remit.state.chain import Row

_REMEMBERED = 50_000
_ASKING = frozenset({"ask", "ask-apart"})
_EVENTS = frozenset(
    {"call.decided", "call.started", "call.finished", "signoff.asked", "signoff.answered", "signoff.reused"}
)
_APPROVING = frozenset({"once", "session", "standing", "edit"})

K = TypeVar("K")
V = TypeVar("V")


class _Memory(OrderedDict[K, V], Generic[K, V]):
    """Forgets the oldest."""

    def __setitem__(self, key: K, value: V) -> None:
        super().__setitem__(key, value)
        if len(self) > _REMEMBERED:
            self.popitem(last=False)


class Conduct:
    """Hears of records one after the other."""

    def __init__(self, log: LogFile, findings: Findings) -> None:
        """Say where forgotten records are looked up, and where findings go."""
        self._log, self._findings = log, findings
        self._verdicts: _Memory[tuple[str, str], str] = _Memory()
        self._granted: _Memory[tuple[str, str], bool] = _Memory()
        self._asked: _Memory[str, Mapping[str, Any]] = _Memory()
        self._answered: _Memory[str, Mapping[str, Any]] = _Memory()

    def check(self, row: Row) -> None:
        """Hear of the next record."""
        if row.event not in _EVENTS:
            return
        call = (row.session, row.call)
        if row.event == "call.finished":
            self._verdicts.pop(call, None)
            self._granted.pop(call, None)
            return
        if row.event == "call.decided":
            self._verdicts[call] = row.verdict
            return
        body = _body(row)
        if row.event == "call.started":
            self._started(row, body)
        elif row.event == "signoff.asked":
            self._asked[str(body.get("nonce"))] = body
        elif row.event == "signoff.answered":
            self._answered[str(body.get("nonce"))] = body
        elif body.get("for") in ("session", "standing") or (body.get("for") == "begun" and self._begun(row)):
            self._granted[call] = True

    def _started(self, row: Row, body: Mapping[str, Any]) -> None:
        call = (row.session, row.call)
        verdict = self._verdicts.get(call) or self._verdict_before(row)
        nonce = body.get("signoff")
        if verdict is None:
            self._wrong(row, "it ran and nothing had been decided about it")
        elif verdict == "deny":
            self._wrong(row, "it ran although it was denied")
        elif nonce is not None:
            self._approved(row, body, str(nonce))
        elif verdict in _ASKING and not self._granted.get(call) and not self._granted_before(row):
            self._wrong(row, "it ran without the sign-off that it needed")

    def _approved(self, row: Row, body: Mapping[str, Any], nonce: str) -> None:
        asked = self._asked.pop(nonce, None)
        answered = self._answered.pop(nonce, None)
        if asked is None and self._used_before(row, nonce):
            text = f"its approval ({nonce[:12]}) had been used by another call"
            return self._findings.add(row.seq, "approval used twice", text)
        asked = asked or self._before(row, "signoff.asked", nonce)
        answered = answered or self._before(row, "signoff.answered", nonce)
        if asked is None or answered is None or answered.get("answer") not in _APPROVING or answered.get("void"):
            return self._wrong(row, "nobody had approved it")
        if len(self._people(row, nonce, asked)) < int(asked.get("approvers") or 1):
            return self._wrong(row, "fewer people had approved it than it needed")
        digests = {body.get("digest"), asked.get("digest"), answered.get("digest")}
        signed = body.get("signed")
        if len(digests) != 1 or (signed is not None and signed != asked.get("action")):
            text = "what ran is not what was approved: the digests differ"
            return self._findings.add(row.seq, "executed other than approved", text)
        return None

    def _people(self, row: Row, nonce: str, asked: Mapping[str, Any]) -> set[str]:
        """Return who approved a request; where several people must, the one for whom it is done counts for nothing."""
        if int(asked.get("approvers") or 1) < 2:
            return {""}
        query = (
            "SELECT json_group_array(json_extract(body, '$.by')) FROM records WHERE event = 'signoff.answered'"
            " AND session = ? AND seq < ? AND json_extract(body, '$.nonce') = ?"
            " AND json_extract(body, '$.answer') IN ('once', 'session', 'standing', 'edit')"
        )
        found = json.loads(self._log.one(query, row.session, row.seq, nonce)[0])
        return {str(by).strip().casefold() for by in found} - {"", row.who.strip().casefold()}

    def _wrong(self, row: Row, text: str) -> None:
        self._findings.add(row.seq, "run without verdict", text)

    def _verdict_before(self, row: Row) -> str | None:
        query = (
            "SELECT verdict FROM records WHERE session = ? AND call = ? AND call <> '' AND event = 'call.decided'"
            " AND seq < ? ORDER BY seq DESC LIMIT 1"
        )
        found = self._log.one(query, row.session, row.call, row.seq)
        return None if found is None else str(found[0])

    def _granted_before(self, row: Row) -> bool:
        query = (
            "SELECT max(json_extract(body, '$.for') = 'begun') FROM records WHERE session = ? AND call = ?"
            " AND call <> '' AND event = 'signoff.reused' AND seq < ?"
            " AND json_extract(body, '$.for') IN ('session', 'standing', 'begun')"
        )
        found = self._log.one(query, row.session, row.call, row.seq)
        return found is not None and found[0] is not None and (not found[0] or self._begun(row))

    def _begun(self, row: Row) -> bool:
        """Tell whether the same call ran before, as one does that waits for something in it and is gone on with."""
        query = (
            "SELECT 1 FROM records WHERE session = ? AND call = ? AND call <> '' AND event = 'call.started'"
            " AND seq < ? LIMIT 1"
        )
        return self._log.one(query, row.session, row.call, row.seq) is not None

    def _used_before(self, row: Row, nonce: str) -> bool:
        query = (
            "SELECT 1 FROM records WHERE event = 'call.started' AND seq < ?"
            " AND json_extract(body, '$.signoff') = ? LIMIT 1"
        )
        return self._log.one(query, row.seq, nonce) is not None

    def _before(self, row: Row, event: str, nonce: str) -> Mapping[str, Any] | None:
        query = (
            "SELECT body FROM records WHERE event = ? AND seq < ?"
            " AND json_extract(body, '$.nonce') = ? ORDER BY seq DESC LIMIT 1"
        )
        found = self._log.one(query, event, row.seq, nonce)
        return None if found is None else _parsed(found[0])


def _body(row: Row) -> Mapping[str, Any]:
    return _parsed(row.body)


def _parsed(body: bytes) -> Mapping[str, Any]:
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
