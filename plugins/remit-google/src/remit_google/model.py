"""`GoogleModel`: one model behind the Gemini API (`generateContent`)."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit, urlunsplit

from remit.errors import UsageError
from remit.extensions import ModelProvider, ModelWanted
from remit.extensions.settings import require_fitting
from remit.models.behaviour import PLAIN, Behaviour
from remit.models.endpoint import HttpModel, Patience
from remit.models.protocol import ModelRequest, OnDelta, encode
from remit.models.retry import Retries
from remit.models.urls import versioned_url
from remit_google.reading import CandidateReading
from remit_google.writing import calling, conversation, declarations

if TYPE_CHECKING:
    from httpx2 import Response

DEFAULT_URL = "https://generativelanguage.googleapis.com"
DEFAULT_KEY = "env:GEMINI_API_KEY"

CARRY = "carry"
"""Name under which signatures that are given back are left out, once an endpoint has refused them."""

_OF_NO_CONFIG = ("toolConfig",)
"""Options that do not stand in `generationConfig`."""

_DELAY = re.compile(r"([0-9]{1,6}(?:\.[0-9]{1,9})?)s")
_OLD = re.compile(r"(models/)?gemini-[12]\b")


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The table `[extensions.settings.google]`.

    Attributes:
        thinking_level: `low`, `medium`, `high`, ...; empty leaves it to the model.
        thoughts: ask for summaries of what the model thinks.
    """

    thinking_level: str = ""
    thoughts: bool = False

    @classmethod
    def of(cls, table: Mapping[str, Any]) -> Settings:
        """Read the table. Raises UsageError for what is not in it or does not fit."""
        fits: dict[str, Callable[[Any], bool]] = {
            "thinking_level": lambda value: isinstance(value, str),
            "thoughts": lambda value: isinstance(value, bool),
        }
        require_fitting("google", table, fits, remedy='thinking_level = "low", thoughts = true')
        return cls(**table)


def provider(table: Mapping[str, Any]) -> ModelProvider:
    """Return what makes models, with the settings of `table`."""
    settings = Settings.of(table)

    def make(wanted: ModelWanted) -> GoogleModel:
        return GoogleModel(
            wanted.name,
            base_url=wanted.base_url,
            api_key=wanted.api_key,
            patience=wanted.patience,
            behaviour=wanted.behaviour,
            settings=settings,
        )

    return make


class GoogleModel(HttpModel):
    """A model of the Gemini API.

    Args:
        name: of the model.
        base_url: of another endpoint that speaks the API; None for Google's own.
        api_key: the key, or a reference; None for GEMINI_API_KEY, which goes to no URL that was named here.
        patience: how long to wait.
        retries: see `Retries`.
        behaviour: what the model takes.
        settings: of the extension.

    Raises:
        UsageError: no model is named.
        DeploymentError: the URL or the key cannot be used.
    """

    kind = "an endpoint of the Gemini API"
    optional = ("responseJsonSchema", "temperature", "stopSequences", "thinkingConfig", "toolConfig")

    def __init__(
        self,
        name: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        patience: Patience | None = None,
        retries: Retries | None = None,
        behaviour: Behaviour = PLAIN,
        settings: Settings | None = None,
    ) -> None:
        if not name:
            raise UsageError("no Gemini model is named", remedy='name = "..." under [model] in remit.toml')
        if base_url is None and api_key is None:
            api_key = DEFAULT_KEY
        path = quote(name if "/" in name else f"models/{name}")
        super().__init__(
            name,
            url=versioned_url(base_url or DEFAULT_URL, "/v1beta", f"/{path}:generateContent"),
            api_key=api_key,
            configured=api_key,
            patience=patience,
            retries=retries,
            left_out=frozenset(_NAMES[field] for field in behaviour.left_out if field in _NAMES),
            images=behaviour.images is not False,
            documents=behaviour.documents is not False,
        )
        self._settings = settings or Settings()
        self._old = bool(_OLD.match(name.lower()))

    def headers(self, key: str | None) -> dict[str, str]:
        return {} if key is None else {"x-goog-api-key": key}

    def address(self, *, stream: bool) -> str:
        if not stream:
            return self.url
        parts = urlsplit(self.url)
        path = parts.path.removesuffix(":generateContent") + ":streamGenerateContent"
        return urlunsplit(parts._replace(path=path, query="&".join(filter(None, (parts.query, "alt=sse")))))

    def reading(self, request: ModelRequest, on_delta: OnDelta | None) -> CandidateReading:
        return CandidateReading(self.name, on_delta)

    def body(self, request: ModelRequest, *, stream: bool) -> bytes:
        system, contents = conversation(request, self.name, carry=CARRY not in self.left_out, old=self._old)
        body: dict[str, Any] = {"contents": contents}
        if system:
            body["systemInstruction"] = {"parts": [{"text": system}]}
        if request.tools:
            body["tools"] = [{"functionDeclarations": declarations(request.tools)}]
        options = self.options(request, stream=stream)
        body |= {name: options.pop(name) for name in _OF_NO_CONFIG if name in options}
        if "responseJsonSchema" in options:
            options["responseMimeType"] = "application/json"
        if options:
            body["generationConfig"] = options
        return encode(body)

    def options(self, request: ModelRequest, *, stream: bool) -> dict[str, Any]:
        options: dict[str, Any] = {}
        if request.temperature is not None:
            options["temperature"] = request.temperature
        if request.stop:
            options["stopSequences"] = list(request.stop)
        if request.max_tokens is not None:
            options["maxOutputTokens"] = request.max_tokens
        if request.tools and (chosen := calling(request.tool_choice)):
            options["toolConfig"] = chosen
        if request.answer_schema is not None:
            options["responseJsonSchema"] = request.answer_schema
        if thinking := self._thinking():
            options["thinkingConfig"] = thinking
        return {name: value for name, value in options.items() if name not in self.left_out}

    def _thinking(self) -> dict[str, Any]:
        level = {"thinkingLevel": self._settings.thinking_level} if self._settings.thinking_level else {}
        return level | ({"includeThoughts": True} if self._settings.thoughts else {})

    def refused_of(self, refusal: bytes, sent: frozenset[str]) -> str | None:
        words = refusal.lower()
        if b"signature" in words and b"missing" not in words and CARRY not in self.left_out:
            return CARRY
        if b"mime type" in words and "responseJsonSchema" in sent:  # many models take none beside skills
            return "responseJsonSchema"
        return super().refused_of(refusal, sent)

    def pause(self, response: Response, refusal: bytes) -> float | None:
        pause = super().pause(response, refusal)
        return _delay(refusal) if pause is None else pause


_NAMES = {
    "temperature": "temperature",
    "tool_choice": "toolConfig",
    "response_format": "responseJsonSchema",
}
"""Field of chat completions to what it is called here."""


def _delay(refusal: bytes) -> float | None:
    """Return the seconds of a `RetryInfo` in an error, None where there is none."""
    try:
        body = json.loads(refusal)
    except (ValueError, RecursionError):
        return None
    error = (body[0] if isinstance(body, list) and body else body) or {}
    inner = error.get("error") if isinstance(error, dict) else None
    details = inner.get("details") if isinstance(inner, dict) else None
    for detail in details if isinstance(details, list) else ():
        found = _DELAY.fullmatch(str(detail.get("retryDelay"))) if isinstance(detail, dict) else None
        if found:
            return float(found[1])
    return None
