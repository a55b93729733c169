"""Which model there is without asking anybody: a key in the environment, or a server on a usual local port."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

LOCAL_PORTS: Mapping[int, str] = {
    11434: "Ollama",
    8080: "llama.cpp",
    1234: "LM Studio",
    8000: "vLLM",
}
"""Port to the server that usually listens there."""

SECONDS = 0.3
"""How long a local server may take to say which models it has."""

LONGEST_ANSWER = 1024 * 1024


@dataclass(frozen=True, kw_only=True)
class Endpoint:
    """An endpoint that could be used.

    Attributes:
        server: what it is, for people.
        base_url: its address.
        model: the first model that it offers; empty when it does not say.
        api_key: reference to the key, None where none is needed.
    """

    server: str
    base_url: str
    model: str = ""
    api_key: str | None = None


def endpoints() -> Iterator[Endpoint]:
    """Yield what there is: the environment's endpoint first, then local servers that answer."""
    key, base_url = os.environ.get("OPENAI_API_KEY", ""), os.environ.get("OPENAI_BASE_URL", "")
    if key or base_url:
        yield Endpoint(
            server="OPENAI_BASE_URL" if base_url else "OpenAI",
            base_url=base_url or "https://api.openai.com/v1",
            model=os.environ.get("OPENAI_MODEL", ""),
            api_key="env:OPENAI_API_KEY" if key else None,
        )
    for port, server in LOCAL_PORTS.items():
        model = first_model("127.0.0.1", port)
        if model is not None:
            yield Endpoint(server=server, base_url=f"http://127.0.0.1:{port}/v1", model=model)


def first_model(host: str, port: int) -> str | None:
    """Ask a server for its models; return the first one's name, None when it is no model server."""
    from http.client import HTTPConnection, HTTPException

    connection = HTTPConnection(host, port, timeout=SECONDS)
    try:
        connection.request("GET", "/v1/models")
        answer = connection.getresponse()
        body = json.loads(answer.read(LONGEST_ANSWER)) if answer.status == 200 else None
        models = body.get("data", []) if isinstance(body, dict) else []
        names = [model["id"] for model in models if isinstance(model, dict) and isinstance(model.get("id"), str)]
        return names[0] if names else None
    except (OSError, HTTPException, ValueError, RecursionError):
        return None
    finally:
        connection.close()
