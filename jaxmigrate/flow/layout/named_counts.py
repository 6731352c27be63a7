"""Counts of devices that come from out of sight and say by their names what they count: `args.num_devices`.

A reader takes them for the number of all devices that pmap uses. What the program computes itself is read, not guessed:
`num_devices = jax.device_count() // 2` is no such count.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable

from jaxmigrate.program.callers import callers_of
from jaxmigrate.program.modules import Module
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.scopes import Binding
from jaxmigrate.program.values import Parameter, Value

COUNT = re.compile(
    r"^_?(?:(?:n|nb|num|number_of)_?(?:local_|jax_)?(?:devices?|gpus|tpus|accelerators)|(?:local_|jax_)?device_count|ndevs?)$"
)
DEEPEST = 4  # callers of callers
OPTIONS = re.compile(r"^_?(?:args|cfg|conf|config|flags|hparams|opt|options|opts|settings)$", re.IGNORECASE)


class NamedCounts:
    """Looks for such counts; `counts` says which expressions certainly are the number of devices."""

    def __init__(self, resolver: Resolver, counts: Callable[[ast.expr, Module], bool]) -> None:
        self.resolver = resolver
        self.counts = counts

    def is_one(self, node: ast.expr, module: Module, depth: int = DEEPEST) -> bool:
        """Whether an expression is such a count: a parameter of what is called out of sight, or an option."""
        match node:
            case ast.Name(id=name):
                bindings = self.resolver.bindings_at(node, module)
                return bool(bindings) and all(self._is_bound(b, name, module, depth) for b in bindings)
            case ast.Attribute(value=ast.Name(id="self")):
                found = self.resolver.values(node, module)
                return bool(found) and all(self._is_handed(one, depth) for one in found)
            case ast.Attribute(value=ast.Name(id=owner) | ast.Attribute(attr=owner), attr=name):
                return bool(OPTIONS.match(owner) and COUNT.match(name)) and not _is_set(name, self.resolver)
            case ast.Subscript(value=ast.Name(id=owner), slice=ast.Constant(value=str(name))):
                return bool(OPTIONS.match(owner) and COUNT.match(name)) and not _is_entered(name, self.resolver)
        return False

    def _is_bound(self, binding: Binding, name: str, module: Module, depth: int) -> bool:
        """Whether what gives a name its value gives it such a count."""
        if depth and binding.value is not None and not binding.path:
            return self.is_one(binding.value, module, depth - 1)
        function = binding.scope.node
        if binding.kind != "param" or not isinstance(function, ast.FunctionDef):
            return False
        return self._is_handed(Parameter(module, function, name), depth)

    def _is_handed(self, value: Value, depth: int) -> bool:
        """Whether a parameter is handed such counts by all calls, or by its name is one, where no call is in sight."""
        if not isinstance(value, Parameter) or not depth:
            return False
        given = callers_of(self.resolver).written(value)
        if given is None:
            return COUNT.match(value.name) is not None
        return all(self.counts(one, where) or self.is_one(one, where, depth - 1) for one, where in given)


def _is_set(name: str, resolver: Resolver) -> bool:
    """Whether the program sets an attribute of a name itself."""
    modules = (module for module in resolver.project.named if name in module.text)
    return any(
        isinstance(n, ast.Attribute) and n.attr == name and not isinstance(n.ctx, ast.Load)
        for module in modules
        for n in module.nodes
    )


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
