"""`remit eval`: a suite of questions, answered, judged and compared."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from remit.cli import screen
from remit.cli.opening import add_folder, add_json, add_no_extensions, add_read_only, opened
from remit.errors import UsageError

if TYPE_CHECKING:
    from remit.deployment.deployment import Deployment
    from remit.evaluation.attempt import Attempt
    from remit.evaluation.baseline import Comparison
    from remit.evaluation.case import Case
    from remit.evaluation.report import Report


def configure(parser: argparse.ArgumentParser) -> None:
    """Describe the command."""
    parser.epilog = """\
examples:
  remit eval --example > suite.yaml
  remit eval suite.yaml --repeat 3 --jobs 4 --html report.html
  remit eval suite.yaml --record turns.jsonl --save baseline.json
  remit eval suite.yaml --replay turns.jsonl --baseline baseline.json
  remit eval suite.yaml --record whole.jsonl --record-calls
  remit eval suite.yaml --list --tag maths
  remit eval --from-session 1f3a5b7c9d0e2f4a > case.yaml

exit codes: 0 fine; 1 without --min-success and --baseline: a case failed or none ran; with --min-success: fewer
attempts passed; with --baseline: a case newly fails (with --tolerate-noise: more do than chance explains), or one fails
that could not be compared; 2 wrong usage; 130 interrupted, what was finished is reported

Nothing is ever signed off here: what needs a person is parked or denied, as [defaults] unattended says.
"""
    parser.add_argument("suite", nargs="?", help="file of cases: .yaml, .json, or .jsonl; see docs/eval.md")
    _configure_choice(parser)
    _configure_running(parser)
    _configure_reports(parser)
    add_json(parser)
    add_folder(parser)
    add_read_only(parser)
    add_no_extensions(parser)
    parser.set_defaults(action=evaluate)


def _configure_choice(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--filter", action="append", default=[], metavar="TEXT", help="cases with this in their id")
    parser.add_argument("--tag", action="append", default=[], metavar="TAG", help="cases with this tag")
    parser.add_argument("--list", action="store_true", help="show the cases, and run none")
    parser.add_argument("--skip-missing", action="store_true", help="skip cases about skills that are not here")
    parser.add_argument("--example", action="store_true", help="print a suite to start from")
    parser.add_argument("--from-session", metavar="SESSION", help="print a stored session as a case")


def _configure_running(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--repeat", type=int, default=1, metavar="N", help="attempts at each case (default: 1)")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="attempts at the same time (default: 1)")
    parser.add_argument("--fail-fast", action="store_true", help="begin nothing more after a failure")
    parser.add_argument("--record", metavar="FILE", help="keep what the model is asked and says, in a new file")
    parser.add_argument("--overwrite", action="store_true", help="--record may replace a recording that is there")
    parser.add_argument("--record-calls", action="store_true", help="keep what skills give, too; not what is private")
    parser.add_argument("--record-private", action="store_true", help="keep private results, too: read them first")
    parser.add_argument(
        "--replay", metavar="FILE", help="play a recording; no model is asked, and no skill runs if it holds calls"
    )
    parser.add_argument("--run-calls", action="store_true", help="let skills run in such a replay all the same")
    parser.add_argument(
        "--approve-listed", action="store_true", help="let calls run that a case lists under approve; never an impact"
    )
    parser.add_argument("--model", help="name of the model, instead of the deployment's")
    parser.add_argument("--base-url", help="OpenAI-compatible endpoint, instead of the deployment's")
    parser.add_argument("--api-key", metavar="REF", help="where its key is kept: env:NAME or file:PATH")
    parser.add_argument("--dialect", help="how the model writes calls: native, auto, tagged, react, ...")


def _configure_reports(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--save", metavar="FILE", help="write the report as JSON, to compare with later")
    parser.add_argument("--baseline", metavar="FILE", help="compare with a report that was saved")
    parser.add_argument("--tolerate-noise", action="store_true", help="a loss that chance explains is none")
    parser.add_argument("--min-success", metavar="SHARE", help="share of attempts that must pass: 0.9 or 90%%")
    parser.add_argument("--html", metavar="FILE", help="write one page that needs nothing else")
    parser.add_argument("--junit", metavar="FILE", help="write JUnit XML")


def evaluate(options: argparse.Namespace) -> int:
    """Run the suite, print the report, and judge it."""
    if options.example:
        from remit.evaluation.example import EXAMPLE

        screen.say(EXAMPLE.rstrip("\n"))
        return 0
    if options.from_session:
        return _from_session(options)
    if options.suite is None:
        raise UsageError("no suite is named", remedy="remit eval SUITE, or: remit eval --example > suite.yaml")
    if options.list:
        return _list(options)
    from remit.evaluation.baseline import compare, read_baseline

    least = _share(options.min_success)
    before = read_baseline(options.baseline) if options.baseline else None
    _require_places(options.save, options.html, options.junit)
    if options.record and Path(options.record).exists() and not options.overwrite:
        raise UsageError(f"{options.record} is there already", remedy="name another file, or replace it: --overwrite")
    with opened(options, quiet=options.json) as deployment:
        report = _run(options, deployment)
    compared = compare(before, report) if before is not None else None
    _write_reports(options, report, compared)
    _show(options, report, compared)
    return _code(options, report, compared, least)


def _run(options: argparse.Namespace, deployment: Deployment) -> Report:
    from remit.cli.parsing import checked_dialect, checked_key
    from remit.evaluation.evaluate import evaluate as run

    progress = Progress(shown=screen.is_terminal(sys.stderr) and not options.json)
    key = None
    if not options.replay:
        if not (options.model or deployment.config.model.name or deployment.config.model.provider):
            raise UsageError(
                "no model is named", remedy='--model NAME --base-url URL, or name = "..." under [model] in remit.toml'
            )
        key = checked_key(options.api_key, deployment.extensions.secret_providers)
    try:
        return run(
            options.suite,
            deployment,
            model=options.model,
            base_url=options.base_url,
            api_key=key,
            dialect=checked_dialect(options.dialect),
            repeat=options.repeat,
            jobs=options.jobs,
            filters=options.filter,
            tags=options.tag,
            record=options.record,
            replay=options.replay,
            record_calls=options.record_calls,
            record_private=options.record_private,
            run_calls=options.run_calls,
            skip_missing=options.skip_missing,
            approve_listed=options.approve_listed,
            fail_fast=options.fail_fast,
            on_attempt=progress.done,
        )
    finally:
        progress.clear()


class Progress:
    """One line on a terminal that says how far an evaluation is."""

    def __init__(self, *, shown: bool) -> None:
        self._shown = shown
        self._passed = 0
        self._failed = 0

    def done(self, case: Case, attempt: Attempt) -> None:
        """Count one attempt."""
        self._passed += attempt.passed
        self._failed += not attempt.passed
        if self._shown:
            line = f"{self._passed + self._failed} attempts done, {self._failed} failed; last: {case.id}"
            sys.stderr.write(f"\r\x1b[K{screen.clipped(line, (screen.columns(sys.stderr) or 80) - 1)}")
            sys.stderr.flush()

    def clear(self) -> None:
        """Take the line away."""
        if self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


def _list(options: argparse.Namespace) -> int:
    from remit.evaluation.reading import chosen, read_suite

    suite = read_suite(options.suite)
    cases = chosen(suite, filters=tuple(options.filter), tags=tuple(options.tag), place=options.suite)
    if options.json:
        screen.say_json([{"id": case.id, "question": case.question, "tags": case.tags} for case in cases])
    else:
        rows = [(case.id, ", ".join(case.tags), screen.clipped(case.question, 70)) for case in cases]
        screen.say(screen.table(("case", "tags", "question"), rows))
    return 0


def _from_session(options: argparse.Namespace) -> int:
    from remit.cli.log import opened_state
    from remit.evaluation.from_session import case_of, written

    with opened_state(options.folder) as state:
        saved = state.load_session(options.from_session)
    if saved is None:
        raise UsageError(f"there is no session {options.from_session}", remedy="remit sessions list")
    case = case_of(saved)
    if options.json:
        screen.say_json({"cases": [case]})
    else:
        screen.say(written(case).rstrip("\n"))
    screen.warn("note: read it before you use it: it expects what happened, whether or not that was right")
    return 0


def _share(text: str | None) -> float | None:
    if text is None:
        return None
    try:
        value = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise UsageError(f"--min-success takes a share, not {text!r}", remedy="--min-success 0.9, or 90%")
    return value


def _require_places(*paths: str | None) -> None:
    """Raise UsageError where a report cannot be written, before anything is asked."""
    for path in map(Path, filter(None, paths)):
        if path.is_dir() or not path.parent.is_dir():
            raise UsageError(f"{path} cannot be written: it is a folder, or there is none to put it in")


def _write_reports(options: argparse.Namespace, report: Report, compared: Comparison | None) -> None:
    if options.save:
        _write(options.save, json.dumps(report.to_json(), indent=1, ensure_ascii=True) + "\n")
    if options.html:
        from remit.cli.eval_html import page

        _write(options.html, page(report, compared))
    if options.junit:
        from remit.cli.eval_junit import junit

        _write(options.junit, junit(report))


def _write(path: str, text: str) -> None:
    try:
        Path(path).write_text(text, "utf-8")
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror or error}") from None


def _show(options: argparse.Namespace, report: Report, compared: Comparison | None) -> None:
    if options.json:
        from dataclasses import asdict

        body = report.to_json()
        if compared is not None:
            body["comparison"] = {**asdict(compared), "noise": compared.noise, "words": compared.words}
        screen.say_json(body)
        return
    from remit.cli.eval_text import show, show_comparison

    show(report)
    if compared is not None:
        show_comparison(compared, options.baseline)
    for path in filter(None, (options.save, options.html, options.junit, options.record)):
        screen.warn(screen.visible(f"wrote {path}"))


def _code(options: argparse.Namespace, report: Report, compared: Comparison | None, least: float | None) -> int:
    """Return the exit code: see the epilog."""
    if report.interrupted:
        return 130
    if not report.figures.attempts:
        return 1
    if least is not None and report.success < least:
        return 1
    if compared is not None and compared.regressed(tolerate_noise=options.tolerate_noise):
        return 1
    if least is None and compared is None and report.success < 1:
        return 1
    return 0
