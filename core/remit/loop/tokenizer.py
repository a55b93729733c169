"""A model's own tokenizer, from the file that a deployment names."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

from remit.errors import DeploymentError
from remit.loop.counting import TokenCounter

_FILE = "file:"


class FileTokenizer:
    """Counts with a `tokenizer.json` as Hugging Face writes it; needs the extra `remit[tokenizer]`.

    Raises:
        DeploymentError: the library is not installed, or the file is no tokenizer.
    """

    def __init__(self, path: Path) -> None:
        try:
            from tokenizers import Tokenizer
        except ImportError:
            raise DeploymentError(
                "[model] tokenizer names a file, but the library that reads it is not installed",
                remedy='pip install "remit[tokenizer]"',
            ) from None
        try:
            self._tokenizer: Any = Tokenizer.from_str(path.read_text(encoding="utf-8"))
            self._tokenizer.no_truncation()
        except Exception as error:  # the library raises Exception itself
            raise DeploymentError(
                f"the tokenizer {path} cannot be read: {error}",
                remedy="name the tokenizer.json that belongs to the model",
            ) from error

    def count(self, text: str) -> int:
        """Return the number of tokens of `text`, without those that mark its beginning and end."""
        return len(self._tokenizer.encode(text, add_special_tokens=False).ids)


def tokenizer_of(reference: str, folder: Path) -> TokenCounter | None:
    """Return the tokenizer that `[model] tokenizer` names, None for an empty name.

    Args:
        reference: `file:PATH`, relative to the deployment's folder.
        folder: of the deployment.

    Raises:
        DeploymentError: see `FileTokenizer`.
    """
    if not reference:
        return None
    return _read(folder / Path(reference.removeprefix(_FILE)).expanduser())


@functools.lru_cache(maxsize=4)
def _read(path: Path) -> FileTokenizer:
    """A tokenizer takes up to a second to read: one for the whole process."""
    return FileTokenizer(path)
