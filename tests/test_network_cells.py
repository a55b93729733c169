"""The network of real cells: what ordinary clients reach through the broker, and what nothing reaches."""

from __future__ import annotations

import importlib.util
import json
import socket
import sysconfig
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from remit_sandbox.broker import NetworkEvent
from remit_sandbox.sandbox import Sandbox
from remit_sandbox.values import CellSpec, Enforcement, Reply, Rights
from tests import web_servers

PACK = '''
"""Skills that use the network in every ordinary way, and in some that must not work."""

import asyncio
import http.client
import socket
import ssl
import urllib.request


def fetch(url: str) -> str:
    with urllib.request.urlopen(url, timeout=10) as response:
        return response.read().decode()


def fetch_plainly(name: str, port: int) -> str:
    connection = http.client.HTTPConnection(name, port, timeout=10)
    connection.request("GET", "/")
    text = connection.getresponse().read().decode()
    connection.close()
    return text


def fetch_trusting(url: str, certificate: str) -> str:
    context = ssl.create_default_context(cadata=certificate)
    with urllib.request.urlopen(url, context=context, timeout=10) as response:
        return response.read().decode()


async def stream(name: str, port: int) -> str:
    reader, writer = await asyncio.open_connection(name, port)
    writer.write(b"GET / HTTP/1.0\\r\\nHost: stream\\r\\n\\r\\n")
    text = (await reader.read()).decode()
    writer.close()
    await writer.wait_closed()
    return text.rpartition("\\n")[2]


def with_httpx2(url: str) -> str:
    import httpx2

    return httpx2.get(url).text


async def with_async_httpx2(url: str) -> str:
    import httpx2

    async with httpx2.AsyncClient() as client:
        return (await client.get(url)).text


def with_requests(url: str) -> str:
    import requests

    return requests.get(url, timeout=10).text


def listen() -> str:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return str(server.getsockname())


def datagram() -> str:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        return str(sock.sendto(b"x", ("127.0.0.1", 9)))


def go_round(port: int) -> str:
    """Connects with the C type, past everything that was changed in Python."""
    import _socket

    sock = _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM)
    sock.connect(("127.0.0.1", port))
    return "out"


def reconnect(name: str, port: int, other: int) -> str:
    """Connects a brokered descriptor to somewhere else."""
    import ctypes
    import struct

    sock = socket.create_connection((name, port), 10)
    libc = ctypes.CDLL(None, use_errno=True)
    libc.connect(sock.fileno(), struct.pack("=H14x", 0), 16)
    address = struct.pack("=H", socket.AF_INET) + struct.pack(">H4s8x", other, bytes([127, 0, 0, 1]))
    status = libc.connect(sock.fileno(), address, len(address))
    return "out" if status == 0 else f"errno {ctypes.get_errno()}"


def many(name: str, port: int) -> int:
    for _ in range(60):
        socket.create_connection((name, port), 10).close()
    return 60
'''


@pytest.fixture
def web() -> Iterator[int]:
    """A plain HTTP server; gives its port."""
    with web_servers.serving(web_servers.plain()) as port:
        yield port


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A certificate for `localhost`, and its key."""
    return web_servers.make_certificate(tmp_path_factory.mktemp("certificate"))


@pytest.fixture
def secure_web(certificate: tuple[Path, Path]) -> Iterator[int]:
    """An HTTPS server with that certificate; gives its port."""
    with web_servers.serving(web_servers.secure(certificate)) as port:
        yield port


@pytest.fixture
def events() -> list[NetworkEvent]:
    return []


@pytest.fixture
def sandbox(events: list[NetworkEvent]) -> Iterator[Sandbox]:
    with Sandbox(on_network=events.append) as made:
        yield made


Ask = Callable[..., Reply]


@pytest.fixture
def ask(sandbox: Sandbox, tmp_path: Path) -> Ask:
    """Calls one skill of the pack in a new cell that reaches the given ports of `localhost`."""
    folder = tmp_path / "packs" / "netpack"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text(textwrap.dedent(PACK), encoding="utf-8")

    def call(
        skill: str, /, *ports: int, host: str = "localhost", enforcement: Enforcement = "available", **arguments: object
    ) -> Reply:
        grants = tuple(f"{host}:{port}" for port in ports)
        spec = CellSpec(
            pack="netpack",
            package="netpack",
            paths=(str(folder.parent), sysconfig.get_path("purelib"), *_folder_of("requests")),
            rights=Rights(net=grants, private_net=grants),
            enforcement=enforcement,
        )
        body = {
            "handler": f"netpack:{skill}",
            "arguments": json.dumps(arguments).encode(),
            "context": {"session": "s", "call": "c"},
        }
        cell = sandbox.cell(spec)
        try:
            return cell.request("call", body, timeout=30)
        finally:
            cell.close()

    return call


def _folder_of(package: str) -> tuple[str, ...]:
    spec = importlib.util.find_spec(package)
    return (str(Path(spec.origin).parents[1]),) if spec is not None and spec.origin else ()


def value(reply: Reply) -> object:
    assert reply.kind == "result", reply
    return json.loads(reply.text)


def test_ordinary_clients_work(ask: Ask, web: int) -> None:
    assert value(ask("fetch", web, url=f"http://localhost:{web}/")) == f"hello localhost:{web}"
    assert value(ask("fetch_plainly", web, name="localhost", port=web)) == f"hello localhost:{web}"
    assert value(ask("stream", web, name="localhost", port=web)) == "hello stream"
    assert value(ask("with_async_httpx2", web, url=f"http://localhost:{web}/")) == f"hello localhost:{web}"
    assert value(ask("with_httpx2", web, url=f"http://localhost:{web}/")) == f"hello localhost:{web}"
    assert value(ask("many", web, name="localhost", port=web)) == 60


@pytest.mark.skipif(importlib.util.find_spec("requests") is None, reason="requests is not installed")
def test_requests_works(ask: Ask, web: int) -> None:
    assert value(ask("with_requests", web, url=f"http://localhost:{web}/")) == f"hello localhost:{web}"


def test_tls_works_and_is_verified(ask: Ask, secure_web: int, certificate: tuple[Path, Path]) -> None:
    url, text = f"https://localhost:{secure_web}/", certificate[0].read_text()
    assert value(ask("fetch_trusting", secure_web, url=url, certificate=text)) == f"hello localhost:{secure_web}"
    refused = ask("fetch", secure_web, url=url)
    assert refused.kind == "failed" and "CERTIFICATE_VERIFY_FAILED" in refused.error


@pytest.mark.parametrize("name", ["fetch", "with_httpx2", "with_async_httpx2"])
def test_what_no_grant_covers_is_a_result_that_names_it(
    ask: Ask, web: int, events: list[NetworkEvent], name: str
) -> None:
    reply = ask(name, web, url="http://evil.example/")
    assert reply.kind == "failed"
    assert 'pack netpack may not connect to evil.example:80: no grant covers it (missing: net = ["evil.' in reply.error
    assert [(event.host, event.port, event.allowed) for event in events] == [("evil.example", 80, False)]


def test_asyncio_is_told_as_well(ask: Ask, web: int) -> None:
    reply = ask("stream", web, name="127.0.0.1", port=web)
    assert reply.kind == "failed" and f"127.0.0.1:{web}: no grant covers it" in reply.error


def test_another_spelling_of_an_address_is_no_way_round(ask: Ask, web: int) -> None:
    reply = ask("fetch", web, url=f"http://0x7f.1:{web}/")
    assert reply.kind == "failed" and f"127.0.0.1:{web}: no grant covers it" in reply.error
    assert value(ask("fetch", web, host="127.0.0.1", url=f"http://0x7f.1:{web}/")) == f"hello 0x7f.1:{web}"


@pytest.mark.parametrize("name", ["listen", "datagram"])
def test_what_a_skill_has_no_right_to_is_said(ask: Ask, web: int, name: str) -> None:
    reply = ask(name, web)
    assert reply.kind == "failed" and "this skill has no right to" in reply.error


@pytest.mark.confinement
def test_whoever_goes_round_the_broker_meets_the_kernel(ask: Ask, web: int) -> None:
    reply = ask("go_round", web, port=web, enforcement="kernel")
    assert reply.kind == "failed" and "PermissionError" in reply.error
    with socket.create_connection(("127.0.0.1", web), 10):
        pass


@pytest.mark.confinement
def test_a_brokered_descriptor_leads_nowhere_else(ask: Ask, web: int) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        other.settimeout(0.2)
        port = other.getsockname()[1]
        result = value(ask("reconnect", web, name="localhost", port=web, other=port, enforcement="kernel"))
        assert str(result).startswith("errno")
        with pytest.raises(TimeoutError):
            other.accept()


@pytest.mark.confinement
def test_without_a_net_right_there_is_no_way_out(ask: Ask, web: int, events: list[NetworkEvent]) -> None:
    reply = ask("fetch", url=f"http://127.0.0.1:{web}/", enforcement="kernel")
    assert reply.kind == "failed" and "URLError" in reply.error
    assert events == []
