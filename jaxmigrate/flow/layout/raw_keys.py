"""Random keys that are arrays of numbers of one axis: `PRNGKey(0)`, and what it is split into."""

from __future__ import annotations

import ast

from jaxmigrate.program.library import named, the
from jaxmigrate.program.modules import Module
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.values import Application, Constant, External

MAKES = named("raw-key")
SPLITS = the("splits-raw")
COUNTS = (External("builtins.len"), External("jax.device_count"), External("jax.local_device_count"))
MOST = 2  # arguments of these
TYPED = "custom_prng"  # the setting by which `PRNGKey` makes keys without an axis


def is_raw_key(node: ast.expr, module: Module, resolver: Resolver) -> bool:
    """Whether an expression is certainly one such key."""
    set_otherwise = any(TYPED in one.text for one in resolver.project.named)
    return not set_otherwise and _is_raw(node, module, resolver, set())


def rank_of_keys(node: ast.expr, module: Module, resolver: Resolver) -> int:
    """How many axes an expression has that is certainly one such key, or as many as one is split into; 0 for others."""
    if is_raw_key(node, module, resolver):
        return 1
    whole = resolver.assigned(node, module)
    set_otherwise = any(TYPED in one.text for one in resolver.project.named)
    return 2 if not set_otherwise and _is_split_of_raw(whole, module, resolver, set()) else 0


def _is_raw(node: ast.expr, module: Module, resolver: Resolver, seen: set[ast.AST]) -> bool:
    match node:
        case ast.Call(func=func):
            made = resolver.value(func, module)
            return isinstance(made, External) and made.name in MAKES
        case ast.Name():
            for binding in (bindings := resolver.bindings_at(node, module)):
                if (over := _gone_through(binding.node, module)) is not None:  # `for key in split(key, 4)`
                    if not _is_split_of_raw(resolver.assigned(over, module), module, resolver, seen):
                        return False
                    continue
                if binding.value is None or len(binding.path) > 1:
                    return False
                if binding.node in seen:
                    continue  # a key that is split again and again is what the first one is
                seen.add(binding.node)
                whole = binding.value
                if binding.path and not _is_split_of_raw(whole, module, resolver, seen):
                    return False
                if not binding.path and not _is_raw(whole, module, resolver, seen):
                    return False
            return bool(bindings)
    return False


def _gone_through(target: ast.AST, module: Module) -> ast.expr | None:
    """What a loop goes through that binds one name to each; None of any other binding."""
    match module.table.parents.get(target):
        case ast.For(target=bound, iter=over) | ast.comprehension(target=bound, iter=over):
            return over if bound is target else None
    return None


def _is_split_of_raw(node: ast.expr, module: Module, resolver: Resolver, seen: set[ast.AST]) -> bool:
    """Whether an expression is `split(key)` or `split(key, 3)`, whose rows are such keys."""
    match node:
        case ast.Call(func=func, args=[key, *counts], keywords=[]) if len(counts) <= 1:
            made = resolver.value(func, module)
            in_rows = all(_is_number(one, module, resolver) for one in counts)  # and in no other shape
            return (
                in_rows and isinstance(made, External) and made.name == SPLITS and _is_raw(key, module, resolver, seen)
            )
    return False


def _is_number(node: ast.expr, module: Module, resolver: Resolver) -> bool:
    """Whether an expression is certainly a whole number: one that is written, or the length of something."""
    values = resolver.values(node, module)
    written = all(isinstance(one, Constant) and isinstance(one.value, int) for one in values)
    counted = (isinstance(one, Application) and one.callee in COUNTS and len(one.arguments) < MOST for one in values)
    return written or all(counted)
