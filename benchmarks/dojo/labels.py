"""AgentDojo's tools as skills of Remit, with the labels of labels.toml."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from remit.skills import Skill

LABELS = Path(__file__).parent / "labels.toml"


def skills_of(suite: Any, *, floors: bool) -> Mapping[str, Skill]:
    """Return tool name to skill.

    Args:
        suite: of AgentDojo.
        floors: keep the impact of the labels, so that impact floors ask whatever provenance says.
    """
    labels = tomllib.loads(LABELS.read_text("utf-8")).get(suite.name, {})
    return {tool.name: _skill(suite.name, tool, labels.get(tool.name, {}), floors) for tool in suite.tools}


def _skill(suite: str, tool: Any, label: Mapping[str, Any], floors: bool) -> Skill:
    return Skill(
        pack=suite,
        name=tool.name,
        description=tool.description,
        schema=tool.parameters.model_json_schema(),
        effect=label.get("effect", "read"),
        impact=frozenset(label.get("impact", ())) if floors else frozenset(),
        targets=label.get("targets", {}),
        labels=frozenset(label.get("labels", ("untrusted",))),
    )
