"""Figures over the log: calls, durations, denials, sign-offs, tokens."""

from __future__ import annotations

import json
import time
from array import array
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import inf
from typing import TYPE_CHECKING, NamedTuple

from remit.state.database import Database
from remit.state.reading import Wanted, rows

if TYPE_CHECKING:
    import sqlite3

_BODY = "CAST(records.body AS TEXT)"

TURN = "turn.reply"
_ASKED = (TURN, "turn.summary")
"""Records of requests to a model: a turn, and a summary, whose tokens count, too."""


@dataclass(frozen=True, kw_only=True)
class Spread:
    """How a number of seconds is spread; None where there is not one value."""

    count: int = 0
    p50: float | None = None
    p95: float | None = None
    longest: float | None = None

    @classmethod
    def of(cls, values: array[float]) -> Spread:
        """Return the spread of `values` (nearest rank)."""
        if not values:
            return cls()
        ordered = sorted(values)
        return cls(count=len(ordered), p50=_rank(ordered, 50), p95=_rank(ordered, 95), longest=ordered[-1])


@dataclass(frozen=True, kw_only=True)
class SkillFigures:
    """Calls of one skill.

    Attributes:
        calls: how many ended.
        statuses, verdicts: how many of each; `none` for calls that were never decided on.
        cached: how many were answered from the cache.
        durations: seconds of those that ran.
        without_duration: those that ran and whose clock went back.
    """

    calls: int
    statuses: Mapping[str, int]
    verdicts: Mapping[str, int]
    cached: int = 0
    durations: Spread = field(default_factory=Spread)
    without_duration: int = 0


@dataclass(frozen=True, kw_only=True)
class Denial:
    """A reason for which calls were denied: the rule, default or person behind it, the reason, how often."""

    source: str
    reason: str
    count: int


@dataclass(frozen=True, kw_only=True)
class ModelFigures:
    """Turns of one model, and the tokens of these and of its summaries; None where its endpoint never told them."""

    turns: int = 0
    failed: int = 0
    input_tokens: int | None = None
    output_tokens: int | None = None
    durations: Spread = field(default_factory=Spread)


class _Asked(NamedTuple):
    time: float
    session: str
    action: str
    expires: float


@dataclass(frozen=True, kw_only=True)
class Figures:
    """Figures over the records that fit.

    Attributes:
        records, sessions, people: how many.
        first, last: time of the first and last record; None for none.
        skills: full name to figures, most called first.
        denials: most frequent first.
        signoffs: answer to how often; `waiting` for those without one, `expired` for those that came to none.
        waiting: seconds until a person answered.
        models: name to figures.
        in_doubt: calls that were started and never ended, and nobody settled.
    """

    records: int = 0
    sessions: int = 0
    people: int = 0
    first: float | None = None
    last: float | None = None
    skills: Mapping[str, SkillFigures] = field(default_factory=dict)
    denials: tuple[Denial, ...] = ()
    signoffs: Mapping[str, int] = field(default_factory=dict)
    waiting: Spread = field(default_factory=Spread)
    models: Mapping[str, ModelFigures] = field(default_factory=dict)
    in_doubt: int = 0


def figures(database: Database, wanted: Wanted) -> Figures:
    """Return figures over the records that fit; memory grows with the number of calls by 8 bytes each.

    Raises:
        StateError: the log cannot be read.
    """
    total = _total(database, wanted)
    signoffs, waiting, refused = _signoffs(database, wanted)
    return replace(
        total,
        skills=_skills(database, wanted),
        denials=_denials(database, wanted, refused),
        signoffs=signoffs,
        waiting=waiting,
        models=_models(database, wanted),
        in_doubt=database.read(_in_doubt),
    )


def _only(wanted: Wanted, event: str) -> Wanted:
    return replace(wanted, events=(event,))


def _total(database: Database, wanted: Wanted) -> Figures:
    count, sessions, people = 0, set(), set()
    first: float | None = None
    last: float | None = None
    for moment, session, who in rows(database, wanted, "records.time, records.session, records.who"):
        count += 1
        sessions.add(session)
        people.add(who)
        first = moment if first is None or moment < first else first
        last = moment if last is None or moment > last else last
    return Figures(records=count, sessions=len(sessions - {""}), people=len(people - {""}), first=first, last=last)


def _skills(database: Database, wanted: Wanted) -> dict[str, SkillFigures]:
    statuses: dict[str, Counter[str]] = {}
    verdicts: dict[str, Counter[str]] = {}
    durations: dict[str, array[float]] = {}
    cached: Counter[str] = Counter()
    timeless: Counter[str] = Counter()
    columns = (
        f"records.skill, records.status, records.verdict, json_extract({_BODY}, '$.duration'),"
        f" json_extract({_BODY}, '$.cached'), json_extract({_BODY}, '$.started')"
    )
    for skill, status, verdict, duration, from_cache, started in rows(
        database, _only(wanted, "call.finished"), columns
    ):
        statuses.setdefault(skill, Counter())[status] += 1
        verdicts.setdefault(skill, Counter())[verdict or "none"] += 1
        durations.setdefault(skill, array("d"))
        cached[skill] += bool(from_cache)
        if started and duration is not None and duration >= 0:
            durations[skill].append(duration)
        elif started:
            timeless[skill] += 1
    found = {
        skill: SkillFigures(
            calls=counts.total(),
            statuses=dict(counts.most_common()),
            verdicts=dict(verdicts[skill].most_common()),
            cached=cached[skill],
            durations=Spread.of(durations[skill]),
            without_duration=timeless[skill],
        )
        for skill, counts in statuses.items()
    }
    return dict(sorted(found.items(), key=lambda item: (-item[1].calls, item[0])))


def _denials(database: Database, wanted: Wanted, refused: Counter[tuple[str, str]]) -> tuple[Denial, ...]:
    counts = Counter(refused)
    columns = f"json_extract({_BODY}, '$.source'), json_extract({_BODY}, '$.reason')"
    if wanted.verdict in ("", "deny"):
        denied = replace(_only(wanted, "call.decided"), verdict="deny")
        for source, reason in rows(database, denied, columns):
            counts[(str(source or ""), str(reason or ""))] += 1
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return tuple(Denial(source=source, reason=reason, count=count) for (source, reason), count in ordered)


def _signoffs(database: Database, wanted: Wanted) -> tuple[dict[str, int], Spread, Counter[tuple[str, str]]]:
    asked: dict[str, _Asked] = {}
    answers: Counter[str] = Counter()
    refused: Counter[tuple[str, str]] = Counter()
    waits = array("d")
    columns = f"records.event, records.time, records.session, {_BODY}"
    for event, moment, session, text in rows(database, _only(wanted, "signoff."), columns):
        body = json.loads(text)
        nonce = str(body.get("nonce", ""))
        if event == "signoff.asked":
            asked[nonce] = _Asked(moment, session, body.get("action") or nonce, body.get("expires") or inf)
        elif event == "signoff.answered":
            answers[str(body.get("answer", ""))] += 1
            began = asked.pop(nonce, None)
            if began is not None and moment >= began.time:
                waits.append(moment - began.time)
            if began is not None:  # an earlier question about the same action is settled with it
                asked = {n: one for n, one in asked.items() if one[1:3] != began[1:3]}
            if body.get("answer") in ("deny", "stop"):
                refused[("a person", str(body.get("reason") or "no reason given"))] += 1
    if asked:
        late = sum(one.expires < time.time() for one in asked.values())
        answers += Counter(waiting=len(asked) - late, expired=late)
    return dict(answers.most_common()), Spread.of(waits), refused


def _models(database: Database, wanted: Wanted) -> dict[str, ModelFigures]:
    found: dict[str, ModelFigures] = {}
    durations: dict[str, array[float]] = {}
    asked = ((event, text) for event in _ASKED for (text,) in rows(database, _only(wanted, event), _BODY))
    for event, text in asked:
        body = json.loads(text)
        name = str(body.get("model", ""))
        have = found.get(name, ModelFigures())
        found[name] = ModelFigures(
            turns=have.turns + (event == TURN),
            failed=have.failed + bool(body.get("failed") or body.get("error")),
            input_tokens=_plus(have.input_tokens, body.get("input_tokens")),
            output_tokens=_plus(have.output_tokens, body.get("output_tokens")),
        )
        spent = durations.setdefault(name, array("d"))
        if isinstance(body.get("duration"), (int, float)) and body["duration"] >= 0:
            spent.append(body["duration"])
    return {name: replace(one, durations=Spread.of(durations[name])) for name, one in sorted(found.items())}


def _plus(have: int | None, more: object) -> int | None:
    return (have or 0) + more if isinstance(more, int) else have


def _in_doubt(connection: sqlite3.Connection) -> int:
    return int(connection.execute("SELECT count(*) FROM open_calls WHERE state = 'lost'").fetchone()[0])


def _rank(ordered: list[float], percent: int) -> float:
    return ordered[max(0, -(-len(ordered) * percent // 100) - 1)]
