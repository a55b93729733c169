"""Calls with the verdicts that are expected of them: tests of a deployment's policy."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from remit.errors import UsageError
from remit.packs.arguments import Arguments, Rejected
from remit.policy.check import nearest
from remit.policy.decide import decide
from remit.policy.rules import Rules, Scene
from remit.policy.switched import decision_when_off
from remit.provenance.ledger import Ledger
from remit.skills import Skill
from remit.state.switches import Switches
from remit.values import AskedBy, Decision, Verdict

MISSING = "no such skill"
"""What is found in place of a verdict where nothing has the name of a case's skill."""


class Case(BaseModel):
    """One call, and the verdict that is expected.

    Attributes:
        name: shown when it fails; the skill when left out.
        skill: `PACK.SKILL`.
        arguments: as the model would write them.
        verdict: what is expected; `invalid` for arguments that do not fit, None where nothing is.
        source: a source that the verdict must have, such as `rule no-outside-mail`; None for any.
        asked_by, interactive, agent, above, read_only: the scene.
        said: what the user said before, for provenance.
        read: untrusted results that were read before.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    skill: str
    name: str = ""
    arguments: dict[str, Any] = Field(default_factory=dict)
    verdict: Verdict | Literal["invalid"] | None = None
    source: str | None = None
    asked_by: AskedBy = "model"
    interactive: bool = True
    agent: str = ""
    above: tuple[str, ...] = ()
    read_only: bool = False
    said: tuple[str, ...] = ()
    read: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What a case gave.

    Attributes:
        case: the case.
        verdict: what was found: a verdict, `invalid`, or `MISSING`.
        source: where it comes from.
        reason: why.
    """

    case: Case
    verdict: str
    source: str
    reason: str

    @property
    def right(self) -> bool:
        """Tell whether it is as expected."""
        case = self.case
        return self.verdict == case.verdict and (case.source is None or case.source == self.source)

    @property
    def words(self) -> str:
        """What is not as expected, in one sentence."""
        expected = f"{self.case.verdict}" + (f" from {self.case.source}" if self.case.source else "")
        if self.verdict == MISSING:
            return f"expected {expected}, and {self.reason}"
        return f"expected {expected}, found {self.verdict} from {self.source or 'its arguments'} ({self.reason})"


def read_cases(path: str | Path) -> list[Case]:
    """Read cases from `[[case]]` tables in TOML, or from one JSON object a line.

    Raises:
        UsageError: the file cannot be read, or a case in it is wrong; the message says which.
    """
    place = Path(path)
    try:
        text = place.read_text("utf-8")
        found = _lines(text) if place.suffix == ".jsonl" else tomllib.loads(text).get("case", [])
    except (OSError, ValueError, RecursionError) as error:
        why = getattr(error, "strerror", None) or error
        remedy = "name a file with [[case]] tables (skill, arguments, verdict), or .jsonl with such an object a line"
        raise UsageError(f"{path} cannot be read: {why}", remedy=remedy) from error
    if not found:
        raise UsageError(f"{path} holds no case", remedy="write [[case]] tables with skill, arguments and verdict")
    return [_case(number, one, path) for number, one in enumerate(found, 1)]


def judged(case: Case, skills: Mapping[str, Skill], rules: Rules, switches: Switches | None = None) -> Decision:
    """Return the decision on a case, as a run would come to it; nothing runs.

    Args:
        case: the case.
        skills: full name to skill, of everything that is enabled.
        rules: of the deployment.
        switches: what a person switched off; None to leave that aside.

    Raises:
        UsageError: there is no such skill, or the arguments do not fit it.
    """
    skill = skills.get(case.skill)
    if skill is None:
        close = nearest(case.skill, list(skills))
        hint = f"; did you mean {close}?" if close else ""
        raise UsageError(f"no skill {case.skill} is enabled here{hint}", remedy="remit audit")
    checked = Arguments(skill.schema).check(json.dumps(case.arguments))
    if isinstance(checked, Rejected):
        wrong = checked.message.partition("\n")[2] or checked.message
        remedy = "write them as that says" if "\nExpected: " in checked.message else "remit prompt show has its schema"
        raise UsageError(f"the arguments do not fit {case.skill}:\n{wrong}", remedy=remedy)
    off = None if switches is None else switches.off(skill.pack, skill.name)
    if off is not None:
        return decision_when_off(off)
    scene = Scene(
        interactive=case.interactive,
        agent=case.agent,
        above=case.above,
        asked_by=case.asked_by,
        read_only=case.read_only,
    )
    return decide(skill, checked.value, rules, scene, _ledger(case))


def outcome(case: Case, skills: Mapping[str, Skill], rules: Rules, switches: Switches | None = None) -> Outcome:
    """Judge a case, and keep what was found beside what is expected; a skill that is not there is a case that fails."""
    try:
        decision = judged(case, skills, rules, switches)
    except UsageError as error:
        verdict = "invalid" if case.skill in skills else MISSING
        return Outcome(case=case, verdict=verdict, source="", reason=error.message)
    return Outcome(case=case, verdict=decision.verdict, source=decision.source, reason=decision.reason)


def _ledger(case: Case) -> Ledger | None:
    """Return what the session has heard and read: nothing where nothing is given, and then nothing is named either.

    A person who calls a skill by hand has no session that was heard.
    """
    if case.asked_by == "person" and not (case.said or case.read):
        return None
    ledger = Ledger()
    for text in case.said:
        ledger.hear(text)
    for number, text in enumerate(case.read, 1):
        ledger.read(text, skill="a skill", call=f"result {number}", labels=frozenset({"untrusted"}))
    return ledger


def _lines(text: str) -> Sequence[Any]:
    return [json.loads(line) for line in text.splitlines() if line.strip()]


def _case(number: int, found: Any, path: str | Path) -> Case:
    try:
        case = Case.model_validate(found)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise UsageError(f"{path}: case {number}: {where or 'the case'}: {first['msg']}") from error
    if case.verdict is None:
        raise UsageError(f"{path}: case {number} expects no verdict", remedy='add verdict = "ask"')
    return case.model_copy(update={"name": case.name or f"case {number} ({case.skill})"})
