"""Names of spans, attributes and metrics.

`gen_ai.*` follows the GenAI semantic conventions 0.1 (open-telemetry/semantic-conventions-genai),
which replaced those inside the general conventions (1.41). `remit.*` is ours.
"""

from __future__ import annotations

from typing import Final

INVOKE_AGENT: Final = "invoke_agent"
CHAT: Final = "chat"
EXECUTE_TOOL: Final = "execute_tool"

OPERATION: Final = "gen_ai.operation.name"
PROVIDER: Final = "gen_ai.provider.name"
AGENT: Final = "gen_ai.agent.name"
CONVERSATION: Final = "gen_ai.conversation.id"
REQUEST_MODEL: Final = "gen_ai.request.model"
REQUEST_TEMPERATURE: Final = "gen_ai.request.temperature"
REQUEST_MAX_TOKENS: Final = "gen_ai.request.max_tokens"
REQUEST_STOP: Final = "gen_ai.request.stop_sequences"
REQUEST_STREAM: Final = "gen_ai.request.stream"
RESPONSE_MODEL: Final = "gen_ai.response.model"
RESPONSE_FINISH: Final = "gen_ai.response.finish_reasons"
RESPONSE_FIRST_CHUNK: Final = "gen_ai.response.time_to_first_chunk"
INPUT_TOKENS: Final = "gen_ai.usage.input_tokens"
OUTPUT_TOKENS: Final = "gen_ai.usage.output_tokens"
TOKEN_TYPE: Final = "gen_ai.token.type"
TOKEN_MODALITY: Final = "gen_ai.token.modality"
TOOL_NAME: Final = "gen_ai.tool.name"
TOOL_TYPE: Final = "gen_ai.tool.type"
TOOL_CALL: Final = "gen_ai.tool.call.id"
TOOL_ARGUMENTS: Final = "gen_ai.tool.call.arguments"
TOOL_RESULT: Final = "gen_ai.tool.call.result"
INPUT_MESSAGES: Final = "gen_ai.input.messages"
OUTPUT_MESSAGES: Final = "gen_ai.output.messages"
ERROR: Final = "error.type"
SERVER: Final = "server.address"
PORT: Final = "server.port"

VERDICT: Final = "remit.verdict"
VERDICT_SOURCE: Final = "remit.verdict.source"
EFFECT: Final = "remit.effect"
IMPACT: Final = "remit.impact"
STATUS: Final = "remit.status"
REASON: Final = "remit.reason"
SIGNOFF: Final = "remit.signoff"
SIGNOFF_WAIT: Final = "remit.signoff.wait"
ENFORCEMENT: Final = "remit.enforcement"
RECORD: Final = "remit.record.seq"
LABELS: Final = "remit.labels"
CACHED: Final = "remit.cached"
ASKED_BY: Final = "remit.asked_by"
PARENT_CALL: Final = "remit.call.parent"
SKILL_HASH: Final = "remit.skill.hash"
PACK_VERSION: Final = "remit.pack.version"
RUN_STATUS: Final = "remit.run.status"
STEPS: Final = "remit.run.steps"

NOT_RUN: Final = "remit.call.not_run"
"""Event on the surrounding span for a call that never ran: refused, parked, invalid, from the cache."""

RETRY: Final = "remit.model.retry"
"""Event on a `chat` span: the endpoint failed and is asked again."""
