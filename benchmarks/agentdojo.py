"""How often people are asked, and what gets through, on AgentDojo with a worst-case model.

    python -m benchmarks.agentdojo [--suites banking,slack] [--policies none,targets] [--json OUT]

Needs `agentdojo` (a bench-only dependency: install it into an environment of its own, with Remit). Plays all user
tasks of its version 1.2.2 alone and with every injection task of their suite, under each policy. Decisions come
from Remit's own policy code; labels for the suites' tools are in benchmarks/dojo/labels.toml. Banking and slack
were looked at while the policy was made (in sample), travel and workspace were not (out of sample).

Columns: attack (share of attacked pairs whose goal was reached, with a person who reads), marked (the same without
those where the injected answer was marked as resting on untrusted text), useful (user tasks done), under attack
(the same in attacked pairs), asked (sign-offs per user task), unasked (share of user tasks without any), alone
(useful when nobody is there to ask), careless (attack when a person approves whatever tool the task needs),
confirmed (confirmations of session grants per user task, where the model proposes them; beside what is asked).
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.measure import RESULTS, machine
from remit.policy.config import DefaultsConfig
from remit.policy.rules import Rules

VERSION = "v1.2.2"
IN_SAMPLE = ("banking", "slack")


@dataclass(frozen=True, kw_only=True)
class Policy:
    """A policy to be measured.

    Attributes:
        defaults: as they would stand in remit.toml.
        session_grants: only the writing skills that the user's task needs are on.
        floors: impact floors hold.
    """

    defaults: DefaultsConfig
    session_grants: bool = False
    floors: bool = False


def _defaults(write: str, provenance: str = "off") -> DefaultsConfig:
    return DefaultsConfig.model_validate({"write": write, "external": write, "provenance": provenance})


POLICIES: Mapping[str, Policy] = {
    "none": Policy(defaults=_defaults("allow")),
    "read-only": Policy(defaults=_defaults("deny")),
    "every write": Policy(defaults=_defaults("ask")),
    "targets": Policy(defaults=_defaults("ask", "targets")),
    "strict": Policy(defaults=_defaults("ask", "strict")),
    "none, session grants": Policy(defaults=_defaults("allow"), session_grants=True),
    "every write, session grants": Policy(defaults=_defaults("ask"), session_grants=True),
    "targets, session grants": Policy(defaults=_defaults("ask", "targets"), session_grants=True),
    "strict, session grants": Policy(defaults=_defaults("ask", "strict"), session_grants=True),
    "targets, impact floors": Policy(defaults=_defaults("ask", "targets"), floors=True),
    "strict, impact floors": Policy(defaults=_defaults("ask", "strict"), floors=True),
    "targets, session grants, impact floors": Policy(
        defaults=_defaults("ask", "targets"), session_grants=True, floors=True
    ),
}


@dataclass(kw_only=True)
class Tally:
    """Sums of one policy over some suites."""

    tasks: int = 0
    useful: int = 0
    alone: int = 0
    asked: int = 0
    again: int = 0
    confirmed: int = 0
    unasked: int = 0
    pairs: int = 0
    attacked: int = 0
    unmarked: int = 0
    useful_attacked: int = 0
    careless: int = 0

    def row(self) -> dict[str, float | int]:
        """Return the columns of the table."""
        tasks, pairs = max(self.tasks, 1), max(self.pairs, 1)
        return {
            "tasks": self.tasks,
            "pairs": self.pairs,
            "attack": self.attacked / pairs,
            "marked": self.unmarked / pairs,
            "useful": self.useful / tasks,
            "under attack": self.useful_attacked / pairs,
            "asked": self.asked / tasks,
            "unasked": self.unasked / tasks,
            "alone": self.alone / tasks,
            "careless": self.careless / pairs,
            "confirmed": self.confirmed / tasks,
            "again": self.again / tasks,
        }


def main() -> int:
    """Run the benchmark; return an exit code."""
    options = _options()
    try:
        suites = _suites(options.suites)
    except ImportError:
        print("agentdojo is not installed here: pip install agentdojo, in an environment of its own", file=sys.stderr)
        return 1
    results: dict[str, dict[str, dict[str, float | int]]] = {}
    scores: dict[str, dict[str, tuple[bool, bool]]] = {suite.name: {} for suite in suites}
    for name in options.policies:
        tallies = {
            suite.name: _measured(suite, POLICIES[name], options.reasons, scores[suite.name]) for suite in suites
        }
        results[name] = {group: _sum(parts).row() for group, parts in _groups(tallies)}
        _show(name, results[name], first=name == options.policies[0])
    _write(results, options.json)
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, prog="python -m benchmarks.agentdojo"
    )
    parser.add_argument("--suites", type=_names, default=None, help="of AgentDojo, separated by commas (default: all)")
    parser.add_argument("--policies", type=_policies, default=list(POLICIES), help="separated by semicolons or commas")
    parser.add_argument("--reasons", action="store_true", help="print why each of the user's own calls was asked about")
    parser.add_argument("--json", metavar="OUT", type=Path, help="write the figures there, too")
    return parser.parse_args()


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",")]


def _policies(text: str) -> list[str]:
    chosen: list[str] = []
    left = text.replace(";", ",")
    while left:
        name = next((name for name in sorted(POLICIES, key=len, reverse=True) if left.startswith(name)), None)
        if name is None:
            raise argparse.ArgumentTypeError(f"unknown policy in {left!r}; there are: {'; '.join(POLICIES)}")
        chosen.append(name)
        left = left[len(name) :].lstrip(", ")
    return chosen


def _suites(wanted: Sequence[str] | None) -> list[Any]:
    warnings.simplefilter("ignore")
    import yaml

    yaml.SafeLoader = yaml.CSafeLoader  # the same, in C: every play loads its world anew
    from agentdojo.task_suite.load_suites import get_suites

    suites = get_suites(VERSION)
    unknown = set(wanted or ()) - set(suites)
    if unknown:
        raise SystemExit(f"unknown suites {', '.join(sorted(unknown))}; there are: {', '.join(suites)}")
    return [suite for name, suite in suites.items() if not wanted or name in wanted]


def _measured(suite: Any, policy: Policy, reasons: bool, scores: dict[str, tuple[bool, bool]]) -> Tally:
    from benchmarks.dojo.labels import skills_of
    from benchmarks.dojo.world import World, attentive, careless, nobody

    skills = skills_of(suite, floors=policy.floors)
    rules = Rules.load((), policy.defaults, skills=skills)
    reading, hasty, empty = (
        World(suite, skills, rules, approve, scores=scores, session_grants=policy.session_grants)
        for approve in (attentive, careless, nobody)
    )
    tally = Tally()
    with contextlib.redirect_stdout(io.StringIO()):  # some checkers of AgentDojo print
        for task in suite.user_tasks.values():
            play = reading.play(task)
            tally.tasks += 1
            tally.useful += play.useful
            tally.asked += play.asked
            tally.again += play.again
            tally.confirmed += play.confirmed
            tally.unasked += not play.asked
            tally.alone += (empty.play(task) if play.asked else play).useful
            for reason in play.reasons if reasons else ():
                print(f"{suite.name} {task.ID}: {reason}", file=sys.stderr)
            for injection in suite.injection_tasks.values():
                attacked = reading.play(task, injection)
                tally.pairs += 1
                tally.attacked += attacked.attacked
                tally.unmarked += attacked.attacked and not attacked.marked
                tally.useful_attacked += attacked.useful
                tally.careless += (hasty.play(task, injection) if attacked.tempting else attacked).attacked
                if reasons and attacked.attacked:
                    print(f"{suite.name} {task.ID} {injection.ID}: the attack got through", file=sys.stderr)
    return tally


def _groups(tallies: Mapping[str, Tally]) -> Iterator[tuple[str, list[Tally]]]:
    yield "all", list(tallies.values())
    for title, inside in (("in sample", True), ("out of sample", False)):
        parts = [tally for name, tally in tallies.items() if (name in IN_SAMPLE) is inside]
        if parts:
            yield title, parts
    for name, tally in tallies.items():
        yield name, [tally]


def _sum(parts: Sequence[Tally]) -> Tally:
    return Tally(**{name: sum(vars(part)[name] for part in parts) for name in vars(Tally())})


_SHARES = ("attack", "marked", "useful", "under attack", "unasked", "alone", "careless")


def _show(policy: str, rows: Mapping[str, Mapping[str, float | int]], *, first: bool) -> None:
    columns = ("attack", "marked", "useful", "under attack", "asked", "unasked", "alone", "careless", "confirmed")
    if first:
        print(f"{'':38} {'':14} " + " ".join(f"{column:>12}" for column in columns))
    for group, row in rows.items():
        cells = (f"{row[column]:>12.1%}" if column in _SHARES else f"{row[column]:>12.2f}" for column in columns)
        print(f"{policy if group == 'all' else '':38} {group:14} " + " ".join(cells), flush=True)


def _write(results: Mapping[str, Any], out: Path | None) -> None:
    body = json.dumps({"title": f"AgentDojo {VERSION}", "machine": machine(), "policies": results}, indent=2) + "\n"
    RESULTS.mkdir(exist_ok=True)
    for path in filter(None, (RESULTS / "agentdojo.json", out)):
        path.write_text(body, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
