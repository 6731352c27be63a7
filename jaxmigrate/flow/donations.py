"""Arrays that are given away by `donate_argnums`, and where they are read again before their name holds another."""

from __future__ import annotations

import ast
import itertools
import re
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from jaxmigrate.flow.counts import taken
from jaxmigrate.flow.deleted.engine import uses_of_deleted
from jaxmigrate.flow.deleted.run import Given
from jaxmigrate.flow.factories import is_chosen
from jaxmigrate.flow.given_back import gives_back
from jaxmigrate.flow.later_reads import asks_for_deletion, binds, block_of, dotted, in_sequence, read_again, stores
from jaxmigrate.flow.mapped_calls import JITS, may_come_from
from jaxmigrate.flow.readings import is_scan
from jaxmigrate.flow.templates import is_template
from jaxmigrate.flow.wrappers import before_compiling, unwrapped
from jaxmigrate.program.collectives import PMAPS, SHARD_MAPS, argument
from jaxmigrate.program.combined import unbound
from jaxmigrate.program.functions import is_static, returned_by
from jaxmigrate.program.modules import Module
from jaxmigrate.program.once import once_each
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.syntax import last_name
from jaxmigrate.program.values import Application, Constant, External, Function, Instance, Partial, Value
from jaxmigrate.records import replace

OPTIONS = ("donate_argnums", "donate_argnames")
STATIC = ("static_argnums", "static_argnames", "static_broadcasted_argnums")
DONATES = re.compile(r"donate_arg|filter_jit\([^)]*donate=|filter_jit, donate=")
TRACING = frozenset({"jit", "pmap", "shard_map", "smap", "vmap", "scan", "while_loop", "fori_loop", "cond", "grad"})
FIELDS = re.compile("param|weight|variables|stats|opt_state|ema$|ema_|momentum|grads?$|rng|key$")


class Reuse(NamedTuple):
    """A name whose array a call was given to keep, and where it is read again; in a loop that is the call itself."""

    module: Module
    call: ast.Call
    name: str
    read: ast.expr
    read_in: Module | None = None


class Donated(NamedTuple):
    """An argument that a call donates, and whether only a copy is of what lies on one device."""

    node: ast.expr
    name: str
    of_pmap: bool
    moves: bool


def reuses(
    modules: Iterable[Module], resolver: Resolver, is_on_devices: Callable[[ast.expr], bool] = lambda _: False
) -> Iterator[Reuse]:
    """Every name, or field by a dotted name, that is read after its array was donated.

    `is_on_devices` knows arrays that certainly lie on the devices already: no copy is donated of these.
    """
    given: dict[ast.Call, list[Donated]] = {}
    concerned: list[Module] = []
    told: set[tuple[Module, int]] = set()
    for module in modules:
        own = DONATES.search(module.text) is not None
        if own or _imports_donating(module, resolver):
            concerned.append(module)
            unread = partial(is_template, module=module, resolver=resolver)
            for call in module.table.calls:
                if not own and not isinstance(call.func, ast.Name | ast.Attribute):
                    continue  # objects of other modules are not opened for that
                for one in _donated(call, module, resolver, is_on_devices):
                    given.setdefault(call, []).append(one)
                for donated, moves in [(one.name, one.of_pmap) for one in given.get(call, ())]:
                    for name in (donated, *_aliases(donated, call, module, resolver, moves=moves)):
                        read = read_again(call, name, module, unread)
                        if read is not None and not asks_for_deletion(read, module):
                            told.add((module, read.lineno))
                            yield Reuse(module, call, name, read)
                    for alias, read in _kept_over_rounds(donated, call, module):
                        told.add((module, read.lineno))
                        yield Reuse(module, call, alias, read)
    for use in _used_deleted(concerned, given, resolver):
        place = (use.read_in or use.module, use.read.lineno)
        if place not in told and not place[0].is_test:  # a test may well try what happens
            told.add(place)
            yield use


def _used_deleted(
    modules: Sequence[Module], given: Mapping[ast.Call, Sequence[Donated]], resolver: Resolver
) -> Iterator[Reuse]:
    """What is used after it was donated as the host's code runs: by other names, in other functions, as an entry."""
    if not given:
        return
    calls = {call: [Given(one.node, one.name, one.moves) for one in each] for call, each in given.items()}
    for use in uses_of_deleted(resolver, modules, calls, lambda field: _holds_arrays(field, resolver), _is_traced):
        yield Reuse(use.donation.module, use.donation.call, use.donation.name, use.read, use.module)


def _imports_donating(module: Module, resolver: Resolver) -> bool:
    """Whether a module imports one of the project that donates something, which may hand out what does."""
    project = resolver.project
    for binding in module.table.imports:
        path = project.imported_path(binding.node, module) if isinstance(binding.node, ast.alias) else None
        statement = module.table.parents.get(binding.node)
        if path is None and isinstance(statement, ast.ImportFrom):
            path = project.find(module, statement.module or "", statement.level)
        if path is not None and project.holds(path, ("donate_arg",)):
            return True
    return False


def _donated(
    call: ast.Call, module: Module, resolver: Resolver, is_on_devices: Callable[[ast.expr], bool]
) -> Iterator[Donated]:
    """The names among the arguments that a call donates."""
    if not any(spelled(one) or isinstance(one, ast.Tuple) for one in (*call.args, *(k.value for k in call.keywords))):
        return
    if _is_traced(call, module):
        return
    if not any(may_come_from(call.func, module, resolver.project, word) for word in ("donate_arg", "filter_jit")):
        return
    called = resolver.values(call.func, module)
    made = [before_compiling(one) for one in called]
    compiled = any(one is not other for one, other in zip(called, made, strict=True))
    bound = 0
    if len(made) == 1 and isinstance(made[0], Partial) and not any(one.keyword for one in made[0].arguments):
        bound, made = len(made[0].arguments), [made[0].callee]  # what `partial(step, config)` gives comes first
    made = [_chosen(unwrapped(one, resolver), one, resolver) if isinstance(one, Application) else one for one in made]
    for value in made[:1] if not _takes_fewer(made, len(call.args) + bound, resolver) else ():
        if not isinstance(value, Application) or not isinstance(value.callee, External):
            return
        if value.callee.name not in JITS | PMAPS or not all(_donates_alike(one, value, resolver) for one in made[1:]):
            return
        left_out = _static(value, resolver) if compiled else ()
        for number, one in _given_away(call, value, resolver, bound, left_out) if left_out is not None else ():
            gives = _gives_back(value, number, resolver)
            for given in one.elts if isinstance(one, ast.Tuple) else [one]:
                name = spelled(given)
                if not name or _is_numpy(given, module, resolver):
                    continue
                other = _held_before(given, call, module)
                calls, names = _alike(call, module), [one for one in (name, other) if one]
                renewed = any(_is_renewed(c, one, module) for c in calls for one in names)
                known = gives or renewed or (is_on_devices(given) and _differentiates(value, number, resolver))
                if known or _is_rebuilt(value, given, module, resolver):
                    of_pmap = value.callee.name in PMAPS
                    yield Donated(given, name, of_pmap, of_pmap or _places(value, resolver))


def _takes_fewer(made: Sequence[Value], given: int, resolver: Resolver) -> bool:
    """Whether a compiled function in sight takes fewer arguments than a call passes: it raises, and donates nothing."""
    value = made[0] if len(made) == 1 else None
    mapped = argument(value.arguments, 0, "fun", "f") if isinstance(value, Application) else None
    counts = [taken(one) for one in resolver.argument_values(mapped)] if mapped is not None else []
    return bool(counts) and all(one is not None and one[1] < given for one in counts)


def _chosen(made: Application, asked: Application, resolver: Resolver) -> Application:
    """The same with the options that a flag chooses: `jit(f, donate_argnums=(0,) if donate else ())`."""
    if not any(isinstance(one.expression, ast.IfExp) for one in made.arguments):
        return made
    arguments = []
    for one in made.arguments:
        holds = is_chosen(one.expression, asked, resolver) if isinstance(one.expression, ast.IfExp) else None
        if isinstance(one.expression, ast.IfExp) and holds is not None:
            arguments.append(replace(one, expression=one.expression.body if holds else one.expression.orelse))
        else:
            arguments.append(one)
    return replace(made, arguments=tuple(arguments))


def _places(made: Application, resolver: Resolver) -> bool:
    """Whether what is compiled takes its arguments on several devices, so that others are copied there first."""
    if any(one.keyword == "in_shardings" for one in made.arguments):
        return True
    mapped = argument(made.arguments, 0, "fun", "f")
    values = resolver.argument_values(mapped) if mapped is not None else ()
    return any(
        isinstance(one, Application) and isinstance(one.callee, External) and one.callee.name in SHARD_MAPS
        for one in values
    )


def spelled(node: ast.expr) -> str:
    """A name with what stands behind its dots, or an entry of what it names, as they stand; empty for others."""
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) and spelled(node.value):
        return ast.unparse(node)
    return dotted(node)


def _donates_alike(value: Value, other: Application, resolver: Resolver) -> bool:
    """Whether what else a call may call, as `jit` on one device and `pmap` on several, donates the same arguments."""
    if not isinstance(value, Application) or not isinstance(value.callee, External):
        return False
    same = (_listed(value, word, resolver) == _listed(other, word, resolver) for word in OPTIONS)
    return value.callee.name in JITS | PMAPS and all(same)


def _alike(call: ast.Call, module: Module) -> list[ast.Call]:
    """A call, and others of the same name in its function: what one of them is given back, all are."""
    function = module.table.function_of(call)
    others = (one for one in module.table.calls if last_name(one.func) == last_name(call.func))
    return [
        call,
        *(
            one
            for one in others
            if dotted(one.func) and dotted(one.func) == dotted(call.func) and module.table.function_of(one) is function
        ),
    ]


def _kept_over_rounds(name: str, call: ast.Call, module: Module) -> Iterator[tuple[str, ast.expr]]:
    """Names that keep what one round gave and the next donates: `best_state = state`, read at the end."""
    loop = module.table.loop_of(call)
    statement = module.table.statement_of(call)
    if loop is None or statement is None or not stores(statement, name) or statement not in loop.body:
        return
    block = block_of(loop, module.table.parents.get(loop)) or ()
    for after in loop.body[loop.body.index(statement) + 1 :]:
        for node in ast.walk(after) if isinstance(after, ast.If) and _asks_for_better(after.test) else ():
            for alias in _named_again(node, name):
                if alias == name or _leaves(node, module):
                    continue
                read, _ = in_sequence(block[block.index(loop) + 1 :], alias) if loop in block else (None, False)
                if read is not None:
                    yield alias, read


def _named_again(node: ast.AST, name: str) -> Iterator[str]:
    """The names that an assignment gives to what a name holds: `best = state`, `low, best = loss, state`."""
    match node:
        case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)):
            pairs = list(zip(targets, values, strict=False))
        case ast.Assign(targets=targets, value=value):
            pairs = [(target, value) for target in targets]
        case _:
            return
    yield from (one.id for one, held in pairs if isinstance(one, ast.Name) and spelled(held) == name)


def _asks_for_better(test: ast.expr) -> bool:
    """Whether a test compares which of two is larger: it may hold in any round."""
    orders = (ast.Lt, ast.Gt, ast.LtE, ast.GtE)
    return any(isinstance(op, orders) for one in ast.walk(test) if isinstance(one, ast.Compare) for op in one.ops)


def _leaves(statement: ast.AST, module: Module) -> bool:
    """Whether a loop ends behind a statement of its block."""
    block = block_of(statement, module.table.parents.get(statement))
    return isinstance(block[-1] if block else statement, ast.Break | ast.Return | ast.Raise)


def _held_before(given: ast.expr, call: ast.Call, module: Module) -> str:
    """The attribute that an argument is another name of: `old = self.params; self.params = step(old, batch)`."""
    if not isinstance(given, ast.Name):
        return ""
    for statement in reversed(_statements_before(call, module)):
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Attribute() as held) if name == given.id:
                return dotted(held)
        if binds(statement, given.id):
            return ""
    return ""


def _statements_before(call: ast.Call, module: Module) -> Sequence[ast.stmt]:
    """The statements of the block of a call that stand before it."""
    node: ast.AST = call
    while not isinstance(node, ast.stmt):
        node = module.table.parents[node]
    block = block_of(node, module.table.parents.get(node))
    return block[: block.index(node)] if block is not None else ()


def _is_traced(node: ast.AST, module: Module) -> bool:
    """Whether something stands in a function that is compiled or mapped: what it calls donates nothing."""
    parents = module.table.parents
    while node in parents:
        node = parents[node]
        if isinstance(node, ast.FunctionDef):
            given = [parents.get(one) for one in module.table.named.get(node.name, ())]
            by_call = any(isinstance(one, ast.Call) and last_name(one.func) in TRACING for one in given)
            if by_call or any(_words(one) & TRACING for one in node.decorator_list):
                return True
    return False


def _words(node: ast.expr) -> set[str]:
    """The last parts of the names in an expression."""
    return {last_name(one) for one in ast.walk(node) if isinstance(one, ast.Name | ast.Attribute)}


def _given_away(
    call: ast.Call, made: Application, resolver: Resolver, bound: int = 0, left_out: Collection[int] = ()
) -> Iterator[tuple[int, ast.expr]]:
    """The arguments that a call donates, with their positions among the parameters of what is compiled.

    `left_out`: the positions of parameters that the call is not given, as they were compiled in.
    """
    numbers, words = _listed(made, "donate_argnums", resolver), _listed(made, "donate_argnames", resolver)
    numbers += tuple(range(_first_of_all(made, resolver), len(call.args)))
    function, skip = _mapped(made, resolver)
    names = function.passed_names()[skip:] if function is not None else []
    first = bound + (1 if function is not None and _is_method_of(call, made, function) else 0)
    positions = (number for number in itertools.count(first) if number not in left_out)
    for number, one in zip(positions, itertools.takewhile(_is_plain, call.args), strict=False):
        if number in numbers or (number < len(names) and names[number] in words):
            yield number, one
    for keyword in call.keywords:
        number = names.index(keyword.arg) if keyword.arg in names else -1
        by_number = number in numbers and isinstance(made.callee, External) and made.callee.name in JITS
        if number >= 0 and (by_number or keyword.arg in words):
            yield number, keyword.value


def _static(made: Application, resolver: Resolver) -> frozenset[int] | None:
    """The positions of static arguments, which `jit(f).lower(config, x).compile()` is not given again.

    None where they are not known.
    """
    function, skip = _mapped(made, resolver)
    names = function.passed_names()[skip:] if function is not None else None
    found: set[int] = set()
    for option in STATIC:
        given = argument(made.arguments, None, option)
        content = resolver.literal(given) if given is not None else ()
        for one in content if isinstance(content, tuple | list) else (content,):
            if isinstance(one, int) and (one >= 0 or names is not None):
                found.add(one if one >= 0 else one + len(names or ()))
            elif not isinstance(one, str) or names is None:
                return None
            elif one in names:
                found.add(names.index(one))
    return frozenset(found)


def _first_of_all(made: Application, resolver: Resolver) -> int:
    """From which position on equinox's `filter_jit(f, donate="all")` donates; beyond any where it does not."""
    named = isinstance(made.callee, External) and made.callee.name.startswith("equinox.")
    kind = str(next(iter(_listed(made, "donate", resolver)), "")) if named else ""
    return {"all": 0, "all-except-first": 1}.get(kind.replace("warn", "all"), sys.maxsize)


def _is_method_of(call: ast.Call, made: Application, function: Function) -> bool:
    """Whether a method that its decorator compiles is called on its object, which is the first argument then."""
    node = function.node
    if isinstance(node, ast.Lambda) or not isinstance(call.func, ast.Attribute) or function.receiver is not None:
        return False
    in_class = isinstance(function.module.table.parents.get(node), ast.ClassDef)
    return in_class and made.node in (node, *node.decorator_list) and not is_static(node)


def _is_plain(node: ast.expr) -> bool:
    return not isinstance(node, ast.Starred)


def _listed(made: Application, keyword: str, resolver: Resolver) -> tuple[object, ...]:
    """The numbers or names that an option lists."""
    given = argument(made.arguments, None, keyword)
    content = resolver.literal(given) if given is not None else ()
    if isinstance(content, int | str):
        return (content,)
    return tuple(content) if isinstance(content, tuple | list) else ()


def _is_renewed(call: ast.Call, name: str, module: Module) -> bool:
    """Whether what a call gives is called the new one of an argument: `new_state, loss = step(state, batch)`."""
    statement = module.table.parents.get(call)
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    names = {n.id for target in targets for n in ast.walk(target) if isinstance(n, ast.Name)}
    own = {dotted(n) for target in targets for n in ast.walk(target)}
    last = name.rpartition(".")[2].strip("_")
    renewed = {name, f"new_{last}", f"next_{last}", f"{last}_new", f"updated_{last}"}
    if name in own or not names.isdisjoint(renewed):
        return True
    if _is_moved_to(name, names, statement, module):
        return True
    return len(names) == 1 and _is_taken_from(names.pop(), renewed, statement, module)


def _is_moved_to(name: str, made: set[str], statement: ast.AST | None, module: Module) -> bool:
    """Whether a part of what a call gives takes the name of an argument further down: `out, _ = f(x); x = out`."""
    block = block_of(statement, module.table.parents.get(statement)) if statement is not None else None
    after = block[block.index(statement) + 1 :] if block is not None and isinstance(statement, ast.stmt) else ()
    stores = (one for node in after for one in ast.walk(node) if isinstance(one, ast.Assign))
    return any(
        isinstance(one.value, ast.Name) and one.value.id in made and any(dotted(t) == name for t in one.targets)
        for one in stores
    )


def _is_taken_from(whole: str, renewed: set[str], statement: ast.AST | None, module: Module) -> bool:
    """Whether what a call gives is unpacked behind it: `out = step(state, batch); state = out.state`."""
    block = block_of(statement, module.table.parents.get(statement)) if statement is not None else None
    for node in block[block.index(statement) + 1 :] if block is not None and isinstance(statement, ast.stmt) else ():
        if not isinstance(node, ast.Assign):
            continue
        held = node.value
        while isinstance(held, ast.Attribute | ast.Subscript):
            held = held.value
        taken = isinstance(held, ast.Name) and held.id == whole
        if taken and any(dotted(one) in renewed for target in node.targets for one in ast.walk(target)):
            return True
    return False


def _is_rebuilt(made: Application, given: ast.expr, module: Module, resolver: Resolver) -> bool:
    """Whether a function returns an object of the class that an argument is of."""
    function = _mapped(made, resolver)[0]
    own = {value.cls.node for value in resolver.values(given, module) if isinstance(value, Instance)}
    if function is None or not own:
        return False
    for returned in returned_by(function.node):
        for one in returned.elts if isinstance(returned, ast.Tuple) else [returned]:
            values = resolver.values(one, function.module) if one is not None else ()
            if any(isinstance(value, Instance) and value.cls.node in own for value in values):
                return True
    return False


def _mapped(made: Application, resolver: Resolver) -> tuple[Function | None, int]:
    """The function that is compiled, through maps of it, and how many of its arguments a partial has given."""
    value: Value = made
    skip = 0
    while isinstance(value, Application | Partial):
        if isinstance(value, Partial):
            skip += sum(one.keyword is None for one in value.arguments)
            value = value.callee
            continue
        mapped = argument(value.arguments, 0, "fun", "f")
        values = resolver.argument_values(mapped) if mapped is not None else ()
        if not isinstance(value.callee, External) or len(values) != 1:
            return None, 0
        value = values[0]
    return (unbound(value, made.node), skip) if isinstance(value, Function) else (None, 0)


def _aliases(name: str, call: ast.Call, module: Module, resolver: Resolver, *, moves: bool) -> Iterator[str]:
    """Other names of an array, or of an array in it, that a call is given: `before = state`, `old = state.params`.

    They stand in the statements before that of the call, or before a loop around it, which donates in its first round,
    but where it moves what it is given then to the devices.
    """
    parents = module.table.parents
    node: ast.AST = call
    while not isinstance(node, ast.stmt):
        node = parents[node]
    while True:
        parent = parents.get(node)
        block = block_of(node, parent)
        if block is None:
            return
        for statement in reversed(block[: block.index(node)]):
            match statement:
                case ast.Assign(targets=[ast.Name(id=alias)], value=ast.Name() | ast.Attribute() as held):
                    if dotted(held) == name or _is_array_of(held, name, resolver):
                        yield alias
            if binds(statement, name):
                return
        if not isinstance(parent, ast.With) and (moves or not isinstance(parent, ast.For | ast.While)):
            return
        node = parent


def _is_array_of(held: ast.expr, name: str, resolver: Resolver) -> bool:
    """Whether an expression is a field of arrays of a donated object, by its name; not one that is declared static."""
    return isinstance(held, ast.Attribute) and dotted(held.value) == name and _holds_arrays(held.attr, resolver)


@once_each
def _holds_arrays(field: str, resolver: Resolver) -> bool:
    """Whether a field is of arrays, by its name; not one that is declared static."""
    if not FIELDS.search(field):
        return False
    static = re.compile(rf"\b{field}\b[^\n]*\b(pytree_node=False|static=True)")
    return not any(field in one.text and static.search(one.text) for one in resolver.project.program)


def _is_scan(made: Application, resolver: Resolver) -> bool:
    """Whether what is compiled is `partial(jax.lax.scan, step)`, whose carry comes back as it was given."""
    mapped = argument(made.arguments, 0, "fun", "f")
    values = resolver.argument_values(mapped) if mapped is not None else ()
    return len(values) == 1 and is_scan(values[0])


def _gives_back(made: Application, number: int, resolver: Resolver) -> bool:
    """Whether a function in sight returns what it makes of a parameter: else no output could take the memory."""
    if number == 0 and _is_scan(made, resolver):
        return True
    function, skip = _mapped(made, resolver)
    if function is None or number + skip >= len(function.passed_names()):
        return False
    return gives_back(function.node, function.passed_names()[number + skip])


def _differentiates(made: Application, number: int, resolver: Resolver) -> bool:
    """Whether a function in sight has gradients with respect to a parameter: they could take its memory."""
    function, skip = _mapped(made, resolver)
    names = function.passed_names() if function is not None else []
    if function is None or number + skip >= len(names):
        return False
    calls = (one for one in ast.walk(function.node) if isinstance(one, ast.Call) and one.args)
    given = (dotted(one.args[0]) for one in calls if "grad" in ast.unparse(one.func))
    return any(one.partition(".")[0] == names[number + skip] for one in given)


def _is_numpy(name: ast.expr, module: Module, resolver: Resolver) -> bool:
    """Whether a name may hold something of the host's, which cannot be donated."""
    for value in resolver.values(name, module):
        callee = value.callee if isinstance(value, Application) else None
        number = isinstance(value, Constant) and value.value is not None  # None: made later
        if number or (isinstance(callee, External) and callee.name.startswith("numpy.")):
            return True
    return False
