"""Is what a model reads good enough to choose a skill by, and to fill in its arguments?"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from remit.authoring.findings import Finding
from remit.packs.describe import LONGEST_DESCRIPTION, SkillDescription

_WHEN = re.compile(
    r"\b(use (it|this|them|only|for|to|when|if|whenever|instead)|when(ever)?|for any|for every|if (the|a|an|you))\b",
    re.IGNORECASE,
)
_RETURNS = re.compile(r"\b(returns?|yields?|gives)\b", re.IGNORECASE)
_ORDERS = re.compile(
    r"ignore (all |any |the )?(previous|prior|earlier|other|above)|disregard|system prompt|do not (tell|inform|mention)"
    r"|don't (tell|mention)|never (tell|mention|reveal)"
    r"|(always|must|first) (call|use|run|invoke) (this|it)\b.*\b(before|first|every)"
    r"|before (any|every|using any|calling any) other|instead of (the |any )?[a-z0-9]+[._]{1,2}[a-z]"
    r"|(without|no) (asking|confirm\w*|sign-?off|approval)|sign-?off is not needed|you (must|have to|are now)"
    r"|<\s*/?\s*(system|important|assistant|tool)\b",
    re.IGNORECASE,
)
_ENGLISH = 0.8
_FEWEST_WORDS = 4


def check_words(
    name: str, described: SkillDescription, handler: ast.AST | None, *, file: str, line: int
) -> Iterator[Finding]:
    """Check one skill that was described; see `CODES`.

    Args:
        name: of the skill.
        described: what a model reads.
        handler: the handler's definition, where its source was found.
        file: of the handler.
        line: of the handler.
    """

    def found(code: str, level: Any, message: str, remedy: str) -> Finding:
        return Finding(code=code, level=level, message=message, remedy=remedy, skill=name, file=file, line=line)

    text = described.description
    docstring = _docstring(handler)
    if len(text.split()) < _FEWEST_WORDS and _is_english(text):
        what = f"its description is only {text!r}" if text else "its handler has no docstring"
        yield found("description-missing", "error", what, "say in the docstring what it does, and when to use it")
    elif _is_english(text) and not _WHEN.search(text):
        yield found("description-when", "warning", "the description does not say when to use it", 'write "Use it ..."')
    if len(text) >= LONGEST_DESCRIPTION - 4 and text.endswith("..."):
        most = f"a model reads {LONGEST_DESCRIPTION} characters"
        yield found("description-long", "warning", f"the description is cut: {most}", "say it in fewer words")
    told = " ".join([text, *_argument_texts(described.schema)])
    if order := _ORDERS.search(told):
        message = f"the description gives orders to the model ({order.group()[:60]!r})"
        yield found("description-instructs", "error", message, "say what the skill does; policy is the deployment's")
    yield from _check_arguments(described, found)
    if docstring and _is_english(docstring) and not _RETURNS.search(docstring):
        yield found("result-undocumented", "warning", "the docstring does not say what it returns", "add Returns:")


def _check_arguments(described: SkillDescription, found: Any) -> Iterator[Finding]:
    properties: Mapping[str, Any] = described.schema.get("properties", {})
    required = described.schema.get("required", [])
    for argument, one in properties.items():
        target = _followed(one, described.schema)
        if not one.get("description") and not target.get("description"):
            what = f"the argument {argument!r} is not described"
            yield found("argument-undescribed", "error", what, "describe it under Args: in the docstring")
        if not set(one) - {"title", "description", "default"}:
            what = f"the argument {argument!r} has no type hint"
            yield found("argument-untyped", "error", what, "annotate it with the types that it takes")
        if argument in required and _nullable(one):
            what = f"the argument {argument!r} may be null, and still has to be given"
            yield found("argument-required", "warning", what, "give it the default None, or take None away")
    for note in described.notes:
        if note.startswith("the docstring describes"):
            yield found("argument-unknown", "error", note, "rename it, or remove it from the docstring")


def _argument_texts(schema: Mapping[str, Any]) -> Iterator[str]:
    for one in schema.get("properties", {}).values():
        yield str(one.get("description", ""))


def _followed(one: Mapping[str, Any], schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the definition that an argument refers to: a model's docstring describes it as well."""
    reference = str(one.get("$ref", "")).removeprefix("#/$defs/")
    target = schema.get("$defs", {}).get(reference, {})
    return target if isinstance(target, Mapping) else {}


def _nullable(one: Mapping[str, Any]) -> bool:
    kinds = one.get("type")
    if isinstance(kinds, list):
        return "null" in kinds
    return any(branch.get("type") == "null" for branch in one.get("anyOf", ()))


def _docstring(handler: ast.AST | None) -> str:
    if isinstance(handler, ast.FunctionDef | ast.AsyncFunctionDef):
        return ast.get_docstring(handler) or ""
    return ""


def _is_english(text: str) -> bool:
    """Whether the checks of wording, which know English only, say anything about a text."""
    letters = [char for char in text if char.isalpha()]
    return sum(char.isascii() for char in letters) >= _ENGLISH * len(letters)


def place(handler: tuple[Any, Any] | None) -> tuple[Path | None, int, ast.AST | None]:
    """Return file, line and definition of what `Source.find` found."""
    return (None, 0, None) if handler is None else (handler[0].path, handler[1].lineno, handler[1])
