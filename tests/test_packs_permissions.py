"""Permissions: what is well-formed, and that comparing never errs in the wide direction."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remit.errors import PolicyError
from remit.packs.entries import PARSERS
from remit.packs.limits import LIMITS, to_limits
from remit.packs.net_patterns import net_within, parse_net
from remit.packs.path_patterns import parse_path, path_within
from remit.packs.permissions import FIELDS, NOTHING, Permission, effective_effect, implied_effect
from remit.values import EFFECTS

PARTS = st.sampled_from(["a", "b", "ab"])
ANCHOR = st.sampled_from(["${workspace}", "${data}", "${tmp}", "", "/a"])


@st.composite
def path_patterns(draw: st.DrawFn) -> str:
    parts = draw(st.lists(PARTS, max_size=3))
    folder = draw(st.booleans())
    text = "/".join([draw(ANCHOR), *parts, *(["**"] if folder or not parts else [])])
    return parse_path(text if "/" in text else text + "/**")


@st.composite
def net_patterns(draw: st.DrawFn) -> str:
    host = ".".join(draw(st.lists(PARTS, min_size=1, max_size=3)))
    host = draw(st.sampled_from([host, f"*.{host}", "*", "192.0.2.1", "[2001:db8::1]"]))
    return parse_net(f"{host}:{draw(st.sampled_from([1, 443]))}")


LIMIT_TABLES = st.dictionaries(st.sampled_from(sorted(LIMITS)), st.integers(0, 2**31), max_size=3)
PERMISSIONS = st.builds(
    lambda read, write, net, programs, env, secrets, shm, limits: Permission.parse(
        {
            "fs": {"read": read, "write": write},
            "net": net,
            "exec": programs,
            "env": env,
            "secrets": secrets,
            "shm": shm,
            "limits": limits,
        }
    ),
    st.lists(path_patterns(), max_size=3),
    st.lists(path_patterns(), max_size=2),
    st.lists(net_patterns(), max_size=3),
    st.lists(st.sampled_from(["git", "/usr/bin/git", "tar"]), max_size=2),
    st.lists(st.sampled_from(["LANG", "TZ"]), max_size=2),
    st.lists(st.sampled_from(["one", "two"]), max_size=2),
    st.booleans(),
    LIMIT_TABLES,
)


def _path_matches(pattern: str, path: str) -> bool:
    """Say from first principles whether a pattern allows a concrete path."""
    wanted, parts = pattern.split("/"), path.split("/")
    if wanted[-1] == "**":
        return len(parts) >= len(wanted) and parts[: len(wanted) - 1] == wanted[:-1]
    return wanted == parts


def _net_matches(pattern: str, host: str, port: int) -> bool:
    wanted, _, wanted_port = pattern.rpartition(":")
    if int(wanted_port) != port:
        return False
    address = host[0] in "[1"
    if wanted == "*":
        return True
    if wanted.startswith("*."):
        return not address and host.endswith(wanted[1:]) and host != wanted[2:]
    return wanted == host


def _allows(permission: Permission, what: tuple[str, Any]) -> bool:
    """Say from first principles whether a permission allows one concrete thing."""
    kind, value = what
    if kind == "read":
        return any(_path_matches(pattern, value) for pattern in (*permission.fs_read, *permission.fs_write))
    if kind == "write":
        return any(_path_matches(pattern, value) for pattern in permission.fs_write)
    if kind == "net":
        return any(_net_matches(pattern, *value) for pattern in permission.net)
    if kind == "limit":
        name, amount = value
        return bool(amount <= permission.limit(name))
    return value in getattr(permission, kind)


CONCRETE_PATHS = st.builds(
    lambda anchor, parts: "/".join([anchor, *parts]), ANCHOR, st.lists(PARTS, min_size=1, max_size=4)
)
CONCRETE_HOSTS = st.one_of(
    st.lists(PARTS, min_size=1, max_size=4).map(".".join), st.sampled_from(["192.0.2.1", "[2001:db8::1]"])
)
THINGS = st.one_of(
    st.tuples(st.sampled_from(["read", "write"]), CONCRETE_PATHS),
    st.tuples(st.just("net"), st.tuples(CONCRETE_HOSTS, st.sampled_from([1, 443]))),
    st.tuples(st.just("exec"), st.sampled_from(["git", "/usr/bin/git", "tar"])),
    st.tuples(st.just("secrets"), st.sampled_from(["one", "two"])),
    st.tuples(st.just("limit"), st.tuples(st.sampled_from(sorted(LIMITS)), st.integers(0, 2**31))),
)


@given(PERMISSIONS, PERMISSIONS, st.lists(THINGS, min_size=20, max_size=20))
@settings(max_examples=120)
def test_what_lies_within_allows_nothing_more(one: Permission, two: Permission, things: list[tuple[str, Any]]) -> None:
    if one.within(two):
        assert all(_allows(two, thing) for thing in things if _allows(one, thing))


@given(PERMISSIONS, PERMISSIONS, st.lists(THINGS, min_size=20, max_size=20))
@settings(max_examples=120)
def test_the_intersection_allows_exactly_what_both_allow(
    one: Permission, two: Permission, things: list[tuple[str, Any]]
) -> None:
    both = one.intersect(two)
    assert both.within(one)
    assert both.within(two)
    assert both == two.intersect(one)
    for thing in things:
        if thing[0] != "read":
            assert _allows(both, thing) == (_allows(one, thing) and _allows(two, thing))
        elif _allows(both, thing):
            assert _allows(one, thing) and _allows(two, thing)


@given(PERMISSIONS, PERMISSIONS, st.lists(THINGS, max_size=10))
def test_the_union_covers_both(one: Permission, two: Permission, things: list[tuple[str, Any]]) -> None:
    either = one.union(two)
    assert one.within(either)
    assert two.within(either)
    assert all(_allows(one, thing) or _allows(two, thing) for thing in things if _allows(either, thing))


@given(PERMISSIONS, PERMISSIONS, PERMISSIONS)
def test_within_is_an_order(one: Permission, two: Permission, three: Permission) -> None:
    assert one.within(one)
    assert not (one.within(two) and two.within(three)) or one.within(three)


@given(PERMISSIONS)
def test_words_are_read_back(permission: Permission) -> None:
    assert Permission.parse(permission.words()) == permission


@given(PERMISSIONS, st.lists(st.sampled_from([*FIELDS, "shm"])))
def test_a_selection_is_never_wider(permission: Permission, uses: list[str]) -> None:
    try:
        selected = permission.select(uses)
    except PolicyError:
        return
    assert selected.within(permission)


@given(st.sampled_from([*FIELDS]), st.text(max_size=60))
@settings(max_examples=500)
def test_parsing_an_entry_gives_an_entry_or_a_refusal(key: str, text: str) -> None:
    try:
        entry = PARSERS[key](text)
    except PolicyError:
        return
    assert PARSERS[key](entry) == entry


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a",
        "./a",
        "~/a",
        "/",
        "/a/",
        "//a",
        "/a//b",
        "/a/../b",
        "/..",
        "/a/./b",
        "/a/*",
        "/a/**/b",
        "/a*",
        "/a/b?",
        "/[ab]",
        "${workspace}",
        "${workspace}x/**",
        "${home}/**",
        "${workspace}/${data}/**",
        "/a\0b",
        "/a\nb",
        "/a\\b",
        "/" + "a" * 2000,
    ],
)
def test_path_patterns_that_are_refused(text: str) -> None:
    with pytest.raises(PolicyError):
        parse_path(text)


@pytest.mark.parametrize("text", ["/**", "/a", "/a/**", "${workspace}/**", "${data}/a b/\u00e9.txt", "/a/...", "/a/$b"])
def test_path_patterns_that_are_accepted(text: str) -> None:
    assert parse_path(text) == text


@pytest.mark.parametrize(
    ("narrow", "wide", "within"),
    [
        ("/a/b", "/a/**", True),
        ("/a/b/**", "/a/**", True),
        ("/a/**", "/**", True),
        ("/a/**", "/a/**", True),
        ("/a", "/a/**", False),
        ("/ab/**", "/a/**", False),
        ("/a/**", "/a/b/**", False),
        ("/a/b", "/a", False),
        ("${data}/a", "${workspace}/**", False),
        ("${workspace}/a", "/**", False),
    ],
)
def test_paths_are_compared_part_by_part(narrow: str, wide: str, within: bool) -> None:
    assert path_within(narrow, wide) is within


@pytest.mark.parametrize(
    "text",
    [
        "",
        "host",
        "host:",
        ":443",
        "host:0",
        "host:65536",
        "host:0443",
        "host:https",
        "https://host:443",
        "host:443/path",
        "user@host:443",
        "*.*.host:443",
        "a.*:443",
        "*host:443",
        "*.1.2.3.4:443",
        "1.2.3:443",
        "01.2.3.4:443",
        "256.1.1.1:443",
        "0x7f000001:443",
        "2130706433:443",
        "host.:443",
        "-a.example:443",
        "m\u00fcnchen.example:443",
        "ex\u0430mple.com:443",
        "::1:443",
        "[::1:443",
        "[fe80::1%eth0]:443x",
        "a b:443",
        "*:*",
        "a" * 64 + ".example:443",
    ],
)
def test_network_patterns_that_are_refused(text: str) -> None:
    with pytest.raises(PolicyError):
        parse_net(text)


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("API.Example.com:443", "api.example.com:443"),
        ("*.example.com:443", "*.example.com:443"),
        ("*:443", "*:443"),
        ("localhost:8080", "localhost:8080"),
        ("192.0.2.1:80", "192.0.2.1:80"),
        ("[2001:DB8:0::1]:443", "[2001:db8::1]:443"),
        ("xn--mnchen-3ya.example:443", "xn--mnchen-3ya.example:443"),
    ],
)
def test_network_patterns_that_are_accepted(text: str, read: str) -> None:
    assert parse_net(text) == read


@pytest.mark.parametrize(
    ("narrow", "wide", "within"),
    [
        ("a.example:443", "*.example:443", True),
        ("a.b.example:443", "*.example:443", True),
        ("*.b.example:443", "*.example:443", True),
        ("*.example:443", "*:443", True),
        ("example:443", "*.example:443", False),
        ("badexample:443", "*.example:443", False),
        ("a.example:443", "*.example:80", False),
        ("*:443", "*.example:443", False),
        ("192.0.2.1:443", "*:443", True),
        ("[2001:db8::1]:443", "*:443", True),
        ("192.0.2.1:443", "*.2.1x:443", False),
    ],
)
def test_hosts_are_compared_by_name(narrow: str, wide: str, within: bool) -> None:
    assert net_within(narrow, wide) is within


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"nett": []}, "'nett' is no permission"),
        ({"fs": {"reed": []}}, "'fs.reed' is no permission"),
        ({"net": "host:443"}, "must be a list"),
        ({"net": [1]}, "must be a list"),
        ({"net": ["h:1"] * 300}, "more than 256"),
        ({"shm": 1}, "true or false"),
        ({"limits": {"memmory": 1}}, "is no limit"),
        ({"limits": {"memory": -1}}, "0 or more"),
        ({"limits": {"memory": "64 megs"}}, "a size such as"),
        ({"limits": {"memory": 1.5}}, "whole number"),
        ({"limits": {"open_files": "1MiB"}}, "must be a number"),
        ({"limits": {"cpu": "nan"}}, "must be a number"),
        ({"limits": []}, ""),
        ({"env": ["OPENAI_API_KEY"]}, "under secrets"),
        ({"env": ["GITHUB_TOKEN"]}, "under secrets"),
        ({"env": ["LD_PRELOAD"]}, "never given"),
        ({"env": ["PYTHONPATH"]}, "never given"),
        ({"env": ["PATH"]}, "never given"),
        ({"env": ["A=B"]}, "no name"),
        ({"exec": ["../git"]}, "no program"),
        ({"exec": ["git push"]}, "no program"),
        ({"exec": ["/usr/bin/**"]}, "no program"),
        ({"exec": [".."]}, "no program"),
        ({"secrets": ["API_KEY"]}, "no secret's name"),
    ],
)
def test_tables_that_are_refused(table: dict[str, Any], message: str) -> None:
    if not message:
        assert Permission.parse(table) == NOTHING
        return
    with pytest.raises(PolicyError, match=message):
        Permission.parse(table)


def test_entries_are_sorted_and_what_another_covers_goes() -> None:
    permission = Permission.parse({"net": ["b.example:443", "*.example:443", "a.other:443", "a.other:443"]})
    assert permission.net == ("*.example:443", "a.other:443")


def test_a_grant_gives_what_it_names_and_leaves_the_rest_as_asked() -> None:
    asked = Permission.parse({"net": ["h:443"], "secrets": ["key"], "limits": {"memory": "2GiB", "cpu": 9}})
    assert Permission.granted(None, asked) == asked
    assert Permission.granted({}, asked) == asked
    less = Permission.granted({"net": [], "limits": {"memory": "512MiB"}}, asked)
    assert less == Permission.parse({"secrets": ["key"], "limits": {"cpu": 9}})
    wider = Permission.granted({"net": ["*:443"], "fs": {"read": ["/a"]}}, asked)
    assert wider.beyond(asked) == ("fs.read: /a", "net: *:443")


def test_leaving_a_limit_out_means_the_default() -> None:
    small = Permission.parse({"limits": {"memory": "64MiB"}})
    assert NOTHING.beyond(small) == (f"limits.memory: {512 * 1024 * 1024}",)
    assert small.within(NOTHING)
    assert to_limits(small.limits).memory == 64 * 1024 * 1024
    assert to_limits({"cpu": 3.0}).cpu == 3.0
    assert to_limits({}).cpu is None


def test_a_part_of_a_key_can_be_used() -> None:
    permission = Permission.parse({"net": ["*.example:443", "h:1"], "fs": {"read": ["${workspace}/**"]}, "shm": True})
    assert permission.select([]) == NOTHING
    assert permission.select(["net:a.example:443", "shm"]) == Permission(net=("a.example:443",), shm=True)
    assert permission.select(["fs.read:${workspace}/docs/**"]).fs_read == ("${workspace}/docs/**",)
    for wrong in ("net:b.other:443", "exec", "fs.read:/etc/passwd", "nets", "limits", "shm:x"):
        with pytest.raises(PolicyError):
            permission.select([wrong])


def test_anchors_become_folders_and_unknown_ones_give_nothing() -> None:
    permission = Permission.parse({"fs": {"read": ["${workspace}/a/**", "${data}/x", "/b"]}})
    assert permission.anchored({"workspace": "/w"}).fs_read == ("/b", "/w/a/**")


@pytest.mark.parametrize(
    ("table", "effect", "accepted"),
    [
        ({}, "read", "read"),
        ({"fs": {"read": ["/**"]}}, "read", "read"),
        ({"fs": {"write": ["${data}/**", "${tmp}/x"]}}, "read", "read"),
        ({"fs": {"write": ["${workspace}/**"]}}, "write", "write"),
        ({"fs": {"write": ["/data/**"]}}, "write", "write"),
        ({"net": ["h:1"]}, "external", "read"),
        ({"secrets": ["s"]}, "external", "read"),
        ({"exec": ["git"]}, "external", "external"),
        ({"net": ["h:1"], "fs": {"write": ["${workspace}/**"]}}, "external", "write"),
    ],
)
def test_rights_imply_an_effect(table: dict[str, Any], effect: str, accepted: str) -> None:
    permission = Permission.parse(table)
    assert implied_effect(permission) == effect
    assert effective_effect("read", permission) == effect
    assert effective_effect("read", permission, accept_read=True) == accepted
    assert effective_effect("write", permission, accept_read=True) == max("write", effect, key=EFFECTS.index)
    assert effective_effect("external", permission, accept_read=True) == "external"


@given(PERMISSIONS, PERMISSIONS)
def test_what_a_grant_gives_a_skill_is_never_more_than_both_say(one: Permission, two: Permission) -> None:
    for given_ in (one.under(two), one.by_key(two)):
        assert given_.within(one)
        assert given_.within(two)
    assert one.by_key(two) == two.by_key(one)
    assert not one.by_key(two).beyond_by_key(one)


def test_a_granted_right_to_write_gives_reading_only_to_what_writes() -> None:
    reads = Permission(fs_read=("${workspace}/**",))
    writes = Permission(fs_read=("${workspace}/**",), fs_write=("${workspace}/**",))
    grant = Permission(fs_read=("${workspace}/docs/**",), fs_write=("${workspace}/**",))
    assert reads.under(grant) == Permission(fs_read=("${workspace}/docs/**",))
    assert reads.intersect(grant) == reads, "the control: both sets allow reading everything"
    assert writes.under(grant).fs_write == ("${workspace}/**",)
    assert Permission(fs_write=("${workspace}/**",)).under(replace(grant, fs_write=())).fs_read == (
        "${workspace}/docs/**",
    )
    assert reads.beyond(grant) == () and reads.beyond_by_key(grant) == ("fs.read: ${workspace}/**",)


@pytest.mark.parametrize(("text", "said"), [("/", "written /**"), ("/srv/", "written /srv/**"), ("${data}", "}/**")])
def test_a_folder_without_its_stars_is_answered_with_them(text: str, said: str) -> None:
    with pytest.raises(PolicyError, match="a folder is written") as caught:
        parse_path(text)
    assert said in str(caught.value)
    assert parse_path(text.rstrip("/") + "/**")
