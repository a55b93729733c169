"""What replaces name resolution inside a cell: an address for every granted name, which only stands for it.

A refusal is raised here already where the port is known: clients that try several addresses hide
what went wrong with each of them.
"""

from __future__ import annotations

import socket
import sys
from collections.abc import Callable
from typing import Any

from remit_sandbox.inside.network_names import Names, literal_family

_SERVICES = {"http": 80, "https": 443, "ftp": 21, "ssh": 22, "smtp": 25, "imap": 143, "imaps": 993}
_KINDS = {socket.SOCK_STREAM: socket.IPPROTO_TCP, socket.SOCK_DGRAM: socket.IPPROTO_UDP}


class Resolver:
    """The functions of `socket` that resolve names, over one table of names.

    Args:
        names: the table.
        check: raises for a host and port that no grant covers.
    """

    def __init__(self, names: Names, check: Callable[[str, int], None]) -> None:
        self._names = names
        self._check = check

    def getaddrinfo(
        self,
        host: bytes | str | None,
        port: bytes | str | int | None,
        family: int = 0,
        type: int = 0,  # noqa: A002 (the name callers pass it by)
        proto: int = 0,
        flags: int = 0,
    ) -> list[tuple[Any, ...]]:
        """As `socket.getaddrinfo`: one entry, IPv4 unless IPv6 is asked for.

        Raises:
            PermissionError: no grant covers the name on that port.
        """
        sys.audit("socket.getaddrinfo", host, port, family, type, proto)
        number, text = _port_number(port), _host_text(host, flags)
        found, address = self._lookup(text, family, flags)
        if number and address != text:
            self._check(text, number)
        tail = (address, number) if found == socket.AF_INET else (address, number, 0, 0)
        kind = socket.SocketKind(type or socket.SOCK_STREAM)
        canonical = self._names.name_of(address) if flags & socket.AI_CANONNAME else ""
        return [(found, kind, proto or _KINDS.get(kind, 0), canonical, tail)]

    def gethostbyname(self, hostname: str) -> str:
        """As `socket.gethostbyname`."""
        return self._lookup(_host_text(hostname, socket.AI_PASSIVE), socket.AF_INET, 0)[1]

    def gethostbyname_ex(self, hostname: str) -> tuple[str, list[str], list[str]]:
        """As `socket.gethostbyname_ex`."""
        return (hostname, [], [self.gethostbyname(hostname)])

    def gethostbyaddr(self, ip_address: str) -> tuple[str, list[str], list[str]]:
        """As `socket.gethostbyaddr`, for addresses that this cell was given for names."""
        name = self._names.name_of(ip_address)
        if literal_family(name) is not None:
            raise socket.herror(1, f"Unknown host: {name}")
        return (name, [], [ip_address])

    def getnameinfo(self, sockaddr: tuple[Any, ...], flags: int) -> tuple[str, str]:
        """As `socket.getnameinfo`, without names of services."""
        name = sockaddr[0] if flags & socket.NI_NUMERICHOST else self._names.name_of(sockaddr[0])
        return (name, str(sockaddr[1]))

    def _lookup(self, host: str, family: int, flags: int) -> tuple[socket.AddressFamily, str]:
        literal = literal_family(host)
        if family not in (0, socket.AF_INET, socket.AF_INET6):
            raise socket.gaierror(socket.EAI_FAMILY, "ai_family not supported")
        if literal is not None:
            if family not in (0, literal):
                raise socket.gaierror(socket.EAI_NONAME, f"{host} is not of the address family asked for")
            return socket.AddressFamily(literal), host
        if flags & socket.AI_NUMERICHOST:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        chosen = socket.AddressFamily(family or socket.AF_INET)
        return chosen, self._names.address_of(host, chosen)


def _host_text(host: bytes | bytearray | str | None, flags: int) -> str:
    if not host:
        return "0.0.0.0" if flags & socket.AI_PASSIVE else "127.0.0.1"
    text = host.decode("ascii") if isinstance(host, bytes | bytearray) else host
    if not isinstance(text, str):
        raise TypeError(f"getaddrinfo() argument 1 must be string or None, not {type(host).__name__}")
    if "\0" in text:
        raise ValueError("embedded null character")
    return text


def _port_number(port: bytes | str | int | None) -> int:
    text = port.decode("ascii") if isinstance(port, bytes) else port
    if text is None or text == "":
        return 0
    if isinstance(text, int):
        return text
    if text.isascii() and text.isdigit():
        return int(text)
    if text in _SERVICES:
        return _SERVICES[text]
    raise socket.gaierror(socket.EAI_SERVICE, "Servname not supported for ai_socktype")
