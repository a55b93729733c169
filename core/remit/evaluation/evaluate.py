"""`evaluate`: a suite against a deployment, or against an agent in code."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from remit.agent import Agent
from remit.errors import UsageError
from remit.evaluation.case import Case, Suite
from remit.evaluation.places import require_workspaces
from remit.evaluation.reading import chosen, read_suite
from remit.evaluation.report import Report
from remit.evaluation.running import Ground, OnAttempt, Running
from remit.evaluation.trajectory import names
from remit.evaluation.voices import Voices
from remit.loop.given import require_no_loop, standard_config
from remit.models.protocol import Model
from remit.pipeline.configured import redactor_of
from remit.pipeline.signoff import Nobody
from remit.policy.check import nearest
from remit.policy.shapes import argument_names, find_schema
from remit.skills import Skill
from remit.state_folder import remove_data

if TYPE_CHECKING:
    from remit.deployment.config import Config
    from remit.deployment.deployment import Deployment

MOST_REPEATS = 1_000
MOST_JOBS = 64


def evaluate(
    suite: Suite | str | Path,
    deployment: Deployment | str | Path | None = None,
    *,
    model: Model | str | None = None,
    base_url: str | None = None,
    api_key: str | None = None,
    dialect: str | None = None,
    skills: Sequence[Callable[..., Any]] = (),
    repeat: int = 1,
    jobs: int = 1,
    filters: Sequence[str] = (),
    tags: Sequence[str] = (),
    record: str | Path | None = None,
    replay: str | Path | None = None,
    record_calls: bool = False,
    record_private: bool = False,
    run_calls: bool = False,
    skip_missing: bool = False,
    approve_listed: bool = False,
    fail_fast: bool = False,
    on_attempt: OnAttempt | None = None,
) -> Report:
    """Run a suite and return what came of it. Ctrl-C ends it; what is finished by then is in the report.

    Args:
        suite: a suite, or its file.
        deployment: an open deployment, or its folder; None for an agent in code.
        model, base_url, api_key, dialect, skills: as for `Agent`. Fallback models of the deployment are not asked: an
            evaluation is about one model.
        repeat: attempts at each case.
        jobs: attempts at the same time.
        filters: only cases whose id has one of these in it.
        tags: only cases with one of these tags.
        record: a file that keeps what the model is asked and says.
        replay: such a file, instead of a model: nothing is asked over a network. Where it holds what skills gave, no
            skill runs either.
        record_calls: the recording keeps what skills give, too, except private results.
        record_private: it keeps those, and what the redactor would take out of them, as well.
        run_calls: in a replay, skills run although the recording holds what they gave.
        skip_missing: skip cases about skills that are not there, with the reason; else they are an error.
        approve_listed: calls that need sign-off may run where a case lists them under `approve`; never one with an
            impact.
        fail_fast: begin no attempt after one failed.
        on_attempt: is told of each attempt when it is done.

    Raises:
        UsageError: the suite or the recording is wrong, or does not fit the deployment.
        DeploymentError: the deployment cannot be opened.
    """
    require_no_loop("run")
    with ExitStack() as stack:
        beside = Path(suite).parent if not isinstance(suite, Suite) else Path()
        cases = chosen(_suite(suite), filters=tuple(filters), tags=tuple(tags), place=_place(suite))
        opened = _opened(deployment, stack)
        config = opened.config if opened is not None else standard_config()
        _require_sane(repeat, jobs)
        _require_recording(record, replay, calls=record_calls, private=record_private, run_calls=run_calls)
        require_workspaces(cases, beside)
        speaker = None if replay is not None else _model(model, base_url, api_key, config, opened)
        voices = Voices(
            speaker,
            record=record,
            replay=replay,
            redactor=lambda: redactor_of(config),
            calls=record_calls if replay is None else not run_calls,
            private=record_private,
        )
        ground = Ground(
            deployment=opened,
            functions=skills,
            voices=voices,
            redactor=redactor_of(config),
            dialect=dialect,
            beside=beside,
            approve_listed=approve_listed,
        )
        known = _known(ground, cases[0])
        planned = [(case, case.skip or _missing(case, known, skip=skip_missing)) for case in cases]
        for case, why in planned:
            if not why:
                voices.require_recorded(case.id, repeat)
        running = Running(
            cases=planned, ground=ground, repeat=repeat, jobs=jobs, fail_fast=fail_fast, on_attempt=on_attempt
        )
        voices.begin()
        began, interrupted = time.time(), False
        try:
            asyncio.run(running.run())
        except KeyboardInterrupt:
            interrupted = True
        return Report(
            suite=_suite(suite).name or "suite",
            model=voices.name,
            mode=voices.mode,
            made=began,
            repeat=repeat,
            cases=running.reports(interrupted=interrupted),
            interrupted=interrupted,
            notes=tuple(_notes(voices, opened, cases, approve_listed=approve_listed)),
        )


def _suite(suite: Suite | str | Path) -> Suite:
    return suite if isinstance(suite, Suite) else read_suite(suite)


def _place(suite: Suite | str | Path) -> str:
    return "" if isinstance(suite, Suite) else str(suite)


def _opened(deployment: Deployment | str | Path | None, stack: ExitStack) -> Deployment | None:
    if not isinstance(deployment, (str, Path)):
        return deployment
    from remit.deployment.deployment import Deployment

    return stack.enter_context(Deployment.open(deployment))


def _model(
    model: Model | str | None, base_url: str | None, api_key: str | None, config: Config, opened: Deployment | None
) -> Model:
    from remit.extensions.extensions import NO_EXTENSIONS
    from remit.loop.chosen_model import chosen_model

    folder = opened.folder if opened is not None else Path()
    extensions = opened.extensions if opened is not None else NO_EXTENSIONS
    return chosen_model(model, base_url, api_key, config, folder, extensions)


def _require_sane(repeat: int, jobs: int) -> None:
    if not 1 <= repeat <= MOST_REPEATS:
        raise UsageError(f"repeat is {repeat}; write 1 to {MOST_REPEATS}")
    if not 1 <= jobs <= MOST_JOBS:
        raise UsageError(f"jobs is {jobs}; write 1 to {MOST_JOBS}")


def _require_recording(record: object, replay: object, *, calls: bool, private: bool, run_calls: bool) -> None:
    if record is not None and replay is not None:
        raise UsageError("a replay asks no model, so that there is nothing to record", remedy="--record or --replay")
    if calls and record is None:
        raise UsageError("--record-calls needs a recording to keep calls in", remedy="--record FILE --record-calls")
    if private and not calls:
        raise UsageError("--record-private is about the results of calls", remedy="--record-calls --record-private")
    if run_calls and replay is None:
        raise UsageError("skills run in any case where nothing is replayed", remedy="leave --run-calls out")


def _known(ground: Ground, case: Case) -> Mapping[str, Skill]:
    """Return the skills that a model is offered."""
    model = ground.voices.of(case.id, 1, {})
    with ExitStack() as stack:
        deployment = ground.deployment
        if deployment is not None:  # as in an attempt: no model and no store but what an attempt asks
            deployment = stack.enter_context(deployment.rehearsing(f"evaluation:{secrets.token_hex(4)}"))
            stack.callback(remove_data, deployment.state_folder, deployment.principal)
        agent = Agent(deployment, model=model, skills=ground.functions, approver=Nobody())
        return stack.enter_context(agent).skills


def _missing(case: Case, known: Mapping[str, Skill], *, skip: bool) -> str:
    """Return why a case cannot be run; empty when it can. Raises UsageError for it, unless it may be skipped."""
    for name in sorted(case.named_skills):
        if not any(names(name, full) for full in known):
            reason = f"no skill {name} can be called here"
            if skip:
                return reason
            close = nearest(name, sorted(known))
            raise UsageError(
                f"case {case.id}: {reason}" + (f"; did you mean {close}?" if close else ""),
                remedy="remit audit shows the skills; --skip-missing leaves such cases out",
            )
    _require_arguments(case, known)
    return ""


def _require_arguments(case: Case, known: Mapping[str, Skill]) -> None:
    """Raise UsageError for a condition on an argument that no skill of its call has."""
    for call in (*(case.trajectory or ()), *case.forbidden, *case.approve):
        meant = [skill for full, skill in known.items() if any(names(pattern, full) for pattern in call.skill)]
        for path in call.arguments if meant else ():
            if all(find_schema(skill.schema, path) is None for skill in meant):
                own = sorted({name for skill in meant for name in argument_names(skill.schema)})
                close = nearest(path, own)
                raise UsageError(
                    f"case {case.id}: {'|'.join(call.skill)} has no argument {path}"
                    + (f"; did you mean {close}?" if close else ""),
                    remedy="write one of: " + ", ".join(own) if own else "leave the arguments out",
                )


def _notes(voices: Voices, opened: Deployment | None, cases: Sequence[Case], *, approve_listed: bool) -> Iterator[str]:
    if voices.mode == "replayed":
        yield "replayed from a recording: times say nothing about the model"
        yield "what skills gave was played, too" if voices.plays_calls else "skills ran: only the model was replayed"
    if opened is not None and opened.config.model.fallback and voices.mode != "replayed":
        yield "fallback models were not asked"
    if opened is not None and any(agent.model is not None for agent in opened.config.agents.values()):
        yield "agents with a model of their own were asked through this model"
    if any(case.approve for case in cases) and not approve_listed:
        yield "calls that cases list under approve were not approved: --approve-listed lets them run"
