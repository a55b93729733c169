"""The broker on the host: whose requests it grants, what it connects to, and what it survives."""

from __future__ import annotations

import array
import errno
import os
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import msgpack
import pytest

from remit_sandbox.broker import Broker, NetworkEvent
from remit_sandbox.broker.link import MAX_PENDING
from remit_sandbox.broker.wire import pack_frame


class Cell:
    """A cell's end of a broker socket, spoken to in frames."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self.sock.settimeout(10)

    def ask(self, host: Any, port: Any, **more: Any) -> dict[str, Any]:
        self.send({"op": "connect", "id": 1, "host": host, "port": port, **more})
        return self.answer()[0]

    def send(self, body: Any) -> None:
        packed = msgpack.packb(body)
        self.sock.sendall(struct.pack(">I", len(packed)) + packed)

    def answer(self) -> tuple[dict[str, Any], list[int]]:
        descriptors: list[int] = []
        (size,) = struct.unpack(">I", self._take(4, descriptors))
        return msgpack.unpackb(self._take(size, descriptors)), descriptors

    def _take(self, size: int, descriptors: list[int]) -> bytes:
        data = b""
        while len(data) < size:
            part, ancillary, _, _ = self.sock.recvmsg(size - len(data), socket.CMSG_SPACE(64))
            if not part:
                raise EOFError
            data += part
            for _, _, payload in ancillary:
                descriptors.extend(array.array("i", payload))
        return data

    def ended(self) -> bool:
        try:
            return self.sock.recv(1) == b""
        except ConnectionError:
            return True


@pytest.fixture
def events() -> list[NetworkEvent]:
    return []


@pytest.fixture
def attach(events: list[NetworkEvent]) -> Iterator[Callable[..., Cell]]:
    broker = Broker()
    cells: list[socket.socket] = []

    def make(allow: list[str], private: list[str] | None = None) -> Cell:
        host_end, cell_end = socket.socketpair()
        cells.append(cell_end)
        broker.attach(host_end, pack="demo", allow=allow, private=private or [], on_event=events.append)
        return Cell(cell_end)

    yield make
    broker.close()
    for sock in cells:
        sock.close()


@pytest.fixture
def server() -> Iterator[int]:
    """Says hello to everybody; gives its port."""
    with listening() as listener:

        def serve() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                with connection:
                    connection.sendall(b"hello")

        thread = threading.Thread(target=serve)
        thread.start()
        yield listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()


@contextmanager
def listening() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener


def test_a_granted_connection_is_passed_on(
    attach: Callable[..., Cell], server: int, events: list[NetworkEvent]
) -> None:
    grant = f"localhost:{server}"
    cell = attach([grant], [grant])
    cell.send({"op": "connect", "id": 7, "host": "LocalHost.", "port": server, "timeout": 5})
    answer, descriptors = cell.answer()
    assert (answer["op"], answer["id"], answer["peer"]) == ("connected", 7, ["127.0.0.1", server])
    with socket.socket(fileno=descriptors[0]) as connection:
        assert connection.recv(10) == b"hello"
    reason = f"connected to 127.0.0.1:{server}"
    assert events == [NetworkEvent(pack="demo", host="localhost", port=server, allowed=True, reason=reason)]


def test_checking_connects_to_nothing(attach: Callable[..., Cell], events: list[NetworkEvent]) -> None:
    cell = attach(["name.invalid:443"])
    cell.send({"op": "check", "id": 5, "host": "name.invalid", "port": 443})
    assert cell.answer() == ({"op": "covered", "id": 5}, []) and events == []
    cell.send({"op": "check", "id": 6, "host": "name.invalid", "port": 80})
    assert cell.answer()[0]["op"] == "refused" and not events[0].allowed


def test_a_refusal_names_host_port_and_missing_grant(
    attach: Callable[..., Cell], server: int, events: list[NetworkEvent]
) -> None:
    answer = attach(["other.example:443"]).ask("localhost", server)
    reason = (
        f'pack demo may not connect to localhost:{server}: no grant covers it (missing: net = ["localhost:{server}"])'
    )
    assert answer == {"op": "refused", "id": 1, "errno": 13, "reason": reason}
    (event,) = events
    assert (event.pack, event.target, event.allowed) == ("demo", f"localhost:{server}", False)
    assert (event.reason, event.missing) == (reason, f'net = ["localhost:{server}"]')


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.1", "::ffff:127.0.0.1", "0x7f000001"])
def test_a_non_public_address_needs_a_private_grant(attach: Callable[..., Cell], server: int, host: str) -> None:
    grants = [f"localhost:{server}", f"127.0.0.1:{server}"]
    refused = attach(grants).ask(host, server)
    assert (
        refused["errno"] == errno.EACCES
        and "no public address" in refused["reason"]
        and str(server) in refused["reason"]
    )
    assert attach(grants, grants).ask(host, server)["op"] == "connected"


def test_any_host_granted_still_means_public_ones_only(attach: Callable[..., Cell], server: int) -> None:
    assert attach([f"*:{server}"]).ask("127.0.0.1", server)["op"] == "refused"
    assert attach([f"*:{server}"], [f"*:{server}"]).ask("127.0.0.1", server)["op"] == "connected"


@pytest.mark.parametrize("host", ["a@localhost", "localhost\r\nx", "local\0host", "", "x" * 300, "http://localhost"])
def test_hosts_that_are_none_are_refused(
    attach: Callable[..., Cell], server: int, host: str, events: list[NetworkEvent]
) -> None:
    cell = attach([f"*:{server}"], [f"*:{server}"])
    assert cell.ask(host, server)["errno"] == 13
    assert events[0].reason.isascii() and events[0].reason.isprintable() and events[0].host.isprintable()
    assert cell.ask("localhost", server)["op"] == "connected"


@pytest.mark.parametrize("port", [0, -1, 65536, 2**40])
def test_ports_that_are_none_are_refused(attach: Callable[..., Cell], port: int) -> None:
    assert attach(["*:443"]).ask("a.example", port)["op"] == "refused"


def test_a_server_that_is_down_is_no_refusal(attach: Callable[..., Cell], events: list[NetworkEvent]) -> None:
    with listening() as listener:
        port = listener.getsockname()[1]
    grant = f"127.0.0.1:{port}"
    answer = attach([grant], [grant]).ask("127.0.0.1", port)
    assert answer["errno"] == errno.ECONNREFUSED and answer["reason"] == f"no connection to {grant}: connection refused"
    assert events[0].allowed


def test_a_name_that_does_not_resolve(attach: Callable[..., Cell]) -> None:
    answer = attach(["*:443"]).ask("name.invalid", 443, timeout=30)
    assert answer["errno"] < 0 and "name.invalid:443: the name cannot be resolved" in answer["reason"]


def test_a_server_that_does_not_answer_times_out(attach: Callable[..., Cell]) -> None:
    with full_backlog() as port:
        grant = f"127.0.0.1:{port}"
        answer = attach([grant], [grant]).ask("127.0.0.1", port, timeout=0.2)
    assert answer["errno"] == errno.ETIMEDOUT and "timed out" in answer["reason"]


def test_a_slow_connection_holds_up_nobody(attach: Callable[..., Cell], server: int) -> None:
    with full_backlog() as port:
        grants = [f"127.0.0.1:{port}", f"127.0.0.1:{server}"]
        slow, quick = attach(grants, grants), attach(grants, grants)
        slow.send({"op": "connect", "id": 1, "host": "127.0.0.1", "port": port, "timeout": 5})
        slow.send({"op": "connect", "id": 2, "host": "127.0.0.1", "port": server, "timeout": 5})
        assert slow.answer()[0]["id"] == 2
        assert quick.ask("127.0.0.1", server)["op"] == "connected"


@contextmanager
def full_backlog() -> Iterator[int]:
    """A port whose queue is full, so that connecting to it hangs."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        port = listener.getsockname()[1]
        waiting = [socket.socket() for _ in range(4)]
        for sock in waiting:
            sock.setblocking(False)
            sock.connect_ex(("127.0.0.1", port))
        time.sleep(0.05)
        yield port
        for sock in waiting:
            sock.close()


BREACHES = [
    struct.pack(">I", 1 << 30),
    struct.pack(">I", 5000) + b"x" * 5000,
    struct.pack(">I", 3) + b"\xc1\xc1\xc1",
    pack_frame({"op": "listen", "id": 1}),
    pack_frame({"op": "connect", "id": "1", "host": "a", "port": 1}),
    pack_frame({"op": "connect", "id": 1, "host": ["a"], "port": 1}),
    pack_frame({"op": "connect", "id": 1, "host": "a", "port": True}),
    pack_frame({"op": "connect", "id": 1, "host": "a", "port": 1, "timeout": float("nan")}),
    struct.pack(">I", 1) + msgpack.packb(5),
]


@pytest.mark.parametrize("data", BREACHES, ids=range(len(BREACHES)))
def test_a_breach_of_the_protocol_ends_that_cell_only(
    attach: Callable[..., Cell], server: int, data: bytes, events: list[NetworkEvent]
) -> None:
    grant = f"127.0.0.1:{server}"
    good, bad = attach([grant], [grant]), attach([grant], [grant])
    bad.sock.sendall(data)
    assert bad.ended()
    assert "broke the network protocol" in events[0].reason and not events[0].allowed
    assert good.ask("127.0.0.1", server)["op"] == "connected"


def test_a_cell_that_reads_no_answers_waits_for_itself(attach: Callable[..., Cell], server: int) -> None:
    grant = f"127.0.0.1:{server}"
    greedy, modest = attach([grant], [grant]), attach([grant], [grant])
    for number in range(60):
        greedy.send({"op": "connect", "id": number, "host": "127.0.0.1", "port": server})
    assert modest.ask("127.0.0.1", server)["op"] == "connected"
    seen = set()
    for _ in range(60):
        answer, descriptors = greedy.answer()
        seen.add(answer["id"])
        for descriptor in descriptors:
            os.close(descriptor)
    assert seen == set(range(60)) and MAX_PENDING < 60


def test_a_flood_is_slowed_down_and_answered_in_full(attach: Callable[..., Cell]) -> None:
    cell = attach([])
    count = 100
    sender = threading.Thread(
        target=lambda: [
            cell.send({"op": "connect", "id": number, "host": "a.example", "port": 1}) for number in range(count)
        ]
    )
    sender.start()
    assert [cell.answer()[0]["id"] for _ in range(count)] == list(range(count))
    sender.join()


def test_cells_that_vanish_leave_nothing_behind(attach: Callable[..., Cell], server: int) -> None:
    grant = f"127.0.0.1:{server}"
    attach([grant], [grant]).ask("127.0.0.1", server)
    before = len(os.listdir("/dev/fd"))
    for _ in range(20):
        cell = attach([grant], [grant])
        cell.send({"op": "connect", "id": 1, "host": "127.0.0.1", "port": server})
        cell.sock.close()
    last = attach([grant], [grant])
    deadline = time.monotonic() + 10
    while len(os.listdir("/dev/fd")) > before + 3 and time.monotonic() < deadline:
        last.ask("127.0.0.1", 1)
    assert len(os.listdir("/dev/fd")) <= before + 3


def test_a_callback_that_raises_harms_nobody(server: int) -> None:
    def fail(event: NetworkEvent) -> None:
        raise RuntimeError(event.reason)

    host_end, cell_end = socket.socketpair()
    broker = Broker()
    with cell_end:
        broker.attach(host_end, pack="demo", allow=[], private=[], on_event=fail)
        cell = Cell(cell_end)
        assert cell.ask("a.example", 1)["op"] == "refused"
        assert cell.ask("a.example", 1)["op"] == "refused"
        broker.close()
        assert cell.ended()


def test_a_grant_that_cannot_be_read_is_the_callers_mistake() -> None:
    host_end, cell_end = socket.socketpair()
    broker = Broker()
    with cell_end, pytest.raises(ValueError, match=r"network grant 'example\.org'"):
        broker.attach(host_end, pack="demo", allow=["example.org"], private=[])
    assert host_end.fileno() == -1
    broker.close()
    broker.close()
    late, cell_end = socket.socketpair()
    with cell_end, pytest.raises(RuntimeError, match="closed"):
        broker.attach(late, pack="demo", allow=[], private=[])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_forked_child_starts_its_own_and_leaves_the_parents_cells(attach: Callable[..., Cell], server: int) -> None:
    grant = f"127.0.0.1:{server}"
    broker = Broker()
    mine = attach_to(broker, grant)
    assert mine.ask("127.0.0.1", server)["op"] == "connected"
    child = os.fork()
    if child == 0:
        status = 1
        try:
            own = attach_to(broker, grant)
            status = 0 if own.ask("127.0.0.1", server)["op"] == "connected" else 2
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert mine.ask("127.0.0.1", server)["op"] == "connected"
    broker.close()
    assert mine.ended()
    mine.sock.close()


def attach_to(broker: Broker, grant: str) -> Cell:
    host_end, cell_end = socket.socketpair()
    broker.attach(host_end, pack="demo", allow=[grant], private=[grant])
    return Cell(cell_end)
