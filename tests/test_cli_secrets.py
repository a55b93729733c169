"""`remit secrets`: a reference is written down, a value goes into the keyring alone and is never shown."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.dist_info import write_pack
from tests.in_process import Here

PACK = """\
manifest = 1
[pack]
name = "mail"
[permissions]
secrets = ["token", "extra"]
[[skill]]
name = "send"
handler = "mail_pack:run"
uses = ["secrets"]
"""
VALUE = "s3cr3t-v4lue"


@pytest.fixture
def vault() -> Iterator[dict[tuple[str, str], str]]:
    """A keyring in memory, of the library's own kind."""
    keyring = pytest.importorskip("keyring")
    from keyring.backend import KeyringBackend
    from keyring.errors import PasswordDeleteError

    kept: dict[tuple[str, str], str] = {}

    class Memory(KeyringBackend):
        priority = 1

        def get_password(self, service: str, username: str) -> str | None:
            return kept.get((service, username))

        def set_password(self, service: str, username: str, password: str) -> None:
            kept[service, username] = password

        def delete_password(self, service: str, username: str) -> None:
            if kept.pop((service, username), None) is None:
                raise PasswordDeleteError(username)

    before = keyring.get_keyring()
    keyring.set_keyring(Memory())  # type: ignore[no-untyped-call]
    yield kept
    keyring.set_keyring(before)


@pytest.fixture
def here(tmp_path: Path) -> Here:
    made = Here(place=tmp_path, environment={"MAIL_TOKEN": VALUE}).make()
    write_pack(made.site, "mail", manifest=PACK)
    return made


def rows(here: Here, expect: int = 0) -> dict[str, dict[str, object]]:
    return {row["name"]: row for row in here.remit("secrets", "list", "--json", expect=expect).json}


def test_references_are_bound_listed_and_removed(here: Here) -> None:
    here.remit("packs", "enable", "mail", "--yes")
    assert "not bound: remit secrets set mail.token" in here.remit("secrets", "list", expect=1).out
    here.remit("secrets", "set", "mail.token", "env:MAIL_TOKEN")
    assert 'secrets.token = "env:MAIL_TOKEN"' in here.config
    (here.place / "extra").write_text(VALUE)
    here.remit("secrets", "set", "mail.extra", f"file:{here.place}/extra")
    shown = here.remit("secrets", "list")
    assert "env:MAIL_TOKEN" in shown.out and VALUE not in shown.out + shown.err
    assert all(row["found"] for row in rows(here).values())
    here.remit("packs", "diff")
    assert here.remit("audit", "--json").json["skills"]
    here.remit("secrets", "set", "mail.token", "env:NOT_THERE")
    assert rows(here, expect=1)["token"]["why"] == "the environment variable NOT_THERE is not set"
    here.remit("secrets", "remove", "mail.token")
    assert "token" not in here.config
    assert "not bound here" in here.remit("secrets", "remove", "mail.token", expect=2).err


def test_a_value_goes_into_the_keyring_and_nowhere_else(here: Here, vault: dict[tuple[str, str], str]) -> None:
    told = here.remit("secrets", "set", "mail.token", stdin=f"{VALUE}\n".encode())
    assert list(vault.values()) == [VALUE]
    ((service, name),) = vault
    assert f'"keyring:{service}/{name}"' in here.config and name == "mail.token"
    assert VALUE not in told.out + told.err + here.config
    assert rows(here)["token"]["found"] is True
    assert not any(VALUE.encode() in path.read_bytes() for path in (here.place / "state").rglob("*") if path.is_file())
    here.remit("secrets", "remove", "mail.token")
    assert vault == {} and '"keyring:' not in here.config


def test_a_value_is_no_argument_and_is_not_repeated(here: Here) -> None:
    told = here.remit("secrets", "set", "mail.token", VALUE, expect=2)
    assert VALUE not in told.err and "no reference" in told.err
    assert "empty" in here.remit("secrets", "set", "mail.token", stdin=b"\n", expect=2).err
    assert "not UTF-8" in here.remit("secrets", "set", "mail.token", stdin=b"\xff\xfe", expect=2).err


def test_a_keyring_that_fails_says_what_to_do_and_not_the_value(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    keyring = pytest.importorskip("keyring")

    def fail(*arguments: str) -> None:
        raise RuntimeError(f"cannot keep {arguments}")

    monkeypatch.setattr(keyring, "set_password", fail)
    told = here.remit("secrets", "set", "mail.token", stdin=VALUE.encode(), expect=1)
    assert VALUE not in told.err and "RuntimeError" in told.err and "env:NAME" in told.err


@pytest.mark.parametrize(
    ("secret", "said"),
    [("mial.token", "did you mean 'mail'"), ("mail.tokn", "did you mean 'token'"), ("mail", "write PACK.NAME")],
)
def test_what_no_pack_asks_for_is_named(here: Here, secret: str, said: str) -> None:
    assert said in here.remit("secrets", "set", secret, "env:X", expect=2).err


def test_an_edit_that_nobody_accepted_is_not_accepted_on_the_way(here: Here) -> None:
    here.edit('write = "ask"', 'write = "allow"')
    assert "default for write" in here.remit("secrets", "set", "mail.token", "env:MAIL_TOKEN", expect=4).err
    assert "MAIL_TOKEN" not in here.config
