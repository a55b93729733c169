"""Sockets and names inside a cell, on top of a real broker."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest

from remit_sandbox.broker import Broker
from remit_sandbox.inside.network_names import MAX_NAMES, Names
from tests import web_servers
from tests.brokered_program import PREAMBLE, SANDBOX, Programs


@pytest.fixture
def web() -> Iterator[int]:
    """A plain HTTP server; gives its port."""
    with web_servers.serving(web_servers.plain()) as port:
        yield port


@pytest.fixture
def run() -> Iterator[Programs]:
    programs = Programs()
    yield programs
    programs.close()


def test_a_refusal_says_host_port_and_grant(run: Programs, web: int) -> None:
    program = """
    caught = error(urllib.request.urlopen, "http://evil.example/")
    assert isinstance(caught.reason, PermissionError), caught
    print(caught)
    print(error(socket.create_connection, ("evil.example", 443), 5))
    with socket.socket() as sock:
        print(error(sock.connect, ("203.0.113.9", 25)))
    """
    out = run(web, program)
    for place in ("evil.example:80", "evil.example:443", "203.0.113.9:25"):
        assert f'pack demo may not connect to {place}: no grant covers it (missing: net = ["{place}"])' in out
    assert [event.allowed for event in run.events] == [False, False, False]


def test_without_a_net_right_every_attempt_says_so(run: Programs, web: int) -> None:
    program = """
    print(error(urllib.request.urlopen, f"http://localhost:{port}/"))
    print(repr(error(asyncio.run, asyncio.open_connection("localhost", port))))
    """
    out = run(web, program, right=False)
    assert out.count(f"this skill may not connect to localhost:{web}: it has no right to use the network") == 2


def test_non_blocking_sockets_with_select(run: Programs, web: int) -> None:
    program = """
    for ask in ("getsockopt", "send", "again"):
        sock = socket.socket()
        sock.setblocking(False)
        assert sock.connect_ex(("localhost", port)) == errno.EINPROGRESS
        assert select.select([], [sock], [], 10)[1] == [sock]
        if ask == "getsockopt":
            assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) == 0
        if ask == "again":
            assert sock.connect_ex(("localhost", port)) == 0
            assert sock.connect_ex(("localhost", port)) == errno.EISCONN
        sock.send(b"GET / HTTP/1.0\\r\\nHost: z\\r\\n\\r\\n")
        assert select.select([sock], [], [], 10)[0] == [sock]
        print(sock.recv(8))
        sock.close()
    sock = socket.socket()
    sock.setblocking(False)
    assert sock.connect_ex(("evil.example", port)) == errno.EINPROGRESS
    select.select([], [sock], [], 10)
    print(repr(error(sock.getsockopt, socket.SOL_SOCKET, socket.SO_ERROR)))
    assert sock.connect_ex(("localhost", port)) == errno.EINPROGRESS
    select.select([], [sock], [], 10)
    print(sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR), sock.getpeername()[1] == port)
    sock.close()
    """
    out = run(web, program)
    assert out.count("b'HTTP/1.1'") == 3
    assert "PermissionError" in out and "0 True" in out


def test_a_socket_that_is_being_connected_is_not_writable(run: Programs) -> None:
    program = """
    sock = socket.socket()
    sock.setblocking(False)
    assert sock.connect_ex(("127.0.0.1", port)) == errno.EINPROGRESS
    print(select.select([], [sock], [], 0.3)[1], sock.connect_ex(("127.0.0.1", port)) == errno.EALREADY)
    print(error(sock.getpeername).errno == errno.ENOTCONN, sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR))
    sock.close()
    print(repr(error(socket.create_connection, ("127.0.0.1", port), 0.3)))
    """
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        waiting = [socket.socket() for _ in range(4)]
        for sock in waiting:
            sock.setblocking(False)
            sock.connect_ex(listener.getsockname())
        out = run(listener.getsockname()[1], program).splitlines()
        for sock in waiting:
            sock.close()
    assert out[:2] == ["[] True", "True 0"] and out[2].startswith("TimeoutError")


def test_options_set_before_connecting_are_remembered(run: Programs, web: int) -> None:
    program = """
    sock = socket.socket()
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    sock.settimeout(5)
    print(sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY), sock.getsockname())
    print(error(sock.getpeername).errno == errno.ENOTCONN, error(sock.recv, 1).errno == errno.ENOTCONN)
    sock.connect(("localhost", port))
    print(sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) != 0)
    print(sock.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) != 0, sock.gettimeout())
    print(error(sock.connect, ("localhost", port)).errno == errno.EISCONN, sock.getsockname()[0])
    sock.close()
    print(error(sock.connect, ("localhost", port)).errno == errno.EBADF)
    """
    expected = ["1 ('0.0.0.0', 0)", "True True", "True", "True 5.0", "True 127.0.0.1", "True"]
    assert run(web, program).splitlines() == expected


def test_what_a_skill_has_no_right_to(run: Programs, web: int) -> None:
    program = """
    with socket.socket() as sock:
        print(repr(error(sock.bind, ("127.0.0.1", 0))))
        print(repr(error(sock.listen)))
    print(repr(error(socket.create_server, ("127.0.0.1", 0))))
    print(repr(error(socket.socket, socket.AF_INET, socket.SOCK_DGRAM)))
    print(repr(error(socket.socket, socket.AF_UNIX)))
    print(repr(error(socket.socket, socket.AF_INET, socket.SOCK_RAW)))
    print(repr(error(asyncio.run, asyncio.start_server(lambda r, w: None, "127.0.0.1", 0))))
    near, far = socket.socketpair()
    print(repr(error(near.connect, "/run/docker.sock")))
    near.sendall(b"a pair still works")
    print(far.recv(100))
    near.close(), far.close()
    """
    *lines, last = run(web, program).splitlines()
    assert len(lines) == 8 and all("PermissionError" in line and "has no right to" in line for line in lines)
    assert last == "b'a pair still works'"


def test_resolving_gives_granted_names_addresses_that_stand_for_them(run: Programs) -> None:
    program = """
    (family, kind, proto, name, address), = socket.getaddrinfo("one.example", "https", type=socket.SOCK_STREAM)
    print(family.name, kind.name, proto == socket.IPPROTO_TCP, address[1])
    other = socket.gethostbyname("two.example")
    assert address[0] != other and socket.gethostbyname("one.example") == address[0]
    print(socket.gethostbyaddr(other)[0], socket.getnameinfo(address, 0)[0])
    print(socket.getaddrinfo("8.8.8.8", 53)[0][4], socket.getaddrinfo("::1", 1)[0][4])
    print(socket.getaddrinfo("six.example", 443, socket.AF_INET6)[0][4][0].startswith("100::"))
    for wrong in (("1.2.3.4", 1, socket.AF_INET6), ("a.example", "nonsense"), ("a.example", 1, socket.AF_UNIX)):
        assert isinstance(error(socket.getaddrinfo, *wrong), socket.gaierror), wrong
    assert isinstance(error(socket.getaddrinfo, "a\\0b", 1), ValueError)
    """
    expected = ["AF_INET SOCK_STREAM True 443", "two.example one.example", "('8.8.8.8', 53) ('::1', 1, 0, 0)", "True"]
    assert run(443, program, grants=["*.example:443"]).splitlines() == expected
    assert run.events == []
    refused = run(443, 'print(repr(error(socket.getaddrinfo, "one.example", 80)))', grants=["*.example:443"])
    assert refused.startswith("PermissionError(") and "one.example:80: no grant" in refused and len(run.events) == 1


def test_ipv6(run: Programs) -> None:
    program = """
    with socket.create_connection(("::1", port), 10) as sock:
        print(sock.family.name, sock.getpeername()[:2] == ("::1", port), sock.recv(10))
    print(error(socket.create_connection, ("::1", 1), 10))
    """
    try:
        listener = socket.create_server(("::1", 0), family=socket.AF_INET6)
    except OSError:
        pytest.skip("this machine has no IPv6")

    def greet() -> None:
        connection, _ = listener.accept()
        with connection:
            connection.sendall(b"hello")

    with listener:
        thread = threading.Thread(target=greet)
        thread.start()
        port = listener.getsockname()[1]
        out = run(port, program, grants=[f"[::1]:{port}"]).splitlines()
        thread.join()
    assert out[0] == "AF_INET6 True b'hello'" and "[::1]:1: no grant covers it" in out[1]


def test_a_name_that_does_not_exist_is_an_error_of_resolving(run: Programs) -> None:
    program = """
    print(repr(error(socket.create_connection, ("name.invalid", port))))
    print(repr(error(urllib.request.urlopen, "http://name.invalid:7/")))
    """
    out = run(7, program, grants=["name.invalid:7"]).splitlines()
    assert out[0].startswith("gaierror(") and "name.invalid:7: the name cannot be resolved" in out[0]
    assert out[1].startswith("URLError(gaierror(")


def test_a_broker_that_goes_away_is_an_error_not_a_hang(run: Programs, web: int) -> None:
    broker = Broker()
    near, far = socket.socketpair()
    broker.attach(near, pack="demo", allow=[], private=[])
    broker.close()
    source = PREAMBLE.format(sandbox=str(SANDBOX), descriptor=far.fileno(), port=web)
    source += 'print(repr(error(socket.create_connection, ("localhost", port))))'
    with far:
        done = subprocess.run([sys.executable, "-c", source], pass_fds=[far.fileno()], capture_output=True, timeout=30)
    assert b"the network of this skill has ended" in done.stdout, done.stderr


def test_a_forked_child_has_no_network_and_the_parent_keeps_it(run: Programs, web: int) -> None:
    program = """
    sys.stdout.flush()
    child = os.fork()
    caught = error(socket.create_connection, ("localhost", port)) if child == 0 else None
    if child == 0:
        print(caught, flush=True)
        os._exit(0)
    os.waitpid(child, 0)
    socket.create_connection(("localhost", port)).close()
    print("parent")
    """
    out = run(web, program)
    assert "a forked process has no network" in out and out.endswith("parent\n")


def test_names_and_addresses_of_a_long_life() -> None:
    names = Names()
    first = names.address_of("0.example", socket.AF_INET)
    assert names.name_of(first) == "0.example"
    assert names.name_of(names.address_of("0.example", socket.AF_INET6)) == "0.example"
    for number in range(1, MAX_NAMES + 1):
        names.address_of(f"{number}.example", socket.AF_INET)
    assert names.name_of(first) == f"{MAX_NAMES}.example"
    assert names.name_of("192.0.2.1") == "192.0.2.1"
    assert names.name_of("198.19.255.255") == "198.19.255.255"


def test_the_hosts_own_sockets_are_untouched() -> None:
    import remit_sandbox.inside.network  # noqa: F401

    assert {socket.socket.__module__, socket.getaddrinfo.__module__, socket.create_connection.__module__} == {"socket"}
    with socket.create_server(("127.0.0.1", 0)) as listener:
        socket.create_connection(listener.getsockname()[:2]).close()
    asyncio.run(asyncio.sleep(0))
