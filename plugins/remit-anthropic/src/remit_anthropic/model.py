"""`AnthropicModel`: one model behind the Messages API, or behind another endpoint that speaks it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from remit.errors import UsageError
from remit.extensions import ModelProvider, ModelWanted
from remit.extensions.settings import require_fitting
from remit.models.behaviour import PLAIN, Behaviour
from remit.models.endpoint import HttpModel, Patience
from remit.models.protocol import ModelRequest, OnDelta, encode
from remit.models.retry import Retries
from remit.models.urls import versioned_url
from remit_anthropic.caching import marked
from remit_anthropic.reading import MessageReading
from remit_anthropic.writing import answer_format, choice, conversation, tools

DEFAULT_URL = "https://api.anthropic.com"
DEFAULT_KEY = "env:ANTHROPIC_API_KEY"
VERSION = "2023-06-01"
"""Of the API, as its header names it."""

MARKS = "cache_control"
"""Name under which marks for the prompt cache are left out."""

CARRY = "carry"
"""Name under which thinking that is given back is left out, once an endpoint has refused it."""

Thinking = Literal["adaptive", "disabled"] | int


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The table `[extensions.settings.anthropic]`.

    Attributes:
        max_tokens: of a reply where nobody set a limit; the API demands one.
        thinking: `adaptive`, `disabled`, or the tokens that the model may think for; None leaves it to the model.
        effort: `low`, `medium`, `high`, ...; empty leaves it to the model.
    """

    max_tokens: int = 8192
    thinking: Thinking | None = None
    effort: str = ""

    @classmethod
    def of(cls, table: Mapping[str, Any]) -> Settings:
        """Read the table. Raises UsageError for what is not in it or does not fit."""
        fits: dict[str, Callable[[Any], bool]] = {
            "max_tokens": lambda value: type(value) is int and value > 0,
            "thinking": lambda value: value in ("adaptive", "disabled") or (type(value) is int and value >= 1024),
            "effort": lambda value: isinstance(value, str),
        }
        remedy = 'max_tokens = 8192, thinking = "adaptive" (or "disabled", or tokens), effort = "medium"'
        require_fitting("anthropic", table, fits, remedy=remedy)
        return cls(**table)


def provider(table: Mapping[str, Any]) -> ModelProvider:
    """Return what makes models, with the settings of `table`."""
    settings = Settings.of(table)

    def make(wanted: ModelWanted) -> AnthropicModel:
        return AnthropicModel(
            wanted.name,
            base_url=wanted.base_url,
            api_key=wanted.api_key,
            patience=wanted.patience,
            behaviour=wanted.behaviour,
            settings=settings,
        )

    return make


class AnthropicModel(HttpModel):
    """A model of the Messages API.

    Args:
        name: of the model.
        base_url: of another endpoint that speaks the API; None for Anthropic's own.
        api_key: the key, or a reference; None for ANTHROPIC_API_KEY, which goes to no URL that was named here.
        patience: how long to wait.
        retries: see `Retries`.
        behaviour: what the model takes.
        settings: of the extension.

    Raises:
        UsageError: no model is named.
        DeploymentError: the URL or the key cannot be used.
    """

    kind = "an endpoint of the Anthropic Messages API"
    optional = ("temperature", "output_config", "tool_choice", "thinking", "stop_sequences")

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
            raise UsageError("no Anthropic model is named", remedy='name = "..." under [model] in remit.toml')
        if base_url is None and api_key is None:
            api_key = DEFAULT_KEY
        super().__init__(
            name,
            url=versioned_url(base_url or DEFAULT_URL, "/v1", "/messages"),
            api_key=api_key,
            configured=api_key,
            patience=patience,
            retries=retries,
            left_out=behaviour.left_out - {"max_tokens"},
            images=behaviour.images is not False,
            documents=behaviour.documents is not False,
        )
        self.left_out |= {MARKS} if behaviour.cache_marks is False else frozenset()
        self._settings = settings or Settings()
        self._one_call = behaviour.parallel_calls is False

    def headers(self, key: str | None) -> dict[str, str]:
        return {"anthropic-version": VERSION} | ({} if key is None else {"x-api-key": key})

    def reading(self, request: ModelRequest, on_delta: OnDelta | None) -> MessageReading:
        return MessageReading(self.name, on_delta)

    def body(self, request: ModelRequest, *, stream: bool) -> bytes:
        system, messages = conversation(request, self.name, carry=CARRY not in self.left_out)
        body: dict[str, Any] = {
            "model": self.name,
            "max_tokens": request.max_tokens or self._settings.max_tokens,
            "messages": messages,
        }
        if system:
            body["system"] = system
        if request.tools:
            body["tools"] = tools(request.tools)
        body |= self.options(request, stream=stream)
        return encode(body if MARKS in self.left_out else marked(body, request))

    def options(self, request: ModelRequest, *, stream: bool) -> dict[str, Any]:
        options: dict[str, Any] = self._thinking(request)
        if request.temperature is not None and "thinking" not in options:
            options["temperature"] = min(request.temperature, 1.0)
        if request.stop:
            options["stop_sequences"] = list(request.stop)
        if request.tools and (chosen := choice(request.tool_choice, one_call=self._one_call)):
            options["tool_choice"] = chosen
        output: dict[str, Any] = {"effort": self._settings.effort} if self._settings.effort else {}
        if request.answer_schema is not None and "response_format" not in self.left_out:
            output["format"] = answer_format(request.answer_schema)
        if output:
            options["output_config"] = output
        if stream:
            options["stream"] = True
        return {name: value for name, value in options.items() if name not in self.left_out}

    def _thinking(self, request: ModelRequest) -> dict[str, Any]:
        """Return the field `thinking`; a model that thinks cannot be made to call, so that it then does not."""
        thinking = self._settings.thinking
        forced = bool(request.tools) and request.tool_choice not in ("", "auto", "none")
        if thinking is None or (forced and thinking != "disabled"):
            return {}
        if isinstance(thinking, str):
            return {"thinking": {"type": thinking}}
        most = request.max_tokens or self._settings.max_tokens
        return {"thinking": {"type": "enabled", "budget_tokens": thinking}} if thinking < most else {}

    def refused_of(self, refusal: bytes, sent: frozenset[str]) -> str | None:
        if b"signature" in refusal.lower() and CARRY not in self.left_out:
            return CARRY
        if MARKS.encode() in refusal.lower() and MARKS not in self.left_out:
            return MARKS
        return super().refused_of(refusal, sent)
