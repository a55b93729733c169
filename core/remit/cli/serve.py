"""`remit serve`: the deployment over HTTP, on this machine or, with tokens, for others."""

from __future__ import annotations

import argparse
import signal
import socket
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from remit.cli import screen
from remit.cli.opening import add_action, add_folder, add_json, add_no_extensions, add_read_only, opened
from remit.errors import UsageError

if TYPE_CHECKING:
    from remit.deployment.deployment import Deployment
    from remit.http.local_key import LocalKey
    from remit.http.tokens import Tokens
    from remit.state.people import Token


def configure(parser: argparse.ArgumentParser) -> None:
    """Describe the command and its actions."""
    parser.epilog = """\
examples:
  remit serve
  remit serve --port 9000 --read-only
  curl -s localhost:8080/signoffs -H "Authorization: Bearer $(remit serve key)"
  remit serve token add ada --role approver
  remit serve token list

Without tokens only this machine may connect, and whoever sends the key that `remit serve key` prints is you. As soon as
there is a token, every request needs one. Other machines come through a proxy that ends TLS; a token sent in the
clear is everybody's.
"""
    parser.add_argument("--host", default="127.0.0.1", help="address to listen at (default: 127.0.0.1)")
    parser.add_argument("--port", type=int, default=8080, help="port to listen at; 0 takes a free one (default: 8080)")
    parser.add_argument(
        "--no-key", action="store_true", help="whoever connects from this machine is you, also through a proxy on it"
    )
    add_folder(parser)
    add_read_only(parser)
    add_no_extensions(parser)
    parser.set_defaults(action=serve)
    topics = parser.add_subparsers(prog=parser.prog, dest="serve_topic", metavar="topic")
    tokens = add_action(topics, "token", "make, list and remove tokens", "remit serve token add ada --role approver")
    actions = tokens.add_subparsers(prog=tokens.prog, dest="token_action", metavar="action", required=True)
    adding = add_action(
        actions,
        "add",
        "make a token for a person; it is shown once",
        "remit serve token add ada\nremit serve token add grace --role approver",
    )
    adding.add_argument("name", help="of the person; runs are theirs, and decisions carry it")
    adding.add_argument(
        "--role",
        default="both",
        choices=("user", "approver", "both"),
        help="user: may run; approver: sees and decides sign-offs (default: both)",
    )
    listing = add_action(actions, "list", "list whose tokens there are", "remit serve token list --json")
    removing = add_action(actions, "remove", "make a person's token worthless", "remit serve token remove ada")
    removing.add_argument("name")
    for action in (adding, listing, removing):
        add_json(action)
    printing = add_action(topics, "key", "print the key of this machine", "remit serve key\nremit serve key --new")
    printing.add_argument("--new", action="store_true", help="make a new one; the old one is worthless from now on")
    add_json(printing)
    for action, run in ((printing, show_key), (adding, add_token), (listing, list_tokens), (removing, remove_token)):
        # The parser above has the same option, whose value must not be put back to its default here.
        action.add_argument("-C", "--folder", default=argparse.SUPPRESS, metavar="DIR", help="folder of the deployment")
        action.set_defaults(action=run)


def serve(options: argparse.Namespace) -> int:
    """Serve until Ctrl-C or SIGTERM."""
    _require_server()
    from remit.http.listening import listen, url
    from remit.http.local_key import LocalKey
    from remit.http.tokens import Tokens

    with opened(options) as deployment:
        tokens = Tokens(deployment.state_folder)
        tell_taken_over(tokens.take_over())
        key = None if options.no_key else LocalKey(deployment.state_folder)
        listening = listen(options.host, options.port, others=tokens.exist())
        screen.say(f"Remit serves {screen.visible(str(deployment.folder))} at {url(options.host, listening)}")
        _tell_who(key, tokens)
        screen.warn("Ctrl-C ends it")
        _run(deployment, listening, key)
    screen.warn("ended; what was under way is saved")
    return 0


def _tell_who(key: LocalKey | None, tokens: Tokens) -> None:
    """Say what a request needs."""
    if tokens.exist():
        screen.warn("every request needs a token: remit serve token list")
    elif key is None:
        screen.warn("whoever connects from this machine is you (--no-key)")
    else:
        key.value()
        screen.warn('every request needs the header "Authorization: Bearer KEY": remit serve key')


def show_key(options: argparse.Namespace) -> int:
    """Print the key of this machine, made at first use."""
    from remit.deployment.files import read_files
    from remit.http.local_key import LocalKey
    from remit.state_folder import open_state

    key = LocalKey(open_state(read_files(options.folder).folder).path)
    value = key.renew() if options.new else key.value()
    if options.json:
        screen.say_json({"key": value})
    else:
        screen.say(value)
    if _tokens(options).exist():
        screen.warn("note: there are tokens, so that every request needs one of them, and this key does not count")
    return 0


def add_token(options: argparse.Namespace) -> int:
    """Make a token, show it once, and record whose it is."""
    token = _tokens(options).add(options.name, options.role)
    if options.json:
        screen.say_json({"name": options.name, "role": options.role, "token": token})
        return 0
    screen.say(token)
    screen.warn(f"this is the token of {options.name}; only its hash is kept, so it cannot be shown again")
    screen.next_step('send it as the header "Authorization: Bearer TOKEN"')
    return 0


def list_tokens(options: argparse.Namespace) -> int:
    """Print whose tokens there are."""
    found = _tokens(options).kept()
    if options.json:
        rows = [{"name": one.name, "roles": sorted(one.roles), "created": one.created, "by": one.by} for one in found]
        screen.say_json(rows)
    elif found:
        screen.say(screen.table(("name", "may", "made"), map(_cells, found)))
    else:
        screen.say("there are no tokens; without any, only this machine may connect")
        screen.next_step("remit serve token add NAME")
    return 0


def remove_token(options: argparse.Namespace) -> int:
    """Remove a token; 1 when there was none."""
    if not _tokens(options).remove(options.name):
        screen.error(f"{options.name} has no token", "remit serve token list")
        return 1
    if options.json:
        screen.say_json({"removed": options.name})
        return 0
    screen.say(f"the token of {options.name} is worthless from now on")
    return 0


def _cells(token: Token) -> tuple[str, ...]:
    made = datetime.fromtimestamp(token.created, UTC).isoformat(timespec="seconds")
    return (token.name, ", ".join(sorted(token.roles)), made)


def _tokens(options: argparse.Namespace) -> Tokens:
    from remit.deployment.files import read_files
    from remit.http.tokens import Tokens
    from remit.state_folder import open_state

    tokens = Tokens(open_state(read_files(options.folder).folder).path)
    tell_taken_over(tokens.take_over())
    return tokens


def tell_taken_over(names: Sequence[str]) -> None:
    """Say that tokens were moved from where an earlier Remit kept them."""
    if names:
        whose = screen.visible(", ".join(names))
        screen.warn(f"note: tokens of an earlier Remit now lie in state.db, and work as before: {whose}")


def _require_server() -> None:
    from importlib.util import find_spec

    missing = [name for name in ("starlette", "uvicorn") if find_spec(name) is None]
    if missing:
        raise UsageError(f"remit serve needs {' and '.join(missing)}", remedy='pip install "remit[http]"')


def _run(deployment: Deployment, listening: socket.socket, key: LocalKey | None) -> None:
    from remit.http.app import create_app
    from remit.http.server import new_server

    # uvicorn ends in order and then raises again the signal that ended it; both of them mean the same here.
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        new_server(create_app(deployment, key=key, anyone_here=key is None)).run(sockets=[listening])
    except KeyboardInterrupt:
        pass
    finally:
        signal.signal(signal.SIGTERM, before)
        listening.close()
