"""What a report keeps of an attempt: what the log would keep, so that it can be passed on like the log."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from remit.evaluation.attempt import Attempt
from remit.evaluation.trajectory import MadeCall
from remit.pipeline.redact import Redactor
from remit.skills import Skill


def hidden(attempt: Attempt, redactor: Redactor, skills: Mapping[str, Skill]) -> Attempt:
    """Return an attempt, judged already, without what must not be kept.

    Args:
        attempt: as it was.
        redactor: of the deployment.
        skills: full name to skill; of one that is not there nothing says which arguments are secret, so all are.
    """

    def calls(made: Iterable[MadeCall]) -> tuple[MadeCall, ...]:
        return tuple(_call(one, redactor, skills.get(one.skill)) for one in made)

    turns = tuple(
        replace(
            turn,
            answer=redactor.text(turn.answer),
            reason=redactor.text(turn.reason),
            calls=calls(turn.calls),
            others=calls(turn.others),
        )
        for turn in attempt.turns
    )
    return replace(attempt, turns=turns, failures=tuple(map(redactor.text, attempt.failures)))


def _call(made: MadeCall, redactor: Redactor, skill: Skill | None) -> MadeCall:
    secret = frozenset(made.arguments) if skill is None else skill.secret_arguments
    arguments = redactor.arguments(made.arguments, skill=made.skill, secret=secret)
    return replace(made, skill=redactor.text(made.skill), arguments=arguments, reason=redactor.text(made.reason))
