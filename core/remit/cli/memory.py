"""`remit memory`: what is remembered of a person, to be seen, set, forgotten and taken along by that person."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from remit.cli import screen
from remit.cli.opening import add_action, add_folder, add_json, agreed, opened, whole
from remit.errors import DeploymentError, UsageError

if TYPE_CHECKING:
    from remit.cli.memory_notes import Notes
    from remit.memory.fact import Fact, Origin
    from remit.memory.memory import Memory
    from remit.state.store import State

KINDS = ("text", "number", "boolean", "date", "list")
SHOWN = 60
"""Columns of a value in a list."""

_NUMBER = re.compile(r"[0-9]{1,18}")


def configure(parser: argparse.ArgumentParser) -> None:
    """Describe the command and its actions."""
    parser.epilog = """\
examples:
  remit memory list
  remit memory set home_city Oslo
  remit memory forget --older 90d

Key facts have names, notes of the pack `memory` have numbers; both are meant here.
"""
    actions = parser.add_subparsers(prog=parser.prog, dest="memory_action", metavar="action", required=True)
    listing = add_action(actions, "list", "list what is remembered", "remit memory list\nremit memory list --json")
    listing.add_argument("--limit", type=int, default=50, help="the newest so many notes (default: 50)")
    showing = add_action(
        actions, "show", "show one fact or note whole, and where it comes from", "remit memory show home_city"
    )
    showing.add_argument("what", metavar="NAME|NUMBER", help="name of a fact, or number of a note")
    setting = add_action(
        actions,
        "set",
        "write a fact yourself, in place of one of its name",
        "remit memory set home_city Oslo\nremit memory set likes tea rain",
    )
    setting.add_argument("name", help="such as home_city")
    setting.add_argument("value", nargs="+", help="several, or one JSON array, make a list")
    setting.add_argument("--kind", choices=KINDS, help="what it holds, where no slots are declared (default: text)")
    forgetting = add_action(
        actions,
        "forget",
        "remove facts and notes for good",
        "remit memory forget home_city\nremit memory forget --older 90d --yes\nremit memory forget --all --who ada",
    )
    forgetting.add_argument("what", nargs="*", metavar="NAME|NUMBER", help="names of facts, numbers of notes")
    forgetting.add_argument("--older", metavar="AGE", help="everything that was written longer ago, such as 90d")
    forgetting.add_argument("--all", action="store_true", help="everything that is remembered of the person")
    forgetting.add_argument("--yes", action="store_true", help="do not ask")
    exporting = add_action(
        actions, "export", "write everything as JSON", "remit memory export\nremit memory export mine.json"
    )
    exporting.add_argument("file", nargs="?", default="-", help="a new file; - is standard output (default)")
    exporting.add_argument("--json", action="store_true", help="print what was written into a file as JSON")
    runs = ((listing, list_all), (showing, show), (setting, set_fact), (forgetting, forget), (exporting, export))
    for action, run in runs:
        add_folder(action)
        action.add_argument("--who", metavar="PRINCIPAL", help="of whom (default: you)")
        action.set_defaults(action=run, read_only=False)
    for action in (listing, showing, setting, forgetting):
        add_json(action)


@dataclass(frozen=True, kw_only=True)
class Kept:
    """What is kept of one person: key facts, and notes where the pack `memory` is enabled."""

    memory: Memory
    notes: Notes | None
    state: State
    remembers: bool


def list_all(options: argparse.Namespace) -> int:
    """Print facts and notes."""
    if options.limit < 1:
        raise UsageError("--limit takes a number of at least 1")
    with _kept(options) as kept:
        facts = kept.memory.facts()
        notes, count = kept.notes.newest(options.limit) if kept.notes else ([], 0)
    if options.json:
        screen.say_json({"facts": [fact.to_json() for fact in facts], "notes": notes, "count_of_notes": count})
        return 0
    if not facts and not notes:
        screen.say(f"nothing is remembered of {screen.visible(kept.memory.who)}")
    if facts:
        rows = [(one.name, _short(one), one.kind, ", ".join(sorted(one.labels)), _by(one), _day(one)) for one in facts]
        screen.say(screen.table(("fact", "value", "kind", "labels", "by", "written"), rows))
    if notes:
        screen.say(f"{chr(10) if facts else ''}notes of the pack memory, {len(notes)} of {count}:")
        rows_of_notes = [(str(one["id"]), screen.clipped(str(one["text"]), SHOWN), str(one["day"])) for one in notes]
        screen.say(screen.table(("note", "text", "written"), rows_of_notes))
    return 0


def show(options: argparse.Namespace) -> int:
    """Print one fact or note."""
    what = whole(options.what)
    with _kept(options) as kept:
        if _is_number(what):
            found: dict[str, Any] = _required_notes(kept).one(int(what))
        else:
            fact = kept.memory.fact(_slot(what))
            if fact is None:
                raise UsageError(f"there is no fact {screen.visible(what)}", remedy="remit memory list")
            found = fact.to_json()
    if options.json:
        screen.say_json(found)
        return 0
    for name, value in found.items():
        screen.say(screen.visible(f"{name:8} {_plain(name, value)}"))
    return 0


def set_fact(options: argparse.Namespace) -> int:
    """Write a fact in the person's name."""
    values = list(map(whole, options.value))
    with _kept(options) as kept:
        if not kept.remembers:
            raise UsageError("this deployment remembers no facts", remedy="write facts = true under [memory]")
        name = whole(options.name)
        value = _value(values, options.kind or kept.memory.declared(name))
        try:
            fact = kept.memory.remember(name, value, origin=_person(), kind=options.kind)
        except UsageError as error:
            remedy = "remit memory list shows what there is, [memory.slots] in remit.toml what there may be"
            raise UsageError(error.message, remedy=error.remedy or remedy) from error
    if options.json:
        screen.say_json(fact.to_json())
    else:
        screen.say(screen.visible(f"{fact.name} = {_short(fact)} ({fact.kind})"))
    return 0


def _value(values: list[str], kind: str | None) -> Any:
    """Return what was written: several texts are a list, and so is a JSON array, unless another kind is wanted."""
    import json

    if len(values) == 1 and kind in (None, "list") and values[0].lstrip().startswith("["):
        with suppress(ValueError):
            return json.loads(values[0])
    return values if len(values) > 1 else values[0]


def forget(options: argparse.Namespace) -> int:
    """Remove what is named; 1 when nobody agreed."""
    if not options.what and options.older is None and not options.all:
        raise UsageError("say what to forget: names, numbers, --older AGE or --all", remedy="remit memory list")
    with _kept(options) as kept:
        facts, ids = _meant(kept, options)
        if not facts and not ids:
            _told(options, [], [])
            return 0
        if len(facts) + len(ids) > 1 or options.older is not None or options.all:
            screen.warn(_in_words(facts, ids, kept.memory.who))
            if not agreed("Forget this?", yes=options.yes):
                screen.warn("nothing was forgotten")
                return 1
        for name in facts:
            kept.memory.forget(name, origin=_person())
        forgotten = _required_notes(kept).forget(ids) if ids else []
    _told(options, facts, forgotten)
    return 0


def export(options: argparse.Namespace) -> int:
    """Write everything that is remembered of a person as JSON, and record that it was."""
    import json

    from remit.cli.log_export import written_to

    with _kept(options) as kept, written_to(options.file, remedy="name another file") as file:
        notes = list(kept.notes.all()) if kept.notes else []
        facts = [fact.to_json() for fact in kept.memory.facts()]
        kept.state.append(
            "memory.exported", who=kept.memory.who, body={"facts": len(facts), "notes": len(notes), "by": _login()}
        )
        file.write(json.dumps({"who": kept.memory.who, "facts": facts, "notes": notes}, indent=2) + "\n")
    if options.file == "-":
        return 0
    if options.json:
        screen.say_json({"file": options.file, "facts": len(facts), "notes": len(notes)})
    else:
        said = f"{screen.counted(len(facts), 'fact')} and {screen.counted(len(notes), 'note')}"
        screen.say(screen.visible(f"wrote {options.file}: {said}"))
    return 0


@contextmanager
def _kept(options: argparse.Namespace) -> Iterator[Kept]:
    """Open what is kept of the person whom the options name.

    Raises:
        DeploymentError: the memory store that the deployment names is not there.
    """
    from remit.cli.memory_notes import notes_of
    from remit.loop.remembering import memory_for
    from remit.pipeline.configured import redactor_of
    from remit.state.store import State

    with opened(options, quiet=True) as deployment, State(deployment.state_folder) as state:
        if options.who is not None and not options.who.strip():
            raise UsageError("--who names nobody", remedy="leave it out to mean yourself")
        who = whole(options.who) if options.who else deployment.principal
        view = deployment if who == deployment.principal else deployment.acting_for(who)
        deployment.extensions.listen(state)
        config = deployment.config
        memory = memory_for(config, deployment.extensions, state, redactor_of(config), who, always=True)
        if memory is None:
            raise DeploymentError(
                f"no enabled extension gives the memory store {config.memory.store!r}",
                remedy="remit extensions list shows what is enabled",
            )
        try:
            yield Kept(memory=memory, notes=notes_of(view), state=state, remembers=config.memory.facts)
        finally:
            if view is not deployment:
                view.close()


def _meant(kept: Kept, options: argparse.Namespace) -> tuple[list[str], list[int]]:
    """Return the names of facts and numbers of notes that the options mean."""
    known = {fact.name: fact for fact in kept.memory.facts()}
    written = [whole(one) for one in options.what]
    facts = {_slot(one) for one in written if not _is_number(one)}
    for name in sorted(facts - set(known)):
        raise UsageError(f"there is no fact {name}; nothing was forgotten", remedy="remit memory list")
    ids = {int(one) for one in written if _is_number(one)}
    noted = {int(one["id"]) for one in _required_notes(kept).all()} if ids else set()
    for number in sorted(ids - noted):
        raise UsageError(f"there is no note {number}; nothing was forgotten", remedy="remit memory list")
    before = _before(options.older)
    if options.all or before is not None:
        facts |= {name for name, fact in known.items() if before is None or fact.updated < before}
        ids |= set(kept.notes.older(before)) if kept.notes else set()
    return sorted(facts), sorted(ids)


def _before(older: str | None) -> float | None:
    from remit.cli.log_times import moment

    return None if older is None else moment(older, now=datetime.now().astimezone())


def _required_notes(kept: Kept) -> Notes:
    if kept.notes is None:
        raise UsageError("the pack memory is not enabled here, so there are no notes", remedy="remit memory list")
    return kept.notes


def _is_number(text: str) -> bool:
    return _NUMBER.fullmatch(text) is not None


def _slot(text: str) -> str:
    from remit.memory.fact import slot_name

    try:
        return slot_name(text)
    except ValueError as error:
        raise UsageError(str(error)) from None


def _person() -> Origin:
    from remit.memory.fact import Origin

    return Origin(by="person", own_words=True, login=_login())


def _login() -> str:
    from remit.pipeline.terminal import person

    return person()


def _in_words(facts: list[str], ids: list[int], who: str) -> str:
    lines = [f"of {screen.visible(who)}:"]
    if facts:
        lines.append(f"  {len(facts)} facts: {screen.clipped(', '.join(facts), 90)}")
    if ids:
        lines.append(f"  {len(ids)} notes: {screen.clipped(', '.join(map(str, ids)), 90)}")
    return "\n".join(lines)


def _told(options: argparse.Namespace, facts: list[str], notes: list[int]) -> None:
    if options.json:
        screen.say_json({"forgotten": {"facts": facts, "notes": notes}})
    elif facts or notes:
        screen.say(f"forgot {screen.counted(len(facts), 'fact')} and {screen.counted(len(notes), 'note')}")
    else:
        screen.say("nothing to forget")


def _short(fact: Fact) -> str:
    value = fact.plain
    return screen.clipped(", ".join(value) if isinstance(value, list) else str(value), SHOWN)


def _by(fact: Fact) -> str:
    return f"you, {fact.origin.login}" if fact.origin.login else fact.origin.by


def _day(fact: Fact) -> str:
    return datetime.fromtimestamp(fact.updated).strftime("%Y-%m-%d")


def _plain(name: str, value: Any) -> str:
    if name in ("created", "updated"):
        return datetime.fromtimestamp(float(value)).strftime("%Y-%m-%d %H:%M")
    if isinstance(value, dict):
        shown = ((key.replace("_", " "), one) for key, one in value.items() if one not in ("", False))
        return ", ".join(key if one is True else f"{key} {one}" for key, one in shown)
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
