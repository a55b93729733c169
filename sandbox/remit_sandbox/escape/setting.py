"""What there is to attack: files, sockets, processes, keys and a terminal of our own, with secrets in each."""

from __future__ import annotations

import ctypes
import fcntl
import os
import pty
import secrets
import shutil
import signal
import socket
import struct
import threading
import tty
from contextlib import suppress
from pathlib import Path
from typing import Any

from remit_sandbox.confine import kernel
from remit_sandbox.confine.numbers import NUMBERS
from remit_sandbox.escape.attempts import tiny_program

METADATA = "169.254.169.254"
ENVIRONMENT = "REMIT_ESCAPE_TOKEN"
GET_FLAGS, _SET_FLAGS = 0x80086601, 0x40086602
_LEAKED, _IN_VICTIM = 77, 9

_memory = ctypes.create_string_buffer(64)
victims_memory = ctypes.create_string_buffer(b"untouched", 64)


class Setting:
    """Everything that can be attacked.

    Args:
        folder: where the files go.
        host: the process that plays the host; None to start one.
        sibling: the process that plays another cell, and its folder; None to start one.
    """

    def __init__(self, folder: Path, *, host: int | None = None, sibling: tuple[int, str, str] | None = None) -> None:
        self.outside, self.docs, self.work = (folder / name for name in ("outside", "docs", "work"))
        self.tokens = {name: f"{name}:{secrets.token_hex(12)}" for name in ("secret", "memory", "key", "path", "name")}
        self.tokens["environment"] = os.environ.get(ENVIRONMENT, "none was given")
        with suppress(OSError):
            self.tokens["boot"] = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        self.key = f"remit-escape-{secrets.token_hex(6)}"
        self.target = secrets.token_hex(12)
        _memory.value = self.tokens["memory"].encode()
        for made in (self.outside, self.docs, self.work):
            made.mkdir(parents=True, exist_ok=True)
        self._listen(folder)
        self._make_terminal()
        self.hostname = socket.gethostname()
        self.fill()
        self._leak()
        self._spoiled = False
        self.victim = self._victim()
        self.host = host or self._victim()
        self.parent = self.host
        if sibling is None:
            tmp = folder / "sibling"
            tmp.mkdir(mode=0o700)
            (tmp / "mine").write_text(self._sibling_secret())
            sibling = self._victim(), str(tmp), self.tokens["sibling"]
        self.sibling, self.sibling_tmp, self.tokens["sibling"] = sibling

    def _sibling_secret(self) -> str:
        self.tokens["sibling"] = f"sibling:{secrets.token_hex(12)}"
        return self.tokens["sibling"]

    def fill(self) -> None:
        """Put every file back."""
        for folder in (self.outside, self.docs, self.work):
            _empty(folder)
        (self.outside / "secret").write_text(self.tokens["secret"])
        (self.outside / self.tokens["name"]).touch()
        (self.outside / "pointer").symlink_to("/" + self.target)
        (self.outside / "empty").mkdir()
        self._set_times(self.outside / "canary", "canary")
        self._set_times(self.docs / "note", "note")
        with suppress(OSError):
            os.setxattr(self.outside / "canary", "user.secret", self.tokens["secret"].encode())
        for name, target in (("link", "secret"), ("to_canary", "canary"), ("folder", "")):
            (self.work / name).symlink_to(self.outside / target)
        (self.work / "shared").write_text("x")
        with suppress(OSError):
            (self.work / "program").write_bytes(tiny_program(f"{self.work}/ran"))
            (self.work / "program").chmod(0o755)
        self._bind()
        self._granted = {path.name: path.lstat().st_mtime_ns for path in self.work.iterdir()}
        self._dirty = False

    @staticmethod
    def _set_times(path: Path, text: str) -> None:
        path.write_text(text)
        path.chmod(0o644)
        os.utime(path, (1_700_000_000, 1_700_000_000))

    def _listen(self, folder: Path) -> None:
        self.listeners = {
            "tcp": socket.create_server(("127.0.0.1", 0), backlog=64),
            "udp": _bound(socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 0)),
            "abstract": _bound(socket.AF_UNIX, socket.SOCK_STREAM, f"\0remit-escape-{secrets.token_hex(6)}"),
        }
        self.listeners["abstract"].listen()
        with suppress(OSError):
            self.listeners["tcp6"] = socket.create_server(("::1", 0), family=socket.AF_INET6)
            self.listeners["udp6"] = _bound(socket.AF_INET6, socket.SOCK_DGRAM, ("::1", 0))
        self._asked_for_names = False
        with suppress(OSError):
            names = _bound(socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 53))
            threading.Thread(target=self._know_no_name, args=(names,), daemon=True).start()
            self.listeners["metadata"] = socket.create_server((METADATA, 80))
        self.granted = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self._redirect, daemon=True).start()

    def _bind(self) -> None:
        """Local sockets, which are files; one has a secret in its name."""
        paths = {
            "unix": self.outside / "socket",
            "granted unix": self.work / "socket",
            "named unix": self.outside / self.tokens["path"],
            "datagram": self.outside / "datagrams",
        }
        for name, path in paths.items():
            if name in self.listeners:
                self.listeners.pop(name).close()
            kind = socket.SOCK_DGRAM if name == "datagram" else socket.SOCK_STREAM
            self.listeners[name] = _bound(socket.AF_UNIX, kind, str(path))
            if kind == socket.SOCK_STREAM:
                self.listeners[name].listen()
        for listener in self.listeners.values():
            listener.setblocking(False)

    def _redirect(self) -> None:
        """The one server that is granted sends everybody to one that is not."""
        where = f"http://127.0.0.1:{self.listeners['tcp'].getsockname()[1]}/"
        answer = f"HTTP/1.1 302 Found\r\nLocation: {where}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        while True:
            with suppress(OSError):
                connection, _ = self.granted.accept()
                with connection:
                    connection.settimeout(2)
                    if connection.recv(4096):
                        connection.sendall(answer.encode())

    def _know_no_name(self, ear: socket.socket) -> None:
        """Answer that there is no such name, so that nobody waits."""
        while True:
            question, asker = ear.recvfrom(512)
            self._asked_for_names = True
            with suppress(OSError):
                ear.sendto(question[:2] + b"\x81\x83" + question[4:6] + bytes(6) + question[12:], asker)

    def _make_terminal(self) -> None:
        self._master, self._slave = pty.openpty()
        tty.setraw(self._slave)
        for end in (self._master, self._slave):
            os.set_blocking(end, False)
        self.terminal = os.ttyname(self._slave)

    def _leak(self) -> None:
        """A careless host keeps a secret open and has its children inherit it."""
        descriptor = os.open(self.outside / "secret", os.O_RDONLY)
        os.dup2(descriptor, _LEAKED, inheritable=True)
        os.close(descriptor)

    def _victim(self) -> int:
        descriptor = os.open(self.outside / "secret", os.O_RDONLY)
        pid = os.fork()
        if pid == 0:
            try:
                self._suffer(descriptor)
            finally:
                os._exit(1)
        os.close(descriptor)
        os.setpgid(pid, pid)
        return pid

    def _suffer(self, descriptor: int) -> None:
        kernel.prctl(1, signal.SIGKILL)
        os.setpgid(0, 0)
        with suppress(OSError):
            kernel.syscall(NUMBERS[kernel.MACHINE]["unshare"], 0x04000000)
        os.dup2(descriptor, _IN_VICTIM)
        while True:
            signal.pause()

    def facts(self, **more: Any) -> dict[str, Any]:
        """What an attacker is told: names and numbers, none of the secrets."""
        ports = {name: end.getsockname()[1] for name, end in self.listeners.items() if end.family != socket.AF_UNIX}
        return {
            "tcp6": 1,
            "udp6": 1,
            **ports,
            "secret": str(self.outside / "secret"),
            "canary": str(self.outside / "canary"),
            "outside": str(self.outside),
            "docs": str(self.docs),
            "note": str(self.docs / "note"),
            "work": str(self.work),
            "unix": str(self.outside / "socket"),
            "granted_unix": str(self.work / "socket"),
            "datagram": str(self.outside / "datagrams"),
            "abstract": self.listeners["abstract"].getsockname()[1:].decode(),
            "granted": self.granted.getsockname()[1],
            "terminal": self.terminal,
            "victim": self.victim,
            "victim_address": ctypes.addressof(victims_memory),
            "victim_descriptor": _IN_VICTIM,
            "key": self.key,
            "host_key": f"{self.key}-of-host",
            "host": self.host,
            "host_address": ctypes.addressof(_memory),
            "parent": self.parent,
            "sibling": self.sibling,
            "sibling_tmp": self.sibling_tmp,
            "repeats": int(os.environ.get("REMIT_ESCAPE_REPEATS", "2000")),
            "threads": 1200,
            "patience": 1.0,
            **more,
        }

    def _renew(self) -> None:
        """Another victim where the last one has suffered."""
        if self._spoiled:
            with suppress(ProcessLookupError):
                os.kill(self.victim, signal.SIGKILL)
            with suppress(ChildProcessError):
                os.waitpid(self.victim, 0)
            self.victim = self._victim()
            self._spoiled = False

    def _drain(self) -> set[str]:
        """Who heard something."""
        heard = {"dns"} if self._asked_for_names else set()
        self._asked_for_names = False
        for name, ear in self.listeners.items():
            with suppress(OSError):
                while True:
                    if ear.type == socket.SOCK_DGRAM:
                        ear.recv(4096)
                    else:
                        ear.accept()[0].close()
                    heard.add(name)
        return heard


def _bound(family: int, kind: int, address: Any) -> socket.socket:
    made = socket.socket(family, kind)
    made.bind(address)
    return made


def _empty(folder: Path) -> None:
    for entry in list(folder.iterdir()):
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        else:
            _set_flags(entry)
            entry.unlink()


def _set_flags(path: Path) -> None:
    """Make a file removable again."""
    if path.is_file() and not path.is_symlink():
        with suppress(OSError), path.open("rb") as file:
            flags = struct.unpack("=Q", fcntl.ioctl(file, GET_FLAGS, bytes(8)))[0]
            if flags & 0xB0:
                fcntl.ioctl(file, _SET_FLAGS, struct.pack("=Q", flags & ~0xB0))
