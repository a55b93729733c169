"""What a cell was refused, for whoever uses the sandbox without anything else of Remit."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from remit_sandbox.broker.events import NetworkEvent
from remit_sandbox.denials import MOST, Denials
from remit_sandbox.errors import ProtocolError
from remit_sandbox.masking import Masks
from remit_sandbox.replies import reply_of
from remit_sandbox.sandbox import Sandbox
from remit_sandbox.values import Rights
from tests.sandbox_parts import make_pack, run, spec_of


def event(host: str, *, allowed: bool, missing: str = "") -> NetworkEvent:
    return NetworkEvent(pack="p", host=host, port=443, allowed=allowed, reason="why", missing=missing)


def test_refusals_are_kept_until_they_are_taken_and_everything_is_passed_on() -> None:
    heard: list[NetworkEvent] = []
    denials = Denials(heard.append)
    events = [
        event("a.example", allowed=False, missing="m"),
        event("b.example", allowed=True),
        event("", allowed=False),
    ]
    for one in events:
        denials.hear(one)
    assert heard == events
    kept, dropped = denials.take()
    assert [(one.what, one.missing, one.seen_by) for one in kept] == [("a.example:443", "m", "broker")] and not dropped
    assert denials.take() == ((), 0)
    assert denials.reached == ("b.example:443",)


def test_a_flood_of_refusals_is_counted() -> None:
    denials = Denials()
    for number in range(MOST + 7):
        denials.hear(event(f"h{number}.example", allowed=False))
        denials.hear(event(f"h{number}.example", allowed=True))
    kept, dropped = denials.take()
    assert len(kept) == MOST == len(denials.reached) and dropped == 7


def test_a_name_that_holds_a_secret_is_masked() -> None:
    denials = Denials(mask=Masks({"key": "hunter2"}).text)
    denials.hear(event("hunter2.evil.example", allowed=False, missing="hunter2.evil.example:443"))
    ((denied,), _) = denials.take()
    assert (denied.what, denied.missing) == ("[secret key].evil.example:443", "[secret key].evil.example:443")


def test_an_address_of_ipv6_is_written_as_a_grant_writes_it() -> None:
    assert event("2001:db8::1", allowed=False).target == "[2001:db8::1]:443"


@pytest.fixture(scope="module")
def pack(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_pack(tmp_path_factory.mktemp("packs"))


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox() as made:
        yield made


FETCH = "import urllib.request\ntry: urllib.request.urlopen('http://evil.example/')\nexcept OSError: out = 'quiet'"


def test_a_cell_with_a_network_is_seen_by_the_broker(sandbox: Sandbox, pack: Path) -> None:
    with sandbox.borrow(spec_of(pack, rights=Rights(net=("a.example:80",))), "s") as cell:
        reply = run(cell, FETCH)
        assert cell.denials is not None
        kept, _ = cell.denials.take()
    assert reply.kind == "result" and reply.denied == ()
    assert [(one.right, one.what, one.missing) for one in kept] == [
        ("net", "evil.example:80", 'net = ["evil.example:80"]')
    ]


def test_one_without_says_it_itself(sandbox: Sandbox, pack: Path) -> None:
    with sandbox.borrow(spec_of(pack), "s") as cell:
        first, second = run(cell, FETCH), run(cell, "out = 1")
    assert cell.denials is None
    assert [(one.what, one.seen_by) for one in first.denied] == [("evil.example:80", "cell")]
    assert second.denied == ()


BAD = [None, 7, "x", [["net"]], [["net", "a", 1]], [["disk", "a", "b"]], [[["net"], "a", "b"]], [["net", b"a", "b"]]]


@pytest.mark.parametrize("said", BAD)
def test_what_is_no_account_is_left_out(said: object) -> None:
    assert reply_of({"op": "result", "text": b"1", "denied": said}, 0.1).denied == ()


def test_an_account_is_capped(sandbox: Sandbox, pack: Path) -> None:
    reply = reply_of({"op": "result", "text": b"1", "denied": [["net", "x" * 999, "y" * 999]] * 999}, 0.1)
    assert len(reply.denied) == 20 and len(reply.denied[0].what) == 200
    with pytest.raises(ProtocolError):
        reply_of({"op": "result", "text": b"1", "observed": "no bytes"}, 0.1)
