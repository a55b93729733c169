"""Anchors become real paths, and protected places stay out of reach."""

from __future__ import annotations

from pathlib import Path

import pytest

from remit.deployment.anchors import resolve_paths, workspace_of
from remit.deployment.protected import conflict, narrower, protected_paths
from remit.errors import DeploymentError, PolicyError
from remit.state_folder import state_root


def test_files_and_folders_resolve_to_real_paths(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "one.txt").write_text("1")
    found = resolve_paths(["${workspace}/docs/**", "${workspace}/one.txt"], {"workspace": tmp_path})
    assert found.paths == (f"{tmp_path}/docs/**", f"{tmp_path}/one.txt")
    assert found.notes == ()


def test_what_is_missing_gives_nothing_and_is_said(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    patterns = ["${workspace}/none/**", "${workspace}/none.txt", "${workspace}/docs", "${tmp}/**"]
    found = resolve_paths(patterns, {"workspace": tmp_path})
    assert found.paths == ()
    assert [note.partition(":")[0] for note in found.notes[:2]] == patterns[:2]
    assert "/**" in found.notes[2] and len(found.notes) == 3


def test_a_missing_folder_to_write_is_made_below_its_anchor(tmp_path: Path) -> None:
    found = resolve_paths(["${workspace}/out/deep/**"], {"workspace": tmp_path}, create=True)
    assert found.paths == (f"{tmp_path}/out/deep/**",)
    assert (tmp_path / "out" / "deep").is_dir()
    assert resolve_paths([f"{tmp_path}/other/**"], {}, create=True).paths == ()


def test_a_link_that_leads_out_of_the_anchor_is_refused(tmp_path: Path) -> None:
    workspace, outside = tmp_path / "workspace", tmp_path / "outside"
    workspace.mkdir()
    outside.mkdir()
    (workspace / "inside").mkdir()
    (workspace / "good").symlink_to(workspace / "inside")
    (workspace / "bad").symlink_to(outside)
    good = resolve_paths(["${workspace}/good/**"], {"workspace": workspace})
    assert good.paths == (f"{workspace}/inside/**",)
    with pytest.raises(PolicyError, match="leads out"):
        resolve_paths(["${workspace}/bad/**"], {"workspace": workspace})
    assert not list(outside.iterdir())


def test_the_workspace_never_holds_the_policy(tmp_path: Path) -> None:
    (tmp_path / "remit.toml").write_text("policy = 1")
    assert workspace_of(tmp_path, "workspace") == tmp_path / "workspace"
    for written in (".", "..", str(tmp_path), "workspace/.."):
        with pytest.raises(DeploymentError, match="workspace"):
            workspace_of(tmp_path, written)
    other = tmp_path / "other"
    other.mkdir()
    (other / "remit.toml").write_text("policy = 1")
    with pytest.raises(DeploymentError, match="workspace"):
        workspace_of(tmp_path, "other")


@pytest.fixture
def deployment(tmp_path: Path) -> Path:
    folder = tmp_path / "deployment"
    (folder / "workspace" / "docs").mkdir(parents=True)
    (folder / "remit.toml").write_text("policy = 1")
    return folder


def test_a_plain_workspace_is_free(deployment: Path) -> None:
    assert conflict(deployment / "workspace", protected_paths(deployment)) is None


def test_policy_lock_state_and_start_files_are_protected(
    deployment: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    (home / ".ssh").mkdir(parents=True)
    (home / "work").mkdir()
    monkeypatch.setenv("HOME", str(home))
    protected = protected_paths(deployment)
    for root, what in (
        (deployment, "policy"),
        (Path("/"), "policy"),
        (deployment / ".git" / "hooks", "git"),
        (state_root() / "deployments", "state"),
        (home, "start file"),
        (home / ".ssh", "keys"),
        (Path("/usr/share"), "system"),
    ):
        found = conflict(root, protected)
        assert found is not None, root
        assert what in found.what or root == Path("/"), (root, found)
    assert conflict(home / "work", protected) is None


@pytest.mark.parametrize("name", [".git", "pyvenv.cfg", "remit.lock"])
def test_protected_things_deep_inside_are_found(deployment: Path, name: str) -> None:
    docs = deployment / "workspace" / "docs"
    assert conflict(deployment / "workspace", protected_paths(deployment)) is None
    (docs / name).write_text("")
    assert conflict(deployment / "workspace", protected_paths(deployment)) is not None
    assert conflict(deployment / "workspace" / "other", protected_paths(deployment)) is None


def test_narrower_folders_are_proposed(deployment: Path) -> None:
    protected = protected_paths(deployment)
    (deployment / "workspace" / ".git").mkdir()
    (deployment / "workspace" / "inner").mkdir()
    (deployment / "workspace" / "inner" / "pyvenv.cfg").write_text("")
    (deployment / "workspace" / "link").symlink_to("/etc")
    assert narrower(deployment / "workspace", protected) == (deployment / "workspace" / "docs",)
    assert narrower(deployment / ".git", protected) == ()
