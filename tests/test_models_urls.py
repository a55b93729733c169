"""Where an endpoint is."""

from __future__ import annotations

import pytest

from remit.errors import DeploymentError
from remit.models.urls import chat_url, proxy_for, shown_url


@pytest.mark.parametrize(
    ("base_url", "url"),
    [
        ("http://h:1/v1", "http://h:1/v1/chat/completions"),
        ("http://h:1/v1/", "http://h:1/v1/chat/completions"),
        ("http://h:1", "http://h:1/v1/chat/completions"),
        ("http://h:1/", "http://h:1/v1/chat/completions"),
        ("http://h:1/v1/chat/completions", "http://h:1/v1/chat/completions"),
        ("http://h:1/api/v10", "http://h:1/api/v10/chat/completions"),
        ("http://h:1/v1?api-version=2024", "http://h:1/v1/chat/completions?api-version=2024"),
        (" http://h:1/v1\n", "http://h:1/v1/chat/completions"),
        ("https://r.example/api/v1/", "https://r.example/api/v1/chat/completions"),
        ("https://r.example/api/v1//", "https://r.example/api/v1/chat/completions"),
    ],
)
def test_base_urls(base_url: str, url: str) -> None:
    """L131 and L132."""
    assert chat_url(base_url) == url


@pytest.mark.parametrize("base_url", ["", "h:1", "localhost", "ftp://h", "http://", "http://[::1", "http://h:99999"])
def test_what_is_no_url(base_url: str) -> None:
    with pytest.raises(DeploymentError, match="no http or https URL"):
        chat_url(base_url)


def test_shown_urls_hold_no_secrets() -> None:
    assert shown_url("http://u:p@h:1/v1?token=x&api-version=2") == "http://h:1/v1?token=***&api-version=2"


PROXY = {"http": "http://p.example:3128", "https": "p.example:3128"}


@pytest.mark.parametrize(
    ("url", "no_proxy", "proxied"),
    [
        ("http://api.example/v1", "", True),
        ("https://api.example/v1", "", True),
        ("http://127.0.0.1:80/", "", False),
        ("http://localhost/", "", False),
        ("http://[::1]:80/", "", False),
        ("http://10.1.2.3/", "10.0.0.0/8", False),
        ("http://11.1.2.3/", "10.0.0.0/8", True),
        ("http://[fe80::1]/", "fe80::/10", False),
        ("http://[2001:db8::1]/", "[2001:db8::1]:443", False),
        ("http://a.corp.example/", ".corp.example", False),
        ("http://a.corp.example/", "*.corp.example", False),
        ("http://a.corp.example/", "corp.example:80", False),
        ("http://notcorp.example/", "corp.example", True),
        ("http://api.example/", "x.example,*", False),
    ],
)
def test_proxies(url: str, no_proxy: str, proxied: bool) -> None:
    assert (proxy_for(url, {**PROXY, "no": no_proxy}) is not None) == proxied


def test_unreadable_entries_are_left_out_with_one_warning() -> None:
    environment = {**PROXY, "no": "300.1.1.1/99, ??? ,10.0.0.0/8"}
    with pytest.warns(UserWarning, match=r"cannot be read.*300\.1\.1\.1/99.*\?\?\?") as caught:
        assert proxy_for("http://10.0.0.1/", environment) is None
    assert len(caught) == 1


def test_a_proxy_without_a_scheme_is_http() -> None:
    assert proxy_for("https://api.example/", PROXY) == "http://p.example:3128"
