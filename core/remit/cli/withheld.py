"""What a person is told of the skills that a session has: those that it lacks, and a list that waits for an answer."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from remit.cli import screen

if TYPE_CHECKING:
    from remit.agent import Agent
    from remit.loop.outcome import RunResult


def with_open_list(speaker: Agent, result: RunResult) -> RunResult:
    """Return the result, with how to answer where the run waits for the list of skills that its session is to have."""
    from remit.cli.signoff import SHOWN_ID
    from remit.skills import ENABLE_SKILLS

    if result.status != "parked" or result.remedy or any(one.status == "parked" for one in result.calls):
        return result
    for one in speaker.state.signoffs():
        if one.session == result.session and one.skill == ENABLE_SKILLS:
            return replace(result, remedy=f"remit signoff show {one.nonce[:SHOWN_ID]}, and then approve or deny it")
    return result


def tell_of_withheld(speaker: Agent, result: RunResult) -> None:
    """Say which skills a session was not granted: those that the model called, or all where it proposed none."""
    from remit.state.grants import grants_of

    mode = "off" if speaker.deployment is None else speaker.deployment.config.defaults.session_grants
    if mode == "off":
        return
    grants = grants_of(speaker.state, result.session)
    has = grants.granted or frozenset()
    lacks = {full: skill.wire for full, skill in speaker.skills.items() if skill.effect != "read" and full not in has}
    invalid = {one.skill for one in result.calls if one.status == "invalid"}
    called = sorted(full for full, wire in lacks.items() if {full, wire} & invalid)
    if not called and not (lacks and grants.granted is None and grants.proposed == frozenset()):
        return
    why = f'this session has only what reads and what it is granted (session_grants = "{mode}")'
    said = f"the model called {', '.join(called)}" if called else "the model proposed no skill that changes things"
    screen.warn(screen.visible(f"note: {said}; {why}"))
    names = " ".join(f"--grant {name}" for name in called) or "--grant SKILL"
    screen.next_step(f"ask again with {names} --session {result.session}")
