"""References to secrets: a value comes out, and never into a message."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

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
        ("sk-very-secret", "env:"),
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


class Ring:
    """A backend in memory, which may be locked."""

    def __new__(cls, held: dict[tuple[str, str], str], *, locked: bool = False) -> Any:
        backend = pytest.importorskip("keyring.backend")
        errors = importlib.import_module("keyring.errors")

        class InMemory(backend.KeyringBackend):  # type: ignore[misc, name-defined]
            priority = 1

            def get_password(self, service: str, username: str) -> str | None:
                if locked:
                    raise errors.KeyringLocked("the value was hunter2hunter2")
                return held.get((service, username))

            def set_password(self, service: str, username: str, password: str) -> None:
                held[service, username] = password

        return InMemory()


@pytest.fixture
def ring() -> Iterator[Callable[..., None]]:
    """Puts a backend into the real package, and the old one back."""
    keyring = pytest.importorskip("keyring")
    before = keyring.get_keyring()
    yield lambda *held, **more: keyring.set_keyring(Ring(*held, **more))
    keyring.set_keyring(before)


def test_the_keyring_is_read_through_the_real_package(ring: Callable[..., None]) -> None:
    ring({("mail", "token"): "s3cret"})
    assert resolve_secret("keyring:mail/token") == "s3cret"
    with pytest.raises(DeploymentError, match="holds nothing under mail/other"):
        resolve_secret("keyring:mail/other")


def test_a_locked_keyring_says_so_and_shows_nothing(ring: Callable[..., None]) -> None:
    ring({}, locked=True)
    with pytest.raises(DeploymentError, match="KeyringLocked") as caught:
        resolve_secret("keyring:mail/token")
    assert "hunter2" not in str(caught.value) and "env:NAME" in caught.value.remedy


def test_a_machine_without_a_keyring_says_what_else_there_is() -> None:
    pytest.importorskip("keyring")
    code = "from remit.deployment.secret_values import resolve_secret\nresolve_secret('keyring:mail/token')"
    environment = {**os.environ, "PYTHON_KEYRING_BACKEND": "keyring.backends.fail.Keyring"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=False)
    assert "DeploymentError: the keyring of this machine cannot be read" in done.stderr
    environment["PYTHON_KEYRING_BACKEND"] = "keyring.backends.null.Keyring"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=False)
    assert "DeploymentError: the keyring holds nothing" in done.stderr


def test_a_missing_keyring_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("remit.deployment.secret_values.find_spec", lambda name: None)
    with pytest.raises(DeploymentError, match="package keyring") as caught:
        resolve_secret("keyring:service/name")
    assert "env:NAME" in caught.value.remedy
