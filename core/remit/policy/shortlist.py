"""Which of many rules can speak about one call: rules that name exact texts are looked up, not tried one by one."""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from remit.policy.shapes import argument_value
from remit.skills import Skill

if TYPE_CHECKING:
    from remit.policy.rules import Rule


class Shortlist:
    """The rules that can mean a skill, by the exact text that an argument must have.

    Texts are looked up in their composed form (NFC): two that differ only in that leave a rule in doubt, and
    doubt counts against a call.
    """

    def __init__(self, rules: Sequence[Rule]) -> None:
        self.rules = tuple(rules)
        self._by_text: dict[str, dict[str, list[Rule]]] = defaultdict(lambda: defaultdict(list))
        self._named: dict[str, list[Rule]] = defaultdict(list)
        self._rest: list[Rule] = []
        for rule in rules:
            path, texts = _exact(rule)
            if not path:
                self._rest.append(rule)
                continue
            self._named[path].append(rule)
            for text in texts:
                self._by_text[path][text].append(rule)

    def for_call(self, skill: Skill, arguments: Mapping[str, Any]) -> tuple[Rule, ...]:
        """Return the rules that these arguments do not rule out at once, sorted by id."""
        if not self._named:
            return self.rules
        return tuple(sorted((*self._rest, *self._looked_up(skill, arguments)), key=lambda rule: rule.id))

    def _looked_up(self, skill: Skill, arguments: Mapping[str, Any]) -> Iterator[Rule]:
        for path, rules in self._named.items():
            value = argument_value(skill.schema, arguments, path)
            yield from self._by_text[path].get(_composed(value), ()) if isinstance(value, str) else rules


def _exact(rule: Rule) -> tuple[str, frozenset[str]]:
    """Return an argument that must have one of some texts for the rule to mean a call; empty for none."""
    for path, conditions in rule.match.arguments:
        for condition in conditions:
            operand = [condition.operand] if condition.operator == "eq" else condition.operand
            if condition.operator in ("eq", "in") and all(isinstance(one, str) for one in operand):
                return path, frozenset(map(_composed, operand))
    return "", frozenset()


def _composed(text: str) -> str:
    return unicodedata.normalize("NFC", text)
