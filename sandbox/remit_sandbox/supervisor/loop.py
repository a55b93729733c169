"""The supervisor's one loop: orders of the host, output of the cells, ends of both."""

from __future__ import annotations

import gc
import os
import select
import signal
import socket
import time
from collections.abc import Sequence

from remit_sandbox.confine import confine, kernel, process, readable, seccomp
from remit_sandbox.errors import ProtocolError
from remit_sandbox.frames import FrameReader, Message, encode
from remit_sandbox.supervisor import cgroup, folders, launch, tree
from remit_sandbox.supervisor.cells import Child, Stream
from remit_sandbox.supervisor.polled import Rounds

_ORDER_LIMIT = 16 * 1024 * 1024
_TICK = 500
_REAP_WAIT = 2.0
_REAP_PAUSE = 0.0005
_OWN_END = 0.05


class Supervisor:
    """Forks, watches and ends cells for one host, and dies with it.

    Args:
        control: descriptor of the socket to the host.
        host_pidfd: descriptor that tells when the host ends, -1 where the system has none.
        host: process id of the host, which is the parent of this process.
        folder: where temporary folders are made.
        highest_abi: the newest Landlock ABI to use.
        site: folders that hold the packages of the supervisor itself.
    """

    def __init__(
        self, *, control: int, host_pidfd: int, host: int, folder: str, highest_abi: int, site: Sequence[str]
    ) -> None:
        self._control = socket.socket(fileno=control)
        self._host_pidfd = host_pidfd
        self._host = host
        self._base = folders.make_base(folder)
        self._machine = confine.means(highest_abi)
        self._site = site
        self._children: dict[int, Child] = {}
        self._streams: dict[int, Stream] = {}
        self._reader = FrameReader(_ORDER_LIMIT)
        self._received: list[int] = []
        self._rounds = Rounds()
        self._groups = cgroup.delegated(os.environ.pop(cgroup.VARIABLE, None))
        self._poll = select.poll()
        self._certificates: list[confine.Opened] | None = None
        self._opened: list[confine.Opened] = []
        self._orders = {"settle": self._settle, "output": self._output, "usage": self._usage, "end": self._end}

    def run(self) -> None:
        """Serve until the host is gone, then end every cell and remove every folder."""
        process.adopt_orphans()
        process.hide_memory(True)
        try:
            self._warm()
            self._send({"op": "ready", "base": self._base, "pid": os.getpid(), "missing": self._machine.missing})
            self._serve()
        except (OSError, ProtocolError):
            pass
        finally:
            self._end_all()

    def _warm(self) -> None:
        from remit_sandbox.inside.warm import warm

        warm()
        launch.prepare()
        if not self._machine.no_seccomp:
            seccomp.prepare(self._machine.landlock)
        if self._machine.landlock:
            self._opened = confine.open_paths(readable.default_paths(self._site))
            self._opened += confine.open_devices(readable.WRITABLE_DEVICES)
        gc.collect()
        gc.freeze()

    def _serve(self) -> None:
        woken, waker = socket.socketpair()
        woken.setblocking(False)
        waker.setblocking(False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(waker.fileno(), warn_on_full_buffer=False)
        watched = [self._control.fileno(), woken.fileno()]
        for descriptor in [*watched, self._host_pidfd]:
            if descriptor >= 0:
                self._poll.register(descriptor, select.POLLIN)
        null = os.open(os.devnull, os.O_RDWR)
        for number in (1, 2):
            os.dup2(null, number)
        os.close(null)
        while self._turn(woken):
            pass

    def _turn(self, woken: socket.socket) -> bool:
        """One round; False when the host is gone."""
        for descriptor, _ in self._poll.poll(_TICK if self._needs_tick() else None):
            if descriptor == self._host_pidfd:
                return False
            if descriptor == self._control.fileno():
                if not self._receive():
                    return False
            elif descriptor == woken.fileno():
                woken.recv(4096)
                self._reap()
            elif descriptor in self._streams:
                self._drain(self._streams[descriptor])
        self._rounds.go(self._children.values())
        return self._host_pidfd >= 0 or os.getppid() == self._host

    def _needs_tick(self) -> bool:
        return bool(self._children) or self._host_pidfd < 0

    def _receive(self) -> bool:
        data, descriptors, _, _ = socket.recv_fds(self._control, self._reader.wanted(), 8)
        self._received += descriptors
        message = self._reader.feed(data) if data else None
        while message is not None:
            answer = self._answer(message)
            self._send({**answer, "id": message.get("id")})
            if answer["op"] == "spawned":  # the host need not wait for this, and the pack is not imported yet
                self._rounds.remember(self._children[answer["pid"]])
            message = self._reader.feed(b"") if self._reader.pending else None
        return bool(data)

    def _send(self, message: Message) -> None:
        self._control.sendall(b"".join(encode(message)))

    def _answer(self, message: Message) -> Message:
        received, self._received = self._received, []
        try:
            if message["op"] == "spawn":
                return self._spawn(message, received)
            child = self._children.get(message["pid"])
            if child is None:
                return {"op": "gone"}
            return self._orders[message["op"]](child, message)
        except Exception as error:
            return {"op": "error", "error": f"{type(error).__name__}: {error}"}
        finally:
            for descriptor in received:
                os.close(descriptor)

    def _spawn(self, order: Message, received: Sequence[int]) -> Message:
        tmp = folders.make_private(self._base)
        group = None
        try:
            group = self._group(order)
            return self._fork(order, received, tmp, group)
        except BaseException:
            folders.remove(tmp)
            if group is not None:
                group.remove()
            raise

    def _group(self, order: Message) -> cgroup.Group | None:
        if self._groups is None:
            return None
        return self._groups.make(order["limits"], children=order["isolation"] == "process")

    def _fork(self, order: Message, received: Sequence[int], tmp: str, group: cgroup.Group | None) -> Message:
        order["group"] = str(group.path) if group is not None else ""
        opened = [*self._opened, *(self._certificate_paths() if order["net"] else ())]
        order["tasks"] = self._tasks(order)
        parent = os.getpid()
        readers, writers = _pipes(2)
        try:
            pid = os.fork()
            if pid == 0:
                given = [*writers, *received]
                launch.run_cell(order, given, tmp=tmp, machine=self._machine, opened=opened, parent=parent)
        except BaseException:
            _close_all(readers)
            raise
        finally:
            _close_all(writers)
        self._children[pid] = self._child(pid, tmp, order, readers)
        self._children[pid].group = group
        return {"op": "spawned", "pid": pid, "tmp": tmp}

    def _child(self, pid: int, tmp: str, order: Message, readers: Sequence[int]) -> Child:
        limits = order["limits"]
        for reader in readers:
            os.set_blocking(reader, False)
            self._poll.register(reader, select.POLLIN)
            self._streams[reader] = Stream(reader, limits["output"])
        stdout, stderr = (self._streams[reader] for reader in readers)
        most = limits["processes"] if order["isolation"] == "process" else None
        return Child(
            pid=pid,
            tmp=tmp,
            roots=[grant.removesuffix("/**") or "/" for grant in order["write"] if grant.endswith("/**")],
            stdout=stdout,
            stderr=stderr,
            disk=limits["disk"],
            memory=limits["memory"],
            cpu=limits["cpu"],
            processes=most,
        )

    def _tasks(self, order: Message) -> int | None:
        """The limit on processes of the user: what there is now and what the cell may have."""
        most = order["limits"]["processes"]
        if order["isolation"] != "process" or not most or not kernel.LINUX:
            return None
        return tree.tasks_of_user(os.getuid()) + int(most) + len(os.sched_getaffinity(0)) * 4

    def _certificate_paths(self) -> list[confine.Opened]:
        if self._certificates is None:
            here = readable.certificate_paths() if self._machine.landlock else ()
            self._certificates = confine.open_paths(here)
        return self._certificates

    def _settle(self, child: Child, _: Message) -> Message:
        process.settle_memory(child.pid, child.memory)
        if child.group is not None:
            child.group.settle(child.memory)
        return {"op": "settled"}

    def _usage(self, child: Child, _: Message) -> Message:
        return {"op": "usage", "grown": child.grown}

    def _output(self, child: Child, _: Message) -> Message:
        return {"op": "output", **child.output()}

    def _end(self, child: Child, order: Message) -> Message:
        """Kill a cell and all that it started, and tell how it ended and what it printed."""
        self._await(child, _OWN_END if order["wait"] else 0)
        ended = child.status
        if ended is None:
            child.kill()
            if not order["later"]:
                self._await(child, _REAP_WAIT)
        answer = {"op": "ended", "status": ended, "reason": child.reason, **child.output()}
        child.unwanted = True
        if child.status is not None or not order["later"]:
            self._forget(child)
        return answer

    def _forget(self, child: Child) -> None:
        """Let nothing remain of a cell that has ended."""
        del self._children[child.pid]
        if child.processes is not None or self._machine.no_seccomp:
            tree.sweep(os.getpid(), set(self._children))
        for stream in (child.stdout, child.stderr):
            self._unwatch(stream)
        child.close()
        folders.remove(child.tmp)
        if child.group is not None:
            child.group.remove()

    def _await(self, child: Child, seconds: float) -> None:
        """Wait until a cell has ended; a killed one that is stuck in the kernel is left to a later round."""
        deadline = time.monotonic() + seconds
        self._reap()
        while child.status is None and time.monotonic() < deadline:
            time.sleep(_REAP_PAUSE)
            self._reap()

    def _reap(self) -> None:
        """Collect whatever has ended: cells, and orphans that this process has adopted."""
        for pid, status, cpu in tree.ended(self._children):
            if child := self._children.get(pid):
                child.ended(status, cpu)
                if child.unwanted:
                    self._forget(child)
                else:
                    folders.remove(child.tmp)

    def _drain(self, stream: Stream) -> None:
        descriptor = stream.descriptor
        stream.drain()
        if not stream.open:
            self._poll.unregister(descriptor)
            del self._streams[descriptor]

    def _unwatch(self, stream: Stream) -> None:
        if self._streams.get(stream.descriptor) is stream:
            self._poll.unregister(stream.descriptor)
            del self._streams[stream.descriptor]

    def _end_all(self) -> None:
        for child in self._children.values():
            if child.status is None:
                child.kill()
        for child in self._children.values():
            self._await(child, _REAP_WAIT)
        self._children.clear()
        tree.sweep(os.getpid(), set())
        folders.remove(self._base)
        if self._groups is not None:
            self._groups.remove()


def _pipes(count: int) -> tuple[list[int], list[int]]:
    """Reading and writing ends of new pipes; none when one of them cannot be made."""
    readers: list[int] = []
    writers: list[int] = []
    try:
        for _ in range(count):
            reader, writer = os.pipe()
            readers.append(reader)
            writers.append(writer)
    except OSError:
        _close_all([*readers, *writers])
        raise
    return readers, writers


def _close_all(descriptors: Sequence[int]) -> None:
    for descriptor in descriptors:
        os.close(descriptor)
