"""The pack `clock` in cells."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from remit.testing import TriedPack


def test_the_time_in_a_zone_and_the_nearest_name(remit_pack: TriedPack) -> None:
    told = remit_pack.value("now", timezone="Asia/Shanghai")
    moment = datetime.fromisoformat(told["iso"])
    assert moment.utcoffset() is not None and told["weekday"] == f"{moment:%A}"
    result = remit_pack.call("now", timezone="Lisbon")
    assert result.status == "failed" and "did you mean Europe/Lisbon?" in result.text
