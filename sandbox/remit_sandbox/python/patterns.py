"""`match`: patterns bind and read without any guard, so names are checked and what they read is fetched before.

A pattern reads attributes of the subject by itself. That is left to classes of the program, whose objects hold
nothing but its own values; the guard `_pattern_class_` says which class it is, once, before the match begins.
"""

from __future__ import annotations

import ast
from typing import Any

from RestrictedPython.transformer import RestrictingNodeTransformer, copy_locations

from remit_sandbox.python.names import why_no_attribute

_FORMATS = frozenset({"format", "format_map"})


class Patterns(RestrictingNodeTransformer):
    """The part of the policy that is about `match`."""

    _hoisted: list[ast.stmt]

    def visit_Match(self, node: ast.Match) -> Any:
        outer = getattr(self, "_hoisted", None)
        self._hoisted = []
        for case in node.cases:
            case.pattern = self.visit(case.pattern)
        before = self._hoisted
        if outer is not None:
            self._hoisted = outer
        node.subject = self.visit(node.subject)
        for case in node.cases:
            case.guard = self.visit(case.guard) if case.guard else None
            body = [self.visit(statement) for statement in case.body]
            case.body = [part for found in body for part in (found if isinstance(found, list) else [found])]
        return [*before, node]

    def visit_MatchValue(self, node: ast.MatchValue) -> Any:
        if isinstance(node.value, ast.Attribute):
            name = self._before(node, "_hold_", [self.visit(node.value)])
            node.value = ast.Attribute(ast.Name(name, ast.Load()), "value", ast.Load())
            copy_locations(node.value, node)
        return node

    def visit_MatchSingleton(self, node: ast.MatchSingleton) -> Any:
        return node

    def visit_MatchSequence(self, node: ast.MatchSequence) -> Any:
        return self.node_contents_visit(node)

    def visit_MatchOr(self, node: ast.MatchOr) -> Any:
        return self.node_contents_visit(node)

    def visit_MatchMapping(self, node: ast.MatchMapping) -> Any:
        self.check_name(node, node.rest)
        node.keys = [self._key(key) for key in node.keys]
        node.patterns = [self.visit(pattern) for pattern in node.patterns]
        return node

    def _key(self, key: ast.expr) -> ast.expr:
        held: ast.MatchValue = self.visit(ast.copy_location(ast.MatchValue(key), key))
        return held.value

    def visit_MatchStar(self, node: ast.MatchStar) -> Any:
        self.check_name(node, node.name)
        return node

    def visit_MatchAs(self, node: ast.MatchAs) -> Any:
        self.check_name(node, node.name)
        return self.node_contents_visit(node)

    def visit_MatchClass(self, node: ast.MatchClass) -> Any:
        for name in node.kwd_attrs:
            if name.startswith("_") or name in _FORMATS or why_no_attribute(name):
                self.error(node, f"a pattern cannot look at the attribute {name}")
        reads = ast.Constant(2 if node.kwd_attrs else len(node.patterns))
        name = self._before(node, "_pattern_class_", [self.visit(node.cls), reads])
        node.cls = ast.copy_location(ast.Name(name, ast.Load()), node)
        node.patterns = [self.visit(pattern) for pattern in node.patterns]
        node.kwd_patterns = [self.visit(pattern) for pattern in node.kwd_patterns]
        return node

    def _before(self, node: ast.pattern, guard: str, arguments: list[ast.expr]) -> str:
        """Compute something before the match begins; return the variable that then holds it."""
        name = self.gen_tmp_name()
        value = ast.Call(func=ast.Name(guard, ast.Load()), args=arguments, keywords=[])
        step = ast.Assign(targets=[ast.Name(name, ast.Store())], value=value)
        copy_locations(step, node)
        self._hoisted.append(step)
        return name
