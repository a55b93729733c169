"""The first layer: what a program's source is rewritten to before it is compiled.

RestrictedPython walks the tree and refuses every node that it does not know; this policy says which of them are
fine as they are, and puts guards where an attribute is read or anything but a variable is written:

- `a.b` becomes `_getattr_(a, "b")`; `a.b = c`, `a[b] = c` and `del` go through `_write_(a)`.
- A class is handed to `_class_` as soon as it exists, so that the guards know it as the program's own.
- Reading an item, iterating, unpacking and calling need no guard: nothing that a program can reach gives a way out
  through them.

The guards cannot be rebound: no program may use a name that begins and ends with an underscore.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from RestrictedPython.transformer import RestrictingNodeTransformer, copy_locations

from remit_sandbox.python.modules import star_names
from remit_sandbox.python.names import mangled, why_no_attribute, why_no_name, why_not_written
from remit_sandbox.python.patterns import Patterns

VALUE = "_value_"
"""Variable that holds the value of the last expression."""


class Policy(Patterns, RestrictingNodeTransformer):
    """RestrictedPython with the policy of Remit. Errors are collected as `Line N: reason`."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._classes: list[str | None] = [None]
        self._in_class = False

    @contextmanager
    def _scope(self, class_name: str | None, *, in_class: bool) -> Iterator[None]:
        before = self._in_class
        self._classes.append(class_name)
        self._in_class = in_class
        yield
        self._classes.pop()
        self._in_class = before

    def gen_tmp_name(self) -> str:
        self._tmp_idx += 1
        return f"_tmp{self._tmp_idx}_"

    def not_allowed(self, node: ast.AST) -> None:
        self.error(node, f"{_KINDS.get(type(node).__name__, type(node).__name__)} is not available here")

    def check_name(self, node: Any, name: str | None, allow_magic_methods: bool = False) -> None:
        if name is not None and (reason := why_no_name(name, in_class=self._in_class)):
            self.error(node, reason)

    def inject_print_collector(self, node: Any, position: int = 0) -> None:
        return

    def visit_Module(self, node: ast.Module) -> ast.AST:
        node = self.node_contents_visit(node)
        if node.body and isinstance(last := node.body[-1], ast.Expr):
            target = ast.copy_location(ast.Name(VALUE, ast.Store()), last)
            node.body[-1] = ast.copy_location(ast.Assign(targets=[target], value=last.value), last)
        return node

    def visit_Name(self, node: ast.Name) -> ast.AST:
        self.used_names[node.id] = True
        if node.id != "__name__" or not isinstance(node.ctx, ast.Load):
            self.check_name(node, node.id)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        if isinstance(node.ctx, ast.Load):
            return self._read(node)
        if reason := why_not_written(node.attr):
            self.error(node, reason)
        return self._written(node)

    def _read(self, node: ast.Attribute) -> ast.AST:
        if reason := why_no_attribute(node.attr):
            self.error(node, reason)
        owner = node.value
        if node.attr in ("__name__", "__qualname__") and isinstance(owner, ast.Attribute) and owner.attr == "__class__":
            value = call("_type_", [self.visit(owner.value)], owner)
        else:
            value = self.visit(owner)
        return call("_getattr_", [value, ast.Constant(mangled(node.attr, self._classes[-1]))], node)

    def _written(self, node: ast.Attribute | ast.Subscript) -> Any:
        node = self.node_contents_visit(node)
        node.value = call("_write_", [node.value], node.value)
        return node

    def visit_Subscript(self, node: ast.Subscript) -> Any:
        return self.node_contents_visit(node) if isinstance(node.ctx, ast.Load) else self._written(node)

    def guard_iter(self, node: Any) -> Any:
        return self.node_contents_visit(node)

    def visit_Assign(self, node: ast.Assign) -> Any:
        return self.node_contents_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        return self.node_contents_visit(node)

    def visit_With(self, node: ast.With) -> Any:
        return self.node_contents_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        if isinstance(node.target, ast.Attribute):
            return self._augmented(node, node.target)
        return self.node_contents_visit(node)

    def _augmented(self, node: ast.AugAssign, target: ast.Attribute) -> list[ast.stmt]:
        """`a.b += c` with one guarded read and one guarded write, `a` computed once and before `c`."""
        if reason := why_no_attribute(target.attr) or why_not_written(target.attr):
            self.error(node, reason)
        owner, value = self.gen_tmp_name(), self.gen_tmp_name()
        name = ast.Constant(mangled(target.attr, self._classes[-1]))
        written = call("_write_", [ast.Name(owner, ast.Load())], target)
        steps: list[ast.stmt] = [
            ast.Assign(targets=[ast.Name(owner, ast.Store())], value=self.visit(target.value)),
            ast.Assign(
                targets=[ast.Name(value, ast.Store())],
                value=call("_getattr_", [ast.Name(owner, ast.Load()), name], target),
            ),
            ast.AugAssign(target=ast.Name(value, ast.Store()), op=node.op, value=self.visit(node.value)),
            ast.Assign(targets=[ast.Attribute(written, target.attr, ast.Store())], value=ast.Name(value, ast.Load())),
            ast.Delete(targets=[ast.Name(owner, ast.Del()), ast.Name(value, ast.Del())]),
        ]
        for step in steps:
            copy_locations(step, node)
        return steps

    def visit_Call(self, node: ast.Call) -> Any:
        if isinstance(node.func, ast.Name) and node.func.id == "object" and not node.args and not node.keywords:
            return call("_sentinel_", [], node)
        if isinstance(node.func, ast.Attribute) and _is_named(node.func.value, "object") and not node.keywords:
            guard = _BARE.get(node.func.attr)
            if guard is not None:
                return call(guard, [self.visit(argument) for argument in node.args], node)
        return self.node_contents_visit(node)

    def visit_Global(self, node: ast.Global) -> Any:
        for name in node.names:
            self.check_name(node, name)
        return node

    def visit_Nonlocal(self, node: ast.Nonlocal) -> Any:
        for name in node.names:
            self.check_name(node, name)
        return node

    def visit_Import(self, node: ast.Import) -> Any:
        for alias in node.names:
            self.check_name(node, alias.asname or alias.name)
        return node

    def visit_ImportFrom(self, node: ast.ImportFrom) -> Any:
        if node.module == "__future__":
            return ast.copy_location(ast.Pass(), node)
        if node.level:
            self.error(node, "there is no package to import from; write the module's full name")
        if any(alias.name == "*" for alias in node.names):
            names = star_names(node.module or "")
            if not names:
                return node
            node.names = [ast.copy_location(ast.alias(name=name), node) for name in names]
        for alias in node.names:
            if alias.name.startswith("_"):
                self.error(node, f"{node.module} has no public name {alias.name}")
            self.check_name(node, alias.asname)
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        self.check_name(node, node.name)
        with self._scope(self._classes[-1], in_class=False):
            self.check_function_argument_names(node)
            body = [self.visit(statement) for statement in node.body]
        node.body = [part for found in body for part in (found if isinstance(found, list) else [found])]
        self._around(node)
        return node

    def _around(self, node: ast.FunctionDef) -> None:
        node.decorator_list = [self.visit(decorator) for decorator in node.decorator_list]
        node.args = self.visit(node.args)
        node.returns = self.visit(node.returns) if node.returns else None
        for parameter in getattr(node, "type_params", []):
            self.visit(parameter)

    def visit_Lambda(self, node: ast.Lambda) -> Any:
        with self._scope(self._classes[-1], in_class=False):
            self.check_function_argument_names(node)
        return self.node_contents_visit(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> Any:
        self.check_name(node, node.name)
        node.bases = [self.visit(base) for base in node.bases if not _is_named(base, "object")]
        if any(_is_named(base, "type") for base in node.bases):
            self.error(node, "a class of classes is not available here; use a decorator or a function")
        node.keywords = [self._class_keyword(keyword) for keyword in node.keywords]
        node.decorator_list = [self.visit(decorator) for decorator in node.decorator_list]
        for parameter in getattr(node, "type_params", []):
            self.visit(parameter)
        with self._scope(node.name, in_class=True):
            body = [self.visit(statement) for statement in node.body]
        node.body = [part for found in body for part in (found if isinstance(found, list) else [found])]
        own = ast.Name("_class_", ast.Load())
        ast.copy_location(own, node)
        node.decorator_list.append(own)
        return node

    def _class_keyword(self, keyword: ast.keyword) -> ast.keyword:
        keyword = self.node_contents_visit(keyword)
        if keyword.arg is None:
            self.error(keyword, "** in the head of a class is not available here")
        if keyword.arg == "metaclass":
            keyword.value = call("_metaclass_", [keyword.value], keyword.value)
        return keyword

    def visit_TryStar(self, node: ast.AST) -> None:
        self.not_allowed(node)


def call(name: str, arguments: list[ast.expr], where: ast.expr) -> ast.Call:
    """Return a call of a guard, at the place of `where`."""
    for argument in arguments:
        if isinstance(argument, ast.Constant | ast.Name) and not hasattr(argument, "lineno"):
            ast.copy_location(argument, where)
    guard = ast.copy_location(ast.Name(name, ast.Load()), where)
    return ast.copy_location(ast.Call(func=guard, args=arguments, keywords=[]), where)


def _is_named(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


_BARE = {"__setattr__": "_bare_set_", "__new__": "_bare_new_"}
"""Methods of `object` that a class of the program may call on its own objects, and the guard that stands for each."""

_KINDS = {
    "AsyncFunctionDef": "async code",
    "AsyncFor": "async code",
    "AsyncWith": "async code",
    "Await": "async code",
    "TryStar": "except* (write except)",
    "TypeAlias": "the type statement",
    "TypeVar": "a type parameter in brackets (use typing.TypeVar)",
}
