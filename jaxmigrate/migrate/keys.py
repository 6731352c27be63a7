"""Parameters and fields that are one array each, since `jax.random` is given them: it takes no tree for a key."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from jaxmigrate.program.library import named
from jaxmigrate.program.modules import Module
from jaxmigrate.program.once import once, once_each
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.scopes import FunctionNode
from jaxmigrate.program.sites import denotes
from jaxmigrate.program.values import Class, Function

OTHERS = re.compile(r"None|Optional|Union|[Tt]uple|[Ll]ist|[Dd]ict|Sequence|Mapping")  # what may be no array
SEEDED = frozenset({"jax.random.PRNGKey", "jax.random.key"})  # which take no key
ONE_BY_ONE = ast.Lambda | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
SOMETIMES = ONE_BY_ONE | ast.IfExp | ast.BoolOp
PLAIN = ast.Assign | ast.AnnAssign | ast.Return | ast.Expr


def key_parameters(function: Function, resolver: Resolver) -> frozenset[str]:
    """The parameters that the first code to mention them gives `jax.random` for a key, whatever path a call takes.

    And the names of the parts of one that is unpacked, `rng, state = carry`, of which the same holds.
    """
    found = set()
    body = [] if isinstance(function.node, ast.Lambda) else function.node.body
    given = function.passed_names()
    places = [(name, 0) for name in given]
    for index, statement in enumerate(body):
        if _may_leave(statement):
            break
        if isinstance(statement, ast.Assign) and unpacks_name(statement):
            parts = [one.id for one in ast.walk(statement.targets[0]) if isinstance(one, ast.Name)]
            places += [(name, index + 1) for name in parts if name not in given]
    for name, start in places:
        first = _first_mention(function.node, name, start)
        calls = _always_called(first) if first is not None else ()
        if any(_takes_key(call, name, function, resolver) for call in calls):
            found.add(name)
    return frozenset(found)


@once
def key_fields(resolver: Resolver) -> frozenset[str]:
    """The fields that are one key each: some code gives them to `jax.random`, and no class says that they may be else.

    Only what a class of the program declares is a field here, so that a name of two classes is a key in both.
    """
    given = {name for module in resolver.project.program for name in _given_fields(module, resolver)}
    declared = {name: found for name, found in _declared(resolver).items() if name in given}
    return frozenset(name for name, found in declared.items() if not any(map(OTHERS.search, found)))


def _given_fields(module: Module, resolver: Resolver) -> Iterator[str]:
    """The fields that a file gives `jax.random` for a key: `split(self.key)`, `shard_prng_key(state.key)`."""
    for call in module.table.calls:
        first = call.args[0] if call.args else None
        if isinstance(first, ast.Attribute) and isinstance(call.func, ast.Name | ast.Attribute):
            dotted = denotes(call.func, resolver, module) or ""
            if dotted in named("splits-key") or (dotted.startswith("jax.random.") and dotted not in SEEDED):
                yield first.attr


def _declared(resolver: Resolver) -> dict[str, list[str]]:
    """The fields that classes of a program declare, with what each of them says it is."""
    found: dict[str, list[str]] = {}
    for module in resolver.project.program:
        for node in module.nodes:
            for one in node.body if isinstance(node, ast.ClassDef) else ():
                if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name):
                    said = ast.unparse(one.annotation) + (f" = {ast.unparse(one.value)}" if one.value else "")
                    found.setdefault(one.target.id, []).append(said)
    return found


def unpacks_name(statement: ast.Assign) -> bool:
    """Whether a statement binds names to the parts of what one name stands for: `rng, state = carry`."""
    target = statement.targets[0]
    names = isinstance(target, ast.Tuple) and all(isinstance(one, ast.Name) for one in target.elts)
    return names and len(statement.targets) == 1 and isinstance(statement.value, ast.Name)


def _first_mention(function: FunctionNode, name: str, start: int) -> ast.expr | None:
    """What the first statement from `start` on to mention a name evaluates; None where that is no plain one."""
    if isinstance(function, ast.Lambda):
        return function.body
    for statement in function.body[start:]:
        if _mentions(statement, name):
            return statement.value if isinstance(statement, PLAIN) else None
        if _may_leave(statement):
            return None
    return None


def _mentions(statement: ast.AST, name: str) -> bool:
    return any(isinstance(one, ast.Name) and one.id == name for one in ast.walk(statement))


def _may_leave(statement: ast.stmt) -> bool:
    """Whether a function may return in a statement, before it comes to the next one."""
    return any(isinstance(node, ast.Return | ast.Raise) for node in ast.walk(statement))


def _always_called(node: ast.AST) -> Iterator[ast.Call]:
    """The calls that evaluating an expression always makes."""
    if isinstance(node, ast.Call):
        yield node
    for child in () if isinstance(node, SOMETIMES) else ast.iter_child_nodes(node):
        yield from _always_called(child)


def _takes_key(call: ast.Call, name: str, function: Function, resolver: Resolver) -> bool:
    if not isinstance(call.func, ast.Name | ast.Attribute):
        return False
    first = call.args[0] if call.args else None
    if isinstance(first, ast.Name) and first.id == name and _is_random(call, function.module, resolver):
        return True
    held = resolver.value(call.func, function.module)
    given = next((i for i, one in enumerate(call.args) if isinstance(one, ast.Name) and one.id == name), None)
    return isinstance(held, Class) and given is not None and given in _key_places(held, resolver)


def _is_random(call: ast.Call, module: Module, resolver: Resolver) -> bool:
    """Whether a call is of a function of `jax.random` that takes a key first."""
    if not isinstance(call.func, ast.Name | ast.Attribute):
        return False
    dotted = denotes(call.func, resolver, module) or ""
    return dotted.startswith("jax.random.") and dotted not in SEEDED


@once_each
def _key_places(cls: Class, resolver: Resolver) -> frozenset[int]:
    """Which arguments of a plain class its objects keep and give `jax.random` for a key, as generators of keys do."""
    node = cls.node
    plain = all(isinstance(one, ast.Name) and one.id == "object" for one in node.bases)
    if not plain or node.keywords or node.decorator_list:
        return frozenset()
    methods = {one.name: one for one in node.body if isinstance(one, ast.FunctionDef)}
    init = methods.get("__init__")
    if init is None or init.decorator_list or init.args.vararg is not None or "__new__" in methods:
        return frozenset()
    own, *names = [one.arg for one in (*init.args.posonlyargs, *init.args.args)]
    drawn = {
        one.args[0].attr
        for one in ast.walk(node)
        if isinstance(one, ast.Call) and one.args and isinstance(one.args[0], ast.Attribute)
        if isinstance(one.args[0].value, ast.Name) and one.args[0].value.id == own
        if _is_random(one, cls.module, resolver)
    }
    kept = {
        one.value.id
        for one in init.body
        if isinstance(one, ast.Assign) and isinstance(one.value, ast.Name) and len(one.targets) == 1
        if isinstance(one.targets[0], ast.Attribute) and one.targets[0].attr in drawn
    }
    mentioned = [one.id for one in ast.walk(init) if isinstance(one, ast.Name)]
    optional = len(names) - len(init.args.defaults)
    return frozenset(i for i, name in enumerate(names[:optional]) if name in kept and mentioned.count(name) == 1)
