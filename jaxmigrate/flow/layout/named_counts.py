"""Counts of devices that come from out of sight and say by their names what they count: `args.num_devices`.

A reader takes them for the number of all devices that pmap uses, and a limit of it, as in
`min(jax.device_count(), args.max_devices)`, for one that leaves them all. What the program computes itself is read, not
guessed: `num_devices = jax.device_count() // 2` is no such count.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Collection, Iterator, Sequence

from jaxmigrate.program.callers import callers_of
from jaxmigrate.program.modules import Module
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.scopes import Binding
from jaxmigrate.program.values import Application, Constant, External, Parameter, Value

_OF_DEVICES = r"(?:local_|jax_|xla_)?(?:devices?|gpus|tpus|accelerators)"
COUNT = re.compile(rf"^_?(?:(?:n|nb|num|number_of)_?{_OF_DEVICES}|(?:local_|jax_)?device_count|ndevs?)$")
LIMIT = re.compile(rf"^_?(?:max|maximum)_(?:(?:n|num)_)?{_OF_DEVICES}(?:_(?:per|to_use)\w*)?$")
DEEPEST = 4  # callers of callers
OPTIONS = re.compile(r"^_?(?:args|cfg|conf|config|flags|hparams|opt|options|opts|settings)$", re.IGNORECASE)
LEAST = External("builtins.min")


class NamedCounts:
    """Looks for such counts; `counts` says which expressions certainly are the number of devices."""

    def __init__(self, resolver: Resolver, counts: Callable[[ast.expr, Module], bool]) -> None:
        self.resolver = resolver
        self.counts = counts

    def is_one(self, node: ast.expr, module: Module, depth: int = DEEPEST, named: re.Pattern[str] = COUNT) -> bool:
        """Whether an expression is such a count: a parameter of what is called out of sight, or an option.

        `named` is how these are called; what a program chooses by a condition is one if it is in each case.
        """
        match node:
            case ast.Name(id=name):
                bindings = self.resolver.bindings_at(node, module)
                return bool(bindings) and all(self._is_bound(b, name, module, depth, named) for b in bindings)
            case ast.Attribute(value=ast.Name(id="self")):
                found = self.resolver.values(node, module)
                return bool(found) and all(self._is_kept(one, depth, named) for one in found)
            case ast.Attribute(value=ast.Name(id=owner) | ast.Attribute(attr=owner), attr=name):
                said = bool(OPTIONS.match(owner) and named.match(name))
                limits = named is LIMIT and _has_number(name, self.resolver)
                return said and not _is_set(name, self.resolver) and not limits
            case ast.Subscript(value=ast.Name(id=owner), slice=ast.Constant(value=str(name))):
                return bool(OPTIONS.match(owner) and named.match(name)) and not _is_entered(name, self.resolver)
            case ast.IfExp(body=one, orelse=other) | ast.BoolOp(op=ast.Or(), values=[one, other]):
                return depth > 0 and all(self._is_either(each, module, depth - 1, named) for each in (one, other))
            case ast.Call(func=func, args=[one, other], keywords=[]) if depth > 0:
                takes_least = self.resolver.value(func, module) == LEAST
                return takes_least and self._is_least([(one, module), (other, module)], depth - 1)
        return False

    def _is_either(self, node: ast.expr, module: Module, depth: int, named: re.Pattern[str] = COUNT) -> bool:
        """Whether an expression is the number of devices, certainly or by its name."""
        return self.counts(node, module) or self.is_one(node, module, depth, named)

    def _is_least(self, pair: Sequence[tuple[ast.expr, Module]], depth: int) -> bool:
        """Whether the least of two numbers is all devices, the other being a count of them or a limit by its name."""
        return any(
            self._is_either(*one, depth) and (self.is_one(*other, depth) or self.is_one(*other, depth, LIMIT))
            for one, other in (pair, pair[::-1])
        )

    def _is_bound(self, binding: Binding, name: str, module: Module, depth: int, named: re.Pattern[str]) -> bool:
        """Whether what gives a name its value gives it such a count."""
        if depth and binding.value is not None and not binding.path:
            return self._is_either(binding.value, module, depth - 1, named)
        function = binding.scope.node
        if binding.kind != "param" or not isinstance(function, ast.FunctionDef):
            return False
        return self._is_handed(Parameter(module, function, name), depth, named)

    def _is_kept(self, value: Value, depth: int, named: re.Pattern[str]) -> bool:
        """Whether an attribute is such a count by what an object is given, or by the least of that and all devices."""
        if isinstance(value, Application) and value.callee == LEAST and depth:
            pair = [(one.expression, one.module) for one in value.arguments if one.expression is not None]
            by_position = all(one.keyword is None for one in value.arguments)
            return by_position and len(pair) == len(value.arguments) == 2 and self._is_least(pair, depth - 1)
        return self._is_handed(value, depth, named)

    def _is_handed(self, value: Value, depth: int, named: re.Pattern[str]) -> bool:
        """Whether a parameter is handed such counts by all calls, or by its name is one, where no call is in sight."""
        if not isinstance(value, Parameter) or not depth:
            return False
        callers = callers_of(self.resolver)
        given = callers.written(value)
        if given is None:
            numbers = [one for one in callers.passed(value) if isinstance(one, Constant) and one.value is not None]
            return named.match(value.name) is not None and not numbers
        return all(self._is_either(one, where, depth - 1, named) for one, where in given)


def _is_set(name: str, resolver: Resolver) -> bool:
    """Whether the program sets an attribute of a name itself."""
    modules = (module for module in resolver.project.named if name in module.text)
    return any(
        isinstance(n, ast.Attribute) and n.attr == name and not isinstance(n.ctx, ast.Load)
        for module in modules
        for n in module.nodes
    )


def _has_number(name: str, resolver: Resolver) -> bool:
    """Whether the program gives an option a number of its own where it says what options there are.

    `add_argument("--max-devices", default=4)`, `max_devices: int = 4`, `Config(max_devices=4)`.
    """
    option = name.replace("_", "-")
    texts = {name, option, f"--{name}", f"--{option}"}
    modules = [module for module in resolver.project.named if any(one in module.text for one in texts)]
    return any(_is_number(value) for module in modules for value in _given(name, texts, module))


def _given(name: str, texts: Collection[str], module: Module) -> Iterator[ast.expr]:
    """What a file gives an option, by default or where it makes a configuration."""
    for call in module.table.calls:
        first = call.args[0] if call.args else None
        if isinstance(first, ast.Constant) and first.value in texts:
            yield from call.args[1:]
            yield from (one.value for one in call.keywords if one.arg == "default")
        yield from (one.value for one in call.keywords if one.arg == name)
    for node in module.nodes:
        match node:
            case ast.AnnAssign(target=ast.Name(id=found), value=ast.Constant() as value) if found == name:
                yield value
            case ast.Assign(targets=[ast.Name(id=found)], value=ast.Constant() as value) if found == name:
                yield value


def _is_number(node: ast.expr) -> bool:
    """Whether a number of devices is written out; none or fewer stand for all."""
    return isinstance(node, ast.Constant) and type(node.value) is int and node.value > 0


def _is_entered(name: str, resolver: Resolver) -> bool:
    """Whether the program fills an entry of a name itself."""
    return any(
        isinstance(n, ast.Subscript)
        and not isinstance(n.ctx, ast.Load)
        and isinstance(n.slice, ast.Constant)
        and n.slice.value == name
        for module in resolver.project.named
        if name in module.text
        for n in module.nodes
    )
