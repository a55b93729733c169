"""What an outsider sees of the attacking process: descriptors, memory, privileges, children."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

_HARMLESS = ("pipe:", "[eventpoll]", "[eventfd]", "[timerfd]", "[signalfd]", "[pidfd]", "pidfd", "socket:UNIX-STREAM")
_DEVICES = ("/dev/null", "/dev/zero", "/dev/urandom", "/dev/random")
_MUCH = 3 * 1024**3
_MANY_DESCRIPTORS, _MANY_THREADS, _MANY_PROCESSES = 1500, 900, 40
_RAISED = ("Uid", "Gid", "Groups", "CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb", "NoNewPrivs")


class Look:
    """One process, as it was; `changes` says what it has won since.

    Args:
        pid: of the attacker.
        ignore: processes that are not its doing.
        granted: further kinds of descriptors that it may have.
    """

    def __init__(self, pid: int, *, ignore: set[int], granted: tuple[str, ...] = ()) -> None:
        self.pid = pid
        self._ignore = ignore
        self._granted = (*_HARMLESS, *granted)
        self._processes = processes()
        self._spaces = {*_spaces("self"), *_spaces(pid)}
        self._before = dict(self._facts())
        self._mounts = _mounts()

    def _facts(self) -> Iterator[tuple[str, object]]:
        at = Path("/proc", str(self.pid))
        status = dict(line.split(":", 1) for line in _text(at / "status").splitlines() if ":" in line)
        yield "privileges", tuple(status.get(name) for name in _RAISED)
        yield "root", (_link(at / "root"), os.stat(at / "root").st_ino if at.exists() else 0)
        yield "personality", _text(at / "personality")
        yield "limits", [line for line in _text(at / "limits").splitlines() if "open files" in line]
        yield "namespace", [_link(entry) for entry in sorted((at / "ns").iterdir())]
        yield "mount", _text(at / "mountinfo")
        yield "asynchronous io", "[aio]" in _text(at / "maps")
        with suppress(OSError):
            yield "priority", (os.getpriority(os.PRIO_PROCESS, self.pid), os.sched_getscheduler(self.pid))
        yield "session", (os.getsid(self.pid), os.getpgid(self.pid))

    def _descriptors(self) -> set[str]:
        return {f"descriptor {kind}" for kind in _kinds(self.pid) if not kind.startswith(self._granted)}

    def new_processes(self) -> set[int]:
        """Those that came since."""
        return processes() - self._processes - self._ignore

    def changes(self) -> set[str]:
        """What it has won, in the words of the attempts."""
        seen = {"mount"} if _mounts() != self._mounts else set()
        children = self.new_processes() - {self.pid}
        if children:
            seen.add("process")
            theirs = {space for pid in children for space in _spaces(pid)}
            if theirs - self._spaces - {""}:
                seen.add("namespace child")
        if len(children) > _MANY_PROCESSES:
            seen.add("many processes")
        if not Path(f"/proc/{self.pid}/fd").exists():
            return seen
        with suppress(OSError):
            now = dict(self._facts())
            seen |= {name for name in now if now[name] != self._before.get(name, now[name])}
            seen |= self._descriptors()
            if len(os.listdir(f"/proc/{self.pid}/fd")) > _MANY_DESCRIPTORS:
                seen.add("many descriptors")
        return seen | self.sizes()

    def holds_much(self) -> bool:
        """Whether so many descriptors are open that the next attempt might fail for that reason."""
        with suppress(OSError):
            return len(os.listdir(f"/proc/{self.pid}/fd")) > 60
        return True

    def sizes(self) -> set[str]:
        """Whether it has very much of something."""
        seen = set()
        with suppress(OSError, IndexError):
            if int(_text(Path(f"/proc/{self.pid}/statm")).split()[0]) * os.sysconf("SC_PAGE_SIZE") > _MUCH:
                seen.add("memory size")
            if len(os.listdir(f"/proc/{self.pid}/task")) > _MANY_THREADS:
                seen.add("many threads")
        return seen


def processes() -> set[int]:
    """Every process that is there."""
    return {int(name) for name in os.listdir("/proc") if name.isdigit()}


def _spaces(pid: int | str) -> set[str]:
    return {_link(Path(f"/proc/{pid}/ns/{kind}")) for kind in ("user", "mnt")}


def _kinds(pid: int) -> Iterator[str]:
    folder = Path(f"/proc/{pid}/fd")
    for entry in sorted(folder.iterdir()):
        link = _link(entry).removeprefix("anon_inode:")
        if link.startswith("socket:"):
            with suppress(OSError):
                yield "socket:" + os.getxattr(entry, "system.sockprotoname").decode().rstrip("\0")
        elif link not in _DEVICES and _is_no_plain_file(link):
            yield link


def _is_no_plain_file(link: str) -> bool:
    return not link.startswith("/") or link.startswith(("/dev/", "/memfd", "/secretmem")) or link.count("/") == 1


def _mounts() -> str:
    return _text(Path("/proc/self/mountinfo"))


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""


def _link(path: Path) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return ""
