"""Batch statistics that are averaged over the devices before one use of a state and not before another."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeAlias

from jaxmigrate.program.modules import Module
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.syntax import last_name
from jaxmigrate.program.values import External, Function
from jaxmigrate.program.words import MAPS

STATISTICS = re.compile(r"batch_stats|model_state|bn_state|net_state|network_state")
BY_NAME = re.compile(
    r"(sync|merge|average|avg|reduce|gather)\w*(batch|stats|statistics|bn|model_state|batchnorm|replica)", re.IGNORECASE
)
AVERAGES = re.compile(r"\w*(pmean|cross_replica_mean|sync|avg|average|all_reduce)\w*\s*\(", re.IGNORECASE)
STEPS = re.compile(r"train|update|(^|_)step", re.IGNORECASE)
LOOKS = re.compile(r"eval|valid|test|infer", re.IGNORECASE)
KEEPS = re.compile(r"(^|_)(save|checkpoint|ckpt|export|unreplicate|get_first|unshard)", re.IGNORECASE)
STATE = re.compile("state|variables|model", re.IGNORECASE)
SHORT = 8  # statements
STORED = r"(\w+)\s*=\s*[\w.]*(pmean|cross_replica_mean|avg|average|mean)\w*\(\w+\.\1\)"
# Of which states the statistics are one device's: "always", "never", or but where this condition held.
States: TypeAlias = dict[str, str]


class Unsynchronised(NamedTuple):
    """A use of a state after steps that changed its statistics, and a place where these are averaged."""

    module: Module
    call: ast.Call
    state: str
    averaging: str
    averaged_at: tuple[Module, ast.expr] | None


def unsynchronised(modules: Sequence[Module], resolver: Resolver) -> Iterator[Unsynchronised]:
    """Uses of a state without what the program averages its statistics by elsewhere."""
    every = {name for module in modules for name in (*_averaging(module), *_of_libraries(module, resolver))}
    for module in modules if every else ():
        averaging = {name for name in every if name in module.text}  # defined here, or imported
        if not averaging or not STATISTICS.search(module.text) or not STEPS.search(module.text):
            continue
        own = [(module, c) for c in module.table.calls if last_name(c.func) in averaging]
        calls = [one for one in own if not _is_within(one[1], module, averaging)]
        if not calls and not _maps_else(module, averaging):
            continue  # what a program once averaged that nothing maps now
        for function in _host_functions(module):
            walk = _Walk(module, averaging, resolver)
            walk.block(function.body, {}, ())
            for call, state in walk.found:
                yield Unsynchronised(module, call, state, min(averaging), calls[0] if calls else None)


def averages_statistics(modules: Sequence[Module]) -> bool:
    """Whether a program has a function that gives back a state with averaged statistics."""
    return any(True for module in modules for _ in _averaging(module))


def _averaging(module: Module) -> Iterator[str]:
    """The functions that give back a state with averaged statistics, which steps do not."""
    if not STATISTICS.search(module.text):
        return
    for node in module.nodes:
        if not isinstance(node, ast.FunctionDef) or len(node.body) > SHORT:
            continue
        text = ast.unparse(node)
        averages = BY_NAME.search(node.name) or re.search(STORED, text)
        if averages and STATISTICS.search(text) and AVERAGES.search(text.partition("\n")[2]) and "grad" not in text:
            yield node.name


def _of_libraries(module: Module, resolver: Resolver) -> Iterator[str]:
    """The functions of libraries that average statistics, by their names: scenic's, which its trainers call."""
    for call in module.table.calls if STATISTICS.search(module.text) else ():
        name = last_name(call.func)
        if BY_NAME.search(name) and STATISTICS.search(name):
            callee = resolver.value(call.func, module)
            if isinstance(callee, External) and not callee.name.startswith("jax."):
                yield name


def _maps_else(module: Module, names: set[str]) -> bool:
    """Whether a module maps anything but what is a mean over the devices, for some functions that average."""
    used = (node for node in module.nodes if isinstance(node, ast.Name | ast.Attribute) and last_name(node) in MAPS)
    for node in used:
        statement = module.table.statement_of(node)
        within = module.table.function_of(node)
        averages = isinstance(within, ast.FunctionDef) and within.name in names
        if isinstance(statement, ast.Import | ast.ImportFrom) or averages:
            continue
        if not (isinstance(statement, ast.Assign | ast.Return) and AVERAGES.search(ast.unparse(statement))):
            return True
    return False


def _is_within(call: ast.Call, module: Module, names: set[str]) -> bool:
    function = module.table.function_of(call)
    return isinstance(function, ast.FunctionDef) and function.name in names


def _host_functions(module: Module) -> Iterator[ast.FunctionDef | ast.Module]:
    yield module.tree
    for node in module.nodes:
        if isinstance(node, ast.FunctionDef) and any(isinstance(one, ast.For | ast.While) for one in ast.walk(node)):
            yield node


def _passes(call: ast.Call, names: set[str]) -> bool:
    given = [*call.args, *(k.value for k in call.keywords)]
    return any(isinstance(n, ast.Name) and n.id in names for one in given for n in ast.walk(one))


def _kind(call: ast.Call) -> str:
    name = last_name(call.func)
    return "keeps" if KEEPS.search(name) else "looks" if LOOKS.search(name) else ""


class _Walk:
    """Goes through a function in the order of its statements, with the states that steps have changed."""

    def __init__(self, module: Module, averaging: set[str], resolver: Resolver) -> None:
        self.module = module
        self.averaging = averaging
        self.resolver = resolver
        self.found: list[tuple[ast.Call, str]] = []

    def block(self, statements: Sequence[ast.stmt], changed: States, tests: tuple[str, ...]) -> None:
        """`tests`: the conditions under which the statements run."""
        for one in statements:
            match one:
                case ast.FunctionDef() | ast.ClassDef() | ast.AsyncFunctionDef():
                    continue
                case ast.If():
                    self.expression(one.test, changed, tests)
                    self.branch(one, changed, tests)
                case ast.For() | ast.While():
                    self.expression(one.iter if isinstance(one, ast.For) else one.test, changed, tests)
                    self.block(one.body, changed, tests)
                    self.block(one.orelse, changed, tests)
                case ast.With() | ast.Try():
                    self.block(one.body, changed, tests)
                    if isinstance(one, ast.Try):
                        self.block(one.finalbody, changed, tests)
                case ast.Assign(targets=[target], value=value):
                    self.expression(value, changed, tests)
                    self.assign(target, value, changed)
                case _:
                    self.expression(one, changed, tests)

    def branch(self, node: ast.If, changed: States, tests: tuple[str, ...]) -> None:
        """Both ways of an `if`: a state that one averages has one device's statistics but for that condition."""
        test = ast.unparse(node.test)
        before, ways = dict(changed), []
        for way, names in ((node.body, (*tests, test)), (node.orelse, tests)):
            after = dict(before)
            self.block(way, after, names)
            ways.append(after)
        for name in {*ways[0], *ways[1]}:
            one, other = (way.get(name, "never") for way in ways)
            changed[name] = one if one == other else test if one == "never" and other == "always" else "never"

    def assign(self, target: ast.expr, value: ast.expr, changed: States) -> None:
        """What an assignment makes of states."""
        names = {n.id for n in ast.walk(target) if isinstance(n, ast.Name)}
        calls = [n for n in ast.walk(value) if isinstance(n, ast.Call)]
        for name in names:
            if any(last_name(c.func) in self.averaging for c in calls) or AVERAGES.search(ast.unparse(value)):
                changed[name] = "never"
            elif calls and name in changed and STATE.search(name) and not _passes(calls[0], {name}):
                changed.pop(name)
            elif any(STEPS.search(last_name(c.func)) and _passes(c, {name}) and not _kind(c) for c in calls):
                changed[name] = "always"

    def expression(self, node: ast.AST, changed: States, tests: tuple[str, ...]) -> None:
        """Uses of states that steps have changed."""
        for call in ast.walk(node):
            if not isinstance(call, ast.Call) or not _kind(call) or self._averages(call):
                continue
            for state, when in changed.items():
                given = [*call.args, *(k.value for k in call.keywords)]
                sometimes = when != "always" and bool(tests) and when not in tests and _kind(call) == "keeps"
                own = when == "always" or (when != "never" and sometimes)
                if own and any(_is_state(one, state) for one in given):
                    self.found.append((call, state))

    def _averages(self, call: ast.Call) -> bool:
        """Whether what is called averages statistics itself."""
        values = self.resolver.values(call.func, self.module)
        texts = [ast.unparse(one.node) for one in values if isinstance(one, Function)]
        return any(name in text for text in texts for name in self.averaging)


def _is_state(node: ast.expr, state: str) -> bool:
    """Whether an argument is a state itself, or what only one device's is taken of."""
    match node:
        case ast.Name(id=name):
            return name == state
        case ast.Call(args=[inner]) if KEEPS.search(last_name(node.func)):
            return _is_state(inner, state)
        case ast.Attribute(value=ast.Name(id=name), attr=attr):
            return name == state and STATISTICS.search(attr) is not None
    return False
