"""Files that a program makes: named bytes that leave the cell with its result."""

from __future__ import annotations

from typing import Any

FILES = 20
"""Files that one program may make."""

SIZE = 16 * 1024 * 1024
"""Bytes of all of them."""


class Files:
    """Collects what a program saves."""

    def __init__(self) -> None:
        self._files: dict[str, bytes] = {}

    def save(self, name: str, data: str | bytes, /) -> None:
        """Make a file of the result; the same name again replaces it.

        Raises:
            ValueError: the name is no plain file name, or there is too much.
            TypeError: the data is neither text nor bytes.
        """
        plain, content = checked_name(name), _bytes(data)
        others = sum(len(held) for held_name, held in self._files.items() if held_name != plain)
        if others + len(content) > SIZE or len({*self._files, plain}) > FILES:
            raise ValueError(f"at most {FILES} files of {SIZE} bytes together can be saved")
        self._files[plain] = content

    @property
    def names(self) -> tuple[str, ...]:
        """Names of what was saved so far."""
        return tuple(self._files)

    def taken(self) -> dict[str, bytes]:
        """Return what was saved since this was last asked."""
        files, self._files = self._files, {}
        return files


def checked_name(name: Any) -> str:
    """Return `name` when it names a file without a folder.

    Raises:
        ValueError: it does not.
    """
    if not isinstance(name, str) or not 0 < len(name) <= 100 or name.startswith("."):
        raise ValueError("a file has a name of at most 100 characters that does not begin with a point")
    plain = str.__str__(name)
    if any(sign in plain for sign in "/\\:\0") or not plain.isprintable():
        raise ValueError("a file has a plain name, without folders: save_file('table.csv', text)")
    return plain


def _bytes(data: Any) -> bytes:
    if isinstance(data, str):
        return str.__str__(data).encode("utf-8", "backslashreplace")
    if isinstance(data, bytes | bytearray):
        return bytes(data)
    raise TypeError("save_file(name, data) takes text or bytes")
