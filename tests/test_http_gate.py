"""Who may ask over HTTP, from where, and how often; every refusal beside what is let through."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from remit import Deployment
from remit.errors import UsageError
from remit.http import Identity, LocalKey, Rates, Tokens
from remit.http.identity import as_identity, same_person
from remit.http.rate import Buckets, network_of
from remit.state.store import State
from tests.http_parts import Apps, asked, bearer, opened, scripted


@pytest.fixture(scope="module")
def deployment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    with opened(tmp_path_factory.mktemp("gate"), packs="", rules="") as found:
        yield found


@pytest.fixture
def tokens(deployment: Deployment) -> Iterator[Tokens]:
    found = Tokens(deployment.state_folder)
    yield found
    for token in found.kept():
        found.remove(token.name)


@pytest.fixture
def new_app() -> Iterator[Apps]:
    apps = Apps()
    yield apps
    apps.close()


def error(response: httpx2.Response) -> str:
    """Check the form of an error, and return its message."""
    body = response.json()
    assert set(body) == {"error"} and set(body["error"]) == {"message", "remedy"}
    assert "Traceback" not in response.text and ".py" not in response.text
    return str(body["error"]["message"])


@pytest.mark.parametrize(
    ("address", "host", "headers", "status"),
    [
        ("127.0.0.1", "127.0.0.1:8080", {}, 200),
        ("127.0.0.9", "localhost", {}, 200),
        ("::1", "[::1]:8080", {}, 200),
        ("::ffff:127.0.0.1", "127.0.0.1", {}, 200),
        ("192.0.2.7", "127.0.0.1:8080", {}, 403),
        ("", "127.0.0.1:8080", {}, 403),
        ("127.0.0.1", "evil.example:8080", {}, 403),
        ("127.0.0.1", "127.0.0.1.evil.example", {}, 403),
        ("127.0.0.1", "localhost.evil.example", {}, 403),
        ("127.0.0.1", "127.0.0.1:8080", {"x-forwarded-for": "192.0.2.7"}, 403),
        ("127.0.0.1", "127.0.0.1:8080", {"forwarded": "for=192.0.2.7"}, 403),
    ],
)
def test_without_tokens_only_this_machine_asks_under_its_own_name(
    new_app: Apps, deployment: Deployment, address: str, host: str, headers: dict[str, str], status: int
) -> None:
    app = new_app(deployment)
    found = asked(app, "GET", "/signoffs", address=address, host=host, headers=headers)
    assert found.status_code == status, found.text
    assert asked(app, "GET", "/health", address=address, host=host, headers=headers).status_code == status
    if status != 200:
        assert "only this machine" in error(found)


def test_as_soon_as_there_is_a_token_everybody_needs_one_and_for_good(
    new_app: Apps, deployment: Deployment, tokens: Tokens
) -> None:
    app = new_app(deployment)
    assert asked(app, "GET", "/signoffs").status_code == 200
    token = tokens.add("ada")
    refused = asked(app, "GET", "/signoffs")
    assert refused.status_code == 401 and refused.headers["www-authenticate"].startswith("Bearer")
    assert "needs a token" in error(refused)
    far = {"address": "192.0.2.7", "host": "remit.example"}
    assert asked(app, "GET", "/signoffs", headers=bearer(token), **far).status_code == 200
    assert asked(app, "GET", "/signoffs", headers=bearer(token + "x"), **far).status_code == 401
    assert asked(app, "GET", "/signoffs", headers={"authorization": f"Basic {token}"}).status_code == 401
    tokens.remove("ada")
    assert asked(app, "GET", "/signoffs", headers=bearer(token)).status_code == 401
    assert asked(app, "GET", "/signoffs").status_code == 401, "it does not fall open when the last token goes"
    assert asked(app, "GET", "/health", **far).status_code == 200


def in_file(deployment: Deployment, name: str, *roles: str) -> tuple[str, Path]:
    """Make a token as Remit 0.1 kept it."""
    path = deployment.state_folder / "http-tokens" / f"{name}.json"
    path.parent.mkdir(exist_ok=True)
    token = f"remit_{name}"
    digest = hashlib.sha256(token.encode()).hexdigest()
    path.write_text(json.dumps({"name": name, "roles": roles, "created": 1.0, "hash": digest}))
    return token, path


def test_a_damaged_token_admits_nobody_and_does_not_open_the_door(
    new_app: Apps, deployment: Deployment, tokens: Tokens
) -> None:
    token, path = in_file(deployment, "ada", "user", "approver")
    whole = path.read_text()
    path.write_text(whole[:-5])
    app = new_app(deployment)
    assert asked(app, "GET", "/signoffs", headers=bearer(token)).status_code == 401
    assert asked(app, "GET", "/signoffs").status_code == 401
    path.write_text(whole)
    assert asked(app, "GET", "/signoffs", headers=bearer(token)).status_code == 200


def test_tokens_in_files_of_an_earlier_remit_count_until_they_are_moved_or_removed(
    new_app: Apps, deployment: Deployment, tokens: Tokens
) -> None:
    (one, file), (two, _) = in_file(deployment, "ada", "user"), in_file(deployment, "grace", "approver")
    app = new_app(deployment)
    for _ in range(2):
        assert asked(app, "GET", "/sessions", headers=bearer(one)).status_code == 200
        assert asked(app, "GET", "/sessions", headers=bearer(two)).status_code == 403
        with State(deployment.state_folder) as state:
            assert (state.approver_of(one), state.approver_of(two)) == (None, "grace")
        assert tokens.take_over() in (("ada", "grace"), ())
    assert not file.exists() and [found.in_file for found in tokens.kept()] == [False, False]
    in_file(deployment, "Grace", "user")
    assert tokens.take_over() == (), "she has another one"
    with pytest.raises(UsageError):
        tokens.add("grace")
    with State(deployment.state_folder) as state:
        assert state.remove_token("grace", by="person")
    assert [found.name for found in tokens.kept()] == ["ada"]
    assert asked(app, "GET", "/signoffs", headers=bearer(two)).status_code == 401


def test_one_token_counts_over_http_and_on_the_command_line_and_is_void_everywhere_at_once(
    new_app: Apps, deployment: Deployment, tokens: Tokens
) -> None:
    app = new_app(deployment)
    with State(deployment.state_folder) as state:
        token = state.add_token("grace", by="person")
        assert asked(app, "GET", "/signoffs", headers=bearer(token)).status_code == 200
        assert asked(app, "GET", "/sessions", headers=bearer(token)).status_code == 403
        assert asked(app, "GET", "/signoffs", headers=bearer("nobody")).status_code == 401
        assert state.approver_of(token) == "grace" and token.startswith("remit_")
        tokens.remove("grace")
        assert state.approver_of(token) is None
        both = tokens.add("bob")
        only_runs = tokens.add("eve", "user")
        assert (state.approver_of(both), state.approver_of(only_runs)) == ("bob", None)
        again = state.add_token("Bob", by="person")
        assert asked(app, "GET", "/sessions", headers=bearer(again)).status_code == 200, "roles stay"
        assert asked(app, "GET", "/sessions", headers=bearer(both)).status_code == 401
        state.remove_token("bob", by="person")
        assert asked(app, "GET", "/sessions", headers=bearer(again)).status_code == 401


def test_a_callable_of_the_program_says_who_it_is(new_app: Apps, deployment: Deployment, tokens: Tokens) -> None:
    async def known(request: object) -> Identity | str | None:
        name = request.headers.get("x-user")  # type: ignore[attr-defined]
        return Identity(name=name, roles=frozenset({"approver"})) if name == "grace" else name

    token = tokens.add("ada")
    app = new_app(deployment, identify=known)
    far = {"address": "192.0.2.7", "host": "desk.example"}
    assert asked(app, "GET", "/sessions", headers={"x-user": "bob"}, **far).status_code == 200
    assert error(asked(app, "GET", "/sessions", headers={"x-user": "grace"}, **far)) == "grace may not do this"
    assert asked(app, "GET", "/sessions", **far).status_code == 401
    assert asked(app, "GET", "/sessions", headers=bearer(token), **far).status_code == 401
    both = new_app(deployment, identify=known, tokens=tokens)
    assert asked(both, "GET", "/sessions", headers=bearer(token), **far).status_code == 200
    assert asked(app, "GET", "/sessions", headers={"x-user": " "}, **far).status_code == 500


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"origin": "http://127.0.0.1:8080"}, 200),
        ({"sec-fetch-site": "same-origin"}, 200),
        ({"origin": "https://desk.example", "sec-fetch-site": "cross-site"}, 200),
        ({"origin": "https://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "http://127.0.0.1:9999"}, 403),
        ({"origin": "http://["}, 403),
        ({"origin": ""}, 403),
        ({"sec-fetch-site": "cross-site"}, 403),
        ({"sec-fetch-site": "same-site"}, 403),
    ],
)
def test_pages_of_other_origins_cannot_ask(
    new_app: Apps, deployment: Deployment, headers: dict[str, str], status: int
) -> None:
    app = new_app(deployment, origins=["https://desk.example"])
    found = asked(app, "GET", "/signoffs", headers=headers)
    assert found.status_code == status
    assert not any(name.startswith("access-control") for name in found.headers)
    assert asked(app, "OPTIONS", "/signoffs", headers=headers).status_code == 405


def test_a_page_without_an_origin_is_no_page_of_a_host_without_a_name(new_app: Apps, deployment: Deployment) -> None:
    app = new_app(deployment, identify=lambda _: "ada")
    assert asked(app, "GET", "/signoffs", host="", headers={"origin": "null"}).status_code == 403
    assert asked(app, "GET", "/signoffs", host="").status_code == 200, "the control"


def test_every_answer_has_the_headers_of_a_careful_server(new_app: Apps, deployment: Deployment) -> None:
    app = new_app(deployment)
    for path, status in (("/health", 200), ("/nowhere", 404), ("/signoffs/123456", 404)):
        found = asked(app, "GET", path)
        assert found.status_code == status
        assert found.headers["cache-control"] == "no-store"
        assert found.headers["x-content-type-options"] == "nosniff"
        assert "frame-ancestors 'none'" in found.headers["content-security-policy"]
        assert found.headers["content-type"] == "application/json"


@pytest.mark.parametrize(
    ("body", "kind", "status"),
    [
        (b'{"question": "hello"}', "application/json", 200),
        (b'{"question": "hello"}', "application/json; charset=utf-8", 200),
        (b'{"question": "hello"}', "text/plain", 415),
        (b"question=hello", "application/x-www-form-urlencoded", 415),
        (b'{"question": "hello"', "application/json", 400),
        (b'{"question": "hello", "more": 1}', "application/json", 400),
        (b'{"question": "  "}', "application/json", 400),
        (b'{"question": 7}', "application/json", 400),
        (b'{"question": "\xff"}', "application/json", 400),
        (b"[" * 100_000, "application/json", 400),
        (b'{"question": "' + b"x" * 17_000_000 + b'"}', "application/json", 413),
        (b'{"question": "x", "session": "../../x"}', "application/json", 400),
    ],
    ids=lambda value: str(value)[:40],
)
def test_only_json_of_the_form_is_taken(
    new_app: Apps, deployment: Deployment, body: bytes, kind: str, status: int
) -> None:
    app = new_app(deployment, agent=scripted)
    found = asked(app, "POST", "/runs", content=body, headers={"content-type": kind})
    assert found.status_code == status, found.text
    if status != 200:
        error(found)


@pytest.mark.parametrize(
    ("path", "body", "said"),
    [
        ("/runs", {"question": "hi", "max_step": 3}, "max_step: there is no such field; did you mean max_steps?"),
        ("/runs", {"question": "hi", "zzz": 1}, "zzz: there is no such field; known: question, session, skills,"),
        ("/signoffs/decisions", {"decisions": [{"anser": "deny"}]}, "did you mean answer?"),
        (
            "/signoffs/abcdef/decision",
            {"standing": {"use": 1}},
            "standing.use: there is no such field; did you mean uses?",
        ),
    ],
)
def test_a_field_that_there_is_not_names_the_nearest(
    new_app: Apps, deployment: Deployment, path: str, body: dict[str, object], said: str
) -> None:
    app = new_app(deployment, agent=scripted)
    assert said in error(asked(app, "POST", path, json=body))


def test_whoever_asks_too_often_waits(new_app: Apps, deployment: Deployment) -> None:
    app = new_app(deployment, rates=Rates(requests=60, burst=3))
    codes = [asked(app, "GET", "/signoffs").status_code for _ in range(4)]
    assert codes == [200, 200, 200, 429]
    late = asked(app, "GET", "/signoffs")
    assert late.headers["retry-after"] == "1" and error(late) == "too many requests"
    assert asked(app, "GET", "/health", address="127.0.0.2").status_code == 200, "another address has its own share"


def test_one_person_has_one_share_from_everywhere(new_app: Apps, deployment: Deployment) -> None:
    app = new_app(deployment, identify=lambda request: request.headers["x-user"], rates=Rates(requests=60, burst=2))
    codes = [
        asked(app, "GET", "/signoffs", address=f"192.0.2.{number}", headers={"x-user": "ada"}).status_code
        for number in range(3)
    ]
    assert codes == [200, 200, 429]
    assert asked(app, "GET", "/signoffs", address="192.0.2.9", headers={"x-user": "bob"}).status_code == 200


def test_who_is_not_known_is_recorded_and_slowed_down(new_app: Apps, deployment: Deployment, tokens: Tokens) -> None:
    token = tokens.add("ada")
    app = new_app(deployment, rates=Rates(failures=2))
    far = {"address": "192.0.2.77", "host": "remit.example"}
    codes = [asked(app, "GET", "/signoffs", headers=bearer("guess"), **far).status_code for _ in range(4)]
    assert codes == [401, 401, 429, 429]
    assert asked(app, "GET", "/signoffs", headers=bearer(token), **far).status_code == 200
    with State(deployment.state_folder) as state:
        found = [
            record.body for record in state.records(event="http.refused") if record.body["address"] == "192.0.2.77"
        ]
    assert found == [{"address": "192.0.2.77", "path": "/signoffs", "left_out": 0}] * 2
    assert "guess" not in str(found)


def test_a_fault_tells_the_client_nothing(new_app: Apps, deployment: Deployment) -> None:
    def breaks(_: object) -> str:
        raise RuntimeError("the password is 1234")

    found = asked(new_app(deployment, identify=breaks), "GET", "/signoffs")
    assert found.status_code == 500 and error(found) == "Remit failed"
    assert "1234" not in found.text


def test_a_bucket_fills_steadily_and_the_oldest_are_forgotten() -> None:
    now = [0.0]
    buckets = Buckets(a_minute=60, burst=2, most=2, clock=lambda: now[0])
    assert [buckets.take("a"), buckets.take("a"), buckets.take("a")] == [0.0, 0.0, 1.0]
    now[0] = 0.5
    assert buckets.wait("a") == buckets.take("a") == 0.5
    now[0] = 1.0
    assert buckets.take("a") == 0.0 and buckets.take("a") == 1.0
    buckets.take("b")
    buckets.take("c")
    assert buckets.take("a") == 0.0, "it was forgotten, and is full again"


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3::4", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("testclient", "testclient"),
    ],
)
def test_what_counts_as_one_address(address: str, network: str) -> None:
    assert network_of(address) == network


def test_tokens_are_kept_in_private_as_hashes_only(tmp_path: Path) -> None:
    tokens = Tokens(tmp_path)
    token = tokens.add("ada", "approver")
    path = tmp_path / "state.db"
    assert path.stat().st_mode & 0o777 == 0o600 and not (tmp_path / "http-tokens").exists()
    assert token.encode() not in path.read_bytes() and token.startswith("remit_") and len(token) > 40
    assert tokens.holder(token) == Identity(name="ada", roles=frozenset({"approver"}))
    assert tokens.holder("") is None


def test_names_that_could_be_one_person_are_one() -> None:
    assert same_person("Ada", "ada") and same_person("ada ", "ADA") and same_person("\uff41da", "ada")
    assert not same_person("ada", "bob") and not same_person("", "ada")


@pytest.mark.parametrize("name", ["", "  ", "a\nb", "a\u202eb", "a\x00", "x" * 201])
def test_a_name_that_does_not_show_is_no_name(name: str) -> None:
    with pytest.raises(ValueError, match="no name"):
        as_identity(name)
    assert as_identity("Ada Lovelace") == Identity(name="Ada Lovelace")
    assert as_identity(None) is None


def test_who_comes_from_this_machine_is_the_person_here_only_with_the_key(
    new_app: Apps, deployment: Deployment, tokens: Tokens
) -> None:
    key = LocalKey(deployment.state_folder)
    closed, keyed, open_ = (
        new_app(deployment, **{"anyone_here": False, **options})
        for options in ({}, {"key": key}, {"anyone_here": True})
    )
    here = bearer(key.value())
    for headers, statuses in (({}, [401, 401, 200]), (here, [401, 200, 401]), (bearer("remit_here_x"), [401] * 3)):
        found = [asked(app, "GET", "/signoffs", headers=headers).status_code for app in (closed, keyed, open_)]
        assert found == statuses, headers
    assert "remit serve key" in asked(keyed, "GET", "/signoffs").json()["error"]["remedy"]
    far = {"address": "192.0.2.7", "host": "desk.example"}
    assert asked(keyed, "GET", "/signoffs", headers=here, **far).status_code == 403
    token = tokens.add("ada")
    assert asked(keyed, "GET", "/signoffs", headers=here).status_code == 401, "as soon as there is a token it is needed"
    assert asked(open_, "GET", "/signoffs").status_code == 401
    assert asked(keyed, "GET", "/signoffs", headers=bearer(token)).status_code == 200
    tokens.remove("ada")
    found = [asked(app, "GET", "/signoffs", headers=here).status_code for app in (closed, keyed, open_)]
    assert found == [401, 200, 401], "the key counts again"
    found = [asked(app, "GET", "/signoffs").status_code for app in (closed, keyed, open_)]
    assert found == [401, 401, 401], "without it the last token's removal lets nobody in"
    assert asked(keyed, "GET", "/signoffs", headers=here, **far).status_code == 403
