"""How many dimensions the arrays have that a function's names hold, by what the function does with them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from jaxmigrate.flow.blocks.functions import LAYERS, SAME_LAYERS
from jaxmigrate.program.callers import callers_of
from jaxmigrate.program.collectives import TRANSPARENT, argument
from jaxmigrate.program.modules import Module
from jaxmigrate.program.once import once_each
from jaxmigrate.program.order import reaching
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.scopes import Binding, FunctionNode, all_parameters
from jaxmigrate.program.syntax import last_name
from jaxmigrate.program.values import Application, External, Function, Parameter, Value

EINSUMS = frozenset({"jax.numpy.einsum", "numpy.einsum"})
_TYPED = re.compile(r"^(Float\d*|BFloat16|Int\d*|UInt\d*|Bool|Num|Shaped|Inexact|Real|Complex\d*|Key|PRNGKeyArray)$")
_LETTERS = re.compile(r"_([A-Z](?:x[A-Z])+)$")  # `tokens_BxL`, a letter for each dimension
DEEPEST = 1  # functions that an array is passed on through
Where = tuple[FunctionNode, Module, int]


def ranks_in(function: FunctionNode, module: Module, resolver: Resolver) -> dict[Binding, int]:
    """The number of dimensions of what each binding of a function's names holds, where its body says so.

    Such as `batch, length, width = x.shape`, `assert x.ndim == 3`, an einsum without an ellipsis, `x.transpose(1, 0)`,
    and annotations of jaxtyping. What only some branch says counts for nothing: that may ask for the rank first. A
    name with a letter for each dimension, `tokens_BxL`, says it anywhere. So does a function of the program that is
    passed what a name holds, if its own body says so.
    """
    return _ranks((function, module, DEEPEST), resolver)


@once_each
def _ranks(where: Where, resolver: Resolver) -> dict[Binding, int]:
    function, module, depth = where
    found: dict[Binding, set[int]] = {}
    for node in ast.walk(function):
        passed = _passed_on(node, function, module, resolver, depth) if depth and isinstance(node, ast.Call) else ()
        for name, rank in (*_said_by(node, module, resolver), *_annotated(node), *passed):
            binding = _binding(name, module)
            if binding is not None and not _is_conditional(node, function, module):
                found.setdefault(binding, set()).add(rank)
        lettered = _LETTERS.search(node.id) if isinstance(node, ast.Name) else None
        binding = _binding(node, module) if lettered else None
        if lettered and binding is not None:
            found.setdefault(binding, set()).add(lettered[1].count("x") + 1)
    return {binding: ranks.pop() for binding, ranks in found.items() if len(ranks) == 1}


def called(value: Value, resolver: Resolver) -> Function | None:
    """The function of the program that a callee is, also below a jit, a checkpoint and the like, or passed by all."""
    if isinstance(value, Parameter):
        passed = callers_of(resolver).passed(value)
        value = passed[0] if len(passed) == 1 else value
    while isinstance(value, Application) and isinstance(value.callee, External) and value.callee.name in TRANSPARENT:
        first = argument(value.arguments, 0, "fun", "f")
        inner = resolver.argument_values(first) if first is not None else ()
        if len(inner) != 1:
            return None
        value = inner[0]
    return value if isinstance(value, Function) else None


def is_layer(value: Value) -> bool:
    """Whether a callee is a layer of a library that gives as many dimensions as it takes: `nn.Dense(8)`."""
    if not isinstance(value, Application) or not isinstance(value.callee, External):
        return False
    name = value.callee.name
    return name.startswith(LAYERS) and name.rpartition(".")[2] in SAME_LAYERS


def passed_to(function: Function, call: ast.Call) -> Iterator[tuple[str, ast.expr]]:
    """What a call passes for the parameters of a function, up to a star."""
    for name, given in zip(function.passed_names(), call.args, strict=False):
        if isinstance(given, ast.Starred):
            return
        yield name, given
    names = {one.arg for one in all_parameters(function.node.args)}
    yield from ((one.arg, one.value) for one in call.keywords if one.arg is not None and one.arg in names)


def _passed_on(
    node: ast.Call, function: FunctionNode, module: Module, resolver: Resolver, depth: int
) -> Iterator[tuple[ast.expr, int]]:
    """What the body of a function says of the arguments that a call passes it."""
    if not any(isinstance(one, ast.Name) for one in (*node.args, *(one.value for one in node.keywords))):
        return
    callee = called(resolver.value(node.func, module), resolver)
    if callee is None or callee.node is function:
        return
    ranks = {
        b.name: rank
        for b, rank in _ranks((callee.node, callee.module, depth - 1), resolver).items()
        if b.kind == "param"
    }
    yield from ((given, ranks[name]) for name, given in passed_to(callee, node) if name in ranks)


def only_binding(name: ast.Name, module: Module) -> Binding | None:
    """The one binding that a name can have where it is read."""
    scope = module.table.scope_of.get(name)
    holder = scope.lookup(name.id) if scope is not None else None
    if scope is None or holder is None:
        return None
    bindings = holder.bindings[name.id]
    if holder is scope and len(bindings) > 1:
        bindings = reaching(bindings, name, module)
    return bindings[0] if len(bindings) == 1 else None


def _binding(name: ast.AST, module: Module) -> Binding | None:
    if isinstance(name, ast.Name):
        return only_binding(name, module)
    if not isinstance(name, ast.arg):
        return None
    owner: ast.AST = name
    while not isinstance(owner, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) and owner in module.table.parents:
        owner = module.table.parents[owner]
    scope = module.table.own_scope.get(owner)
    found = scope.bindings.get(name.arg, []) if scope is not None else []
    return next((one for one in found if one.kind == "param"), None)


def _is_conditional(node: ast.AST, function: ast.AST, module: Module) -> bool:
    """Whether something in a function stands in a branch of it."""
    parents = module.table.parents
    while node is not function and node in parents:
        node = parents[node]
        if isinstance(node, ast.If | ast.IfExp | ast.Try | ast.Match):
            return True
    return False


def _said_by(node: ast.AST, module: Module, resolver: Resolver) -> Iterator[tuple[ast.expr, int]]:
    match node:
        case ast.Assign(targets=[ast.Tuple(elts=parts)], value=ast.Attribute(value=held, attr="shape")):
            if not any(isinstance(part, ast.Starred) for part in parts):
                yield held, len(parts)
        case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)) if len(targets) == len(values):
            for target, value in zip(targets, values, strict=True):
                inner = ast.Assign(targets=[target], value=value)
                yield from _said_by(inner, module, resolver) if isinstance(target, ast.Tuple) else ()
        case ast.Assert(test=test):
            yield from _asserted(test)
        case ast.Call(func=ast.Attribute(value=ast.Name() as held, attr="transpose"), args=[_, _, *_] as order):
            if all(isinstance(one, ast.Constant) for one in order):
                yield held, len(order)
        case ast.Call(args=[ast.Constant(value=str(terms)), *operands]) if last_name(node.func) == "einsum":
            callee = resolver.value(node.func, module)
            split = terms.replace(" ", "").partition("->")[0].split(",")
            if isinstance(callee, External) and callee.name in EINSUMS and len(split) == len(operands):
                yield from ((held, len(term)) for held, term in zip(operands, split, strict=True) if "." not in term)


def _asserted(test: ast.expr) -> Iterator[tuple[ast.expr, int]]:
    """`x.ndim == 3`, `len(x.shape) == 3`, one of these and more."""
    match test:
        case ast.BoolOp(op=ast.And(), values=parts):
            for part in parts:
                yield from _asserted(part)
        case ast.Compare(
            left=ast.Attribute(value=held, attr="ndim")
            | ast.Call(func=ast.Name(id="len"), args=[ast.Attribute(value=held, attr="shape")]),
            ops=[ast.Eq()],
            comparators=[ast.Constant(value=int(rank))],
        ):
            yield held, rank


def _annotated(node: ast.AST) -> Iterator[tuple[ast.arg, int]]:
    """`x: Float[Array, "batch width"]`."""
    match node:
        case ast.arg(
            annotation=ast.Subscript(value=kind, slice=ast.Tuple(elts=[_, ast.Constant(value=str(dimensions))]))
        ) if _TYPED.match(last_name(kind)):
            words = dimensions.split()
            if not any("..." in word or "*" in word for word in words):
                yield node, len(words)
