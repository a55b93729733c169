"""The pack `python` in cells; what programs may do is tested where the engine is."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from remit.testing import TriedPack


def test_a_program_runs_and_a_session_keeps_its_variables(remit_pack: TriedPack) -> None:
    assert remit_pack.value("run", code="import statistics\nstatistics.mean([3, 4, 8])") == {"value": 5}
    remit_pack.value("run_in_session", code="x = 20")
    assert remit_pack.value("run_in_session", code="x + 1") == {"value": 21}
    assert "NameError" in remit_pack.value("run", code="x")["error"]


def test_files_are_out_of_reach(remit_pack: TriedPack) -> None:
    assert "error" in remit_pack.value("run", code="open('/etc/passwd').read()")
