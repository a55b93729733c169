"""The pack `calc` in cells; what can be typed is tested where the engine is."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from remit.testing import TriedPack


def test_every_skill_answers(remit_pack: TriedPack) -> None:
    assert remit_pack.value("evaluate", expression="15% of 240")["result"] == "36"
    assert remit_pack.value("convert", amount="5", unit="km", to="m")["result"].startswith("5000")
    assert remit_pack.value("date_difference", start="2026-03-01", end="2026-12-25")["days"] == 299
    assert remit_pack.value("date_after", start="2026-01-15", days=90) == {"date": "2026-04-15", "weekday": "Wednesday"}


def test_what_is_no_arithmetic_is_refused_in_words(remit_pack: TriedPack) -> None:
    result = remit_pack.call("evaluate", expression="__import__('os')")
    assert result.status == "failed" and "CalculationError" in result.text


def test_it_has_no_right_at_all(remit_pack: TriedPack) -> None:
    assert all(skill.right == {} and skill.effect == "read" for skill in remit_pack.skills.values())
