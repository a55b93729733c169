"""Keys: where they are kept, and what is said when nothing is there."""

from __future__ import annotations

from pathlib import Path

import pytest

from remit.models.keys import resolve_key, why_no_key


@pytest.mark.parametrize(
    ("reference", "says"),
    [
        (None, "no API key is configured"),
        ("env:NOPE_KEY", "the variable NOPE_KEY is not set: export NOPE_KEY="),
        ("file:/run/key", "api_key is file:/run/key"),
        ("keyring:remit/me", "the keyring holds nothing"),
    ],
)
def test_a_key_that_is_not_there_is_told_from_one_that_is_not_configured(reference: str | None, says: str) -> None:
    assert says in why_no_key(reference)


def test_a_variable_that_is_not_set_is_no_key(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("NOPE_KEY", raising=False)
    assert resolve_key("env:NOPE_KEY") is None
    monkeypatch.setenv("NOPE_KEY", " k-1\n")
    assert resolve_key("env:NOPE_KEY") == "k-1"
    (tmp_path / "key").write_text("k-2\nmore\n")
    assert resolve_key(f"file:{tmp_path / 'key'}") == "k-2"
