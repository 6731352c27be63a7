"""The functions that maps run, where a parameter can drop the device axis of a stacked array by itself."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jaxmigrate.flow.layout.interpreter import Interpreter
from jaxmigrate.flow.layout.model import Place
from jaxmigrate.program.functions import own_statements, returned_by
from jaxmigrate.program.library import named
from jaxmigrate.program.modules import Module
from jaxmigrate.program.once import once
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.scopes import FunctionNode, all_parameters
from jaxmigrate.program.sites import mapped_values
from jaxmigrate.program.values import Application, External, Function, Member, Partial, Value, Values

WRAPPERS = named("same-call", "vmap")
DEEPEST = 6
PAIR_MAKERS = named("pair-maker")
SCAN = "jax.lax.scan"
CARRIED = {SCAN: (1, "init"), "jax.lax.fori_loop": (3, "init_val"), "jax.lax.while_loop": (2, "init_val")}


def mapped_function(it: Interpreter, site: ast.expr) -> Function | None:
    """The one function that a site maps, some of whose arguments may be bound by keyword; None if that is not known."""
    values = mapped_values(it.sites[site], it.resolver)
    value = values[0] if len(values) == 1 else None
    if isinstance(value, Partial) and value.is_by_name:
        value = value.callee
    return value if isinstance(value, Function) else None


def only_function(it: Interpreter, site: ast.expr) -> Function | None:
    """The def that a site maps, if no other map and no call of the program runs it."""
    function = mapped_function(it, site)
    if function is None or not isinstance(function.node, ast.FunctionDef):
        return None
    node = function.node
    if not it.editable(function.module) or node.body[0].lineno == node.lineno or node in it.bodies.functions:
        return None
    return None if _is_used_elsewhere(it, function, site) else function


def parameters(it: Interpreter, site: ast.expr, function: Function, count: int) -> dict[int, str]:
    """The parameters that take the arguments of a site, by position; those given by keyword are the last."""
    keywords, taken = it.maps.by_keyword.get(site, ()), function.node.args
    named = {parameter.arg for parameter in (*taken.args, *taken.kwonlyargs)}
    first = count - len(keywords)
    found = dict(enumerate(function.passed_names()[:first]))
    return found | {first + i: name for i, name in enumerate(keywords) if name in named}


@once
def _known_waits(_it: Interpreter) -> dict[FunctionNode, frozenset[str]]:
    """The parameters that functions do nothing with but wait for them."""
    return {}


def only_waited_for(it: Interpreter, function: Function) -> frozenset[str]:
    """The parameters of which a function does nothing but wait until they are computed."""
    if function.node not in _known_waits(it):
        waits = "block_until_ready" in it.names_in(function.node)
        found = _waited_for(function.node, it.resolver, function.module) if waits else ()
        _known_waits(it)[function.node] = frozenset(found)
    return _known_waits(it)[function.node]


def _waited_for(node: FunctionNode, resolver: Resolver, module: Module) -> Iterator[str]:
    body = [] if isinstance(node, ast.Lambda) else node.body
    names = [n for s in body for n in ast.walk(s) if isinstance(n, ast.Name)]
    parents = module.table.parents
    for parameter in all_parameters(node.args):
        uses = [n for n in names if n.id == parameter.arg]
        calls = [parents.get(n) for n in uses]
        if uses and all(
            isinstance(call, ast.Call)
            and isinstance(parents.get(call), ast.Expr)
            and len(call.args) == 1
            and resolver.value(call.func, module) == External("jax.block_until_ready")
            for call in calls
        ):
            yield parameter.arg


def _is_used_elsewhere(it: Interpreter, function: Function, site: ast.expr) -> bool:
    """Whether something beside a site names a function."""
    assert isinstance(function.node, ast.FunctionDef)
    inside = set(ast.walk(site))
    for module in it.modules:
        for node in module.table.references:
            name = node.id if isinstance(node, ast.Name) else node.attr
            if name != function.node.name or node in inside:
                continue
            for value in it.resolver.values(node, module):
                found = value.callee if isinstance(value, Partial) else value
                if isinstance(found, Function) and found.node is function.node:
                    return True
    decorators = [d for d in function.node.decorator_list if d is not site]
    return bool(decorators) or any(isinstance(s, ast.Global | ast.Nonlocal) for s in own_statements(function.node))


def unwrapped(value: Value, resolver: Resolver, wrappers: frozenset[str] = WRAPPERS) -> Value:
    """What partials and wrappers were made of; what is wrapped in itself stays a wrapper."""
    for _ in range(DEEPEST):
        match value:
            case Partial(callee=callee):
                value = callee
            case Application(callee=External(name=name), arguments=[_, *_] as arguments) if name in wrappers:
                first = next((one for one in arguments if one.keyword is None), arguments[0])  # behind the options
                inner = resolver.argument_values(first)
                if len(inner) != 1:
                    break
                value = inner[0]
            case _:
                break
    return value


def returns_tuple(value: Value, resolver: Resolver, place: Place = (), depth: int = DEEPEST) -> bool:
    """Whether a function certainly returns a tuple: a display in each return, or what another such function gives.

    With `place`, whether what stands there in what it returns certainly is one.
    """
    match unwrapped(value, resolver):
        case External(name="jax.lax.scan") | Application(callee=External(name="jax.value_and_grad")):
            return not place
        case Member(name="init", owner=Application(callee=External(name=name))):
            return not place and name in PAIR_MAKERS
        case Function(module=module, node=node):
            found = returned_by(node)
            return bool(found) and all(_is_tuple(one, module, resolver, place, depth) for one in found)
    return False


def is_scan(value: Value, resolver: Resolver) -> bool:
    """Whether a function is `partial(jax.lax.scan, step)`: its carry has the structure of its first argument."""
    bound = value.arguments if isinstance(value, Partial) else ()
    plain = len(bound) == 1 and bound[0].keyword is None
    return plain and isinstance(value, Partial) and unwrapped(value, resolver) == External("jax.lax.scan")


def gives_pair(value: Value, resolver: Resolver) -> bool:
    """Whether a function gives the parameters and the state of a network of haiku's, whose code is not in sight."""
    match unwrapped(value, resolver):
        case Member(name="init", owner=Application(callee=External(name=name))):
            return name in PAIR_MAKERS
        case Function(module=module, node=node):
            calls = [one.func for one in returned_by(node) if isinstance(one, ast.Call)]
            inner = [one for func in calls for one in resolver.values(func, module)]
            known = [isinstance(one, Member) and gives_pair(one, resolver) for one in inner]
            return bool(known) and all(known) and len(calls) == len(returned_by(node))
    return False


def _is_tuple(node: ast.expr | None, module: Module, resolver: Resolver, place: Place, depth: int) -> bool:
    match node:
        case ast.Tuple(elts=elements) if place:
            first = place[0]
            if any(isinstance(one, ast.Starred) for one in elements) or not isinstance(first, int):
                return False
            return first < len(elements) and _is_tuple(elements[first], module, resolver, place[1:], depth)
        case ast.Tuple():
            return True
        case ast.IfExp(body=body, orelse=orelse):
            return all(_is_tuple(one, module, resolver, place, depth) for one in (body, orelse))
        case ast.Call(func=func) if depth > 0:
            values = resolver.values(func, module)
            carried = _carried(node, place, values)
            if carried is not None:
                return _is_tuple(carried[0], module, resolver, carried[1], depth - 1)
            return bool(values) and all(returns_tuple(value, resolver, place, depth - 1) for value in values)
        case ast.Name() if depth > 0:
            bindings = resolver.bindings(node.id, module.table.scope_of[node])
            plain = all(b.kind == "assign" and all(isinstance(step, int) for step in b.path) for b in bindings)
            every = (_is_tuple(b.value, module, resolver, (*b.path, *place), depth - 1) for b in bindings)
            return bool(bindings) and plain and all(every)
    return False


def _carried(call: ast.Call, place: Place, values: Values) -> tuple[ast.expr, Place] | None:
    """What a loop of JAX starts with, whose structure it gives back, and the place in it: of a scan in its carry."""
    names = {value.name for value in values if isinstance(value, External)}
    if len(names) != 1 or len(values) != 1:
        return None
    kind = names.pop()
    if kind not in CARRIED or (kind == SCAN and place[:1] != (0,)):
        return None
    index, keyword = CARRIED[kind]
    given = [one.value for one in call.keywords if one.arg == keyword] or call.args[index : index + 1]
    if not given or any(isinstance(one, ast.Starred) for one in call.args):
        return None
    return given[0], place[1:] if kind == SCAN else place
