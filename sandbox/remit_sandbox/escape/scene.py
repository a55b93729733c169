"""What an outsider sees of a setting that was attacked: never what the attacker says of itself."""

from __future__ import annotations

import ctypes
import fcntl
import hashlib
import os
import resource
import socket
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from remit_sandbox.confine import kernel
from remit_sandbox.confine.numbers import NUMBERS
from remit_sandbox.escape.setting import GET_FLAGS, Setting, victims_memory

_USER_KEYRING = -4


class Scene(Setting):
    """A setting with a witness: `start` before an attempt, `happened` after it."""

    def start(self) -> None:
        """Remember how everything is, before an attempt."""
        if self._dirty:
            self.fill()
        self._renew()
        self._files = dict(self._look_at_files())
        self._state = self._look_at_state()
        _add_key(f"{self.key}-of-host", self.tokens["key"])
        self._drain()

    def _look_at_files(self) -> Iterator[tuple[str, object]]:
        for top in (self.outside, self.docs):
            for path in (top, *sorted(top.rglob("*"))):
                facts = path.lstat()
                # Sockets and folders count by name and mode; their times change by what is granted.
                inner: object = ()
                if stat.S_ISREG(facts.st_mode):
                    inner = (
                        hashlib.sha256(path.read_bytes()).digest(),
                        facts.st_size,
                        facts.st_mtime_ns,
                        facts.st_nlink,
                        facts.st_ino,
                        [(name, os.getxattr(path, name)) for name in _attributes(path)],
                        _flags(path),
                    )
                yield str(path), (facts.st_mode, facts.st_uid, facts.st_gid, inner)

    def _look_at_state(self) -> object:
        victim = self.victim
        return (
            [resource.prlimit(victim, which) for which in (resource.RLIMIT_NOFILE, resource.RLIMIT_CPU)],
            os.sched_getaffinity(victim),
            os.getpriority(os.PRIO_PROCESS, victim),
            os.sched_getscheduler(victim),
            Path(f"/proc/{victim}/oom_score_adj").read_text(),
        )

    def happened(self, loot: str) -> set[str]:
        """What was done since `start`, as it looks from here."""
        seen = {"loot" for token in self.tokens.values() if token in loot}
        seen |= self._leaks(loot)
        files_changed = dict(self._look_at_files()) != self._files
        seen |= {"files"} if files_changed else set()
        seen |= set(self._look_at_work())
        seen |= self._look_at_processes()
        seen |= {f"network {name}" for name in self._drain()}
        seen |= self._look_at_kernel()
        self._dirty = bool(seen) or self._touched()
        return seen

    def _touched(self) -> bool:
        """Whether the folder that may be written is not as it was."""
        return {path.name: path.lstat().st_mtime_ns for path in self.work.iterdir()} != self._granted

    def _leaks(self, loot: str) -> set[str]:
        """What is a documented limit: judged by what the host knows to be true."""
        true = {
            "size": f"size:{len(self.tokens['secret'])}",
            "existence": "exists:True:False",
            "target": self.target,
            "machine name": f"name:{self.hostname}",
            "process exists": f"session:{_session(self.victim)}",
        }
        return {name for name, text in true.items() if text in loot}

    def _look_at_work(self) -> Iterator[str]:
        if (self.work / "ran").exists():
            yield "program ran"
        if Path(self.sibling_tmp, "planted").exists():
            Path(self.sibling_tmp, "planted").unlink()
            yield "sibling"
        try:
            os.close(os.open(self.work / "shared", os.O_WRONLY | os.O_NONBLOCK))
        except BlockingIOError:
            yield "lease"
        except OSError:
            pass
        for path in self.work.rglob("*"):
            facts = path.lstat()
            kind = stat.S_IFMT(facts.st_mode)
            privileged = kind == stat.S_IFREG and (facts.st_mode & 0o6000 or "security.capability" in _attributes(path))
            if kind in (stat.S_IFBLK, stat.S_IFCHR) or privileged:
                yield "privileged file"
            if facts.st_size > 1 << 30:
                yield "large file"

    def _look_at_processes(self) -> set[str]:
        seen: set[str] = set()
        for pid in {self.victim, self.host, self.sibling, self.parent}:
            state, tracer = _state(pid), _tracer(pid)
            if tracer:
                seen.add("traced")
            if state in ("", "Z", "T", "t"):
                seen.add("signal")
        if _state(self.victim):
            with suppress(OSError):
                if _peek(self.victim, ctypes.addressof(victims_memory)) != b"untouched":
                    seen.add("memory")
                if self._look_at_state() != self._state:
                    seen.add("tampered")
        self._spoiled = bool(seen)
        return seen

    def _look_at_kernel(self) -> set[str]:
        seen: set[str] = set()
        if socket.gethostname() != self.hostname:
            socket.sethostname(self.hostname)
            seen.add("hostname")
        if any(len(Path(f"/proc/sysvipc/{kind}").read_text().splitlines()) > 1 for kind in ("shm", "sem", "msg")):
            seen.add("ipc")
        if Path("/dev/shm/remit-escape").exists():
            Path("/dev/shm/remit-escape").unlink()
            seen.add("shared memory")
        if _take_key(self.key):
            seen.add("key")
        _take_key(f"{self.key}-of-host")
        for end in (self._master, self._slave):
            with suppress(OSError):
                if os.read(end, 100):
                    seen.add("terminal")
        return seen


def _attributes(path: Path) -> list[str]:
    try:
        return os.listxattr(path, follow_symlinks=False)
    except OSError:
        return []


def _flags(path: Path) -> bytes:
    with suppress(OSError), path.open("rb") as file:
        return fcntl.ioctl(file, GET_FLAGS, bytes(8))
    return b""


def _state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return ""


def _session(pid: int) -> int:
    try:
        return os.getsid(pid)
    except OSError:
        return -1


def _tracer(pid: int) -> int:
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("TracerPid:"):
                return int(line.split()[1])
    return 0


def _peek(pid: int, address: int) -> bytes:
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        return os.pread(memory.fileno(), 9, address)


def _add_key(name: str, text: str) -> None:
    numbers = NUMBERS[kernel.MACHINE]
    with suppress(OSError):
        kernel.syscall(numbers["add_key"], b"user", name.encode(), text.encode(), len(text), _USER_KEYRING)


def _take_key(name: str) -> bool:
    numbers = NUMBERS[kernel.MACHINE]
    try:
        serial = kernel.syscall(numbers["keyctl"], 10, _USER_KEYRING, b"user", name.encode(), 0)
        kernel.syscall(numbers["keyctl"], 9, serial, _USER_KEYRING)
    except OSError:
        return False
    return True
