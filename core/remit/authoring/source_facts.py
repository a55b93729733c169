"""What the source of a pack says, read as text: nothing of it is imported.

From a handler the names that it uses are followed through the modules of its package. What a name of another library
does is known for the usual ones; what cannot be known is said to be so.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from remit.authoring.deeds import KNOWN, Deed, deed_of_call, deed_of_name
from remit.plain_file import read_plain

LARGEST = 2 * 1024 * 1024
"""Bytes of a source file that is read."""

_GIVEN: Mapping[str, Deed] = {"secrets": "secret", "workspace": "read", "readable": "read", "data": "data"}
"""What the parts of a context are for."""

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Assign | ast.AnnAssign


@dataclass(frozen=True, kw_only=True)
class Module:
    """One source file.

    Attributes:
        name: dotted.
        path: the file.
        tree: its syntax.
        definitions: top-level name to what defines it.
        imports: local name to the dotted name behind it.
    """

    name: str
    path: Path
    tree: ast.Module
    definitions: Mapping[str, Definition]
    imports: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class Seen:
    """A deed with the place where it stands."""

    deed: Deed
    what: str
    path: Path
    line: int


@dataclass(kw_only=True)
class Reach:
    """What a skill can reach.

    Attributes:
        seen: deeds, in the order in which they were met.
        strangers: libraries that it uses and of which nothing is known.
    """

    seen: list[Seen] = field(default_factory=list)
    strangers: set[str] = field(default_factory=set)

    def first(self, deed: Deed) -> Seen | None:
        """Return the first deed of a kind."""
        return next((one for one in self.seen if one.deed == deed), None)


class Source:
    """The source files of one package."""

    def __init__(self, root: Path) -> None:
        self.package = root.name
        self.modules: dict[str, Module] = {}
        self.unreadable: list[Path] = []
        for path in sorted(root.rglob("*.py")):
            try:
                module = _module(root, path)
            except (OSError, ValueError, SyntaxError, RecursionError):
                self.unreadable.append(path)
                continue
            self.modules[module.name] = module

    def find(self, reference: str) -> tuple[Module, Definition] | None:
        """Return where `package.module:function` is defined; None when it is not found in the source."""
        module, _, name = reference.partition(":")
        return self._defined(module, name, 0)

    def _defined(self, module: str, name: str, depth: int) -> tuple[Module, Definition] | None:
        found = self.modules.get(module)
        if found is None or depth > 10:
            return None
        if name in found.definitions:
            return found, found.definitions[name]
        target = found.imports.get(name, "")
        return self._defined(*_split(target), depth + 1) if target.startswith(f"{self.package}.") else None

    def texts(self) -> Iterator[str]:
        """Yield every text that stands in the source."""
        for module in self.modules.values():
            for node in ast.walk(module.tree):
                if isinstance(node, ast.Constant) and isinstance(node.value, str):
                    yield node.value

    def reach(self, *references: str) -> Reach:
        """Follow the names that these functions use."""
        reach = Reach()
        waiting = [found for reference in references if (found := self.find(reference)) is not None]
        done: set[tuple[str, int]] = set()
        while waiting:
            module, definition = waiting.pop()
            if (module.name, definition.lineno) not in done:
                done.add((module.name, definition.lineno))
                waiting += self._look(module, definition, reach)
        return reach

    def _look(self, module: Module, definition: Definition, reach: Reach) -> list[tuple[Module, Definition]]:
        """Note what one definition does, and return the definitions of the package that it names."""
        further: list[tuple[Module, Definition]] = []
        inner = {alias: name for node in ast.walk(definition) for alias, name in _imports(node, module.name)}
        for node in ast.walk(definition):
            if isinstance(node, ast.Call) and (deed := deed_of_call(node)) is not None:
                reach.seen.append(Seen(deed=deed[0], what=deed[1], path=module.path, line=node.lineno))
            elif isinstance(node, ast.Name | ast.Attribute) and (dotted := _dotted(node)) is not None:
                further += self._named(dotted, inner, module, node.lineno, reach)
        return further

    def _named(
        self, dotted: str, inner: Mapping[str, str], module: Module, line: int, reach: Reach
    ) -> list[tuple[Module, Definition]]:
        first, _, rest = dotted.partition(".")
        if first in module.definitions and first not in inner:
            return [(module, module.definitions[first])]
        name = inner.get(first) or module.imports.get(first)
        if name is not None:
            return self._follow(f"{name}.{rest}".rstrip("."), module, line, reach)
        deed = _GIVEN.get(rest.partition(".")[0]) if first == "ctx" else None
        if deed is not None:
            reach.seen.append(Seen(deed=deed, what=f"ctx.{rest.partition('.')[0]}", path=module.path, line=line))
        return []

    def _follow(self, name: str, module: Module, line: int, reach: Reach) -> list[tuple[Module, Definition]]:
        if name.partition(".")[0] == self.package:
            parts = name.split(".")
            for end in range(len(parts) - 1, 0, -1):
                found = self._defined(".".join(parts[:end]), parts[end], 0)
                if found is not None:
                    return [found]
            return []
        deed = deed_of_name(name)
        top = name.partition(".")[0]
        if deed is not None:
            reach.seen.append(Seen(deed=deed, what=name, path=module.path, line=line))
        elif top not in sys.stdlib_module_names and top not in KNOWN:
            reach.strangers.add(top)
        return []


def _module(root: Path, path: Path) -> Module:
    tree = ast.parse(read_plain(path, LARGEST))
    parts = [root.name, *path.relative_to(root).with_suffix("").parts]
    name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    imports = {alias: full for node in ast.walk(tree) for alias, full in _imports(node, f"{package}.")}
    return Module(name=name, path=path, tree=tree, definitions=dict(_definitions(tree)), imports=imports)


def _definitions(tree: ast.Module) -> Iterator[tuple[str, Definition]]:
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name, node
        elif isinstance(node, ast.Assign):
            yield from ((target.id, node) for target in node.targets if isinstance(target, ast.Name))
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.target.id, node


def _imports(node: ast.AST, inside: str) -> Iterator[tuple[str, str]]:
    """Yield local names with what they stand for; `inside` is the package (ending in a point) or module it is in."""
    if isinstance(node, ast.Import):
        for one in node.names:
            yield (one.asname, one.name) if one.asname else (one.name.partition(".")[0], one.name.partition(".")[0])
    elif isinstance(node, ast.ImportFrom):
        base = node.module or ""
        if node.level:
            parts = inside.rstrip(".").split(".") if inside.endswith(".") else inside.split(".")[:-1]
            base = ".".join(filter(None, [*parts[: len(parts) - node.level + 1], base]))
        yield from ((one.asname or one.name, f"{base}.{one.name}") for one in node.names)


def _dotted(node: ast.AST) -> str | None:
    """Return `a.b.c` for a name or a chain of attributes that begins with one."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else None


def _split(name: str) -> tuple[str, str]:
    module, _, last = name.rpartition(".")
    return module, last
