"""Is the skill that a question needs among those that a model is offered? `python -m benchmarks.skill_search`.

Recall at 500 skills: of what the words of the question find before the model is asked at all, and of that together
with one search by the model; and the tokens of a request with all skills against one with the few.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from benchmarks.measure import RESULTS, machine
from benchmarks.skill_corpus import Question, corpus, questions
from remit.loop.counting import Counting
from remit.loop.finding import FOUND, SkillIndex
from remit.loop.interpreters import Speech, interpreter_for
from remit.loop.showing import Showing
from remit.models.protocol import Message
from remit.skills import Skill

PLACES = (1, 5, 10)
DIALECTS = ("native", "tagged", "react")

Find = Callable[[Question, int], list[str]]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print a table, write the JSON report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--misses", action="store_true", help="print the questions whose skill was not found")
    options = parser.parse_args(arguments)
    skills, asked = corpus(), questions()
    began = time.perf_counter()
    index = SkillIndex(skills)
    index.search("warm", 1)
    built = time.perf_counter() - began
    rows = [*recalls(index, asked)]
    body = {
        "title": f"Finding skills: {len(skills)} skills, {len(asked)} questions",
        "machine": machine(),
        "index_seconds": built,
        "recall": rows,
        "tokens": [tokens(skills, asked, dialect) for dialect in DIALECTS],
    }
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "skill_search.json").write_text(json.dumps(body, indent=2) + "\n", encoding="utf-8")
    if options.json:
        print(json.dumps(body, indent=2))
    else:
        _print(body)
    if options.misses:
        for one in asked:
            if not one.right & {*index.search(one.text, FOUND), *_searched(index, one, FOUND)}:
                print(f"{sorted(one.right)[0]}: {one.text}")
    return 0


def recalls(index: SkillIndex, asked: Sequence[Question]) -> list[dict[str, Any]]:
    """Return the rows of the table: which questions, how their skill is looked for, recall at each place."""
    named = [one for one in asked if not one.query]
    general = [one for one in asked if one.query]
    groups = {"all": asked, "a service is named": named, "nothing but the wish": general}

    def by_question(one: Question, most: int) -> list[str]:
        return index.search(one.text, most)

    def and_by_model(one: Question, most: int) -> list[str]:
        return list(dict.fromkeys([*index.search(one.text, FOUND), *_searched(index, one, most)]))

    rows = []
    for name, group in groups.items():
        rows.append(_row(name, "its own words", group, by_question, whole=False))
        rows.append(_row(name, "and one search by the model", group, and_by_model, whole=True))
    return rows


def tokens(skills: Mapping[str, Skill], asked: Sequence[Question], dialect: str) -> dict[str, Any]:
    """Return what the fixed part of a request takes with all skills, and with those that a question finds."""
    showing, counting = Showing(), Counting()
    known = showing.searchable(skills)
    everything = counting.bare_head(interpreter_for(skills, Speech(dialect=dialect)).head(tuple(skills)))
    interpreter = interpreter_for(known, Speech(dialect=dialect))
    few = []
    for one in asked:
        offered = showing.offering(known).follow([Message(role="user", content=one.text)])
        few.append(counting.bare_head(interpreter.head(offered)))
    mean = sum(few) / len(few)
    return {
        "dialect": dialect,
        "all": everything,
        "few": round(mean),
        "most": max(few),
        "saved": round(1 - mean / everything, 4),
    }


def _searched(index: SkillIndex, one: Question, most: int) -> list[str]:
    return index.search(one.query, most) if one.query else []


def _row(questions: str, by: str, group: Sequence[Question], find: Find, *, whole: bool) -> dict[str, Any]:
    began = time.perf_counter()
    found = [(one, find(one, max(PLACES))) for one in group]
    each = (time.perf_counter() - began) / len(group)
    recall = {}
    for most in PLACES:
        cut = [(one, find(one, most)) for one in group] if whole else [(one, names[:most]) for one, names in found]
        recall[f"recall@{most}"] = round(sum(bool(one.right & set(names)) for one, names in cut) / len(group), 4)
    return {"questions": questions, "count": len(group), "by": by, **recall, "milliseconds": round(each * 1000, 3)}


def _print(body: Mapping[str, Any]) -> None:
    print(f"{body['title']}; index made in {body['index_seconds'] * 1000:.0f} ms")
    print(f"{'questions':22} {'':4} {'looked for by':28} {'@1':>6} {'@5':>6} {'@10':>6} {'ms':>7}")
    for row in body["recall"]:
        places = " ".join(f"{row[f'recall@{most}']:6.1%}" for most in PLACES)
        print(f"{row['questions']:22} {row['count']:4} {row['by']:28} {places} {row['milliseconds']:7.2f}")
    print(f"\n{'tokens of prompt and skills (estimate)':40} {'all':>8} {'few':>8} {'most':>8} {'saved':>8}")
    for row in body["tokens"]:
        print(f"{row['dialect']:40} {row['all']:8} {row['few']:8} {row['most']:8} {row['saved']:8.1%}")


if __name__ == "__main__":
    sys.exit(main())
