"""The words of Remit as values: effects, verdicts, calls, results."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from remit.provenance.ledger import Ledger

Effect = Literal["read", "write", "external"]
"""What a call can change: nothing, something inside the deployment's folders, the world outside."""

EFFECTS: tuple[Effect, ...] = ("read", "write", "external")

Impact = Literal["destroy", "money", "publish", "privacy", "authority"]
"""What makes a call dangerous whatever its effect: it destroys, pays, publishes, reveals, or gives power."""

IMPACTS: tuple[Impact, ...] = ("destroy", "money", "publish", "privacy", "authority")

Verdict = Literal["allow", "ask", "ask-apart", "deny"]
"""Run it; ask a person; ask a person over a channel that the agent cannot reach; refuse."""

VERDICTS: tuple[Verdict, ...] = ("allow", "ask", "ask-apart", "deny")

Status = Literal["ok", "invalid", "denied", "timeout", "failed", "parked", "cancelled", "lost"]
"""How a call ended. Every one of them is an ordinary result that the model reads."""

AskedBy = Literal["model", "person", "pack"]
"""Who asked for a call: the model, a person at the command line, a pack's follow-up."""

ReadOnly = Literal[False, True, "strict"]
"""`True` withdraws every write root and every skill whose effect is not read; `strict` the network, too."""


def widest_effect(effects: Iterable[Effect]) -> Effect:
    """Return the widest of `effects`, `read` when there is none."""
    return max(effects, key=EFFECTS.index, default="read")


def strictest(verdicts: Iterable[Verdict]) -> Verdict:
    """Return the strictest of `verdicts`, `allow` when there is none."""
    return max(verdicts, key=VERDICTS.index, default="allow")


@dataclass(frozen=True, kw_only=True)
class Call:
    """One request for a skill.

    Attributes:
        id: unique within its session.
        skill: the name as it was written (`calc.evaluate`, or the wire form `calc__evaluate`).
        arguments: JSON text exactly as it came; empty text means no arguments.
        session: id of the session.
        step: number of the model turn that asked, from 1; 0 when no model asked.
        asked_by: who asked.
        parent: id of the call whose pack asked for this one as a follow-up.
        repaired: the text was damaged JSON that a parser mended.
        ledger: what its session has heard and read, for provenance; None where nobody knows.
        labels: of a result that its session has not read yet, and that this call may rest on.
        watched: somebody hears what its cell prints; else that is not asked for.
        hidden: a part of the arguments was not kept, so it cannot be made.
    """

    id: str
    skill: str
    arguments: str
    session: str
    step: int = 0
    asked_by: AskedBy = "model"
    parent: str | None = None
    repaired: bool = False
    ledger: Ledger | None = field(default=None, repr=False, compare=False)
    labels: frozenset[str] = frozenset()
    watched: bool = True
    hidden: bool = False


@dataclass(frozen=True, kw_only=True)
class Decision:
    """A verdict with what led to it.

    Attributes:
        verdict: the outcome.
        reason: one sentence for people and models.
        source: where it comes from: `rule no-outside-mail`, `default write`, `impact destroy`, `read-only mode`.
        rules: ids of every rule that matched.
        steps: each contribution as (verdict, source, reason), strictest first.
        remedy: the exact command or line of `remit.toml` that would allow it; for people, never for the model.
        origins: argument to where its value came from, in words; empty where provenance was not asked.
    """

    verdict: Verdict
    reason: str
    source: str
    rules: tuple[str, ...] = ()
    steps: tuple[tuple[Verdict, str, str], ...] = ()
    remedy: str = ""
    origins: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, kw_only=True)
class Result:
    """What came back from a call; an error is a result, too.

    Attributes:
        call: id of the call.
        skill: full name of the skill, or the name as written when it is unknown.
        status: how the call ended.
        text: what the model reads: never empty, capped, marked where cut.
        value: the whole result as parsed JSON (only for `ok`).
        reason: why it is not `ok`, one sentence; empty for `ok`.
        remedy: what a person can do about it; never shown to the model.
        duration: seconds from the call to its result.
        decision: the verdict, None when the call did not get that far.
        labels: `untrusted`, `private`.
        handle: where the whole result can be read (`remit.read_result`) when `text` was cut.
        cached: the result came from the cache.
        notes: what was bent or repaired on the way, for the record.
        enforcement: right to who enforced it, empty when nothing ran.
        follow_ups: results of the calls that the pack asked for, in order.
        traceback: the pack's own lines of the traceback; for its author, never for the model.
        blobs: bytes in the result as (handle, media type, size in bytes).
        stop: a person asked to end the run with this answer.
    """

    call: str
    skill: str
    status: Status
    text: str
    value: Any = None
    reason: str = ""
    remedy: str = ""
    duration: float = 0.0
    decision: Decision | None = None
    labels: frozenset[str] = frozenset()
    handle: str | None = None
    cached: bool = False
    notes: tuple[str, ...] = ()
    enforcement: Mapping[str, str] = field(default_factory=dict)
    follow_ups: tuple[Result, ...] = ()
    traceback: str = ""
    blobs: tuple[tuple[str, str, int], ...] = ()
    stop: bool = False
