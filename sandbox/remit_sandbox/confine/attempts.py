"""Program of the functional probe: tries what a cell must not do, without and with confinement.

Started by path with `-I -S` in a process of its own. Arguments: a scratch folder, then folders for
`sys.path`. Prints JSON. Every attempt runs in a child of its own, first as a control and then confined; what
it did is judged from outside: the bytes of a file, a connection that arrived, a process that died.
"""

from __future__ import annotations

import ctypes
import json
import mmap
import os
import signal
import socket
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

_REFUSED = 3
_MEMORY = 64 * 1024 * 1024
_OPEN_FILES = 64


class Scene:
    """Things to attack, all of our own: files, sockets and a victim process."""

    def __init__(self, scratch: str) -> None:
        self.tmp = str(Path(scratch, "inside"))
        self.outside = Path(scratch, "outside")
        self.target = self.outside / "target"
        self.made = self.outside / "made"
        self.unix_path = str(self.outside / "socket")
        for folder in (self.tmp, self.outside):
            Path(folder).mkdir()
        self.tcp = socket.create_server(("127.0.0.1", 0))
        self.udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.udp.bind(("127.0.0.1", 0))
        self.unix = socket.socket(socket.AF_UNIX)
        self.unix.bind(self.unix_path)
        self.unix.listen()
        for listener in (self.tcp, self.udp, self.unix):
            listener.setblocking(False)
        self.victim = 0

    def reset(self) -> None:
        """Put everything back before an attempt."""
        self.target.write_text("canary", encoding="ascii")
        self.made.unlink(missing_ok=True)
        self.victim = os.fork()
        if self.victim == 0:
            signal.pause()
            os._exit(0)

    def clear(self) -> None:
        """End the victim."""
        if self.victim:
            os.kill(self.victim, signal.SIGKILL)
            os.waitpid(self.victim, 0)


def _read(scene: Scene) -> None:
    scene.target.read_text(encoding="ascii")


def _write(scene: Scene) -> None:
    with scene.target.open("a") as file:
        file.write("!")


def _truncate(scene: Scene) -> None:
    os.truncate(scene.target, 0)


def _make(scene: Scene) -> None:
    scene.made.write_text("!", encoding="ascii")


def _remove(scene: Scene) -> None:
    scene.target.unlink()


def _connect(scene: Scene) -> None:
    socket.create_connection(scene.tcp.getsockname(), 2).close()


def _datagram(scene: Scene) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.sendto(b"!", scene.udp.getsockname())


def _unix(scene: Scene) -> None:
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(scene.unix_path)


def _fork(scene: Scene) -> None:
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)


def _execute(scene: Scene) -> None:
    os.execv(sys.executable, [sys.executable, "-I", "-S", "-c", ""])


def _signal(scene: Scene) -> None:
    os.kill(scene.victim, signal.SIGTERM)


def _look_into(scene: Scene) -> None:
    Path(f"/proc/{scene.victim}/environ").read_bytes()


def _use_memory(scene: Scene) -> None:
    mmap.mmap(-1, _MEMORY * 40).close()


def _run_from_memory(scene: Scene) -> None:
    os.close(os.memfd_create("probe"))


def _watch(scene: Scene) -> None:
    descriptor = ctypes.CDLL(None, use_errno=True).inotify_init()
    if descriptor < 0:
        raise OSError(ctypes.get_errno(), "refused")
    os.close(descriptor)


def _share_memory(scene: Scene) -> None:
    number = ctypes.CDLL(None, use_errno=True).shmget(0, 4096, 0o1600)
    if number < 0:
        raise OSError(ctypes.get_errno(), "refused")
    ctypes.CDLL(None).shmctl(number, 0, None)


def _open_many(scene: Scene) -> None:
    held = [os.open(os.devnull, os.O_RDONLY) for _ in range(_OPEN_FILES + 1)]
    for descriptor in held:
        os.close(descriptor)


def _write_much(scene: Scene) -> None:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    path = Path(scene.tmp, f"large-{os.getpid()}")
    path.touch()
    os.truncate(path, _MEMORY + 1)


def _said(scene: Scene) -> bool:
    return True


def _changed(scene: Scene) -> bool:
    return not scene.target.exists() or scene.target.read_text(encoding="ascii") != "canary"


def _was_made(scene: Scene) -> bool:
    return scene.made.exists()


def _arrived(listener: str) -> Callable[[Scene], bool]:
    def arrived(scene: Scene) -> bool:
        ear: socket.socket = getattr(scene, listener)
        try:
            if listener == "udp":
                ear.recv(16)
            else:
                ear.accept()[0].close()
        except BlockingIOError:
            return False
        return True

    return arrived


def _victim_died(scene: Scene) -> bool:
    victim, scene.victim = scene.victim, 0
    return os.WIFSIGNALED(os.waitpid(victim, 0)[1])


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """What a cell must not do.

    Attributes:
        right: its name in the table.
        act: does it, or raises `OSError`.
        seen: whether it was done, as the outside sees it.
    """

    right: str
    act: Callable[[Scene], None]
    seen: Callable[[Scene], bool] = _said


ATTEMPTS = (
    Attempt(right="files: read", act=_read),
    Attempt(right="files: write", act=_write, seen=_changed),
    Attempt(right="files: truncate", act=_truncate, seen=_changed),
    Attempt(right="files: make", act=_make, seen=_was_made),
    Attempt(right="files: remove", act=_remove, seen=_changed),
    Attempt(right="network: TCP", act=_connect, seen=_arrived("tcp")),
    Attempt(right="network: UDP", act=_datagram, seen=_arrived("udp")),
    Attempt(right="network: unix sockets", act=_unix, seen=_arrived("unix")),
    Attempt(right="processes: fork", act=_fork),
    Attempt(right="processes: exec", act=_execute),
    Attempt(right="signals to others", act=_signal, seen=_victim_died),
    Attempt(right="memory of others", act=_look_into),
    Attempt(right="shared memory", act=_share_memory),
    Attempt(right="watching files", act=_watch),
    Attempt(right="programs from memory", act=_run_from_memory),
    Attempt(right="memory limit", act=_use_memory),
    Attempt(right="open files limit", act=_open_many),
    Attempt(right="file size limit", act=_write_much),
)


def _succeeds(attempt: Attempt, scene: Scene, prepare: Callable[[], None]) -> bool:
    """Run an attempt in a child; whether it was done, from what the child says and the outside sees.

    Raises:
        RuntimeError: when the child broke before or in the attempt, which proves nothing.
    """
    scene.reset()
    try:
        child = os.fork()
        if child == 0:
            os._exit(_in_child(attempt, scene, prepare))
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if code not in (0, _REFUSED):
            raise RuntimeError(f"{attempt.right}: the attempt broke with status {code}")
        return code == 0 and attempt.seen(scene)
    finally:
        scene.clear()


def _in_child(attempt: Attempt, scene: Scene, prepare: Callable[[], None]) -> int:
    try:
        prepare()
    except BaseException as error:
        print(f"{attempt.right}: {error!r}", file=sys.stderr, flush=True)
        return 4
    try:
        attempt.act(scene)
    except OSError:
        return _REFUSED
    except BaseException:
        return 5
    return 0


def main(scratch: str, site: list[str]) -> None:
    """Try everything and print, for each right, whether control and confined attempt succeeded."""
    sys.path.extend(site)
    from remit_sandbox.confine import confine, readable

    machine = confine.means()
    scene = Scene(scratch)
    limits = {"memory": _MEMORY, "open_files": _OPEN_FILES, "file_size": _MEMORY, "cpu": 10}

    def enter() -> None:
        opened = confine.open_paths(readable.default_paths(site)) if machine.landlock else []
        opened += confine.open_grants(confine.Paths(tmp=scene.tmp)) if machine.landlock else []
        confine.confine(machine, opened, children=False, limits=limits)

    rows = []
    for attempt in ATTEMPTS:
        control = _succeeds(attempt, scene, lambda: None)
        rows.append([attempt.right, control, _succeeds(attempt, scene, enter)])
    found = {"rows": rows, "missing": machine.missing, "landlock": machine.landlock, "no_shm": _why_no_memory()}
    print(json.dumps(found))


def _why_no_memory() -> str:
    """Why a process cannot have a /dev/shm of its own here, in words; empty when it can."""
    from remit_sandbox.confine import shared

    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            shared.enter(_MEMORY)
        except BaseException as error:
            os.write(writer, str(getattr(error, "strerror", None) or error).encode("utf-8", "replace"))
        os._exit(0)
    os.close(writer)
    os.waitpid(child, 0)
    with os.fdopen(reader, encoding="utf-8") as answer:
        return answer.read()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
