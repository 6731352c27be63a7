"""Host buffers that a program writes into: a split of one is a view of it, which a copy on the devices is not."""

from __future__ import annotations

import ast
import re
from collections.abc import Container, Iterator
from functools import lru_cache
from typing import TypeAlias

from jaxmigrate.flow.layout.advice import shortened
from jaxmigrate.flow.layout.alias_flow import VIEWS, Variable, given_back, held, home_of, named, same
from jaxmigrate.flow.layout.causes import Stacked
from jaxmigrate.flow.layout.interpreter import Interpreter
from jaxmigrate.flow.layout.kinds import RESHAPES
from jaxmigrate.flow.layout.model import PRESUMED
from jaxmigrate.flow.layout.module_names import imported_names
from jaxmigrate.flow.layout.own_values import is_counted, is_entry
from jaxmigrate.flow.layout.reachable_modules import ReachableModules
from jaxmigrate.flow.layout.values import Blocker, Group, Ref
from jaxmigrate.program.imports import loaded
from jaxmigrate.program.modules import Module
from jaxmigrate.program.once import once, once_each
from jaxmigrate.program.passing import passed
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.scopes import Scope, positional_names
from jaxmigrate.program.string_imports import runs_others
from jaxmigrate.program.syntax import has_stars, last_name
from jaxmigrate.program.trust import Assumption
from jaxmigrate.program.values import External, Function

WRITERS = frozenset({"fill", "sort", "partition", "put", "itemset", "resize", "setfield", "byteswap"})
WRITING_CALLS = frozenset(
    {"copyto", "put", "putmask", "place", "fill_diagonal", "put_along_axis", "shuffle", "at", "readinto", "recv_into"}
    | {f"{dunder}{name}{dunder}" for dunder in ("", "__") for name in ("iadd", "imul", "isub", "itruediv", "setitem")}
)
OUT_OF_ONE = "abs absolute ceil conjugate cos exp floor log negative rint sign sin sqrt square tanh"
OUT_OF_TWO = "add divide dot floor_divide fmax fmin matmul maximum minimum mod multiply power subtract true_divide"
OUT_THIRD = "max min choose random standard_normal"
OUT_FOURTH = "clip cumsum cumprod sum prod mean take standard_exponential standard_gamma"
OUT_PLACES = {
    **dict.fromkeys(OUT_OF_ONE.split(), 1),
    **dict.fromkeys(f"{OUT_OF_TWO} {OUT_THIRD}".split(), 2),
    **dict.fromkeys(OUT_FOURTH.split(), 3),
}
IN_PLACE = re.compile(r"^__(?!iter__|init__)(i[a-z]+|setitem|setattr)__$")  # methods
ADDRESSES = frozenset({"ctypes", "__array_interface__"})  # by which C writes into it
WRITTEN_THROUGH = frozenset({"flat", "real", "imag"})
MAIN = re.compile(r"\bimport[ \t]+__main__\b|\bfrom[ \t]+__main__\b")
_WORD = re.compile(r"[^\W\d]\w*")
DEEPEST = 3  # functions that make a view for one another
Operand: TypeAlias = tuple[ast.expr, Module]


def is_written(it: Interpreter, operand: ast.expr, module: Module) -> bool:
    """Whether a variable that an operand is made of, or is a view of, is written to in place where it can be seen."""
    known = _known_written(it.reachable)
    if (operand, module) not in known:
        known[operand, module] = _is_written((operand, module), it)
    return known[operand, module]


@once
def _known_written(_reachable: ReachableModules) -> dict[Operand, bool]:
    """What is known of operands: the source alone says it, so that a program that is followed again asks it once."""
    return {}


def _is_written(operand: Operand, it: Interpreter) -> bool:
    names, where = _sources(operand, it.resolver)
    modules = {*where}
    variables, others = held(it, {*names}, modules)
    if any(not variables.isdisjoint(_written(one, it.resolver)) for one in modules):
        return True
    of_modules = {variable for variable in variables if variable[0] is not None}
    return any(not of_modules.isdisjoint(_written(one, it.resolver)) for one in others)


def is_result_written(node: ast.expr, module: Module, resolver: Resolver) -> bool:
    """Whether a variable that an expression is assigned to is written to in place."""
    parent = module.table.parents.get(node)
    targets = parent.targets if isinstance(parent, ast.Assign) else []
    names = {name for target in targets for name in named(target, module, resolver)}
    return not names.isdisjoint(_written(module, resolver))


def block_views(it: Interpreter) -> None:
    """Keeps views of such buffers stacked that are not copied to the devices before anything can be written."""
    mapped = {call.node for call in it.maps.calls.values()} - it.maps.unmapped
    for node, group in it.operations.views.items():
        module = it.operations.ops[node].module
        if _is_spent(it, node, module, mapped) or _is_presumed_spent(it, node, group, mapped):
            continue
        if it.trust.likely and not _is_written_meanwhile(it, node, module, mapped):
            says = f"nothing writes into what `{shortened(node)}` gives before the maps have it"
            it.lean([Ref(group)], Assumption("likely", "splits", "", says, module, node))
        else:
            group.block(
                Blocker(
                    Stacked.BUFFER.reason("is a view of a NumPy buffer that the program writes into again"),
                    module,
                    node,
                )
            )


def _is_written_meanwhile(
    it: Interpreter, node: ast.expr, module: Module, mapped: Container[ast.AST], depth: int = 0
) -> bool:
    """Whether a reader sees what a view is made of written into where it is made, or behind a call that makes it."""
    if _is_written_below(it, node, module, mapped):
        return True
    function = module.table.function_of(node)
    if not isinstance(function, ast.FunctionDef) or depth == DEEPEST:
        return False
    program = (one for one in it.resolver.project.program if function.name in one.text)
    named_so = ((name, one) for one in program for name in one.table.named.get(function.name, ()))
    calls = ((one.table.parents.get(name), name, one) for name, one in named_so)
    return any(
        isinstance(call, ast.Call) and call.func is name and _is_written_meanwhile(it, call, one, mapped, depth + 1)
        for call, name, one in calls
    )


def _is_written_below(it: Interpreter, node: ast.expr, module: Module, mapped: Container[ast.AST]) -> bool:
    """Whether the same function writes into what a view is made of further down, before a map has it there."""
    table, line = module.table, node.end_lineno or node.lineno
    called = {one.func for one in ast.walk(node) if isinstance(one, ast.Call)}
    names = {one.id for one in ast.walk(node) if isinstance(one, ast.Name) and one not in called}
    function = table.function_of(node)
    below = [one for one in module.nodes if getattr(one, "lineno", 0) > line and table.function_of(one) is function]
    maps = [one for one in below if one in mapped and table.loop_of(one) is table.loop_of(node)]
    last = min((one.lineno for one in maps if isinstance(one, ast.Call)), default=None)
    between = (one for one in below if last is None or getattr(one, "lineno", 0) < last)
    return any(not names.isdisjoint(_touched_by(it, one, module)) for one in between)


def _touched_by(it: Interpreter, node: ast.AST, module: Module) -> Iterator[str]:
    """The names of what an expression or statement writes into, or gives to a function that may."""
    match node:
        case ast.Subscript(ctx=ast.Store() | ast.Del()) | ast.AugAssign(target=ast.Name()):
            inner: ast.AST = node.target if isinstance(node, ast.AugAssign) else node
            while isinstance(inner, ast.Subscript | ast.Attribute):
                inner = inner.value
            if isinstance(inner, ast.Name):
                yield inner.id
        case ast.Call(func=func, args=args) if isinstance(module.table.parents.get(node), ast.Expr):
            writes = isinstance(it.resolver.value(func, module), Function) or last_name(func) in WRITING_CALLS
            yield from (one.id for one in args if writes and isinstance(one, ast.Name))
            if isinstance(func, ast.Attribute) and func.attr in WRITERS and isinstance(func.value, ast.Name):
                yield func.value.id


def _is_presumed_spent(it: Interpreter, node: ast.expr, group: Group, mapped: Container[ast.AST]) -> bool:
    """Whether a batch from out of sight is copied where a map is given it, and a reader sees no argument write it."""
    op = it.operations.ops[node]
    call: ast.AST | None = op.module.table.parents[node]
    while isinstance(call, ast.Starred | ast.keyword):
        call = op.module.table.parents.get(call)
    if not (it.trust.likely and op.form == PRESUMED and isinstance(call, ast.Call) and call in mapped):
        return False
    if not _copies_at_once(it, call, op.module):
        says = f"the other arguments of `{shortened(call.func)}` do not write into `{shortened(node)}`"
        it.lean([Ref(group)], Assumption("likely", "splits", "", says, op.module, node))
    return True


def _is_spent(it: Interpreter, node: ast.expr, module: Module, mapped: Container[ast.AST]) -> bool:
    """Whether an array is passed to a mapped function where it is made or by the next statement, and never again."""
    parent = module.table.parents[node]
    if isinstance(parent, ast.Call):
        return parent in mapped and node in parent.args and _copies_at_once(it, parent, module)
    if not isinstance(parent, ast.Assign) or len(parent.targets) != 1 or not isinstance(parent.targets[0], ast.Name):
        return False
    name, after = parent.targets[0], _after(parent, module)
    if not after or not isinstance(after, ast.Assign | ast.Expr) or not isinstance(after.value, ast.Call):
        return False
    call = after.value
    given = [argument for argument in call.args if isinstance(argument, ast.Name) and argument.id == name.id]
    if call not in mapped or not given or not _copies_at_once(it, call, module):
        return False
    scope = module.table.scope_of[name]
    if name.id in scope.outer_names or scope.lookup(name.id) is not scope:
        return False
    if scope.kind != "function" and (
        ("variable", scope.node, name.id) in it.scope.shared or _is_seen_elsewhere(it, name.id, module)
    ):
        return False
    names = (n for n in ast.walk(scope.node) if isinstance(n, ast.Name) and n.id == name.id and n not in given)
    others = [n for n in names if isinstance(n.ctx, ast.Load) and module.table.scope_of[n].lookup(name.id) is scope]
    return all(_is_bound_anew(other, parent, scope, module) for other in others)


def _is_seen_elsewhere(it: Interpreter, name: str, module: Module) -> bool:
    """Whether another module may read or set a variable of a module, by others that it imports as well."""
    project, known = it.resolver.project, it.scope.known_modules
    others = [one for one in known if one is not module and name in imported_names(one, project)]
    if others and any(MAIN.search(one.text) is not None or runs_others(one.text) for one in known):
        return True
    return any(module.path in loaded(one.path, one.text, project) for one in others)


def _copies_at_once(it: Interpreter, call: ast.Call, module: Module) -> bool:
    """Whether nothing can be written between the arguments of a call and the call."""
    by_name = [keyword.value for keyword in call.keywords if keyword.arg is not None]
    known = len(by_name) == len(call.keywords)
    return known and all(_is_simple(it, argument, module) for argument in (*call.args, *by_name))


def _is_simple(it: Interpreter, node: ast.expr, module: Module) -> bool:
    """Whether an argument is a name or the like, or a container of some: to evaluate it writes nothing."""
    if node in it.operations.ops:
        return True
    match node:
        case ast.Name() | ast.Attribute() | ast.Constant():
            return True
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            return all(_is_simple(it, part, module) for part in parts)
        case ast.Dict(keys=keys, values=values):
            return all(isinstance(key, ast.Constant) for key in keys) and all(
                _is_simple(it, value, module) for value in values
            )
        case ast.Call(func=func, args=[], keywords=keywords):
            given = [one.value for one in keywords if one.arg is not None]
            plain = len(given) == len(keywords) and all(_is_simple(it, value, module) for value in given)
            return plain and it.resolver.value(func, module) == External("builtins.dict")
    return False


def _after(statement: ast.stmt, module: Module) -> ast.stmt | None:
    """The statement that runs next, in the same block."""
    block = module.table.block_of(statement)
    following = block[block.index(statement) + 1 :]
    return following[0] if following else None


def _is_bound_anew(use: ast.AST, made: ast.Assign, scope: Scope, module: Module) -> bool:
    """Whether a use of a name in its own function can only see what other statements than `made` have given it."""
    inside = module.table.scope_of.get(use)
    while inside is not None and inside.kind == "comprehension" and not isinstance(inside.node, ast.GeneratorExp):
        inside = inside.parent
    if inside is not scope:
        return False  # it may run at any time
    assert isinstance(made.targets[0], ast.Name)
    name, node = made.targets[0].id, use
    while node is not scope.node:
        block = module.table.block_of(node)
        for before in reversed(block[: block.index(node)] if node in block else ()):
            if any(one is made for one in ast.walk(before)):
                return False
            if isinstance(before, ast.Assign) and any(isinstance(t, ast.Name) and t.id == name for t in before.targets):
                return True
        above = module.table.parents[node]
        if isinstance(above, ast.For | ast.AsyncFor) and node in above.body and name in _bound_in(above.target):
            return True
        if isinstance(above, ast.For | ast.AsyncFor | ast.While) and any(one is made for one in ast.walk(above)):
            return False  # it comes round
        if isinstance(above, ast.Try | ast.TryStar | ast.Match):
            return False
        node = above
    return True


def _bound_in(target: ast.expr) -> set[str]:
    return {node.id for node in ast.walk(target) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}


@once_each
def _sources(operand: Operand, resolver: Resolver) -> tuple[frozenset[Variable], frozenset[Module]]:
    """The variables that an expression is made of, what is a view of those, and the modules that they live in.

    Attributes go by their name alone; what a function of the project gives is what it returns or yields.
    """
    found: set[Variable] = set()
    modules: set[Module] = set()
    entered: set[ast.AST] = set()
    waiting, looked = [operand], set[ast.AST]()
    while waiting:
        expression, where = waiting.pop()
        if expression in looked:
            continue
        looked.add(expression)
        modules.add(where)
        for node in _not_fresh(expression, where, resolver):
            if isinstance(node, ast.Attribute):
                found.update(named(node, where, resolver))
            elif isinstance(node, ast.Call) and node.func in where.table.scope_of:
                for value in resolver.values(node.func, where):
                    if isinstance(value, Function) and value.node not in entered:
                        entered.add(value.node)
                        waiting += [(given, value.module) for given in given_back(value)]
            elif isinstance(node, ast.Name) and node in where.table.scope_of:
                holder = where.table.scope_of[node].lookup(node.id)
                if holder is None or (holder, node.id) in found:
                    continue
                found.add((holder, node.id))
                found.add(home_of(node.id, holder, where, resolver))
                bindings = holder.bindings[node.id]
                waiting += [(b.value, where) for b in bindings if b.value is not None]
                waiting += [(i, where) for b in bindings for i in _iterated(b.node, where)]
                if any(b.kind == "param" for b in bindings) and isinstance(holder.node, ast.FunctionDef | ast.Lambda):
                    waiting += _given((holder.node, node.id, where), resolver)
    return frozenset(found), frozenset(modules)


@once_each
def _given(parameter: tuple[ast.FunctionDef | ast.Lambda, str, Module], resolver: Resolver) -> list[Operand]:
    """What calls of functions of a name may give a parameter: those that are given the function give all else to it."""
    function, name, home = parameter
    found: dict[ast.expr, Module] = {}
    mentions: list[tuple[ast.expr, Module]] = []
    waiting: list[str] = [function.name] if isinstance(function, ast.FunctionDef) else []
    if isinstance(function, ast.Lambda):
        mentions.append((function, home))
    seen: set[str] = set()
    while waiting or mentions:
        if not mentions:
            called = waiting.pop()
            seen.add(called)
            every = _saying(resolver).get(called, ())
            mentions += [(node, one) for one in every for node in one.table.named.get(called, ())]
            continue
        mention, module = mentions.pop()
        parent = module.table.parents.get(mention)
        if isinstance(parent, ast.Assign) and parent.value is mention:
            named_so = {last_name(target) for target in parent.targets} - {""}
            waiting += sorted(named_so - seen)
        elif isinstance(parent, ast.Call):
            found.update((one, module) for one in _taken(parent, mention, function, name))
    return [*found.items()]


@once
def _saying(resolver: Resolver) -> dict[str, list[Module]]:
    """The modules of a program in which a name stands, by the name."""
    found: dict[str, list[Module]] = {}
    for module in resolver.project.program:
        for word in set(_WORD.findall(module.text)):
            found.setdefault(word, []).append(module)
    return found


def _taken(call: ast.Call, mention: ast.expr, function: ast.FunctionDef | ast.Lambda, name: str) -> list[ast.expr]:
    """The arguments of a call that a parameter of a function may take, which it calls or is given."""
    everything = [*call.args, *(keyword.value for keyword in call.keywords)]
    if call.func is not mention or has_stars(call):
        return [one for one in everything if one is not mention]
    skip = isinstance(mention, ast.Attribute) and positional_names(function.args)[:1] == ["self"]
    by_name = {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg is not None}
    given = passed(function.args, call.args, by_name, int(skip)).known.get(name)
    return [given] if given is not None else []


def _not_fresh(expression: ast.expr, module: Module, resolver: Resolver) -> Iterator[ast.AST]:
    """The nodes of an expression but for those below something that makes a new array of its operands."""
    waiting: list[ast.AST] = [expression]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.BinOp | ast.UnaryOp | ast.Compare | ast.JoinedStr):
            continue
        yield node
        if isinstance(node, ast.Call) and _makes_new(node, module, resolver):
            continue
        if isinstance(node, ast.Call) and (viewed := _reshaped(node, module, resolver)) is not None:
            waiting.append(viewed)
            continue
        waiting += ast.iter_child_nodes(node)


def _reshaped(call: ast.Call, module: Module, resolver: Resolver) -> ast.expr | None:
    """What a call of `reshape` looks at, which is the array alone and not the sizes; None for any other call."""
    if (
        not isinstance(call.func, ast.Attribute)
        or call.func.attr != "reshape"
        or call.func not in module.table.scope_of
    ):
        return None
    value = resolver.value(call.func, module)
    if isinstance(value, External):
        plain = value.name in RESHAPES and len(call.args) == 2 and not isinstance(call.args[0], ast.Starred)
        return call.args[0] if plain else None
    return None if _defines_reshape(resolver) else call.func.value


@once
def _defines_reshape(resolver: Resolver) -> bool:
    """Whether a program has a function or method of that name, which may give anything."""
    return any("def reshape" in module.text for module in resolver.project.program)


def _makes_new(call: ast.Call, module: Module, resolver: Resolver) -> bool:
    """Whether a call of NumPy or JAX gives an array that shares nothing with its operands."""
    if isinstance(call.func, ast.Attribute) and call.func.attr in ("astype", "copy"):
        return all(keyword.arg not in (None, "copy") for keyword in call.keywords) and len(call.args) < 2
    value = resolver.value(call.func, module) if call.func in module.table.scope_of else None
    home, _, name = value.name.rpartition(".") if isinstance(value, External) else ("", "", "")
    shares = any(keyword.arg in (None, "copy", "out") for keyword in call.keywords)
    return home.startswith(("numpy", "jax.numpy", "jax.random")) and name not in VIEWS and not shares


def _iterated(node: ast.AST, module: Module) -> list[ast.expr]:
    """What a loop variable goes through."""
    parent = module.table.parents.get(node)
    while isinstance(parent, ast.Tuple | ast.List | ast.Starred):
        parent = module.table.parents.get(parent)
    return [parent.iter] if isinstance(parent, ast.For | ast.comprehension) else []


@lru_cache(maxsize=512)
def _written(module: Module, resolver: Resolver) -> frozenset[Variable]:
    """The variables and attributes that a module writes into."""
    return frozenset(_writes(module, resolver))


def _writes(module: Module, resolver: Resolver) -> Iterator[Variable]:
    for node in module.nodes:
        match node:
            case ast.Subscript(slice=ast.Constant(value=str()), ctx=ast.Store()):
                pass  # a dictionary's entry, and no array's
            case ast.Subscript(ctx=ast.Store()) if _prepares(node, module) or is_entry(node, module, resolver):
                pass
            case ast.AugAssign(target=target) if is_counted(target, module, resolver):
                pass
            case ast.Subscript(value=target, ctx=ast.Store()):
                yield from same(target, module, resolver)
            case ast.AugAssign(target=ast.Name() | ast.Attribute() | ast.Subscript() as target):
                yield from named(target, module, resolver)
            case ast.Attribute(value=target, attr=attr) if IN_PLACE.match(attr) or attr in ADDRESSES:
                yield from same(target, module, resolver)
            case ast.Attribute(value=target, attr=attr, ctx=ast.Store()) if attr in WRITTEN_THROUGH:
                yield from same(target, module, resolver)
            case ast.Call():
                for written in _written_by(node):
                    yield from same(written, module, resolver)


def _written_by(call: ast.Call) -> list[ast.expr]:
    """What a call writes into."""
    func, args = call.func, call.args
    name = func.attr if isinstance(func, ast.Attribute) else func.id if isinstance(func, ast.Name) else ""
    of_method = name in WRITERS and isinstance(func, ast.Attribute)  # `x.fill(0)`, `np.ndarray.fill(x, 0)`
    owner = [func.value, *args[:1]] if of_method and isinstance(func, ast.Attribute) else []
    out = args[OUT_PLACES[name] :][:1] if name in OUT_PLACES else args[:1] if name in WRITING_CALLS else []
    return [*owner, *out, *(k.value for k in call.keywords if k.arg in ("out", "dst"))]


def _prepares(node: ast.Subscript, module: Module) -> bool:
    """Whether a write goes into something that its function makes anew each time round, before it hands it out."""
    base: ast.expr = node
    while isinstance(base, ast.Subscript):
        base = base.value
    scope = module.table.scope_of.get(base)
    holder = scope.lookup(base.id) if isinstance(base, ast.Name) and scope is not None else None
    if holder is None or holder.kind != "function" or not isinstance(base, ast.Name):
        return False
    handed = [n.lineno for n in ast.walk(holder.node) if isinstance(n, ast.Yield | ast.YieldFrom | ast.Return)]
    made = [b for b in holder.bindings[base.id] if isinstance(b.value, ast.DictComp | ast.Dict | ast.ListComp)]
    loops = {id(_loop(b.node, module)) for b in made} | {id(_loop(node, module))}
    fresh = len(made) == len(holder.bindings[base.id]) == 1 and len(loops) == 1
    return fresh and bool(handed) and node.lineno < min(handed)


def _loop(node: ast.AST, module: Module) -> ast.AST | None:
    """The innermost loop around a node."""
    parent = module.table.parents.get(node)
    while parent is not None and not isinstance(parent, ast.For | ast.While | ast.FunctionDef):
        parent = module.table.parents.get(parent)
    return parent
