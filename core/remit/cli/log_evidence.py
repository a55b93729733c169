"""`remit log verify|anchor|prove|key|settle|backup`: the proof of what happened, and what is in doubt."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from remit.cli import screen
from remit.cli.opening import add_action, add_folder, add_json, whole
from remit.cli.waiting import waiting
from remit.errors import UsageError

if TYPE_CHECKING:
    from remit.evidence.notes import VerifierKey
    from remit.evidence.verify import Verified
    from remit.state.doubts import Doubt
    from remit.state.store import State

_UNANCHORED = (
    "no anchor was given: whoever can write the file could have cut its end off, or, with the key, written all of it"
    " anew"
)


def configure(actions: Any) -> None:
    """Describe the actions."""
    for add in (_verifying, _anchoring, _proving, _keys, _settling, _copying):
        action = add(actions)
        add_folder(action)
        add_json(action)


def _verifying(actions: Any) -> argparse.ArgumentParser:
    action = add_action(
        actions,
        "verify",
        "check the whole log, and name the first bad record",
        "remit log verify\nremit log verify --against anchor.txt --key log.pub\n"
        "remit log verify --against git:refs/remit/log --json",
    )
    action.add_argument(
        "--against",
        action="append",
        default=[],
        metavar="ANCHOR",
        help="a checkpoint kept elsewhere: a file, or git:REF; may be repeated",
    )
    action.add_argument(
        "--key",
        action="append",
        default=[],
        metavar="KEY",
        help="the public key that must have signed, or a file that holds it (default: the one kept beside the log)",
    )
    action.add_argument("--file", metavar="STATE.DB", help="verify this file, such as a backup")
    action.set_defaults(action=verify_log)
    return action


def _anchoring(actions: Any) -> argparse.ArgumentParser:
    action = add_action(
        actions,
        "anchor",
        "sign what the log holds now, to be kept elsewhere",
        "remit log anchor\nremit log anchor --to /mnt/other/anchor.txt\nremit log anchor --to git:refs/remit/log\n"
        'remit log anchor --to "command:ssh keeper@host.example keep-anchor"',
    )
    action.add_argument("--to", metavar="PLACE", help="a file, git:REF, or command:... (default: printed)")
    action.set_defaults(action=anchor)
    return action


def _proving(actions: Any) -> argparse.ArgumentParser:
    action = add_action(
        actions, "prove", "prove that one record is in the log", "remit log prove 42 --out record-42.tlog-proof"
    )
    action.add_argument("number", type=int, help="the record's number, as `remit log list` shows it")
    action.add_argument("--out", metavar="FILE", help="where to write the proof (default: printed)")
    action.set_defaults(action=prove_record)
    return action


def _keys(actions: Any) -> argparse.ArgumentParser:
    action = add_action(
        actions,
        "key",
        "print the public key that checkpoints are signed with, or make a new key elsewhere",
        "remit log key\nremit log key --new file:/home/keeper/log.key\nremit log key --new keyring:remit/log",
    )
    action.add_argument("--new", metavar="PLACE", help="make a new key in file:PATH or keyring:SERVICE/NAME")
    action.set_defaults(action=show_key)
    return action


def _settling(actions: Any) -> argparse.ArgumentParser:
    action = add_action(
        actions,
        "settle",
        "say of a call whose process died whether it was done; without a number, list those in doubt",
        "remit log settle\nremit log settle 42 --not-done\nremit log settle 42 --done --note 'the mail is in Sent'",
    )
    action.add_argument("call", nargs="?", help="number of its record call.started, or the call's id")
    answer = action.add_mutually_exclusive_group()
    answer.add_argument("--done", action="store_true", help="it was done")
    answer.add_argument("--not-done", action="store_true", help="it was not done, and may be called again")
    action.add_argument("--note", default="", help="how you know")
    action.set_defaults(action=settle)
    return action


def _copying(actions: Any) -> argparse.ArgumentParser:
    action = add_action(
        actions, "backup", "copy state.db to a new file while others go on writing", "remit log backup state-copy.db"
    )
    action.add_argument("file", help="the new file")
    action.set_defaults(action=back_up)
    return action


def verify_log(options: argparse.Namespace) -> int:
    """Verify; 0 when the log holds, 1 when it does not."""
    from remit.evidence.anchors import get_anchor
    from remit.evidence.keys import load_verifier, read_verifier
    from remit.evidence.verify import verify
    from remit.state.head import read_head

    anchors = [get_anchor(one, folder=Path(options.folder)) for one in options.against]
    keys = [read_verifier(one) for one in options.key]
    if options.file:
        with waiting("verifying the log"):
            found = verify(Path(options.file), anchors=anchors, keys=keys)
    else:
        folder = _state_folder(options.folder)
        own = load_verifier(folder)
        keys = keys or ([own] if own is not None else [])
        head = read_head(folder)
        kept = None if head is None else (head.seq, bytes.fromhex(head.leaf))
        with waiting("verifying the log"):
            found = verify(folder / "state.db", anchors=anchors, keys=keys, head=kept)
    if not options.key and not found.latest:  # a log that has no checkpoint yet, and nobody said who signs it
        found = replace(found, unsigned="")
    holds = found.holds and not found.unsigned
    if options.json:
        screen.say_json(facts(found, keys))
    elif found.holds and found.unsigned:
        screen.say(f"{screen.styled('the log is not verified', 'red')}: {found.unsigned}")
        screen.say(f"  its {found.records} records fit each other; whoever can write the file can make such a log")
        screen.next_step("give the key that signed it, kept elsewhere: remit log verify --key log.pub")
    else:
        _show(found, anchored=bool(anchors), given=bool(options.key), keyed=bool(keys))
    return 0 if holds else 1


def facts(found: Verified, keys: list[VerifierKey]) -> dict[str, Any]:
    """Return what verification found, for JSON."""
    about = {**vars(found), "findings": [vars(one) for one in found.findings], "keys": [str(key) for key in keys]}
    holds = found.holds and not found.unsigned
    return {"holds": holds, **about, "first": None if found.first is None else vars(found.first)}


def _show(found: Verified, *, anchored: bool, given: bool, keyed: bool) -> None:
    if found.first is not None:
        screen.say(f"{screen.styled('the log does not hold', 'red')}: {found.records} records")
        first = found.first
        screen.say(f"first bad record: {first.seq}, {first.kind}: {screen.visible(first.text)}")
        for one in found.findings:
            if one is not first:
                screen.say(f"  also {one.seq}, {one.kind}: {screen.visible(one.text)}")
        if found.count > len(found.findings):
            screen.say(f"  and {found.count - len(found.findings)} more")
        screen.next_step(
            "end every program that uses it, and keep the state folder as it is\n"
            "see whether a copy holds that remit log backup made: remit log verify --file COPY --key log.pub"
        )
        return
    screen.say(f"{screen.styled('the log holds', 'green')}: {found.records} records")
    screen.say(f"  root         {found.root}")
    screen.say(f"  payloads     {found.payloads} fit their records, {found.erased} were erased")
    signed = f", signed up to record {found.signed}" if found.signed else ", none with a signature that was checked"
    screen.say(f"  checkpoints  {found.checkpoints}{signed if found.checkpoints else ''}")
    if found.restarted:
        screen.say(f"  begun anew   after {screen.visible(found.restarted)} was gone")
    if anchored:
        screen.say(f"  anchored     up to record {found.anchored}")
    else:
        screen.warn(f"note: {_UNANCHORED}; remit log anchor --to PLACE keeps one")
    if keyed and found.signed and not given:
        screen.warn("note: signatures were checked with the key kept beside the log; --key names one from elsewhere")


def anchor(options: argparse.Namespace) -> int:
    """Sign what the log holds now, and keep that elsewhere."""
    from remit.cli.log import opened_state
    from remit.evidence.anchors import put_anchor
    from remit.evidence.checkpoints import make_checkpoint

    with opened_state(options.folder) as state:
        checkpoint = make_checkpoint(state, key=_key_reference(options.folder))
    where = put_anchor(options.to, checkpoint, folder=Path(options.folder)) if options.to else ""
    if options.json:
        about = {"origin": checkpoint.origin, "size": checkpoint.size, "root": checkpoint.root.hex()}
        screen.say_json({**about, "where": where, "note": checkpoint.note})
    elif options.to:
        screen.say(f"{checkpoint.size} records of {checkpoint.origin}: {screen.visible(where)}")
    else:
        screen.say(checkpoint.note.rstrip("\n"))
    return 0


def prove_record(options: argparse.Namespace) -> int:
    """Write the proof that one record is in the log."""
    from remit.cli.log import opened_state
    from remit.evidence.proof import prove
    from remit.state_folder import replace_file

    with opened_state(options.folder) as state:
        text = str(prove(state, options.number, key=_key_reference(options.folder)))
    if not options.out:
        _say(options, {"record": options.number, "proof": text}, text.rstrip("\n"))
        return 0
    try:
        replace_file(Path(options.out), text.encode())
    except OSError as error:
        raise UsageError(f"{options.out} cannot be written: {error.strerror or error}") from None
    said = f"{options.out}: record {options.number}, to be checked with `remit log key`"
    _say(options, {"record": options.number, "file": options.out}, said)
    return 0


def show_key(options: argparse.Namespace) -> int:
    """Print the public key, or make a new private one."""
    from remit.cli.log import opened_state
    from remit.evidence.checkpoints import origin_of
    from remit.evidence.keys import load_signer, make_key

    with opened_state(options.folder) as state:
        name = origin_of(state)
        folder = state.folder
    if options.new:
        made = make_key(options.new, name=name)
        _say(options, {"key": str(made.verifier), "made": options.new}, str(made.verifier))
        screen.next_step(f'write key = "{options.new}" under [log] in remit.toml, then run `remit apply`')
        return 0
    key = str(load_signer(folder, _key_reference(options.folder), name=name).verifier)
    _say(options, {"key": key}, key)
    return 0


def settle(options: argparse.Namespace) -> int:
    """Settle a call in doubt, or list those that are."""
    from remit.account import account
    from remit.cli.log import opened_state

    if options.call and not (options.done or options.not_done):
        raise UsageError(
            "say what happened: --done or --not-done", remedy="look first, at what the call should have done"
        )
    with opened_state(options.folder) as state:
        state.find_lost()
        if not options.call:
            return _list(state.in_doubt(), options)
        doubt = _wanted(state, whole(options.call))
        if not state.settle(doubt, done=bool(options.done), by=account(), note=whole(options.note)):
            raise UsageError("somebody else has just settled it", remedy="remit log settle")
    said = "done" if options.done else "not done"
    if options.json:
        screen.say_json({"settled": doubt.seq, "done": bool(options.done)})
    else:
        screen.say(f"{screen.visible(doubt.skill)}, started at record {doubt.seq}: settled as {said}")
    return 0


def back_up(options: argparse.Namespace) -> int:
    """Copy `state.db` to a new file."""
    from remit.state.backup import backup

    size = backup(_state_folder(options.folder), Path(options.file))
    said = f"{options.file}: {size} bytes, to be checked with `remit log verify --file {options.file}`"
    _say(options, {"file": options.file, "bytes": size}, said)
    return 0


def _say(options: argparse.Namespace, value: Mapping[str, Any], line: str) -> None:
    if options.json:
        screen.say_json(value)
    else:
        screen.say(screen.visible(line))


def _wanted(state: State, name: str) -> Doubt:
    doubts = state.in_doubt()
    found = [doubt for doubt in doubts if name in (str(doubt.seq), doubt.call)]
    if len(found) == 1:
        return found[0]
    if found:
        numbers = ", ".join(str(doubt.seq) for doubt in found)
        raise UsageError(
            f"{len(found)} calls in doubt have the id {name!r}", remedy=f"name one by its number: {numbers}"
        )
    raise UsageError(f"no call in doubt is called {name!r}", remedy="remit log settle")


def _list(doubts: tuple[Doubt, ...], options: argparse.Namespace) -> int:
    from datetime import datetime

    if options.json:
        screen.say_json([vars(doubt) for doubt in doubts])
    elif not doubts:
        screen.say("no call is in doubt")
    else:
        headings = ("started", "when", "session", "call", "skill", "effect")
        rows = [
            (
                str(one.seq),
                f"{datetime.fromtimestamp(one.time):%Y-%m-%d %H:%M:%S}",
                one.session,
                one.call,
                one.skill,
                one.effect,
            )
            for one in doubts
        ]
        screen.say(screen.table(headings, rows))
        screen.next_step("look whether it was done, then: remit log settle NUMBER --done, or --not-done")
    return 0


def _state_folder(folder: str) -> Path:
    from remit.cli.log import opened_state

    with opened_state(folder) as state:
        return state.folder


def _key_reference(folder: str) -> str:
    """Return where the deployment keeps the key; the standard place where there is no deployment any more."""
    from remit.deployment.files import read_files
    from remit.errors import DeploymentError
    from remit.evidence.keys import STANDARD

    try:
        return read_files(folder).config.config.log.key or STANDARD
    except DeploymentError:
        return STANDARD
