"""An evaluation as one page that needs nothing else; see `remit.cli.page`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from remit.cli.eval_text import LABELS, change_words, changed_cases, lines, percent, share
from remit.cli.page import bare, head, table, tag, text

if TYPE_CHECKING:
    from remit.evaluation.attempt import Attempt, TurnOutcome
    from remit.evaluation.baseline import Comparison
    from remit.evaluation.figures import Figures
    from remit.evaluation.intervals import Interval
    from remit.evaluation.report import CaseReport, Report
    from remit.evaluation.trajectory import MadeCall

STATES = {"passed": "good", "flaky": "warn", "failed": "bad", "skipped": ""}

_STYLE = """<style>
.range { position: relative; display: inline-block; width: 8rem; height: .55rem; border-radius: .3rem;
  background: var(--line); vertical-align: middle; margin-right: .6rem; overflow: hidden }
.range i { position: absolute; top: 0; bottom: 0; background: var(--soft); opacity: .55 }
.range b { position: absolute; top: 0; bottom: 0; width: 3px; background: var(--ink) }
.measures { display: grid; grid-template-columns: max-content 1fr; gap: .3rem 1.5rem; margin: 0 }
.measures dt { color: var(--soft) } .measures dd { margin: 0; font-variant-numeric: tabular-nums }
details { border: 1px solid var(--line); border-radius: .5rem; margin: .6rem 0; padding: .6rem .9rem }
summary { cursor: pointer } summary .soft { margin-left: .5rem }
blockquote { margin: .5rem 0; padding: .1rem .9rem; border-left: 3px solid var(--line); white-space: pre-wrap;
  overflow-wrap: anywhere } .asked { border-color: var(--ink) } h3 { font-size: 1rem; margin: 1rem 0 .3rem }
</style>"""


def page(report: Report, compared: Comparison | None = None) -> str:
    """Return a report, and what changed since a baseline, as a page of HTML."""
    return "\n".join(_page(report, compared)) + "\n"


def _page(report: Report, compared: Comparison | None) -> Iterator[str]:
    yield head(f"Evaluation of {report.suite}") + _STYLE + "<header>"
    yield f"<h1>Evaluation: {text(report.suite)}</h1>"
    made = datetime.fromtimestamp(report.made, UTC).strftime("%Y-%m-%d %H:%M UTC")
    stopped = ", interrupted before it was done" if report.interrupted else ""
    about = f"Model {report.model or 'unnamed'}, {report.mode}{stopped}. {made}."
    yield f'<p class="soft">{text(about)}</p>'
    yield from (f'<p class="soft">{text(note[:1].upper() + note[1:])}.</p>' for note in report.notes)
    yield from _tiles(report)
    yield "</header><main>"
    if compared is not None:
        yield from _comparison(compared)
    yield from _measures(report.figures)
    yield from _tags(report)
    yield from _cases(report)
    yield "<h2>What happened</h2>"
    for one in report.cases:
        yield from _details(one)
    yield "</main></body></html>"


def _tiles(report: Report) -> Iterator[str]:
    found = report.figures
    whole = sum(one.state == "passed" for one in report.cases)
    tiles = [
        (percent(report.success) if found.success is not None else "-", "of attempts passed"),
        (f"{whole} of {len(report.cases)}", "cases passed every time"),
        (str(len(report.flaky)), "flaky cases"),
        (str(sum(one.state == "skipped" for one in report.cases)), "skipped"),
        (str(found.forbidden), "forbidden calls"),
        (percent(found.argument_accuracy) if found.argument_accuracy is not None else "-", "of arguments right"),
    ]
    yield '<ul class="figures">'
    yield from (f'<li><b>{text(number)}</b><span class="soft">{text(what)}</span></li>' for number, what in tiles)
    yield "</ul>"


def _comparison(found: Comparison) -> Iterator[str]:
    yield "<h2>Since the baseline</h2>"
    yield f'<p class="soft">Compared with {text(found.before)}.</p>'
    verdict = "not compared" if not found.compared else "worse" if found.worse or found.failing else "not worse"
    yield f"<p>{tag(verdict, 'good' if verdict == 'not worse' else 'bad')} {text(found.words)}.</p>"
    yield bare(f"{text(label)}: <code>{text(', '.join(ids))}</code>" for label, ids in changed_cases(found))
    rows = [(text(LABELS[change.name]), *map(text, change_words(change))) for change in found.figures]
    yield '<p class="soft">Figures that differ:</p>'
    yield from table(("figure", "before", "now"), rows, none="No figure changed.")


def _measures(found: Figures) -> Iterator[str]:
    yield '<h2>Figures</h2><dl class="measures">'
    for name, value in lines(found):
        interval = next((getattr(found, key) for key, label in LABELS.items() if label == name), None)
        bar = _range(interval) if name not in (LABELS[key] for key in ("steps", "tokens", "cost", "seconds")) else ""
        yield f"<dt>{text(name)}</dt><dd>{bar}{text(value)}</dd>"
    yield '</dl><p class="soft">In brackets 95% intervals; docs/eval.md defines each figure.</p>'


def _range(interval: Interval | float | None) -> str:
    """Return a share as a bar: its interval, and a mark where it lies."""
    if interval is None:
        return ""
    value = interval if isinstance(interval, (int, float)) else interval.value
    low, high = (value, value) if isinstance(interval, (int, float)) else (interval.low, interval.high)
    inner = ""
    if low is not None and high is not None:
        inner = f'<i style="left:{100 * low:.1f}%;width:{100 * (high - low):.1f}%"></i>'
    mark = f'<b style="left:calc({100 * value:.1f}% - {3 * value:.1f}px)"></b>'
    return f'<span class="range" aria-hidden="true">{inner}{mark}</span>'


def _tags(report: Report) -> Iterator[str]:
    rows = [
        (text(name), _range(found.success) + text(share(found.success)), str(found.cases), str(found.attempts))
        for name, found in report.by_tag.items()
        if found.success is not None
    ]
    if rows:
        yield "<h2>By tag</h2>"
        yield from table(("tag", "success", "cases", "attempts"), rows, none="")


def _cases(report: Report) -> Iterator[str]:
    yield "<h2>Cases</h2>"
    rows = [
        (
            f'<a href="#{text(one.case.id)}"><code>{text(one.case.id)}</code></a>',
            tag(one.state, STATES[one.state]),
            f"{one.passed} of {len(one.attempts)}" if one.attempts else "-",
            bare(_reasons(one)),
            " ".join(tag(name, "") for name in one.case.tags),
        )
        for one in report.cases
    ]
    yield from table(("case", "result", "passed", "why not", "tags"), rows, none="No case.")


def _reasons(one: CaseReport) -> Iterator[str]:
    if one.skipped:
        yield text(one.skipped)
    yield from map(text, dict.fromkeys(reason for attempt in one.attempts for reason in attempt.failures))


def _details(one: CaseReport) -> Iterator[str]:
    unfolded = "" if one.state in ("passed", "skipped") else " open"
    yield f'<details id="{text(one.case.id)}"{unfolded}><summary>{tag(one.state, STATES[one.state])}'
    yield f'<code>{text(one.case.id)}</code><span class="soft">{text(_short(one.case.question))}</span></summary>'
    for attempt in one.attempts:
        yield from _attempt(one, attempt)
    if one.skipped:
        yield f"<p>{text(one.skipped)}</p>"
    yield "</details>"


def _attempt(one: CaseReport, attempt: Attempt) -> Iterator[str]:
    tokens = f", {attempt.tokens} tokens" if attempt.tokens is not None else ""
    cost = f", cost {attempt.cost:.4g}" if attempt.cost is not None else ""
    about = f"{attempt.steps} model turns{tokens}{cost}, {attempt.seconds:.2f} s, session {attempt.session}"
    yield f"<h3>Attempt {attempt.number}</h3>"
    yield f'<p class="soft">{text(about)}</p>'
    for turn, outcome in zip(one.case.turns, attempt.turns, strict=False):
        yield f'<blockquote class="asked">{text(turn.question)}</blockquote>'
        yield from _calls(outcome)
        yield f"<blockquote>{text(outcome.answer or f'({outcome.status}: {outcome.reason})')}</blockquote>"
    if attempt.failures:
        yield bare(f"{tag('not as expected', 'bad')} {text(reason)}" for reason in attempt.failures)


def _calls(outcome: TurnOutcome) -> Iterator[str]:
    if outcome.calls:
        yield bare(f"<code>{text(_call(call))}</code> {_status(call)}" for call in outcome.calls)


def _status(call: MadeCall) -> str:
    return tag(call.status, "good" if call.status == "ok" else "warn")


def _call(call: MadeCall) -> str:
    return f"{call.skill} {json.dumps(call.arguments, ensure_ascii=False)}"


def _short(question: str) -> str:
    flat = " ".join(question.split())
    return flat if len(flat) <= 100 else flat[:97] + "..."
