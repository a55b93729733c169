"""Texts that are made to be slow: the beginnings of every mark, again and again, and values that never end."""

from __future__ import annotations

from collections.abc import Iterator

_CALL = '{"name": "calc", "arguments": {"expr": "1+1"}}'
_M3 = "]<]minimax[>["
_DEEPSEEK, _DSML = "<｜tool▁call▁begin｜>calc<｜tool▁sep｜>", "<｜DSML｜"
_KIMI, _XTML = "<|tool_call_begin|>calc<|tool_call_argument_begin|>", '<|open|>call tool="calc"<|sep|>'
_HARMONY = "<|channel|>commentary to=functions.calc<|message|>"

UNITS: tuple[str, ...] = (
    *("<tool_call>", "<tool_call>{", '<tool_call>{"a":', '<tool_call>["', "</tool_call>", "<tool_call>[/*"),
    *("[", "{", '{"a":', "\n{", "\n[1,", "\n{'", "\n[/*", '\n{"name": "calc', f"{_CALL}\n", "\\", '"', " ", "\n", "<"),
    *("`", "` `` ", "`a` ", "\n```\n", "\n```python\n", "```json\n{\n", "~~~\n", "```x\n```\n", "\n> "),
    *("<think>", "</think>", "[THINK]", "[/THINK]", "</think>calc(", "</think>calc\n{", "</think>  ", '</think>{"a":'),
    *("Thought: ", "\nThought: a\nAction: b", "Action: calc\n", "\nAction: a\n\n\n"),
    *("<function=", "<function=calc>", "<function=calc>\n<parameter=a>\n", "\n<parameter=a>"),
    *("<function=calc>\n<parameter=expr>\n1\n</parameter>\n", "<function=nope>", "<tool_call>\n<function=calc>"),
    *("<tool_call>calc<arg_key>expr</arg_key><arg_value>", "<tool_call>calc</tool_call>", "</arg_value> "),
    *("<tool_call>calc<arg_key>", "<tool_call>nope<arg_key>", "[TOOL_CALLS]", "[TOOL_CALLS]calc[ARGS]{"),
    *("[TOOL_CALLS]calc[ARGS]{}", "[TOOL_CALLS] [", "[TOOL_CALLS]calc{x"),
    *("<|channel|>", "<|channel|>analysis<|message|>", f"<|start|>assistant{_HARMONY}x", f"{_HARMONY}{{}}<|call|>"),
    *(f"{_HARMONY}{{x", " to=functions.calc<|channel|>", "<|end|>", "<|message|>"),
    "<|channel|>final<|message|>a<|end|>",
    *("<|channel|>commentary to=nope<|message|>", "<|channel|>final<|message|>"),
    *("<|tool_call>call:calc{", "<|tool_call>call:calc{a:", "<|tool_call>call:calc{}<tool_call|>"),
    *('<|tool_call>call:calc{a:<|"|>', "<|channel>thought\n", "<channel|>", "<|tool_call>call:calc{a:x}<tool_call|>"),
    *("<|tool_calls_section_begin|>", f"{_KIMI}{{}}", f"{_KIMI}{{x", "<|tool_call_begin|>", "<|tool_call_end|>"),
    *("<｜tool▁calls▁begin｜>", f"{_DEEPSEEK}{{}}<｜tool▁call▁end｜>", f"{_DEEPSEEK}{{x", _DSML),
    *(f'{_DSML}invoke name="calc">', f'{_DSML}invoke name="calc">{_DSML}parameter name="a" string="true">'),
    *('<invoke name="calc">\n', '<invoke name="calc"><parameter name="a">', '<invoke name="nope">'),
    *('<invoke name="nope"/>', "<function_calls>", '<invoke name="calc"/>'),
    *("<|open|>", _XTML, f'{_XTML}<|open|>argument key="a"<|sep|>', "<|open|>think<|sep|>", "<|close|>think<|sep|>"),
    *('<|open|>call tool="nope"<|sep|><|close|>call<|sep|>',),
    *("\n[calc(expr='", "\n[calc(expr=[", "\n[calc(expr=1", "\n[f(a=1)]", "\n[f(a={'b':", "\ncalc(", "\n['calc("),
    *("calc(expr=1)\n", "\n[f(a=/*", "\n[f(a='", "<|python_start|>[", "<|python_tag|>{", "<|python_tag|>"),
    *(f"{_M3}<tool_call>", f'{_M3}<invoke name="calc">', f'{_M3}<invoke name="calc">{_M3}<expr>', f"{_M3}<a>"),
    *(f'{_M3}<invoke name="nope">', f"{_M3}</invoke>", "]<]minimax", "<function_call>{", "Action: ```json\n[{"),
    *("\nfunctools[{", "<|START_ACTION|>[", "<|START_THINKING|>", "<|END_THINKING|>", "<|tool_call|>[", "calc\n{"),
    *("</s>", "<|im_start|>", "<|im_start", "<|im_end", "<s>"),
)


def texts(size: int) -> Iterator[tuple[str, str]]:
    """Yield (name, text of about `size` characters)."""
    for unit in UNITS:
        yield unit, unit * (size // len(unit))
    yield from _grown(size)


def _grown(size: int) -> Iterator[tuple[str, str]]:
    few, many = range(size // 40), range(size // 16)
    keys = "".join(f"<parameter=a{n}>\n1\n" for n in many)
    yield "parameters without end", f"<function=calc>\n{keys}</parameter>\n</function>"
    keys = "".join(f"<parameter=a{n}>\n1\n</parameter>\n" for n in few)
    yield "parameters", f"<function=calc>\n{keys}</function>"
    elements = "".join(f"{_M3}<a{n}>1{_M3}</a{n}>" for n in few)
    yield "elements", f'{_M3}<invoke name="calc">{elements}{_M3}</invoke>'
    yield "elements that nest", f'{_M3}<invoke name="calc">' + f"{_M3}<a>" * (size // 17)
    pairs = "".join(f"<arg_key>a{n}</arg_key><arg_value>1</arg_value>" for n in few)
    yield "argument pairs", f"<tool_call>calc{pairs}</tool_call>"
    members = ",".join(f'"k{n}":1' for n in many)
    yield "members", f'{{"name":"calc","arguments":{{{members}}}}}'
    yield "members of Gemma", f"<|tool_call>call:calc{{{members.replace(chr(34), '')}}}<tool_call|>"
    yield "keyword arguments", f"[calc({', '.join(f'k{n}=1' for n in many)})]"
    yield "digits", f'{{"name":"calc","arguments":{{"expr":{"1" * size}}}}}'
    yield "one text", f'{{"name":"calc","arguments":{{"expr":"{"x" * size}"}}}}'
    yield "letters", "x" * size
    yield "prose", "The answer is 5, and 6 < 7. " * (size // 28)
