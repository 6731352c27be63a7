"""Lists of numbers that an expression makes of one number of devices: `[(i, (i + 1) % n) for i in range(n)]`.

Nothing of the program is run: only arithmetic, ranges, comprehensions and the builtins that put lists together are
understood, and whatever is not in sight is taken for the number of devices.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from jaxmigrate.program.library import named
from jaxmigrate.program.modules import Module
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.values import Application, Constant, External

MOST = 4096  # elements of a list, and numbers in it
DEVICES = named("devices")
SIZES = named("counts", "axis-size")
OPERATORS: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.BitXor: operator.xor,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
}
COMPARISONS: Mapping[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
BUILTINS: Mapping[str, Callable[..., Any]] = {
    "range": range,
    "list": list,
    "tuple": tuple,
    "zip": lambda *lists: list(zip(*lists, strict=False)),
    "reversed": lambda one: list(reversed(one)),
    "enumerate": lambda one: list(enumerate(one)),
    "sorted": sorted,
    "min": min,
    "max": max,
    "len": len,
    "int": int,
    "abs": abs,
}
Names = Mapping[str, Any]


class NotUnderstoodError(Exception):
    """An expression has something in it that no rule can be made of."""


class Lists:
    """Evaluates expressions of a module for a number of devices.

    `sized`: something certainly gave that number. `guessed`: what was taken for `guess`, of which nothing is known.
    """

    def __init__(
        self, module: Module, resolver: Resolver, devices: int, guess: int | None = None, *, wrapping: bool = True
    ) -> None:
        self.module = module
        self.resolver = resolver
        self.devices = devices
        self.guess = devices if guess is None else guess
        self.wrapping = wrapping  # else `%` gives its left side, to find out whether it does anything
        self.wraps = False
        self.sized = False
        self.guessed: set[str] = set()
        self._active: set[ast.expr] = set()
        self._known: dict[ast.expr, Any] = {}  # what names stand for

    def value(self, node: ast.expr, names: Names) -> Any:
        """What an expression gives; raises NotUnderstoodError."""
        match node:
            case ast.Constant(value=int(number)):
                return number
            case ast.Tuple(elts=elements) | ast.List(elts=elements):
                return self._display(node, elements, names)
            case ast.Name(id=name) if name in names:
                return names[name]
            case ast.BinOp(left=left, op=op, right=right):
                return self._operation(op, self.value(left, names), self.value(right, names))
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -self.value(operand, names)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return self._either(test, body, orelse, names)
            case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in COMPARISONS:
                return COMPARISONS[type(op)](self.value(left, names), self.value(right, names))
            case ast.ListComp() | ast.GeneratorExp():
                return self._bounded(self._comprehension(node.elt, node.generators, names))
            case ast.Subscript(value=held, slice=ast.Slice(lower=lower, upper=upper, step=step)):
                ends = [None if one is None else self.value(one, names) for one in (lower, upper, step)]
                return self._sequence(held, names)[slice(*ends)]
            case ast.Subscript(value=held, slice=index) if not self._is_size(node):
                return self._sequence(held, names)[self.value(index, names)]
        return self._called_or_named(node, names)

    def _either(self, test: ast.expr, body: ast.expr, orelse: ast.expr, names: Names) -> Any:
        """Of `psum(1, axis) if axis else 1` the first: a test of no number says whether there are devices at all."""
        if isinstance(test, ast.Compare) and isinstance(test.ops[0], tuple(COMPARISONS)):
            return self.value(body if self.value(test, names) else orelse, names)
        if isinstance(orelse, ast.Constant):
            return self.value(body, names)
        raise NotUnderstoodError

    def _display(self, node: ast.expr, elements: list[ast.expr], names: Names) -> Any:
        found: list[Any] = []
        for one in elements:
            if isinstance(one, ast.Starred):
                found += self._sequence(one.value, names)
            else:
                found.append(self.value(one, names))
        return tuple(found) if isinstance(node, ast.Tuple) else found

    def _sequence(self, node: ast.expr, names: Names) -> Any:
        found = self.value(node, names)
        if not isinstance(found, list | tuple | range):
            raise NotUnderstoodError
        return found

    def _operation(self, op: ast.operator, left: Any, right: Any) -> Any:
        if isinstance(op, ast.Mod):
            self.wraps = True
            if not self.wrapping:
                return left
        if type(op) not in OPERATORS:
            raise NotUnderstoodError
        if isinstance(op, ast.Mult | ast.LShift) and (max(_size(left), 1) * max(_size(right), 1) > MOST):
            raise NotUnderstoodError
        return OPERATORS[type(op)](left, right)

    def _comprehension(self, element: ast.expr, generators: list[ast.comprehension], names: Names) -> Iterator[Any]:
        if not generators:
            yield self.value(element, names)
            return
        first, *rest = generators
        for one in self._sequence(first.iter, names):
            inside = {**names, **_unpacked(first.target, one)}
            if all(self.value(test, inside) for test in first.ifs):
                yield from self._comprehension(element, rest, inside)

    def _bounded(self, found: Iterator[Any]) -> list[Any]:
        made: list[Any] = []
        for one in found:
            made.append(one)
            if len(made) > MOST:
                raise NotUnderstoodError
        return made

    def _called_or_named(self, node: ast.expr, names: Names) -> Any:
        if isinstance(node, ast.Call) and not node.keywords and isinstance(node.func, ast.Name):
            known = BUILTINS.get(node.func.id)
            if known is not None and self.resolver.value(node.func, self.module) == External(
                f"builtins.{node.func.id}"
            ):
                if node.func.id == "len" and self._is_size(node):
                    self.sized = True
                    return self.devices
                return known(*(self.value(one, names) for one in node.args))
        if self._is_size(node):
            self.sized = True
            return self.devices
        if node in self._known:
            return self._known[node]
        if isinstance(node, ast.Name) and node not in self._active:
            bindings = self.resolver.bindings_at(node, self.module)
            given = bindings[0].value if len(bindings) == 1 and not bindings[0].path else None
            if bindings and bindings[0].kind == "assign" and given is not None:
                self._active.add(node)
                self._known[node] = self.value(given, {})
                return self._known[node]
        if not isinstance(node, ast.Name | ast.Attribute | ast.Call | ast.Subscript):
            raise NotUnderstoodError
        self.guessed.add(ast.unparse(node))
        return self.guess

    def _is_size(self, node: ast.expr) -> bool:
        """Whether an expression gives a number of devices: `axis_size(a)`, `psum(1, a)`, `mesh.shape[a]`."""
        match node:
            case ast.Subscript(value=ast.Attribute(attr="shape", value=owner), slice=key):
                word = owner.attr if isinstance(owner, ast.Attribute) else getattr(owner, "id", "")
                key_value = self.resolver.value(key, self.module)
                return "mesh" in str(word).lower() or (
                    isinstance(key_value, Constant) and isinstance(key_value.value, str)
                )
            case ast.Call(func=ast.Name(id="len"), args=[ast.Call() as inner]):
                value = self.resolver.value(inner, self.module)
                callee = value.callee if isinstance(value, Application) else None
                return isinstance(callee, External) and callee.name in DEVICES
            case ast.Call():
                value = self.resolver.value(node, self.module)
                callee = value.callee if isinstance(value, Application) else None
                if not isinstance(callee, External):
                    return False
                one = node.args[0] if node.args else None
                summed = callee.name == "jax.lax.psum" and isinstance(one, ast.Constant) and one.value == 1
                return summed or callee.name in SIZES
        return False


def _size(value: Any) -> int:
    return len(value) if isinstance(value, list | tuple | range) else int(abs(value))


def _unpacked(target: ast.expr, value: Any) -> dict[str, Any]:
    match target:
        case ast.Name(id=name):
            return {name: value}
        case ast.Tuple(elts=elements) if isinstance(value, tuple | list) and len(value) == len(elements):
            return {k: v for one, part in zip(elements, value, strict=True) for k, v in _unpacked(one, part).items()}
    raise NotUnderstoodError


def evaluated(made: Lists, node: ast.expr) -> Any:
    """What an expression gives, None where it is not understood or makes no sense."""
    try:
        return made.value(node, {})
    except (NotUnderstoodError, TypeError, ValueError, ZeroDivisionError, IndexError, OverflowError, RecursionError):
        return None
