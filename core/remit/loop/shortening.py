"""Results that are too large to read are summarised by the model, where the deployment wants that."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from remit.errors import StateError
from remit.loop.summaries import RESULT, Book, summary
from remit.models.protocol import Message
from remit.pipeline.cap import CUT_HERE, about_follow_ups
from remit.skills import READ_RESULT
from remit.state.blobs import Blob
from remit.values import Result

if TYPE_CHECKING:
    from collections.abc import Sequence

    from remit.loop.voices import Voice

LONGEST_RESULT = 400
"""Tokens of the summary of a result: about what the cut text would take."""

QUESTION = 1_000
"""Characters of the person's question that are read with a result."""


class BlobStore(Protocol):
    """Reads whole results; `remit.state.store.State` is the one that counts."""

    def get_blob(self, handle: str, *, session: str | None = None) -> Blob | None:
        """Return what a handle stands for."""
        ...


class Shortening:
    """Puts a summary in the place of the text of each result that was cut.

    The result keeps its value, labels and handle: whoever reads the summary knows where the whole is. No summary is
    JSON, so that nothing in it passes for a structure that a skill's code made. With the result, only the person's own
    words are read: what they attached has labels of its own, and would lose them.
    """

    def __init__(self, store: BlobStore, book: Book) -> None:
        self._store = store
        self._book = book

    async def shortened(
        self, voice: Voice, results: tuple[Result, ...], messages: Sequence[Message], *, step: int
    ) -> tuple[Result, ...]:
        """Return `results`, shortened where they were cut; what cannot be summarised stays as it is."""
        if not any(map(_was_cut, results)):
            return results
        asked = next((m.content[: len(m.content) - m.attached] for m in reversed(messages) if m.asks), "")
        return tuple([await self._one(voice, result, asked, step) for result in results])

    async def _one(self, voice: Voice, result: Result, asked: str, step: int) -> Result:
        whole = self._whole(result) if _was_cut(result) else ""
        if not whole:
            return result
        text = f"The question: {asked[:QUESTION]}\n\nThe result of {result.skill}:\n{whole}"
        written = await summary(
            voice.model,
            "result",
            text,
            self._book,
            step=step,
            context=voice.context,
            covers=len(whole),
            longest=LONGEST_RESULT,
        )
        if written is None:
            return result
        told = RESULT.format(count=len(whole), read=READ_RESULT, handle=result.handle, text=written)
        return replace(result, text=told + about_follow_ups(result.follow_ups))

    def _whole(self, result: Result) -> str:
        """Return the whole text as it is kept, without what must not be stored."""
        try:
            blob = self._store.get_blob(str(result.handle), session=self._book.session)
        except StateError:
            return ""
        return blob.data.decode("utf-8", "replace") if blob is not None else ""


def _was_cut(result: Result) -> bool:
    return (
        result.status == "ok" and result.handle is not None and result.skill != READ_RESULT and CUT_HERE in result.text
    )
