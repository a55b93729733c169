"""References to secrets: a value comes out, and never into a message."""

from __future__ import annotations

from pathlib import Path

import pytest

from remit.deployment.secret_values import resolve_secret
from remit.errors import DeploymentError


def test_the_environment_and_files_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKEN", "s3cret\n")
    assert resolve_secret("env:TOKEN") == "s3cret"
    (tmp_path / "token").write_bytes(b"\xef\xbb\xbfs3cret\r\n")
    assert resolve_secret(f"file:{tmp_path}/token") == "s3cret"
    assert resolve_secret("file:token", folder=tmp_path) == "s3cret"


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        ("env:REMIT_NOT_SET", "REMIT_NOT_SET is not set"),
        ("file:/nonexistent/token", "cannot be read"),
        ("file:/dev/null", "no regular file"),
        ("keyring:only", "service/name"),
        ("sk-very-secret", "env:NAME"),
    ],
)
def test_what_cannot_be_resolved_says_why_without_a_value(reference: str, message: str) -> None:
    with pytest.raises(DeploymentError, match=message) as caught:
        resolve_secret(reference)
    assert "very-secret" not in str(caught.value)


def test_an_empty_or_binary_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_bytes(b" \n")
    with pytest.raises(DeploymentError, match="empty"):
        resolve_secret(f"file:{path}")
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(DeploymentError, match="UTF-8"):
        resolve_secret(f"file:{path}")


def test_a_missing_keyring_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("remit.deployment.secret_values.find_spec", lambda name: None)
    with pytest.raises(DeploymentError, match="package keyring") as caught:
        resolve_secret("keyring:service/name")
    assert "env:NAME" in caught.value.remedy
