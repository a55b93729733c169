"""Showing what a change of a deployment would do, and names of packs with and without a skill."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from remit.cli import screen

if TYPE_CHECKING:
    from remit.deployment.proposal import Proposal


def show_proposal(proposal: Proposal) -> None:
    """Print what a proposal would do, and what to look at."""
    for line in proposal.lines:
        screen.say(screen.visible(line))
    for warning in proposal.warnings:
        screen.say(screen.styled(f"note: {screen.visible(warning)}", "yellow"))


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
