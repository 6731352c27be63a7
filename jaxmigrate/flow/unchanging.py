"""Which expressions give the same each time around: in each round of a loop, or in each call of a function.

A name is the same if nothing in there binds it, or only what is the same itself; of calls, those that make keys of keys
and arrays of what they are given.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection

from jaxmigrate.program.functions import returned_by
from jaxmigrate.program.library import named
from jaxmigrate.program.modules import Module
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.scopes import Binding, positional_names
from jaxmigrate.program.syntax import last_name
from jaxmigrate.program.values import Application, External, Function

DRAWS = named("draws")
MAKING = named("replicates", "splits-key", "broadcasts", "stacks", "tiles", "seed", "unchanged")
RANDOM = "jax.random."
STARTING = frozenset({"__init__", "setup", "__post_init__"})
OWN_MAKING = re.compile(r"split.*(key|rng|device)|(key|rng)s?_split|(replicate|broadcast|shard|bcast|fold).*")
COUNTING = frozenset({"range", "len", "axis_index", "process_index", "device_count", "local_device_count"})
DEEPEST = 8
EITHER = ast.Tuple | ast.List | ast.Starred | ast.BinOp | ast.Constant | ast.keyword


class Unchanging:
    """What is the same in each round of a loop, or each call of a function, `within`.

    `carried`: the names of that function's variables that it gives back, for its next call, as it was given them.
    `first` is the first expression in there that makes it: `split(key)` of a key from outside.
    """

    def __init__(
        self, within: ast.AST, module: Module, resolver: Resolver, carried: Collection[str] = frozenset()
    ) -> None:
        self.within = within
        self.module = module
        self.resolver = resolver
        self.carried = carried
        self.first: ast.expr | None = None
        self._asked: set[ast.AST] = set()
        self._local: set[str] = set()

    def is_same(self, node: ast.AST, depth: int = 0) -> bool:
        """Whether an expression gives the same each time."""
        if depth > DEEPEST:
            return False
        match node:
            case ast.Name():
                return node.id in self._local or self._is_name_same(node, depth)
            case ast.Attribute(attr="shape" | "ndim" | "size"):
                return True
            case ast.Attribute():
                return self._is_attribute_same(node, depth)
            case ast.Call():
                return self._is_call_same(node, depth)
            case ast.Subscript(value=value, slice=index):
                return self.is_same(value, depth + 1) and (isinstance(index, ast.Slice) or self.is_same(index, depth))
            case ast.ListComp(elt=one, generators=[ast.comprehension(target=ast.Name(id=each), iter=over)]):
                known, self._local = self._local, self._local | {each}
                same = self.is_same(one, depth + 1) and self.is_same(over, depth + 1)
                self._local = known
                return same
        inner = [one for one in ast.iter_child_nodes(node) if isinstance(one, ast.expr)]
        return isinstance(node, EITHER) and all(self.is_same(one, depth + 1) for one in inner)

    def _is_name_same(self, node: ast.Name, depth: int) -> bool:
        holder = self.module.table.scope_of[node].lookup(node.id)
        if holder is None:
            return True  # a builtin
        bindings = holder.bindings[node.id]
        if any(node.id in one.outer_names for one in (holder, *holder.below())):
            return False  # `nonlocal` or `global`
        inside = [one for one in bindings if self._is_inside(one.node)]
        if inside and node.id in self.carried and holder.node is self.within:
            return len(inside) == 1
        return all(self._is_bound_same(one, depth) for one in inside)

    def _is_bound_same(self, binding: Binding, depth: int) -> bool:
        if binding.kind != "assign" or binding.value is None or isinstance(binding.node, ast.AugAssign):
            return False
        if binding.value in self._asked:
            return False  # made of itself: another each time
        self._asked.add(binding.value)
        same = self.is_same(binding.value, depth + 1)
        self._asked.discard(binding.value)
        return same

    def _is_attribute_same(self, node: ast.Attribute, depth: int) -> bool:
        base: ast.expr = node
        while isinstance(base, ast.Attribute):
            base = base.value
        stored = [one for one in self.module.nodes if _is_stored(one, node.attr)]
        fixed = all(getattr(self.module.table.function_of(one), "name", "") in STARTING for one in stored)
        own = isinstance(base, ast.Name) and base.id == "self"
        return fixed and (own or self.is_same(base, depth + 1))

    def _is_call_same(self, node: ast.Call, depth: int) -> bool:
        callee = self.resolver.value(node.func, self.module)
        name = callee.name if isinstance(callee, External) else ""
        makes = name in MAKING or (name.startswith(RANDOM) and name not in DRAWS) or last_name(node.func) in COUNTING
        given = [*node.args, *(one.value for one in node.keywords)]
        own = isinstance(callee, Application) or (isinstance(callee, Function) and callee.receiver is None)
        makes |= own and bool(given) and OWN_MAKING.search(last_name(node.func)) is not None  # no object has a state
        if not makes or not all(self.is_same(one, depth + 1) for one in given):
            return False
        if self.first is None and self._is_inside(node) and given:
            self.first = node
        return True

    def _is_inside(self, node: ast.AST) -> bool:
        current: ast.AST | None = node
        while current is not None and current is not self.within:
            current = self.module.table.parents.get(current)
        return current is not None


def _is_stored(node: ast.AST, attribute: str) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == attribute and not isinstance(node.ctx, ast.Load)


def given_back(function: ast.FunctionDef | ast.Lambda, place: int, scan: bool) -> frozenset[str]:
    """The variables of a loop's function that it gives back as they were: parts of its parameter at a place."""
    names = positional_names(function.args)
    returned = returned_by(function)
    if place >= len(names) or len(returned) != 1 or returned[0] is None:
        return frozenset()
    carry: ast.expr | None = returned[0]
    if scan:
        carry = carry.elts[0] if isinstance(carry, ast.Tuple) and carry.elts else None
    if isinstance(carry, ast.Name):
        return frozenset({carry.id} & {names[place]})
    if not isinstance(carry, ast.Tuple):
        return frozenset()
    found: set[str] = set()
    for one in function.body if isinstance(function.body, list) else []:
        match one:
            case ast.Assign(targets=[ast.Tuple(elts=parts)], value=ast.Name(id=name)) if name == names[place]:
                for part, back in zip(parts, carry.elts, strict=False):
                    if isinstance(part, ast.Name) and isinstance(back, ast.Name) and part.id == back.id:
                        found.add(part.id)
    return frozenset(found)
