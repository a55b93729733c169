"""What a reply costs, and an endpoint that is left alone."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

from remit.models.circuit import Circuit, circuit_of
from remit.models.price import ESTIMATED, Price, PricedModel
from remit.models.price_list import listed_price
from remit.models.protocol import Message, ModelReply, ModelRequest, Usage
from remit.models.scripted import ScriptedModel

REQUEST = ModelRequest(messages=(Message(role="user", content="x" * 300),))


def answer(reply: ModelReply) -> ModelReply:
    model = PricedModel(ScriptedModel([reply]), Price(input=0.25, output=2.0))
    return asyncio.run(model.complete(REQUEST))


def test_the_cost_follows_from_the_usage() -> None:
    reply = answer(ModelReply(text="x", usage=Usage(input_tokens=1_000_000, output_tokens=500_000)))
    assert (reply.cost, reply.notes) == (1.25, ())


def test_an_endpoint_that_tells_no_usage_is_estimated_and_the_reply_says_so() -> None:
    reply = answer(ModelReply(text="y" * 30))
    assert reply.notes == (ESTIMATED,) and reply.usage == Usage()
    assert reply.cost is not None and 0 < reply.cost < 0.001


def test_a_priced_model_is_still_its_model() -> None:
    model = ScriptedModel([], name="m")
    assert PricedModel(model, Price(input=1, output=1)).requests is model.requests
    assert PricedModel(model, Price(input=1, output=1)).name == "m"


def test_failures_in_a_row_open_a_circuit_for_a_while() -> None:
    now = [0.0]
    circuit = Circuit(failures=2, seconds=10, clock=lambda: now[0])
    circuit.failed()
    circuit.answered()
    circuit.failed()
    assert not circuit.is_open
    circuit.failed()
    assert circuit.is_open
    now[0] = 10.0
    assert not circuit.is_open
    circuit.failed()
    assert circuit.is_open
    circuit.answered()
    assert not circuit.is_open


def test_an_endpoint_has_one_circuit_in_the_process() -> None:
    assert circuit_of("m http://x.example") is circuit_of("m http://x.example")
    assert circuit_of("m http://x.example") is not circuit_of("n http://x.example")


def test_what_was_kept_has_a_price_of_its_own_where_one_is_known() -> None:
    usage = Usage(input_tokens=1_000_000, output_tokens=0, cached_tokens=600_000, cache_writes=200_000)
    assert Price(input=1.0, output=2.0).of(usage) == 1.0
    assert Price(input=1.0, output=2.0, cache_read=0.1, cache_write=1.25).of(usage) == 0.2 + 0.06 + 0.25
    more = Usage(input_tokens=10, output_tokens=0, cached_tokens=10**9, cache_writes=10**9)
    assert Price(input=1.0, output=2.0, cache_read=0.0).of(more) == 0, "an endpoint may say anything"
    assert (usage + more).cached_tokens == 600_000 + 10**9


def test_a_list_of_prices_knows_those_of_the_cache(tmp_path: Path) -> None:
    row = {"input_cost_per_token": 1e-6, "output_cost_per_token": 2e-6, "cache_read_input_token_cost": 1e-7}
    (tmp_path / "p.json").write_text(json.dumps({"m": row, "n": row | {"cache_read_input_token_cost": "much"}}))
    assert listed_price(tmp_path / "p.json", "m") == Price(input=1.0, output=2.0, cache_read=1e-7 * 1e6)
    assert listed_price(tmp_path / "p.json", "n") == Price(input=1.0, output=2.0)
