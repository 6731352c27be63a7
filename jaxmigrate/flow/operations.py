"""Sequences of collectives: what a piece of code makes the other devices wait for, in order."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterable, Iterator

from jaxmigrate.flow.axis_values import bind_arguments, bound
from jaxmigrate.flow.memoized import is_memoized
from jaxmigrate.program.arguments import call_arguments
from jaxmigrate.program.callers import callers_of
from jaxmigrate.program.collectives import (
    COMMUNICATING,
    HOST_SYNCS,
    PMAPS,
    SHARD_MAPS,
    TRANSPARENT,
    argument,
    axis_argument,
)
from jaxmigrate.program.functions import returned_by
from jaxmigrate.program.library import last_names, named
from jaxmigrate.program.modules import Module
from jaxmigrate.program.once import once, once_each
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.syntax import calls_of, expression_calls, last_name
from jaxmigrate.program.values import (
    UNKNOWN,
    Application,
    Argument,
    External,
    Function,
    Member,
    Parameter,
    Partial,
    Unknown,
    Value,
    Values,
)
from jaxmigrate.records import record

DEEPEST = 5
JOINT = named("joint")
JOINTLY = frozenset({"save", "restore", "restore_or_initialize"})
RUNNERS = named("control-flow", "tree-map")
SHARDINGS = frozenset({"in_shardings", "out_shardings"})
DONATIONS = frozenset({"donate_argnums", "donate_argnames"})
STATE = re.compile("^(train_?)?(state|params|weights|variables|opt_state)$")
GLOBAL = ("make_array_from_", "host_local_array_to_global_array", "process_allgather")
JITTED = ", a jitted function that all processes must call"
MANAGER = re.compile("manager|mngr")
JITS = named("jit")
LOOKING = ("deterministic", "use_running_average", "eval_mode")
TRAINING = ("train", "training", "is_training", "train_mode")
LIKE_COLLECTIVES = re.compile("(psum|pmean|pmax|pmin|all_gather|ppermute)_")  # pmean_if_pmap, and its like in libraries
SYNCS = frozenset(name for name in last_names("host-sync") if not name.startswith("assert"))


@record
class Operation:
    """Something that devices do together: a collective, a call of a mapped function, or a host synchronisation."""

    kind: str
    module: Module
    node: ast.Call

    @property
    def signature(self) -> str:
        """What has to agree on both ways through a branch."""
        return self.kind


def operations(nodes: Iterable[ast.AST], module: Module, resolver: Resolver, depth: int = 0) -> list[Operation]:
    """The operations of some statements or expressions, called functions included, in order."""
    found: list[Operation] = []
    for node in nodes:
        for expression in _expressions(node):
            for call in expression_calls(expression):
                found += _of_call(call, module, resolver, depth)
    return found


def function_operations(value: Value, resolver: Resolver, depth: int = 0) -> list[Operation] | None:
    """The operations of calling a function; None where it is not in sight."""
    if depth > DEEPEST:
        return None
    match value:
        case Function(module=module, node=node):
            body = [node.body] if isinstance(node, ast.Lambda) else node.body
            return operations(body, module, resolver, depth + 1)
        case Partial(callee=callee):
            return function_operations(callee, resolver, depth + 1)
        case Application(callee=Function() as factory):
            returned = resolver.returned(factory)
            return function_operations(returned[0], resolver, depth + 1) if len(returned) == 1 else None
        case Application(callee=External(), arguments=arguments) if arguments:
            operands = resolver.argument_values(arguments[0])
            return function_operations(operands[0], resolver, depth + 1) if len(operands) == 1 else None
    return None


def _expressions(node: ast.AST) -> Iterator[ast.expr]:
    if isinstance(node, ast.expr):
        yield node
        return
    pending: list[ast.AST] = [node]
    while pending:
        current = pending.pop()
        if isinstance(current, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        children = list(ast.iter_child_nodes(current))
        pending.extend(child for child in reversed(children) if not isinstance(child, ast.expr))
        yield from (child for child in children if isinstance(child, ast.expr))


def _of_call(call: ast.Call, module: Module, resolver: Resolver, depth: int) -> Iterator[Operation]:
    value = _method_called(_called(resolver.values(call.func, module), resolver), call, resolver)
    arguments = call_arguments(call, module)
    while isinstance(value, Partial):  # `pmean = partial(lax.pmean, axis_name="i")`
        arguments = (*value.arguments, *arguments)
        value = value.callee
    match value:
        case External(name=name) if name in COMMUNICATING:
            axis = axis_argument(name, arguments)
            text = ast.unparse(axis) if axis is not None else ""
            yield Operation(f"{name.rpartition('.')[2]} over {text}", module, call)
        case External(name=name) if LIKE_COLLECTIVES.match(name.rpartition(".")[2]):
            yield Operation(f"{name.rpartition('.')[2]}", module, call)
        case External(name=name) if name in HOST_SYNCS:
            yield Operation(name.rpartition(".")[2], module, call)
        case Unknown() | Member() if (kind := _of_object(value, call, resolver)) is not None:
            yield Operation(kind, module, call)
        case External(name=name) if name in RUNNERS and depth < DEEPEST:
            for given in arguments:
                yield from _given(given, call, module, resolver, depth)
        case Function() | Application() if runs_map(value, resolver):
            yield Operation(f"the mapped function {ast.unparse(call.func)[:60]}", module, call)
        case Function() if any(
            runs_map(one, resolver) and waits(one, resolver) for one in _called_back(value, call, module, resolver)
        ):
            yield Operation(f"the mapped function passed to {ast.unparse(call.func)[:60]}", module, call)
        case Function() | Application() if depth < DEEPEST:
            for kind in _kinds_inside(value, call, resolver, depth):
                yield Operation(kind, module, call)


def _method_called(value: Value, call: ast.Call, resolver: Resolver) -> Value:
    """What a call is of, also where the object is not known whose method it calls; nothing where nobody waits in it."""
    method = only_method(last_name(call.func), resolver) if value == UNKNOWN or isinstance(value, Member) else None
    value = value if method is None else method
    return UNKNOWN if is_memoized(value) or not waits(value, resolver) else value


@once_each
def only_method(name: str, resolver: Resolver) -> Function | None:
    """The one method of the program of this name, for whoever does not know what object it is called on.

    None for a name that objects of libraries may well have, too: one of a single word.
    """
    if "_" not in name.strip("_"):
        return None
    found: list[Function] = []
    for module in resolver.project.program:
        if f"def {name}(" in module.text:
            for node, scope in module.table.own_scope.items():
                method = scope.parent is not None and scope.parent.kind == "class"
                if isinstance(node, ast.FunctionDef) and node.name == name:
                    found += [Function(module, node)] if method else [Function(module, node)] * 2
    return found[0] if len(found) == 1 else None


def _of_object(method: Value, call: ast.Call, resolver: Resolver) -> str | None:
    """What a method of an unknown object does for all processes together: by JAX's name for it, or a manager's."""
    if last_name(call.func) in SYNCS:
        return last_name(call.func)
    return _of_manager(method, call, resolver) if isinstance(method, Member) else None


def _of_manager(method: Member, call: ast.Call, resolver: Resolver) -> str | None:
    """What a checkpoint manager does for all processes together; None for any other method."""
    if method.name not in JOINTLY:
        return None
    match method.owner:
        case Application(callee=External(name=maker)) if maker in JOINT:
            return f"{maker.rpartition('.')[2]}.{method.name}"
    return f"the checkpoint manager's {method.name}" if _is_manager(call.func, resolver) else None


def _kinds_inside(value: Function | Application, call: ast.Call, resolver: Resolver, depth: int) -> list[str]:
    """The kinds of what a function of the program does, or of its call if it is compiled for all devices."""
    inside = function_operations(value, resolver, depth)
    if not inside and isinstance(value, Application) and runs_on_all(value, call, resolver):
        return [f"{ast.unparse(call.func)[:60]}{JITTED}"]
    return [one.kind for one in inside or ()]


def _given(given: Argument, call: ast.Call, module: Module, resolver: Resolver, depth: int) -> Iterator[Operation]:
    """The operations of a function, or of those in a list, that JAX is given to run."""
    listed = given.expression.elts if isinstance(given.expression, ast.List | ast.Tuple) else None
    several = [resolver.values(one, given.module) for one in listed or ()] or [resolver.argument_values(given)]
    for values in several:
        if len(values) == 1 and isinstance(values[0], Function | Partial):
            for inner in function_operations(values[0], resolver, depth) or ():
                yield Operation(inner.kind, module, call)


def _called(values: Values, resolver: Resolver) -> Value:
    """What a call calls: a map over devices if it may be one, be it given to the function around by its callers."""
    given = [p for v in values if isinstance(v, Parameter) for p in callers_of(resolver).passed(v)]
    found = next((value for value in (*values, *given) if is_device_map(value)), None)
    if found is not None:
        return found
    known = [value for value in (*values, *given) if not isinstance(value, Parameter)]
    return known[0] if len(known) == 1 else UNKNOWN


def is_device_map(value: Value) -> bool:
    """Whether a value is a function mapped over devices, jitted or not."""
    if not isinstance(value, Application) or not isinstance(value.callee, External):
        return False
    if value.callee.name in PMAPS or value.callee.name in SHARD_MAPS:
        return True
    given = argument(value.arguments, 0, "fun")
    inner = given.value if given is not None else None
    return inner is not None and is_device_map(inner)


def runs_map(value: Value, resolver: Resolver, depth: int = 0) -> bool:
    """Whether a call of a function is one of a mapped function: all that it does is to map and call, or a wrapper has
    been given such a function, which it calls.
    """
    if is_device_map(value):
        return True
    if depth > DEEPEST:
        return False
    match value:
        case Function(module=module, node=node):
            returned = returned_by(node)
            call = returned[0] if len(returned) == 1 else None
            return isinstance(call, ast.Call) and is_device_map(resolver.value(call.func, module))
        case Application(callee=External(name=name), arguments=arguments) if name in TRANSPARENT:
            given = argument(arguments, 0, "fun", "f")
            inner = resolver.argument_values(given) if given is not None else ()
            return len(inner) == 1 and runs_map(inner[0], resolver, depth + 1)
        case Application(callee=Function() as maker, arguments=given):
            made = resolver.returned(maker)
            wrapped = _wrapped(value, maker, resolver) if given else ()
            return (all(map(is_device_map, made)) and bool(made)) or any(
                runs_map(inner, resolver, depth + 1) for inner in wrapped
            )
    return False


def waits(value: Value, resolver: Resolver, depth: int = 0) -> bool:
    """Whether what is called waits for other processes, if it is a map: a pmap without a collective does not.

    A shard_map is taken to wait: it is for arrays over the devices of all processes.
    """
    match value:
        case Application(callee=External(name=name), arguments=arguments) if name in PMAPS:
            options = {one.keyword for one in arguments}
            return "**" in options or _has_collective(argument(arguments, 0, "fun", "f"), arguments, resolver)
        case Application(callee=External(name=name), arguments=arguments) if name in TRANSPARENT and depth < DEEPEST:
            inner = argument(arguments, 0, "fun", "f")
            values = () if inner is None else resolver.argument_values(inner)
            return not values or any(waits(one, resolver, depth + 1) for one in values)
        case Application(callee=Function() as maker) if depth < DEEPEST:
            made = resolver.returned(maker)
            return not made or not all(map(is_device_map, made)) or any(waits(m, resolver, depth + 1) for m in made)
        case Function(module=module, node=node) if depth < DEEPEST:
            returned = returned_by(node)
            call = returned[0] if len(returned) == 1 else None
            inner_map = resolver.value(call.func, module) if isinstance(call, ast.Call) else UNKNOWN
            return not is_device_map(inner_map) or waits(inner_map, resolver, depth + 1)
    return True


def _has_collective(mapped: Argument | None, options: tuple[Argument, ...], resolver: Resolver) -> bool:
    """Whether the function that a pmap maps may have a collective: one in sight has none that is not found in it.

    Nor has any without an axis name, or a network that only looks. What trains reduces, be it out of sight.
    """
    values = () if mapped is None else resolver.argument_values(mapped)
    value = values[0] if len(values) == 1 else UNKNOWN
    found = function_operations(value, resolver)
    if found:
        return True
    if argument(options, 1, "axis_name") is None:
        return False
    if isinstance(value, Partial) and any(_only_looks(one, resolver) for one in value.arguments):
        return False
    function = value.callee if isinstance(value, Partial) else value
    return not isinstance(function, Function) or found is None or "grad" in ast.unparse(function.node)


def _only_looks(given: Argument, resolver: Resolver) -> bool:
    """Whether an argument tells a network that it is not trained."""
    said = {**dict.fromkeys(LOOKING, True), **dict.fromkeys(TRAINING, False)}.get(given.keyword or "")
    return said is not None and resolver.literal(given) is said


def runs_on_all(value: Application, call: ast.Call, resolver: Resolver) -> bool:
    """Whether a call of a jitted function is for the devices of all processes, as far as can be told.

    So it is where the function has shardings. In a program that makes arrays over all processes, and maps nothing by
    pmap, by which a process would have arrays of its own, it is so for what donates, or is given the state by its name.
    """
    if not isinstance(value.callee, External) or value.callee.name not in JITS:
        return False
    options = {one.keyword for one in value.arguments}
    if options & SHARDINGS:
        return True
    given = [last_name(one) for one in (*call.args, *(keyword.value for keyword in call.keywords))]
    return _makes_global(resolver) and (bool(options & DONATIONS) or any(STATE.search(name) for name in given))


def within_map(found: list[Operation]) -> list[Operation]:
    """The operations of a function that a map runs, in which a jit waits for nobody."""
    return [one for one in found if not one.kind.endswith(JITTED)]


@once
def _makes_global(resolver: Resolver) -> bool:
    texts = [module.text for module in resolver.project.named]
    return any(word in text for text in texts for word in GLOBAL) and not any("pmap(" in text for text in texts)


def _is_manager(method: ast.expr, resolver: Resolver) -> bool:
    """Whether a method is, by its object's name, of a checkpoint manager of orbax that is out of sight."""
    owner = method.value if isinstance(method, ast.Attribute) else None
    named = isinstance(owner, ast.Name | ast.Attribute) and MANAGER.search(ast.unparse(owner).rpartition(".")[2])
    return bool(named) and any("orbax" in one.text for one in resolver.project.named)


def _wrapped(made: Application, wrapper: Function, resolver: Resolver) -> Iterator[Value]:
    """The arguments of a wrapper that the function which it returns calls."""
    given = bind_arguments(wrapper, made.arguments, resolver, {})
    for inner in resolver.returned(wrapper):
        if isinstance(inner, Function):
            for call in calls_of(inner.node):
                values = resolver.values(call.func, inner.module)
                if len(values) == 1 and isinstance(values[0], Parameter) and values[0].function is wrapper.node:
                    yield from bound(values, given)


def _called_back(function: Function, call: ast.Call, module: Module, resolver: Resolver) -> Iterator[Value]:
    """The arguments of a function, given by their position or name, that it calls itself."""
    if isinstance(function.node, ast.Lambda):
        return
    given = dict(zip(function.passed_names(), itertools.takewhile(_is_plain, call.args), strict=False))
    given |= {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg is not None}
    for inner in calls_of(function.node):
        if isinstance(inner.func, ast.Name) and inner.func.id in given:
            values = resolver.values(inner.func, function.module)
            if len(values) == 1 and isinstance(values[0], Parameter):
                yield from resolver.values(given[inner.func.id], module)


def _is_plain(node: ast.expr) -> bool:
    return not isinstance(node, ast.Starred)


def same_sequence(one: list[Operation], other: list[Operation]) -> bool:
    """Whether two ways make the same operations in the same order."""
    return [o.signature for o in one] == [o.signature for o in other]
