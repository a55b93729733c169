"""A stand-in for a language model that can do what `suite.yaml` asks, so that the example needs no endpoint."""

from __future__ import annotations

import json
import re

from remit.models.protocol import ModelReply, ModelRequest, ToolCall


def reply(request: ModelRequest) -> ModelReply:
    """Answer a request: with the call that its question needs, or with the result of that call in words."""
    said = request.messages
    start = max(at for at, message in enumerate(said) if message.role == "user" and message.origin == "person")
    question, results = said[start].content, [message for message in said[start:] if message.role == "tool"]
    earlier = " ".join(message.content for message in said[:start])
    if results:
        return ModelReply(text=answer(results[-1].content))
    skill, arguments = plan(question, earlier)
    if not skill:
        return ModelReply(text="Hello!")
    return ModelReply(calls=(ToolCall(name=skill, arguments=json.dumps(arguments)),))


def plan(question: str, earlier: str) -> tuple[str, dict[str, str]]:
    """Return the wire name and arguments of the call that a question needs; no name where it needs none."""
    if share := re.search(r"(\d+% of \d+)", question):
        return "calc__evaluate", {"expression": share[1]}
    if product := re.search(r"(\d+) times (\d+)", question):
        return "calc__evaluate", {"expression": f"{product[1]} * {product[2]}"}
    if "half of that" in question:
        return "calc__evaluate", {"expression": f"{re.findall(r'[0-9]+', earlier)[-1]} / 2"}
    if written := re.search(r'Write "(.*?)" into (\S+\.txt)', question):
        return "files__write_file", {"path": written[2], "content": written[1]}
    if named := re.search(r"\S+\.txt", question):
        return "files__read_file", {"path": named[0]}
    return "", {}


def answer(result: str) -> str:
    """Put a result into words."""
    try:
        value = json.loads(result)
    except ValueError:
        return result
    return f"It is {value['result']}." if "result" in value else str(value.get("text", value))
