"""Addresses, hosts and paths: read in one way, or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.policy.places import (
    address_domain,
    expand,
    host_matches,
    host_name,
    lies_under,
    real_path,
    split_pattern,
    url_host,
)
from remit.policy.walk import _is_procfs


@pytest.mark.parametrize(
    ("text", "domain"),
    [
        ("ann@acme.example", "acme.example"),
        ("ann+tag@ACME.Example.", "acme.example"),
        ("ann@bücher.example", "xn--bcher-kva.example"),
        ("ann", None),
        ("@acme.example", None),
        ("ann@", None),
        ("ann@evil.example,bob@acme.example", None),
        ("Ann <ann@acme.example>", None),
        ("ann@evil.example@acme.example", None),
        ("ann@acme.example\n", None),
        ("ann@acme.example (comment)", None),
        ('"a b"@acme.example', None),
        ("ann@acme%2eexample", None),
        ("ann\u200b@acme.example", None),
    ],
)
def test_address_domain(text: str, domain: str | None) -> None:
    assert address_domain(text) == domain


@pytest.mark.parametrize(
    ("text", "host"),
    [
        ("https://docs.example.org/a?b", ("docs.example.org", 443)),
        ("http://DOCS.example.org.:8080", ("docs.example.org", 8080)),
        ("docs.example.org", ("docs.example.org", None)),
        ("docs.example.org:443/x", ("docs.example.org", 443)),
        ("https://127.0.0.1/", ("127.0.0.1", 443)),
        ("https://[::ffff:a00:1]/", ("10.0.0.1", 443)),
        ("https://[::1]:9/", ("::1", 9)),
        ("https://docs.example.org:x@bad.test/", None),
        ("https://docs.example.org@bad.test/", None),
        ("https://docs.example.org%2ebad.test/", None),
        ("https://2130706433/", None),
        ("https://0x7f.1/", None),
        ("https://010.0.0.1/", None),
        ("https://a.example\\@bad.test/", None),
        ("https://a.example:99999/", None),
        ("https://fa\u00df.example/", None),
        ("https://a b/", None),
        ("", None),
        ("https://", None),
    ],
)
def test_url_host(text: str, host: tuple[str, int | None] | None) -> None:
    assert url_host(text) == host


@pytest.mark.parametrize(
    ("host", "port", "pattern", "fits"),
    [
        ("docs.example.org", 443, "docs.example.org", True),
        ("docs.example.org", 443, "DOCS.example.org:443", True),
        ("docs.example.org", 80, "docs.example.org:443", False),
        ("docs.example.orgy.test", 443, "docs.example.org", False),
        ("xdocs.example.org", 443, "docs.example.org", False),
        ("docs.example.org", 443, "*.example.org", True),
        ("example.org", 443, "*.example.org", False),
        ("badexample.org", 443, "*.example.org", False),
        ("anything.test", 443, "*:443", True),
        ("anything.test", None, "*:443", False),
        ("::1", 9, "[::1]:9", True),
    ],
)
def test_host_matches(host: str, port: int | None, pattern: str, fits: bool) -> None:
    assert host_matches(host, port, split_pattern(pattern)) is fits


def test_a_pattern_that_is_no_host_is_refused() -> None:
    for pattern in ("", "https://a.example/", "a b", "*.*.example/x", "a@b"):
        with pytest.raises(ValueError, match="is no host"):
            split_pattern(pattern)


@given(st.text(max_size=40))
def test_reading_never_raises(text: str) -> None:
    address_domain(text)
    url_host(text)
    host_name(text)
    real_path(text, base="/tmp")


def test_paths_are_read_through_links(tmp_path: Path) -> None:
    inside, outside = tmp_path / "in", tmp_path / "out"
    inside.mkdir()
    outside.mkdir()
    (inside / "link").symlink_to(outside)
    (inside / "dangling").symlink_to(outside / "new.txt")
    base = str(inside)
    assert real_path("a.txt", base=base) == f"{inside}/a.txt"
    assert real_path("link/a.txt", base=base) == f"{outside}/a.txt"
    assert real_path("dangling", base=base) == f"{outside}/new.txt"
    assert real_path("../out/a", base=base) == f"{outside}/a"
    assert lies_under(f"{inside}/a", base) and lies_under(base, base)
    assert not lies_under(f"{inside}side/a", base)


@pytest.mark.parametrize(
    "text",
    ["", "a\0b", "~/x", "file:///etc/passwd", "https://a/b", "/proc/self/environ", "/dev/fd/3"],
)
def test_paths_that_can_mean_two_things_are_not_read(text: str) -> None:
    assert real_path(text, base="/tmp") is None


def test_a_relative_path_needs_a_folder() -> None:
    assert real_path("a", base=None) is None
    assert real_path("/tmp/../etc", base=None) == str(Path("/etc").resolve())


def test_folders_of_rules_start_from_the_deployment(tmp_path: Path) -> None:
    anchors = {"workspace": f"{tmp_path}/ws"}
    assert expand("docs", folder=str(tmp_path), anchors={}) == f"{tmp_path}/docs"
    assert expand("${workspace}/a/**", folder=None, anchors=anchors) == f"{tmp_path}/ws/a"
    for pattern in ("docs", "${nowhere}/a", "${workspace}/*.txt"):
        with pytest.raises(ValueError):
            expand(pattern, folder=None, anchors=anchors)
    with pytest.raises(ValueError, match="nobody can tell where"):
        expand("//proc/self/cwd", folder=None, anchors={})


SHIFTING = (
    "//proc/self/cwd/x",
    "/proc//self/../self/cwd/x",
    "/tmp/../proc/self/cwd/x",
    "../../../../../../../../../../../../proc/self/cwd/x",
    "/proc/thread-self/cwd/x",
    "/proc/self/root",
    "/proc/self/fd/0",
    "/dev/stdin",
    "/dev/./fd/3",
    "/dev/fd/../null",
    "loop",
)


@pytest.mark.parametrize("text", SHIFTING)
def test_a_path_that_each_process_reads_in_its_own_way_is_not_read(tmp_path: Path, text: str) -> None:
    (tmp_path / "loop").symlink_to("loop")
    assert real_path(text, base=str(tmp_path)) is None
    link = tmp_path / "link"
    link.symlink_to(text)
    assert real_path("link", base=str(tmp_path)) is None
    assert real_path(f"./{link.name}/../{link.name}/y", base=str(tmp_path)) is None


@pytest.mark.parametrize("text", ["//etc", "/./etc//", "/etc/../etc", "/dev/null", "/nosuch/../etc", f"/{'a' * 300}/x"])
def test_other_ways_to_write_a_path_are_read(text: str) -> None:
    assert real_path(text, base=None) == str(Path(text.replace("//", "/")).resolve())


def test_a_folder_of_processes_is_known_wherever_it_is_mounted(tmp_path: Path) -> None:
    if not Path("/proc/self/mountinfo").exists():
        pytest.skip("there is no /proc here")
    assert _is_procfs(os.stat("/proc/self/").st_dev) and not _is_procfs(tmp_path.stat().st_dev)


def test_dots_after_a_link_are_not_read_where_text_and_kernel_differ(tmp_path: Path) -> None:
    inside, deep = tmp_path / "in", tmp_path / "out" / "deep"
    inside.mkdir()
    deep.mkdir(parents=True)
    (inside / "link").symlink_to(deep)
    assert real_path("link/../x", base=str(inside)) is None, "the kernel comes to out/x, the text to in/x"
    assert real_path("nolink/../x", base=str(inside)) == f"{inside}/x", "the control"
    (inside / "same").symlink_to(inside / "folder")
    assert real_path("same/../x", base=str(inside)) == f"{inside}/x", "both come to the same place"


names = st.lists(st.sampled_from(["", ".", "..", "a", "b", "l", "m"]), max_size=7)


@pytest.mark.skipif(not os.path.exists("/proc/self/fd"), reason="asks /proc where the kernel went")
@given(names)
def test_what_is_read_is_where_the_kernel_goes(parts: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder).resolve()
        (root / "a" / "b").mkdir(parents=True)
        (root / "b").mkdir()
        (root / "a" / "l").symlink_to("../b")
        (root / "l").symlink_to("a/b")
        (root / "m").symlink_to(root / "a")
        text = "/".join(("a", *parts))
        found = real_path(text, base=str(root))
        opened = os.open(root, os.O_PATH)
        try:
            there = os.open(text, os.O_PATH, dir_fd=opened)
            assert found in (None, os.readlink(f"/proc/self/fd/{there}"))
            os.close(there)
        except (FileNotFoundError, NotADirectoryError):
            assert found is None or os.path.normpath(found) == found
        finally:
            os.close(opened)
