"""Whether a function takes gradients, or has control flow that carries values: what old and new shard_map differ in.

Up to jax 0.5 `check_rep=True` was a check and no more: what passed gave the numbers of `check_rep=False`. Since 0.6 the
gradient with respect to a value that is equal on all devices is summed over them where variance is checked, and a carry
must vary over the same axes on entry and on exit.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator
from typing import NamedTuple

from jaxmigrate.program.library import named
from jaxmigrate.program.modules import Module
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.values import (
    Application,
    Class,
    External,
    Function,
    Instance,
    Member,
    Parameter,
    Partial,
    Unknown,
    Value,
)

GRADIENTS = named("reverse-mode")
TWINS = ("value_and_grad", "grad", "vjp", "filter_grad", "filter_value_and_grad", "jacrev", "hessian")
CARRYING = named("control-flow", "callback", "custom-rule")
KNOWN = frozenset(
    {
        *("jax", "numpy", "builtins", "functools", "math", "itertools", "operator", "typing", "collections"),
        *("flax", "haiku", "optax", "chex", "einops", "dataclasses", "absl", "logging", "time", "os", "sys"),
    }
)
HARMLESS = frozenset(
    {
        *("sum", "mean", "max", "min", "std", "var", "prod", "any", "all", "argmax", "argmin", "cumsum", "dot", "sort"),
        *(
            "reshape",
            "astype",
            "transpose",
            "swapaxes",
            "squeeze",
            "flatten",
            "ravel",
            "repeat",
            "take",
            "copy",
            "item",
        ),
        *("round", "clip", "conj", "set", "add", "multiply", "divide", "power", "apply", "init", "view", "tolist"),
        *("get", "items", "keys", "values", "append", "extend", "pop", "setdefault", "update", "replace", "index"),
        *("format", "join", "split", "startswith", "endswith", "strip", "block_until_ready", "bit_length"),
    }
)
MOST = 400


class Insight(NamedTuple):
    """What is known of a function: `gradients` None where something that it calls is out of sight."""

    gradients: bool | None
    carries: bool


def insight(value: Value, resolver: Resolver) -> Insight:
    """Reads a function and all that it calls."""
    reading = _Reading(resolver)
    reading.of(value)
    return Insight(True if reading.gradients else None if reading.unknown else False, reading.carries)


class _Reading:
    def __init__(self, resolver: Resolver) -> None:
        self.resolver = resolver
        self.read: set[ast.AST] = set()
        self.gradients = self.unknown = self.carries = False

    def of(self, value: Value) -> None:
        match value:
            case External(name=name):
                self._external(name)
            case Function(module=module, node=node):
                self._function(node, module)
            case Partial(callee=callee, arguments=arguments) | Application(callee=callee, arguments=arguments):
                self.of(callee)
                for argument in arguments:
                    if argument.expression is not None and argument.expression in self.read:
                        continue  # `f = jit(f)`: what a name is given anew may be made of what it was
                    self.read |= {argument.expression} if argument.expression is not None else set()
                    for one in self.resolver.argument_values(argument):
                        if isinstance(one, Function | Partial | Application | External):
                            self.of(one)
            case Instance(cls=cls):
                self._class(cls)
            case Class():
                self._class(value)
            case Unknown() | Parameter():
                self.unknown = True
            case Member(name=name):
                self._method(name)

    def _external(self, name: str) -> None:
        last = name.rpartition(".")[2]
        if name in GRADIENTS or (last in TWINS and not name.startswith(("numpy.", "builtins."))):
            self.gradients = True
        self.carries |= name in CARRYING
        top, _, rest = name.partition(".")
        self.unknown |= top not in KNOWN or (top == "builtins" and not hasattr(builtins, rest.partition(".")[0]))

    def _class(self, cls: Class) -> None:
        for one in self.resolver.lineage(cls):
            for node in one.node.body:
                if isinstance(node, ast.FunctionDef) and node.name in ("__call__", "__init__"):
                    self._function(node, one.module)

    def _function(self, node: ast.AST, module: Module) -> None:
        if node in self.read or len(self.read) > MOST:
            self.unknown |= node not in self.read
            return
        self.read.add(node)
        for called in _called(node):
            values = self.resolver.values(called, module)
            for value in values:
                if isinstance(value, Unknown) and isinstance(called, ast.Attribute):
                    self._method(called.attr)
                elif isinstance(value, Parameter):
                    self.unknown |= isinstance(called, ast.Name)
                else:
                    self.of(value)
            if isinstance(called, ast.Attribute) and called.attr in TWINS:
                self.gradients = True

    def _method(self, name: str) -> None:
        """A method of something out of sight: those of arrays, dictionaries and modules take no gradients."""
        self.gradients |= name in TWINS
        self.unknown |= name not in HARMLESS


def _called(function: ast.AST) -> Iterator[ast.expr]:
    """What a function calls, and what it names among the arguments of its calls, nested functions included."""
    for node in ast.walk(function):
        if isinstance(node, ast.Call):
            yield node.func
            for argument in [*node.args, *(k.value for k in node.keywords)]:
                if isinstance(argument, ast.Attribute) and isinstance(argument.value, ast.Name):
                    yield argument if argument.attr in TWINS else node.func
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from node.decorator_list
