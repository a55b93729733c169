"""An extension: house rules for the model, the log as lines of JSON, and a count of the calls.

[extensions]
enabled = ["house"]
[extensions.settings.house]
rule = "Answer in one sentence."
log = "house.jsonl"
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from remit.extensions import AuditSink, CallEnd, Setup, hookimpl
from remit.state.records import Record

CALLS: Counter[str] = Counter()
"""Status to how many calls ended so; a real observer would tell a metrics server."""


class JsonLines:
    """An audit sink: one line of JSON a record."""

    def __init__(self, path: Path) -> None:
        """Name the file; it is opened when there is something to write."""
        self._path = path

    def write(self, records: Sequence[Record]) -> None:
        """Add records to the file."""
        with self._path.open("a", encoding="utf-8") as file:
            for record in records:
                line = {"seq": record.seq, "event": record.event, "skill": record.skill, **record.body}
                file.write(json.dumps(line, ensure_ascii=False, default=str) + "\n")

    def close(self) -> None:
        """Nothing is open."""


@hookimpl
def add_audit_sinks(setup: Setup) -> Mapping[str, AuditSink]:
    """Write the log to the file that the deployment names, too."""
    return {"house_log": JsonLines(setup.folder / str(setup.settings.get("log", "house.jsonl")))}


@hookimpl
def add_prompt_fragments(setup: Setup) -> Mapping[str, str]:
    """Tell the model the rule of the house, where there is one."""
    rule = str(setup.settings.get("rule", ""))
    return {"house_rule": rule} if rule else {}


@hookimpl
def observe_call_end(call: CallEnd) -> None:
    """Count."""
    CALLS[call.status] += 1
