"""What a run needs from the rest of Remit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from remit.skills import Skill
from remit.state.chain import Entry
from remit.values import Call, Result


class Caller(Protocol):
    """Makes calls; `remit.pipeline.pipeline.Pipeline` is the one that counts."""

    @property
    def skills(self) -> Mapping[str, Skill]:
        """Full name to skill: those that a model may see."""
        ...

    @property
    def weighs_origins(self) -> bool:
        """Whether a verdict may depend on where values come from, so that calls carry a ledger."""
        ...

    async def call(self, call: Call) -> Result:
        """Return the result of `call`, whatever a skill does. Raises only for faults of the host."""
        ...


class Store(Protocol):
    """Keeps sessions and records; `remit.state.store.State` is the one that counts."""

    def append(
        self,
        event: str,
        *,
        session: str,
        body: Mapping[str, Any],
        sealed: Mapping[str, Any] | None = None,
        durable: bool = True,
    ) -> int:
        """Write one record and return its number.

        Args:
            event, session: which, and where it happened.
            body: what the record says for ever.
            sealed: what it says until that is erased: texts, arguments, raw turns.
            durable: it also survives a power cut.
        """
        ...

    def save_session(
        self,
        session: str,
        transcript: Sequence[Mapping[str, Any]],
        *,
        status: str,
        durable: bool = True,
        same: int = 0,
        records: Sequence[Entry] = (),
    ) -> None:
        """Save a session, replacing what was saved under the same id; `durable` as in `append`.

        Args:
            session, transcript, status: of the session.
            durable: as in `append`.
            same: how many messages at the beginning are those that the caller saved last.
            records: written in the same transaction, before anything that comes later.
        """
        ...
