"""Ordinary network clients inside a cell, on top of a real broker and real servers."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import web_servers
from tests.brokered_program import Programs


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
def run() -> Iterator[Programs]:
    programs = Programs()
    yield programs
    programs.close()


def test_urllib(run: Programs, web: int) -> None:
    program = """
    with urllib.request.urlopen(f"http://localhost:{port}/", timeout=10) as response:
        print(response.read().decode())
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/", data=b"x" * 300000) as response:
        print(len(response.read()))
    """
    assert run(web, program).split() == ["hello", f"localhost:{web}", "300000"]


def test_a_redirect_to_another_host_is_refused(run: Programs, web: int) -> None:
    program = """
    with urllib.request.urlopen(f"http://localhost:{port}/to?http://127.0.0.1:{port}/", timeout=10) as response:
        print(response.read().decode())
    print(error(urllib.request.urlopen, f"http://localhost:{port}/to?http://evil.example/", timeout=10))
    """
    out = run(web, program)
    assert f"hello 127.0.0.1:{web}" in out and "evil.example:80: no grant covers it" in out


def test_http_client_keeps_a_connection(run: Programs, web: int) -> None:
    program = """
    connection = http.client.HTTPConnection("localhost", port, timeout=10)
    for _ in range(3):
        connection.request("GET", "/")
        print(connection.getresponse().read().decode())
    assert connection.sock.getpeername() == ("127.0.0.1", port)
    assert connection.sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
    connection.close()
    """
    assert run(web, program).count("hello") == 3


def test_asyncio_streams(run: Programs, web: int) -> None:
    program = """
    async def fetch(host):
        reader, writer = await asyncio.open_connection(host, port)
        writer.write(b"GET / HTTP/1.0\\r\\nHost: x\\r\\n\\r\\n")
        text = await reader.read()
        writer.close()
        await writer.wait_closed()
        return text.endswith(b"hello x")

    async def main():
        print(await asyncio.gather(*(fetch("localhost") for _ in range(40))))
        for host in ("evil.example", "127.0.0.2"):
            try:
                await asyncio.open_connection(host, port)
            except PermissionError as caught:
                print(caught)

    asyncio.run(main())
    """
    out = run(web, program)
    assert out.count("True") == 40
    assert f"evil.example:{web}: no grant" in out and f"127.0.0.2:{web}: no grant" in out


def test_asyncio_sock_connect_and_cancelling(run: Programs, web: int) -> None:
    program = """
    async def main():
        loop = asyncio.get_running_loop()
        with socket.socket() as sock:
            sock.setblocking(False)
            await loop.sock_connect(sock, ("localhost", port))
            await loop.sock_sendall(sock, b"GET / HTTP/1.0\\r\\nHost: y\\r\\n\\r\\n")
            print((await loop.sock_recv(sock, 4096))[:8])
        before = len(os.listdir("/dev/fd"))
        for _ in range(20):
            task = asyncio.create_task(asyncio.open_connection("localhost", port))
            await asyncio.sleep(0)
            task.cancel()
            await asyncio.wait([task])
        reader, writer = await asyncio.open_connection("localhost", port)
        writer.close()
        await writer.wait_closed()
        for _ in range(100):
            if len(os.listdir("/dev/fd")) <= before:
                return print("clean")
            await asyncio.sleep(0.05)

    asyncio.run(main())
    """
    assert run(web, program).split("\n")[:2] == ["b'HTTP/1.1'", "clean"]


def test_tls_is_end_to_end_and_verified(run: Programs, secure_web: int, certificate: tuple[Path, Path]) -> None:
    program = """
    trusted = ssl.create_default_context(cafile=os.environ["CERTIFICATE"])
    with urllib.request.urlopen(f"https://localhost:{port}/", context=trusted, timeout=10) as response:
        print(response.read().decode())
    with socket.create_connection(("localhost", port), 10) as plain:
        with trusted.wrap_socket(plain, server_hostname="localhost") as secure:
            print(secure.version().startswith("TLS"), secure.getpeername() == ("127.0.0.1", port))
    with trusted.wrap_socket(socket.socket(), server_hostname="localhost") as secure:
        secure.settimeout(10)
        secure.connect(("localhost", port))
        print(secure.getpeercert()["subjectAltName"])

    print(error(urllib.request.urlopen, f"https://127.0.0.1:{port}/", context=trusted, timeout=10))
    print(error(urllib.request.urlopen, f"https://localhost:{port}/", timeout=10))

    async def main():
        reader, writer = await asyncio.open_connection("localhost", port, ssl=trusted)
        writer.write(b"GET / HTTP/1.0\\r\\nHost: secure\\r\\n\\r\\n")
        print((await reader.read())[-12:])
        writer.close()
        await writer.wait_closed()

    asyncio.run(main())
    """
    out = run(secure_web, program, CERTIFICATE=str(certificate[0])).splitlines()
    assert out[:3] == [f"hello localhost:{secure_web}", "True True", "(('DNS', 'localhost'),)"]
    assert "CERTIFICATE_VERIFY_FAILED" in out[3] and "127.0.0.1" in out[3]
    assert "CERTIFICATE_VERIFY_FAILED" in out[4]
    assert out[5] == "b'hello secure'"


def test_httpx2(run: Programs, web: int) -> None:
    program = """
    import httpx2

    print(httpx2.get(f"http://localhost:{port}/", trust_env=False).text)
    print(error(httpx2.get, "http://evil.example/", trust_env=False))

    async def main():
        async with httpx2.AsyncClient(trust_env=False) as client:
            print((await client.get(f"http://localhost:{port}/")).text)
            try:
                await client.get("http://evil.example/")
            except httpx2.ConnectError as caught:
                print(caught)

    asyncio.run(main())
    """
    out = run(web, program).splitlines()
    assert out[0] == out[2] == f"hello localhost:{web}"
    assert all("evil.example:80: no grant covers it" in line for line in (out[1], out[3]))


@pytest.mark.skipif(importlib.util.find_spec("requests") is None, reason="requests is not installed")
def test_requests(run: Programs, web: int) -> None:
    program = """
    import requests

    with requests.Session() as session:
        session.trust_env = False
        print(session.get(f"http://localhost:{port}/", timeout=10).text)
        print(error(session.get, "http://evil.example/", timeout=10))
    """
    out = run(web, program).splitlines()
    assert out[0] == f"hello localhost:{web}" and "evil.example:80: no grant covers it" in out[1]


def test_many_threads(run: Programs, web: int) -> None:
    program = """
    from concurrent.futures import ThreadPoolExecutor

    def fetch(number):
        with urllib.request.urlopen(f"http://localhost:{port}/", timeout=30) as response:
            return response.read().startswith(b"hello")

    with ThreadPoolExecutor(12) as pool:
        print(all(pool.map(fetch, range(120))))
    print(len(os.listdir("/dev/fd")) < 20)
    """
    assert run(web, program).split() == ["True", "True"]
