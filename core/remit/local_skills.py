"""Functions of the embedding program as skills: trusted, in process, shown as not confined."""

from __future__ import annotations

import hashlib
import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, overload

from remit.argument_paths import schema_at
from remit.errors import DeploymentError, UsageError
from remit.skills import Skill
from remit.values import EFFECTS, IMPACTS, Effect, Impact

LOCAL_PACK = "local"
"""The pack of the functions of the embedding program."""

_NAME = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
_MARK = "__remit_skill__"

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, kw_only=True)
class Declared:
    """What `@skill` says about a function; see `skill`."""

    effect: Effect = "external"
    impact: frozenset[Impact] = frozenset()
    name: str = ""
    timeout: float = 30.0
    idempotent: bool = False
    cache: float = 0.0
    targets: tuple[tuple[str, str], ...] = ()
    examples: tuple[Mapping[str, Any], ...] = ()
    secret_arguments: frozenset[str] = frozenset()
    labels: frozenset[str] = frozenset({"untrusted"})


@overload
def skill(function: F, /) -> F: ...


@overload
def skill(
    *,
    effect: Effect = "external",
    impact: Iterable[Impact] = (),
    name: str = "",
    timeout: float = 30.0,
    idempotent: bool = False,
    cache: float = 0.0,
    targets: Mapping[str, str] | None = None,
    examples: Iterable[Mapping[str, Any]] = (),
    secret_arguments: Iterable[str] = (),
    labels: Iterable[str] = ("untrusted",),
) -> Callable[[F], F]: ...


def skill(function: Any = None, /, **options: Any) -> Any:
    """Mark a function as a skill; it stays an ordinary function.

    It runs in this process with all its rights: it is trusted, and shown as *not confined*. Its schema
    comes from its type hints and docstring. With a deployment it runs only where `remit.toml` lists it
    under `[host_skills] allow`.

    ```python
    @skill(effect="read")
    def stock(item: str) -> int:
        "How many of an item there are."
    ```

    Args:
        effect: `read`, `write` or `external`; what is not said is `external`, which asks a person.
        impact: tags of what is dangerous about it.
        name: another name than the function's.
        timeout: seconds after which a call counts as failed; a thread that hangs is left behind.
        idempotent: it may be repeated.
        cache: seconds that a result may be used again (for idempotent reads).
        targets: argument, or way into one (`files[].path`), to kind (`address`, `path`, `url`): where the action lands.
        examples: few-shot examples, `{"question": ..., "arguments": {...}}`.
        secret_arguments: arguments that are never written to a record.
        labels: labels of its results.

    Raises:
        UsageError: the name is none for a skill, or an effect or impact is unknown.
    """
    if function is not None:
        return skill()(function)
    declared = _declared(options)

    def mark(marked: F) -> F:
        _checked_name(declared.name or marked.__name__)
        setattr(marked, _MARK, declared)
        return marked

    return mark


def local_skill(function: Callable[..., Any]) -> Skill:
    """Return the skill that `function` is, marked or plain (then its effect is `external`).

    Raises:
        UsageError: its name is none for a skill, or it cannot be described.
    """
    from remit.packs.describe import judge_description
    from remit_sandbox.inside.describe import describe_function

    declared: Declared = getattr(function, _MARK, Declared())
    name = _checked_name(declared.name or getattr(function, "__name__", ""))
    description = judge_description(name, describe_function(function))
    if description.refused:
        raise UsageError(f"the function {name} cannot be a skill: {description.refused}")
    for way, _ in declared.targets:
        if schema_at(description.schema, way) is None:
            raise UsageError(
                f"targets of {name} names {way!r}, which is no argument of it",
                remedy=f"its arguments: {', '.join(description.schema.get('properties', ())) or 'none'}",
            )
    return Skill(
        pack=LOCAL_PACK,
        name=name,
        description=description.description,
        schema=description.schema,
        effect=declared.effect,
        declared_effect=declared.effect,
        impact=declared.impact,
        timeout=declared.timeout,
        function=function,
        idempotent=declared.idempotent,
        cache=declared.cache,
        targets=dict(declared.targets),
        labels=declared.labels,
        secret_arguments=declared.secret_arguments,
        examples=declared.examples,
        hash=_hash(function),
        confined=False,
    )


def require_allowed(skill: Skill, allowed: Sequence[str]) -> None:
    """Refuse a function that the deployment does not list under `[host_skills] allow`.

    Raises:
        DeploymentError: it is not listed; functions are not confined.
    """
    if not {skill.full, skill.name} & set(allowed):
        raise DeploymentError(
            f"the deployment does not allow the function {skill.name}, which is not confined",
            remedy=f'to allow it, write allow = ["{skill.full}"] under [host_skills] in remit.toml',
        )


def _declared(options: Mapping[str, Any]) -> Declared:
    given = dict(options)
    for name in ("impact", "secret_arguments", "labels"):
        if name in given:
            given[name] = frozenset(given[name])
    given["examples"] = tuple(given.get("examples", ()))
    given["targets"] = tuple((given.get("targets") or {}).items())
    declared = Declared(**given)
    if declared.effect not in EFFECTS:
        raise UsageError(f"unknown effect {declared.effect!r}; there are {', '.join(EFFECTS)}")
    if unknown := sorted(declared.impact.difference(IMPACTS)):
        raise UsageError(f"unknown impact {unknown[0]!r}; there are {', '.join(IMPACTS)}")
    return declared


def _checked_name(name: str) -> str:
    if not _NAME.fullmatch(name) or len(name) > 36:
        raise UsageError(
            f"{name!r} is no name for a skill: write lower case letters, digits and single underscores, at most 36",
            remedy='give it one: @skill(name="...")',
        )
    return name


def _hash(function: Callable[..., Any]) -> str:
    """Return a hash of the source where there is one, so that an approval fits the code it was given for."""
    try:
        source = inspect.getsource(function)
    except (OSError, TypeError):
        source = f"{getattr(function, '__module__', '')}.{getattr(function, '__qualname__', '')}"
    return hashlib.sha256(source.encode("utf-8", "surrogatepass")).hexdigest()
