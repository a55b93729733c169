"""Showing what a change of a deployment would do, and names of packs with and without a skill."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from remit.cli import screen

if TYPE_CHECKING:
    from remit.deployment.proposal import Proposal


def show_proposal(proposal: Proposal) -> None:
    """Print what a proposal would do, and what to look at."""
    for line in proposal.lines:
        screen.say(screen.visible(line))
    for warning in proposal.warnings:
        screen.say(screen.styled(f"note: {screen.visible(warning)}", "yellow"))


def facts(proposal: Proposal, *, applied: bool) -> dict[str, Any]:
    """Return what a change of a pack did, or would have done, as JSON has it."""
    return {
        "pack": proposal.pack,
        "applied": applied,
        "rank": proposal.changes.rank,
        "skills": list(proposal.skills),
        "refused": dict(proposal.refused),
        "unverified": list(proposal.unverified),
        "lines": list(proposal.lines),
        "warnings": list(proposal.warnings),
    }


def taken_at_its_word(proposals: Iterable[Proposal]) -> str:
    """Return what agreeing says beside the change itself: that skills only read, which cannot be verified."""
    names = [f"{proposal.pack}.{name}" for proposal in proposals for name in proposal.unverified]
    if not names:
        return ""
    reads = "read" if len(names) > 1 else "reads"
    return f", and take its word that {', '.join(names)} only {reads} (--distrust-read refuses that)"


def by_pack(names: Iterable[str]) -> dict[str, list[str]]:
    """Return pack to the skills of it that were named, none where the pack itself was; `weather.get` names one."""
    found: dict[str, list[str]] = {}
    whole: set[str] = set()
    for name in names:
        pack, dot, skill = name.partition(".")
        found.setdefault(pack, [])
        if dot and skill:
            found[pack].append(skill)
        else:
            whole.add(pack)
    return {pack: [] if pack in whole else list(dict.fromkeys(skills)) for pack, skills in found.items()}
