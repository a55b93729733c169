"""What the conformance kit says: findings with stable codes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

Level = Literal["error", "warning"]
"""`error`: the pack is wrong, or says what is not so. `warning`: it works, and a model or a deployer is worse off."""

CODES: Mapping[str, str] = {
    "project-unreadable": "there is no pack to be found, or its files contradict one another",
    "pack-refused": "a deployment would leave the pack out as a whole",
    "startup-file": "it ships a file that every Python would run",
    "manifest-wrong": "pack.toml says something that it cannot say",
    "manifest-not-packaged": "the built wheel would lack pack.toml",
    "summary-missing": "a deployer does not learn what the pack is for",
    "setting-unused": "nothing reads a setting",
    "dependency-conflict": "it forces another version of what Remit itself needs",
    "import-fails": "its code cannot be imported in a cell without any right",
    "import-acts": "importing it writes, connects, starts programs or threads",
    "import-slow": "importing it takes long, which every new cell pays",
    "skill-refused": "no schema can be derived for a skill, so that it is left out",
    "description-missing": "a model does not learn what the skill is for",
    "description-when": "a model does not learn when to use the skill",
    "description-long": "a model reads a cut description",
    "description-instructs": "the description gives the model orders",
    "argument-undescribed": "a model does not learn what an argument means",
    "argument-untyped": "any value is passed on to the handler",
    "argument-unknown": "the docstring describes an argument that there is not",
    "argument-required": "an argument that may be null has to be given",
    "target-undeclared": "a place inside an argument is no target, so that rules and labels do not see it",
    "result-undocumented": "a model does not learn what comes back",
    "permission-unused": "it asks for a right that nothing needs",
    "permission-missing": "it needs a right that it does not ask for",
    "effect-understated": "it does more than its effect says",
    "impact-missing": "it is dangerous in a way that it does not declare",
    "example-missing": "no example shows a model, or this check, how a skill without impact is called",
    "example-wrong": "the arguments of an example do not fit",
    "example-fails": "an example of the manifest does not work",
}
"""Every code with what it means."""


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One thing that is not as it should be.

    Attributes:
        code: a key of `CODES`; stable.
        level: see `Level`.
        message: what is wrong, one sentence.
        remedy: what to do about it.
        skill: the skill that it is about; empty for the whole pack.
        file: below the project, or as the wheel names it; empty where there is none.
        line: from 1; 0 where there is none.
    """

    code: str
    level: Level
    message: str
    remedy: str = ""
    skill: str = ""
    file: str = ""
    line: int = 0

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}: " if self.file and self.line else f"{self.file}: " if self.file else ""
        skill = f"{self.skill}: " if self.skill else ""
        remedy = f" ({self.remedy})" if self.remedy else ""
        return f"{place}{self.level} {self.code}: {skill}{self.message}{remedy}"


@dataclass(frozen=True, kw_only=True)
class Report:
    """All that was found in one pack.

    Attributes:
        pack: its name; empty when it could not be read.
        findings: errors first, then by file and line.
        notes: what could not be looked at here, and why.
        skills: the skills that were checked.
        examples: how many examples were run.
    """

    pack: str
    findings: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()
    skills: tuple[str, ...] = ()
    examples: int = 0

    @property
    def errors(self) -> tuple[Finding, ...]:
        """The findings that are errors."""
        return tuple(finding for finding in self.findings if finding.level == "error")

    @property
    def ok(self) -> bool:
        """Whether there is no error."""
        return not self.errors

    def plain(self) -> dict[str, Any]:
        """Return it as plain data, for `--json`."""
        return {
            "pack": self.pack,
            "ok": self.ok,
            "findings": [asdict(finding) for finding in self.findings],
            "notes": list(self.notes),
            "skills": list(self.skills),
            "examples": self.examples,
        }

    def __str__(self) -> str:
        return "\n".join(map(str, self.findings)) or f"pack {self.pack}: nothing to say against it"


def ordered(findings: list[Finding]) -> tuple[Finding, ...]:
    """Return findings, errors first, each once."""
    once = dict.fromkeys(findings)
    return tuple(sorted(once, key=lambda one: (one.level != "error", one.file, one.line, one.code, one.skill)))
