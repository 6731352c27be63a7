"""Which values vary over a mapped axis: a three-valued reading of the body of a mapped function.

The lattice is JAX's own for `check_vma`, with a middle for what is not known: a value certainly varies, may vary, or
certainly does not. Beside it, gradients are followed from where they are taken to where they are used, so that an
update by gradients that no reduction has touched can be told.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from jaxmigrate.flow.axes import axis_names
from jaxmigrate.flow.operations import Operation, function_operations, same_sequence
from jaxmigrate.flow.variance.lattice import EQUAL, Level, Var, join, tuple_of, union, unsure
from jaxmigrate.program.collectives import AXIS_POSITIONS, GRADIENTS, REDUCTIONS, TRANSPARENT, axis_argument
from jaxmigrate.program.modules import Module
from jaxmigrate.program.resolve import Resolver, call_arguments
from jaxmigrate.program.values import Application, External, Function, Partial, Value

DEEPEST = 8
STATIC_ATTRIBUTES = frozenset({"shape", "ndim", "dtype", "size", "weak_type"})
UPDATES = frozenset({"update", "apply_gradients", "apply_updates"})


@dataclass(frozen=True, slots=True)
class Divergence:
    """A branch on a varying predicate whose ways differ in their collectives."""

    module: Module
    call: ast.Call
    operation: Operation


@dataclass(slots=True)
class Reading:
    """What reading a mapped function's body found."""

    returned: Var = EQUAL
    reductions: int = 0
    updates: list[tuple[Module, ast.expr]] = field(default_factory=list)
    divergences: list[Divergence] = field(default_factory=list)


def read(
    function: Value,
    arguments: Sequence[Var],
    axes: frozenset[str],
    resolver: Resolver,
    named: Mapping[str, Var] = MappingProxyType({}),
) -> Reading:
    """Reads a function called with these arguments inside a map over `axes`."""
    reader = _Reader(axes, resolver)
    found = reader.applied(function, arguments, dict(named), {}, -1)
    reader.reading.returned = unsure(union([*arguments, *named.values()])) if found is None else found
    return reader.reading


Env = dict[str, Var]


class _Reader:
    """Interprets bodies statement by statement; calls are followed to a bounded depth."""

    def __init__(self, axes: frozenset[str], resolver: Resolver) -> None:
        self.axes = axes
        self.resolver = resolver
        self.reading = Reading()
        self.active: list[ast.AST] = []

    def function(self, function: Function, given: Sequence[Var], named: Env, outer: Env, depth: int) -> Var:
        node = function.node
        if depth > DEEPEST or node in self.active:
            return replace(union([*given, *named.values()]), level=Level.MAY)
        spec = node.args
        names = [p.arg for p in (*spec.posonlyargs, *spec.args)]
        env = {**outer, **{p.arg: Var() for p in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs)}}
        if function.receiver is not None and names:
            names = names[1:]
        env |= dict(zip(names, given, strict=False))
        if spec.vararg:
            env[spec.vararg.arg] = tuple_of(given[len(names) :])
        env |= named
        self.active.append(node)
        try:
            if isinstance(node, ast.Lambda):
                return self.expression(node.body, env, function.module, depth)
            returned: list[Var] = []
            self.block(node.body, env, function.module, depth, returned)
            result = returned[0] if returned else Var()
            for one in returned[1:]:
                result = join(result, one)
            return result
        finally:
            self.active.pop()

    # Statements

    def block(self, body: Sequence[ast.stmt], env: Env, module: Module, depth: int, returned: list[Var]) -> None:
        for statement in body:
            self.statement(statement, env, module, depth, returned)

    def statement(  # noqa: C901 - one case a kind of statement
        self, node: ast.stmt, env: Env, module: Module, depth: int, returned: list[Var]
    ) -> None:
        match node:
            case ast.Assign(targets=targets, value=value):
                result = self.expression(value, env, module, depth)
                for target in targets:
                    assign(target, result, env)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                assign(target, self.expression(value, env, module, depth), env)
            case ast.AugAssign(target=target, value=value):
                assign(target, union([self.load(target, env), self.expression(value, env, module, depth)]), env)
            case ast.Return(value=value):
                returned.append(self.expression(value, env, module, depth) if value is not None else Var())
            case ast.Expr(value=value):
                self.expression(value, env, module, depth)
            case ast.If(test=test, body=body, orelse=orelse):
                self.expression(test, env, module, depth)
                self.branches([body, orelse], env, module, depth, returned)
            case ast.For(target=target, iter=iterable, body=body, orelse=orelse):
                assign(target, replace(self.expression(iterable, env, module, depth), parts=None), env)
                self.branches([body + orelse, []], env, module, depth, returned)
                self.branches([body, []], env, module, depth, returned)
            case ast.While(body=body):
                self.branches([body, []], env, module, depth, returned)
            case ast.With(items=items, body=body):
                for item in items:
                    self.expression(item.context_expr, env, module, depth)
                self.block(body, env, module, depth, returned)
            case ast.Try(body=body, handlers=handlers, orelse=orelse, finalbody=final):
                self.branches([body + orelse, *[h.body for h in handlers]], env, module, depth, returned)
                self.block(final, env, module, depth, returned)

    def branches(
        self, bodies: Sequence[Sequence[ast.stmt]], env: Env, module: Module, depth: int, returned: list[Var]
    ) -> None:
        ways: list[Env] = []
        for body in bodies:
            way = dict(env)
            self.block(body, way, module, depth, returned)
            if not (body and isinstance(body[-1], ast.Return | ast.Raise)):
                ways.append(way)
        for name in {name for way in ways for name in way}:
            values = [way[name] for way in ways if name in way]
            env[name] = values[0]
            for value in values[1:]:
                env[name] = join(env[name], value)

    # Expressions

    def load(self, node: ast.expr, env: Env) -> Var:
        return env.get(node.id, Var()) if isinstance(node, ast.Name) else Var(Level.MAY)

    def expression(  # noqa: C901 - one case a kind of expression
        self, node: ast.expr, env: Env, module: Module, depth: int
    ) -> Var:
        match node:
            case ast.Name(id=name):
                return env.get(name, Var())
            case ast.Constant() | ast.Lambda() | ast.JoinedStr():
                return Var()
            case ast.Tuple(elts=elements) | ast.List(elts=elements):
                return tuple_of([self.expression(e, env, module, depth) for e in elements])
            case ast.Attribute(value=value, attr=attr):
                if attr in STATIC_ATTRIBUTES:
                    return Var()
                return replace(self.expression(value, env, module, depth), parts=None)
            case ast.Subscript(value=value, slice=index):
                return self.subscript(self.expression(value, env, module, depth), index, env, module, depth)
            case ast.Call():
                return self.call(node, env, module, depth)
            case ast.IfExp(test=_, body=body, orelse=orelse):
                return join(self.expression(body, env, module, depth), self.expression(orelse, env, module, depth))
            case ast.BinOp(left=left, op=op, right=right):
                return self.arithmetic(node, left, op, right, env, module, depth)
            case ast.NamedExpr(target=target, value=value):
                result = self.expression(value, env, module, depth)
                assign(target, result, env)
                return result
            case (
                ast.ListComp(elt=element, generators=generators) | ast.GeneratorExp(elt=element, generators=generators)
            ):
                inside = dict(env)
                for generator in generators:
                    source = self.expression(generator.iter, inside, module, depth)
                    assign(generator.target, replace(source, parts=None), inside)
                return replace(self.expression(element, inside, module, depth), parts=None)
        children = [c for c in ast.iter_child_nodes(node) if isinstance(c, ast.expr)]
        return union(self.expression(child, env, module, depth) for child in children)

    def comprehension(self, node: ast.ListComp | ast.GeneratorExp, env: Env, module: Module, depth: int) -> Var:
        inside = dict(env)
        for generator in node.generators:
            source = self.expression(generator.iter, inside, module, depth)
            assign(generator.target, replace(source, parts=None), inside)
        return replace(self.expression(node.elt, inside, module, depth), parts=None)

    def subscript(self, value: Var, index: ast.expr, env: Env, module: Module, depth: int) -> Var:
        match index:
            case ast.Constant(value=int(number)) if value.parts and -len(value.parts) <= number < len(value.parts):
                return value.parts[number]
        return union([replace(value, parts=None), self.expression(index, env, module, depth)])

    def arithmetic(
        self, node: ast.expr, left: ast.expr, op: ast.operator, right: ast.expr, env: Env, module: Module, depth: int
    ) -> Var:
        one, other = self.expression(left, env, module, depth), self.expression(right, env, module, depth)
        result = union([one, other])
        if isinstance(op, ast.Sub) and other.gradient and not one.gradient:
            self.reading.updates.append((module, node))
            return replace(result, updated=True)
        return result

    # Calls

    def call(self, call: ast.Call, env: Env, module: Module, depth: int) -> Var:
        given = [self.expression(a.value if isinstance(a, ast.Starred) else a, env, module, depth) for a in call.args]
        named = {k.arg or "**": self.expression(k.value, env, module, depth) for k in call.keywords}
        value = self.resolver.value(call.func, module)
        update = self.update(call, given, named, module)
        if update is not None:
            return update
        if isinstance(value, External):
            return self.external(value.name, call, given, named, env, module, depth)
        result = self.applied(value, given, named, env, depth)
        if result is not None:
            return result
        receiver = call.func.value if isinstance(call.func, ast.Attribute) else None
        around = [self.expression(receiver, env, module, depth)] if receiver is not None else []
        everything = union([*given, *named.values(), *around])
        is_method = isinstance(call.func, ast.Attribute) and call.func.attr in ARRAY_METHODS
        return everything if is_method else unsure(everything)

    def update(self, call: ast.Call, given: Sequence[Var], named: Env, module: Module) -> Var | None:
        """A call that applies gradients, if some of its arguments are unreduced ones."""
        name = call.func.attr if isinstance(call.func, ast.Attribute) else None
        everything = [*given, *named.values()]
        if name not in UPDATES or not any(v.gradient for v in everything) or len(everything) < 1 + (name == "update"):
            return None
        self.reading.updates.append((module, call))
        result = Var(Level.MAY, any(v.gradient for v in everything), True)
        return tuple_of([result, result]) if name == "update" else result

    def applied(self, value: Value, given: Sequence[Var], named: Env, env: Env, depth: int) -> Var | None:
        """Calls a function of the project, or a transformation of one; None where it is not in sight."""
        if depth > DEEPEST:
            return None
        match value:
            case Function():
                named = {name: v for name, v in named.items() if name != "**"}
                return self.function(value, given, named, env, depth + 1)
            case Partial(callee=callee, arguments=bound):
                front = [Var() for a in bound if a.keyword is None]
                return self.applied(callee, [*front, *given], named, env, depth + 1)
            case Application(callee=External(name=name), arguments=arguments) if arguments:
                operands = self.resolver.argument_values(arguments[0])
                operand = operands[0] if len(operands) == 1 else None
                if operand is None:
                    return None
                if name in GRADIENTS:
                    return self.gradient(name, value, operand, given, named, env, depth)
                if name in TRANSPARENT or name == "jax.vmap":
                    return self.applied(operand, given, named, env, depth + 1)
        return None

    def gradient(
        self, name: str, value: Application, operand: Value, given: Sequence[Var], named: Env, env: Env, depth: int
    ) -> Var:
        """A gradient is unreduced where its loss is in sight and reduces nothing itself."""
        before = self.reading.reductions
        loss = self.applied(operand, given, named, env, depth + 1)
        reduced = loss is None or self.reading.reductions > before
        varies = union([*given, *named.values()])
        grads = Var(Level.MAY if reduced else varies.level, not reduced)
        out = loss if loss is not None else unsure(varies)
        if name == "jax.grad":
            has_aux = any(a.keyword == "has_aux" for a in value.arguments)
            return tuple_of([grads, out]) if has_aux else grads
        return tuple_of([out, grads])

    def external(
        self, name: str, call: ast.Call, given: Sequence[Var], named: Env, env: Env, module: Module, depth: int
    ) -> Var:
        everything = union([*given, *named.values()])
        if name in REDUCTIONS:
            self.reading.reductions += 1
            return self.reduced(name, call, given, everything, module)
        if name == "jax.lax.axis_index":
            return Var(Level.YES)
        if name == "jax.lax.axis_size" or name == "builtins.len":
            return Var()
        if name in AXIS_POSITIONS:
            return replace(everything, gradient=everything.gradient and name != "jax.lax.psum_scatter")
        if name in ("jax.lax.cond", "jax.lax.switch"):
            self.branch(call, given, module)
        first = list(self.resolver.values(call.args[0], module)) if call.args else []
        functions = [v for v in first if _callable(v)]
        if name == "jax.lax.scan" and len(functions) == 1 and len(given) > 1:
            result = self.applied(functions[0], given[1:3], {}, env, depth)
            return result if result is not None and result.parts is not None else everything
        if name in TREE_MAPS and len(functions) == 1:
            result = self.applied(functions[0], given[1:], {}, env, depth)
            return replace(result, parts=None) if result is not None else unsure(everything)
        if functions:
            results = [self.applied(f, given[1:], {}, env, depth) for f in functions]
            return unsure(union([everything, *[r for r in results if r is not None]]))
        return replace(everything, parts=None)

    def reduced(self, name: str, call: ast.Call, given: Sequence[Var], everything: Var, module: Module) -> Var:
        axis = axis_argument(name, call_arguments(call, module))
        names = axis_names(axis, module, self.resolver, {})
        parts = given[0].parts if given else None
        if names is None or not self.axes or self.axes <= set(names):
            return Var(parts=tuple(Var() for _ in parts)) if parts is not None else Var()
        return Var(min(everything.level, Level.MAY))

    def branch(self, call: ast.Call, given: Sequence[Var], module: Module) -> None:
        """Notes a branch that devices can take differently, where its ways differ in their collectives."""
        if not given or given[0].level != Level.YES or len(call.args) < 2:
            return
        name = ast.unparse(call.func).rpartition(".")[2]
        listed = call.args[1].elts if isinstance(call.args[1], ast.Tuple | ast.List) else []
        ways = listed if name == "switch" else call.args[1:3]
        sequences = [function_operations(self.resolver.value(way, module), self.resolver) for way in ways]
        known = [sequence for sequence in sequences if sequence is not None]
        if len(known) != len(sequences) or not known:
            return
        first = known[0]
        other = next((sequence for sequence in known[1:] if not same_sequence(first, sequence)), None)
        if other is not None:
            longer = max(first, other, key=len)
            self.reading.divergences.append(Divergence(module, call, longer[0]))


TREE_MAPS = frozenset({"jax.tree.map", "jax.tree_map", "jax.tree_util.tree_map", "jax.tree_multimap"})


ARRAY_METHODS = frozenset(
    {
        "all",
        "any",
        "argmax",
        "argmin",
        "astype",
        "clip",
        "copy",
        "cumsum",
        "dot",
        "flatten",
        "max",
        "mean",
        "min",
        "prod",
    }
    | {"ravel", "repeat", "reshape", "round", "sort", "squeeze", "std", "sum", "swapaxes", "take", "transpose", "var"}
)


def _callable(value: Value) -> bool:
    if isinstance(value, Application):
        name = value.callee.name if isinstance(value.callee, External) else ""
        return bool(value.arguments) and (name in TRANSPARENT or name in GRADIENTS or name == "jax.vmap")
    return isinstance(value, Function | Partial)


def assign(target: ast.expr, value: Var, env: Env) -> None:
    """Binds the names of an assignment's target."""
    if isinstance(target, ast.Name):
        env[target.id] = value
    elif isinstance(target, ast.Tuple | ast.List):
        whole = replace(value, parts=None)
        starred = any(isinstance(e, ast.Starred) for e in target.elts)
        parts = (
            value.parts if value.parts is not None and len(value.parts) == len(target.elts) and not starred else None
        )
        for index, element in enumerate(target.elts):
            assign(element, parts[index] if parts is not None else whole, env)
    elif isinstance(target, ast.Starred):
        assign(target.value, replace(value, parts=None), env)
    elif isinstance(target, ast.Subscript | ast.Attribute) and isinstance(target.value, ast.Name):
        env[target.value.id] = union([env.get(target.value.id, Var()), value])
