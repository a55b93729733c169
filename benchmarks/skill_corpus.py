"""Five hundred skills as packs would ship them, many of them near-duplicates, and questions of people about them.

`skill_corpus.jsonl` has a skill a line, for each of several services, as competing packs have it: services, what their
packs say of themselves, name, description, arguments, and a question. The questions were written without the
descriptions in view: people name what they want, not what a skill says of itself. Where a question names no service
(`{s}`), the skill of any of them is the right one; `query` is then what a model may search for. Those were written by
hand, from the questions, as `remit.find_skills` asks for it; no model was run, so read what comes of them as what a
capable one can reach.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from remit.skills import Skill

LINES = Path(__file__).with_suffix(".jsonl")


@dataclass(frozen=True, kw_only=True)
class Question:
    """What a person asks, the skills any of which answers it, and what a model searches for; empty for nothing."""

    text: str
    right: frozenset[str]
    query: str = ""


def corpus() -> dict[str, Skill]:
    """Return the skills by full name, those of one pack together."""
    rows = _rows()
    services = dict.fromkeys(service for row in rows for service in row["services"])
    made = (_skill(service, row) for service in services for row in rows if service in row["services"])
    return {skill.full: skill for skill in made}


def questions() -> list[Question]:
    """Return a question for each line; those that name a service name each in turn."""
    return [_question(number, row) for number, row in enumerate(_rows())]


def _question(number: int, row: Mapping[str, Any]) -> Question:
    services: Sequence[str] = row["services"]
    service = services[number % len(services)]
    meant = [service] if "{s}" in row["question"] else services
    return Question(
        text=row["question"].format(s=_spoken(service)),
        right=frozenset(f"{one}.{row['name']}" for one in meant),
        query=row.get("query", ""),
    )


def _skill(service: str, row: Mapping[str, Any]) -> Skill:
    return Skill(
        pack=service,
        name=row["name"],
        description=row["description"].format(s=_spoken(service)),
        schema=_schema(row["arguments"]),
        effect="read",
        pack_summary=row["summary"].format(s=_spoken(service)),
    )


def _spoken(service: str) -> str:
    return " ".join(word.capitalize() for word in service.split("_"))


def _schema(arguments: Sequence[str]) -> dict[str, Any]:
    properties = {
        name: {"type": "string", "description": f"{name.replace('_', ' ').capitalize()} of what is meant."}
        for name in arguments
    }
    return {
        "type": "object",
        "properties": properties,
        "required": [*arguments[:1]],
        "additionalProperties": False,
    }


def _rows() -> list[dict[str, Any]]:
    return [json.loads(line) for line in LINES.read_text(encoding="utf-8").splitlines()]
