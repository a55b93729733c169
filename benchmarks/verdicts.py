"""What a verdict costs: with ten rules and a thousand, and with a large argument: `python -m benchmarks.verdicts`.

Aims: a thousand rules cost at most three times ten; looking where a 100 KB argument comes from takes under 5 ms.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from benchmarks.measure import in_turns, report, row
from remit.policy.config import DefaultsConfig, RuleConfig
from remit.policy.decide import decide
from remit.policy.rules import Rules, Scene
from remit.provenance.judge import judge
from remit.provenance.ledger import Ledger
from remit.skills import Skill

TIMES = 200
"""Verdicts of one round."""

SCHEMA = {"type": "object", "properties": {"to": {"type": "string"}, "body": {"type": "string"}}}
MAIL = Skill(pack="mail", name="send", description="", schema=SCHEMA, effect="external", targets={"to": "address"})
ARGUMENTS = {"to": "ann@acme.example", "body": "hi"}


def rules(number: int, *, about_one: bool) -> Rules:
    """Return `number` rules, about one skill or about as many different ones."""
    skills = {MAIL.full: MAIL}
    configs = []
    for one in range(number):
        name = "send" if about_one else f"other_{one}"
        skills.setdefault(f"mail.{name}", Skill(pack="mail", name=name, description="", schema=SCHEMA))
        condition = {"to": {"eq": f"x{one}@acme.example"}}
        match = {"skill": f"mail.{name}", "arguments": condition}
        configs.append(RuleConfig.model_validate({"id": f"r{one}", "verdict": "deny", "match": match}))
    return Rules.load(configs, DefaultsConfig(), skills=skills)


def large(size: int = 100_000) -> Mapping[str, Any]:
    """Return arguments with a body of ordinary prose, a few figures and a name or two."""
    prose = "The report of the third quarter says that 12.5 percent more was sold, as Ann had hoped for. "
    return {"to": "ann@acme.example", "body": (prose * (size // len(prose) + 1))[:size]}


def measured(rounds: int) -> list[dict[str, Any]]:
    """Return the rows of the table, in seconds a verdict."""
    few, many = rules(10, about_one=False), rules(1_000, about_one=False)
    few_alike, many_alike = rules(10, about_one=True), rules(1_000, about_one=True)
    ledger, body = Ledger(), large()
    ledger.hear("Send ann@acme.example the report of the third quarter")
    ledger.read(large()["body"], skill="drive.read", call="c1", labels=frozenset({"untrusted"}))

    def verdicts(known: Rules) -> Callable[[], object]:
        return lambda: [decide(MAIL, ARGUMENTS, known, Scene()) for _ in range(TIMES)]

    contenders: dict[str, Callable[[], object]] = {
        "10 rules about 10 skills": verdicts(few),
        "1,000 rules about 1,000 skills": verdicts(many),
        "10 rules about this skill": verdicts(few_alike),
        "1,000 rules about this skill": verdicts(many_alike),
        "where a 100 KB argument comes from": lambda: judge(MAIL, body, ledger, "targets"),
        "the same, strict": lambda: judge(MAIL, body, ledger, "strict"),
    }
    seconds = in_turns(contenders, rounds=rounds)
    each = {name: [one / (TIMES if "rules" in name else 1) for one in found] for name, found in seconds.items()}
    against = {
        "1,000 rules about 1,000 skills": ("10 rules about 10 skills", "3x"),
        "1,000 rules about this skill": ("10 rules about this skill", "3x"),
    }
    rows = []
    for name, found in each.items():
        other, aim = against.get(name, (name, "5 ms" if "argument" in name else ""))
        rows.append({**row(name, found, each[other]), "aim": aim})
    return rows


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark; return an exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    options = parser.parse_args(arguments)
    title = "A verdict (ratio: against ten rules of the same kind)"
    report(title, measured(options.rounds), unit="ms", scale=1000, file="verdicts.json", json_out=options.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())
