"""The broker: other spellings of a host that is not granted, redirects, names that lead elsewhere.

Each cell may connect to one address, `f.granted`; everything here wants another.
"""

from __future__ import annotations

import os
import socket
import struct
import urllib.request
from typing import Any

from .attempt import attempt, hold

_SPELLINGS = {
    "plain": "127.0.0.1",
    "trailing_dot": "localhost.",
    "case": "LOCALHOST",
    "full_width": "\uff11\uff12\uff17.0.0.1",
    "circled": "\u24dbocalhost",
    "user": "granted.test@localhost",
    "line_break": "localhost\r\nX: y",
    "nul": "localhost\0.granted.test",
    "mapped": "::ffff:127.0.0.1",
    "mapped_hex": "::ffff:7f00:1",
    "decimal": "2130706433",
    "octal": "0177.0.0.1",
    "hex": "0x7f.1",
    "short": "127.1",
    "zero": "0.0.0.0",
    "version_6": "::1",
    "nat": "64:ff9b::7f00:1",
}


def _asks(name: str, host: str) -> None:
    def act(f: Any) -> Any:
        port = f.tcp6 if host.startswith("::1") else f.tcp
        hold(socket.create_connection((host, port), 2))

    act.__name__ = f"broker_{name}"
    sees = "network tcp6" if host.startswith("::1") else "network tcp"
    attempt("broker: spelling", sees=sees, net=True)(act)


for _name, _host in _SPELLINGS.items():
    _asks(_name, _host)


@attempt("broker: denied host", sees="network tcp", net=True)
def broker_other_port(f: Any) -> Any:
    hold(socket.create_connection(("127.0.0.1", f.tcp), 2))


@attempt("broker: denied host", sees="network tcp", net=True)
def broker_raw_frames(f: Any) -> Any:
    """Past the patched `socket`: the broker's own frames, on every descriptor that may lead to it."""
    import gc

    import msgpack

    body = msgpack.packb({"op": "connect", "id": 1, "host": "127.0.0.1", "port": f.tcp, "timeout": 2})
    ends = [one for one in gc.get_objects() if type(one).__name__ == "BrokerClient"]
    for end in ends:
        with socket.socket(fileno=os.dup(end._sock.fileno())) as link:
            link.settimeout(2)
            link.sendall(struct.pack(">I", len(body)) + body)
            hold(socket.recv_fds(link, 4096, 4))
    if not ends:
        hold(socket.create_connection(("127.0.0.1", f.tcp), 2))


@attempt("broker: name that leads to a private address", sees="network tcp", net=True)
def broker_name_of_this_machine(f: Any) -> Any:
    """Granted by name and port, but not as private: what a rebinding name comes to."""
    hold(socket.create_connection(("localhost", f.tcp), 2))


@attempt("broker: 169.254.169.254", sees="network metadata", net=True)
def broker_metadata(f: Any) -> Any:
    hold(socket.create_connection(("169.254.169.254", 80), 2))


@attempt("broker: 169.254.169.254", sees="network metadata", net=True)
def broker_metadata_mapped(f: Any) -> Any:
    hold(socket.create_connection(("::ffff:169.254.169.254", 80), 2))


@attempt("broker: 169.254.169.254", sees="network metadata", net=True)
def broker_metadata_decimal(f: Any) -> Any:
    hold(socket.create_connection(("2852039166", 80), 2))


@attempt("broker: redirect", sees="network tcp", net=True)
def broker_redirect(f: Any) -> Any:
    """The granted server sends the client to one that is not granted."""
    urllib.request.build_opener(urllib.request.ProxyHandler({})).open(f"http://127.0.0.1:{f.granted}/", timeout=0.5)


@attempt("broker: redirect", sees="network tcp", net=True)
def broker_reconnect(f: Any) -> Any:
    """A connection that was granted, taken elsewhere: connect again on the same descriptor."""
    import ctypes

    from .raw import syscall

    connection = socket.create_connection(("127.0.0.1", f.granted), 2)
    hold(connection)
    syscall("connect", connection.fileno(), struct.pack("=H14x", socket.AF_UNSPEC), 16)
    address = struct.pack("=HH4s8x", socket.AF_INET, socket.htons(f.tcp), socket.inet_aton("127.0.0.1"))
    syscall("connect", connection.fileno(), ctypes.create_string_buffer(address), 16)
