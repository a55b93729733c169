"""The permission matrix, and what would allow what is not allowed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from remit.cli.audit_text import enforcers, unheld
from remit.deployment.audit import AuditRow, audit_rows
from remit.deployment.deployment import Deployment
from remit.deployment.enable import enable
from remit.deployment.init import init
from remit.deployment.remedies import allow_remedy
from remit.deployment.trust import trust
from remit_sandbox.values import Enforced
from tests.packaging import build_site

HELD = (Enforced(right="files", by="kernel", detail="Landlock"), Enforced(right="disk", by="polled", detail=""))


@contextmanager
def made(place: Path) -> Iterator[Deployment]:
    folder = place / "deployment"
    folder.mkdir()
    init(folder, enforcement="available").apply()
    site = [str(build_site(place, "good", "liar", "slow"))]
    enable(folder, "good", skills=["add", "read", "wipe"], paths=site).apply()
    enable(folder, "liar", paths=site).apply()
    with Deployment.open(folder, paths=site) as opened:
        yield opened


@pytest.fixture(scope="module")
def deployment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("REMIT_STATE", str(tmp_path_factory.mktemp("state")))
        with made(tmp_path_factory.mktemp("audit")) as opened:
            yield opened


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Deployment]:
    """One that a test may change or open again."""
    with made(tmp_path) as opened:
        yield opened


def row(deployment: Deployment, skill: str) -> AuditRow:
    return {row.skill: row for row in audit_rows(deployment, enforcement=HELD)}[skill]


def test_what_a_skill_never_asked_for_is_not_said_to_be_loose(deployment: Deployment) -> None:
    shm = Enforced(right="shared memory of its own", by="not enforced", detail="")
    (one, *_) = audit_rows(deployment, enforcement=(*HELD, shm))
    assert (enforcers(one), unheld(one)) == (["kernel"], [])
    asks = replace(one, right={**one.right, "shm": ("true",)})
    assert enforcers(asks) == ["NOT ENFORCED:", "shared memory of its own"] and unheld(asks)


def test_every_skill_has_a_row(deployment: Deployment) -> None:
    rows = audit_rows(deployment, enforcement=HELD)
    assert [one.skill for one in rows] == sorted(deployment.skills)
    assert json.loads(json.dumps([asdict(one) for one in rows]))[0]["enforcement"] == {
        "files": "kernel",
        "disk": "polled",
    }


def test_a_row_shows_permission_grant_right_and_verdict(deployment: Deployment) -> None:
    wipe = row(deployment, "good.wipe")
    assert (wipe.effect, wipe.impact, wipe.verdict, wipe.source) == ("write", ("destroy",), "ask", "impact destroy")
    assert wipe.permission["fs.write"] == wipe.right["fs.write"] == ("${data}/**", "${workspace}/out/**")
    assert row(deployment, "good.add").verdict == "allow"
    assert row(deployment, "liar.write").source == "default write"


def test_a_declared_read_on_trust_is_marked(deployment: Deployment) -> None:
    assert row(deployment, "liar.fetch").verified is False
    assert row(deployment, "liar.honest").verified is True


def test_this_machine_is_probed_when_nothing_is_given(deployment: Deployment) -> None:
    assert audit_rows(deployment)[0].enforcement


@pytest.mark.parametrize(
    ("skill", "reason", "remedy"),
    [
        ("good.save", "not among its chosen skills", 'skills = ["add", "read", "wipe", "save"]'),
        ("slow.sleep", "pack slow is not enabled", "remit packs enable slow"),
        ("slow__sleep", "pack slow is not enabled", "remit packs enable slow"),
        ("good.ad", "did you mean good.add?", "remit packs list"),
        ("nothing", "there is no skill", "remit packs list"),
    ],
)
def test_a_skill_that_cannot_be_called_comes_with_what_would_help(
    deployment: Deployment, skill: str, reason: str, remedy: str
) -> None:
    found = allow_remedy(deployment, skill)
    assert reason in found.reason
    assert remedy in found.remedy


def test_read_only_mode_is_named(own: Deployment) -> None:
    site = [str(own.folder.parent / "site")]
    with Deployment.open(own.folder, paths=site, read_only=True) as reading:
        assert "--read-only" in allow_remedy(reading, "good.wipe").remedy


RULES = """
[[rule]]
id = "a"
verdict = "deny"
match = { skill = "good.add" }
[[rule]]
id = "read"
verdict = "ask"
match = { skill = "good.read" }
unless = { arguments = { path = { eq = "a.txt" } } }
[[rule]]
id = "yes"
verdict = "allow"
match = { skill = "liar.write" }
[[rule]]
id = "destroy"
verdict = "ask-apart"
match = { skill = "good.wipe", asked_by = "model" }
"""


def test_rules_without_conditions_give_the_verdict_and_others_may_change_it(own: Deployment) -> None:
    before = {one.skill: (one.verdict, one.source) for one in audit_rows(own, enforcement=HELD)}
    config = own.folder / "remit.toml"
    config.write_text(config.read_text() + RULES)
    trust(own.folder)
    site = [str(own.folder.parent / "site")]
    with Deployment.open(own.folder, paths=site) as ruled:
        after = {one.skill: (one.verdict, one.source, one.rules) for one in audit_rows(ruled, enforcement=HELD)}
    assert (before["good.add"], after["good.add"]) == (("allow", "default read"), ("deny", "rule a", ()))
    assert before["liar.write"] == ("ask", "default write")
    assert after["liar.write"][0] == "allow" and after["liar.write"][2] == ()
    assert after["good.read"] == ("allow", "default read", ("read",))
    assert after["good.wipe"] == ("ask", "impact destroy", ("destroy",))
