"""Several people stop things at once: no switch is lost, and nobody waits for one who hangs."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from remit.state.switches import Switches, off_now


def test_switches_that_are_set_at_once_are_all_kept(tmp_path: Path) -> None:
    names = [f"pack{number}" for number in range(12)]
    gate = threading.Barrier(len(names))

    def switch(name: str) -> None:
        switches = Switches(tmp_path)
        gate.wait()
        switches.switch_off(off_now(name, reason="", who="ann"))

    threads = [threading.Thread(target=switch, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {off.name for off in Switches(tmp_path).all()} == set(names)


def test_whoever_hangs_with_the_lock_keeps_nothing_running(tmp_path: Path) -> None:
    fcntl = pytest.importorskip("fcntl")
    with (tmp_path / "switches.lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        Switches(tmp_path).switch_off(off_now("*", reason="", who="ann"))
    assert Switches(tmp_path).all()
