"""Web servers on this machine for the tests of the network, plain and with TLS."""

from __future__ import annotations

import shutil
import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest


class Hello(BaseHTTPRequestHandler):
    """Answers GET with the Host header, or sends elsewhere."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        body = f"hello {self.headers['Host']}".encode()
        self.send_response(302 if self.path.startswith("/to?") else 200)
        if self.path.startswith("/to?"):
            self.send_header("Location", self.path[4:])
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: object) -> None:
        pass


class Secure(ThreadingHTTPServer):
    """The same with TLS; a client that does not trust it is no failure of the server."""

    daemon_threads = True

    def __init__(self, context: ssl.SSLContext) -> None:
        self._context = context
        super().__init__(("127.0.0.1", 0), Hello)

    def finish_request(self, request: socket.socket, client_address: object) -> None:  # type: ignore[override]
        try:
            with self._context.wrap_socket(request, server_side=True) as secure:
                Hello(secure, client_address, self)  # type: ignore[arg-type]
        except OSError:
            return


def plain() -> ThreadingHTTPServer:
    """A plain server."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hello)
    server.daemon_threads = True
    return server


def secure(certificate: tuple[Path, Path]) -> Secure:
    """A server with a certificate and its key."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    return Secure(context)


@contextmanager
def serving(server: ThreadingHTTPServer) -> Iterator[int]:
    """Serves in a thread; gives the port."""
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def make_certificate(folder: Path) -> tuple[Path, Path]:
    """A certificate for `localhost` and its key, made by the `openssl` program; skips where there is none."""
    program = shutil.which("openssl")
    if program is None:
        pytest.skip("the openssl program is needed to make a certificate")
    paths = folder / "cert.pem", folder / "key.pem"
    command = [program, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
    command += ["-addext", "subjectAltName=DNS:localhost", "-out", str(paths[0]), "-keyout", str(paths[1])]
    done = subprocess.run(command, capture_output=True, timeout=60)
    if done.returncode:
        pytest.skip(f"openssl cannot make a certificate: {done.stderr.decode(errors='replace')[-200:]}")
    return paths
