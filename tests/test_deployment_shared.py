"""`[packs.NAME] shared`: only the deployer lets one cell serve several sessions."""

from __future__ import annotations

import pytest

from remit.deployment.config import PackConfig
from remit.deployment.layers import _pack


def test_a_pack_is_not_shared_unless_the_deployment_says_so() -> None:
    assert not PackConfig().shared
    assert PackConfig.model_validate({"shared": True}).shared


@pytest.mark.parametrize(("upper", "holds"), [({}, True), ({"shared": True}, True), ({"shared": False}, False)])
def test_a_managed_file_can_forbid_it_and_cannot_demand_it(upper: dict[str, bool], holds: bool) -> None:
    managed = PackConfig.model_validate(upper)
    assert _pack(managed, PackConfig(shared=True)).shared is holds
    assert not _pack(managed, PackConfig()).shared
