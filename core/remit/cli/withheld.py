"""What a person is told when a session lacks skills that its agent has, and the run may have failed for that."""

from __future__ import annotations

from typing import TYPE_CHECKING

from remit.cli import screen

if TYPE_CHECKING:
    from remit.agent import Agent
    from remit.loop.outcome import RunResult


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
