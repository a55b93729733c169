"""A deployment that this person has not accepted does nothing."""

from __future__ import annotations

import json
import shutil
import stat
from pathlib import Path

import pytest

from remit.deployment.deployment import Deployment
from remit.deployment.enable import enable
from remit.deployment.init import init
from remit.deployment.trust import propose_trust, trust, trust_digest
from remit.errors import DeploymentError, NotTrusted, UsageError
from remit.state_folder import open_state
from tests.packaging import build_site

NOWHERE = Path("/nonexistent/remit.toml")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "deployment"
    place.mkdir()
    (place / "remit.toml").write_text("policy = 1\n[defaults]\nwrite = 'ask'\n")
    return place


def opens(folder: Path, managed: Path = NOWHERE) -> bool:
    try:
        with Deployment.open(folder, managed=managed):
            return True
    except NotTrusted:
        return False


def test_a_cloned_deployment_does_nothing_until_it_is_trusted(folder: Path) -> None:
    with pytest.raises(NotTrusted) as caught:
        Deployment.open(folder)
    assert "remit trust" in caught.value.remedy
    with Deployment.open(folder, require_trust=False) as looked_at:
        assert not looked_at.standing.trusted
    acceptance = trust(folder)
    assert acceptance.digest == trust_digest(folder)
    assert opens(folder)


def test_narrowing_edits_keep_the_trust_and_widening_ones_say_what(folder: Path) -> None:
    trust(folder)
    config = folder / "remit.toml"
    config.write_text("policy = 1\n# stricter\n[defaults]\nwrite = 'deny'\n")
    assert opens(folder)
    config.write_text("policy = 1\n[defaults]\nwrite = 'allow'\n")
    with pytest.raises(NotTrusted, match="write: ask becomes allow"):
        Deployment.open(folder)
    config.write_text("policy = 1\n[defaults]\nwrite = 'ask'\n[model]\nbase_url = 'http://evil.example/v1'\n")
    with pytest.raises(NotTrusted, match=r"model\.base_url"):
        Deployment.open(folder)
    config.write_text("policy = 1\n[defaults]\nwrite = 'ask'\n")
    assert opens(folder)


def test_a_machine_accepts_with_the_digest(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    digest = trust_digest(folder)
    assert digest.startswith("sha256:")
    monkeypatch.setenv("REMIT_TRUST", "sha256:" + "0" * 64)
    with pytest.raises(NotTrusted, match=f"REMIT_TRUST accepts other files .*0{{64}}.* these have {digest}"):
        Deployment.open(folder)
    monkeypatch.setenv("REMIT_TRUST", digest)
    assert opens(folder)
    (folder / "remit.lock").write_text("")
    assert opens(folder)
    (folder / "remit.toml").write_text("policy = 1\n")
    assert not opens(folder)


def test_a_managed_file_accepts_with_the_digest(folder: Path, tmp_path: Path) -> None:
    managed = tmp_path / "managed.toml"
    managed.write_text("policy = 1\n")
    assert not opens(folder, managed)
    managed.write_text(f"policy = 1\ntrust = ['{trust_digest(folder)}']\n")
    assert opens(folder, managed)


def test_trust_takes_a_digest_and_refuses_another(folder: Path) -> None:
    with pytest.raises(UsageError, match="not the one"):
        trust(folder, digest="sha256:" + "0" * 64)
    assert not opens(folder)
    trust(folder, digest=trust_digest(folder))
    assert opens(folder)


def test_what_was_shown_is_what_is_accepted(folder: Path) -> None:
    proposal = propose_trust(folder)
    assert any("write ask" in line for line in proposal.lines)
    (folder / "remit.toml").write_text("policy = 1\n[defaults]\nwrite = 'allow'\n")
    with pytest.raises(UsageError):
        proposal.apply()
    assert not opens(folder)
    propose_trust(folder).apply()
    assert opens(folder)


def test_a_copy_of_a_trusted_deployment_is_not_trusted(folder: Path, tmp_path: Path) -> None:
    trust(folder)
    shutil.copytree(folder, tmp_path / "copy")
    assert opens(folder)
    assert not opens(tmp_path / "copy")


def test_a_forged_or_foreign_acceptance_counts_for_nothing(folder: Path, tmp_path: Path) -> None:
    trust(folder)
    record = open_state(folder).path / "accepted.json"
    assert stat.S_IMODE(record.stat().st_mode) == 0o600
    good = record.read_text()
    assert opens(folder)

    forged = json.loads(good)
    forged["body"]["who"] = "somebody else"
    record.write_text(json.dumps(forged))
    assert not opens(folder)
    for rubbish in ("", "[]", '{"body": {}, "mac": 1}', '{"body": 3}'):
        record.write_text(rubbish)
        assert not opens(folder)

    other = tmp_path / "other"
    shutil.copytree(folder, other)
    (open_state(other).path / "accepted.json").write_text(good)
    assert not opens(other)
    record.write_text(good)
    assert opens(folder)


def test_another_key_makes_every_acceptance_void(folder: Path, private_state: Path) -> None:
    trust(folder)
    assert opens(folder)
    (private_state / "key").unlink()
    assert not opens(folder)


def test_what_init_writes_is_accepted(tmp_path: Path) -> None:
    init(tmp_path).apply()
    assert opens(tmp_path)


def test_what_is_shown_is_what_the_chosen_skills_are_given(tmp_path: Path) -> None:
    place = tmp_path / "made"
    place.mkdir()
    init(place, enforcement="available").apply()
    site = [str(build_site(tmp_path, "good"))]
    enable(place, "good", skills=["read"], grants={"fs.read": ["${workspace}/docs/**"]}, paths=site).apply()
    copy = Path(shutil.copytree(place, tmp_path / "clone"))
    lines = propose_trust(copy).lines
    start = lines.index("pack good (remit-test-good 1.0.0), its skills together:")
    assert lines[start + 1 :] == ("  may read everything in docs (in the workspace)", "  skills: read")
    config = copy / "remit.toml"
    config.write_text(config.read_text().replace('skills = ["read"]', 'skills = ["read", "save"]'))
    config.write_text(config.read_text().replace("grant.fs.write = []\n", ""))
    assert "  may change everything in out (in the workspace)" in propose_trust(copy).lines


def test_a_workspace_that_every_command_refuses_is_not_accepted(folder: Path) -> None:
    config = folder / "remit.toml"
    config.write_text('policy = 1\nworkspace = ".."\n')
    for attempt in (propose_trust, trust):
        with pytest.raises(DeploymentError, match="workspace"):
            attempt(folder)
    config.write_text('policy = 1\nworkspace = "beside"\n')
    trust(folder)
    assert opens(folder)
    config.write_text('policy = 1\nworkspace = "other"\n')
    assert 'changed: workspace: "beside" becomes "other"' in propose_trust(folder).lines
