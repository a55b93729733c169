"""The parsers of vLLM and SGLang, out of their wheels and without the rest of the engines.

    pip download --no-deps --only-binary :all: -d DIR vllm sglang     # then unpack the wheels into DIR
    python -m benchmarks.dialects --engines DIR

Only the file with the parser of the Hermes format is loaded, with the helpers beside it, which need `pydantic`,
`orjson`, `regex`, `openai` and `partial-json-parser`. What they import of the engine around them (protocol, logger,
settings) is replaced by the least that they touch, so their figures are a lower bound of what they cost inside.
"""

from __future__ import annotations

import importlib
import logging
import sys
import types
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

Read = Callable[[str], object]


def parsers(folder: Path) -> dict[str, tuple[Read, Read]]:
    """Return engine to its readers of a whole text and of one in pieces of four characters, of those that are there."""
    sys.path.insert(0, str(folder))
    found: dict[str, tuple[Read, Read]] = {}
    for name, make in (("vLLM", _vllm), ("SGLang", _sglang)):
        try:
            found[name] = make(folder)
        except ImportError as error:
            print(f"{name} is not measured: {error}", file=sys.stderr)
    return found


def _vllm(folder: Path) -> tuple[Read, Read]:
    from pydantic import BaseModel, Field

    class FunctionCall(BaseModel):
        name: str
        arguments: str

    class ToolCall(BaseModel):
        id: str = Field(default_factory=_call_id)
        type: str = "function"
        function: FunctionCall

    class DeltaFunctionCall(BaseModel):
        name: str | None = None
        arguments: str | None = None

    class DeltaToolCall(BaseModel):
        id: str | None = None
        type: str | None = None
        index: int
        function: DeltaFunctionCall | None = None

    class DeltaMessage(BaseModel):
        content: str | None = None
        tool_calls: list[DeltaToolCall] = Field(default_factory=list)

    class ExtractedToolCallInformation(BaseModel):
        tools_called: bool
        tool_calls: list[ToolCall]
        content: str | None = None

    class ToolParser:
        def __init__(self, tokenizer: object, tools: object = None) -> None:
            self.model_tokenizer = tokenizer
            self.prev_tool_call_arr: list[dict[str, Any]] = []
            self.streamed_args_for_tool: list[str] = []

    protocol = [FunctionCall, ToolCall, DeltaFunctionCall, DeltaToolCall, DeltaMessage, ExtractedToolCallInformation]
    _packages(folder, "vllm", "vllm.tool_parsers")
    _stub("vllm.entrypoints.generate.base.protocol", {one.__name__: one for one in protocol})
    _stub("vllm.entrypoints.openai.chat_completion.protocol", {})
    _stub("vllm.entrypoints.openai.responses.protocol", {})
    _stub("vllm.logger", {"init_logger": logging.getLogger})
    _stub("vllm.exceptions", {"VLLMValidationError": ValueError})
    _stub("vllm.renderers.chat_utils", {"make_tool_call_id": _call_id})
    _stub("vllm.tokenizers", {})
    _stub("vllm.utils.mistral", {"is_mistral_tokenizer": lambda tokenizer: False})
    _stub("vllm.tool_parsers.abstract_tool_parser", {"ToolParser": ToolParser})
    parser = importlib.import_module("vllm.tool_parsers.hermes_tool_parser").Hermes2ProToolParser

    def streamed(text: str) -> object:
        state, last = parser(object()), None
        for at in range(0, len(text), 4):
            delta = text[at : at + 4]
            last = state.extract_tool_calls_streaming(text[:at], text[:at] + delta, delta, (), (), (), None)
        return last

    return lambda text: parser(object()).extract_tool_calls(text, None), streamed


def _sglang(folder: Path) -> tuple[Read, Read]:
    from pydantic import BaseModel

    class Function(BaseModel):
        name: str
        parameters: dict[str, Any]

    class Tool(BaseModel):
        function: Function

    forward = types.SimpleNamespace(SGLANG_FORWARD_UNKNOWN_TOOLS=types.SimpleNamespace(get=lambda: False))
    _packages(folder, "sglang", "sglang.srt", "sglang.srt.function_call")
    _stub("sglang.srt.entrypoints.openai.protocol", {"Tool": Tool})
    _stub("sglang.srt.environ", {"envs": forward})
    detector = importlib.import_module("sglang.srt.function_call.qwen25_detector").Qwen25Detector
    tools = [Tool(function=Function(name="write_file", parameters={}))]

    def streamed(text: str) -> object:
        state, last = detector(), None
        for at in range(0, len(text), 4):
            last = state.parse_streaming_increment(text[at : at + 4], tools)
        return last

    return lambda text: detector().detect_and_parse(text, tools), streamed


def _call_id() -> str:
    return f"call_{uuid.uuid4().hex[:24]}"


def _packages(folder: Path, *names: str) -> None:
    """Let packages be found without running what their `__init__` imports."""
    for name in names:
        place = folder.joinpath(*name.split("."))
        if not place.is_dir():
            raise ImportError(f"there is no {name} in {folder}")
        module = types.ModuleType(name)
        module.__path__ = [str(place)]
        sys.modules[name] = module


class _Stub(types.ModuleType):
    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return object


def _stub(name: str, values: Mapping[str, Any]) -> None:
    """Put a module in place of one of the engine's."""
    parts = name.split(".")
    for end in range(2, len(parts)):
        above = ".".join(parts[:end])
        if above not in sys.modules:
            sys.modules[above] = types.ModuleType(above)
            sys.modules[above].__path__ = []
    module = _Stub(name)
    module.__dict__.update(values)
    sys.modules[name] = module
