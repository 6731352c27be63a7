"""Functions of the program that change what they are given, for calls that are not followed to one of them."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from jaxmigrate.flow.variance.library import MUTATORS

STARRED = "*"  # what a star of the parameters takes
RECEIVER = "."  # the object whose method it is
SETTING = frozenset({"setattr", "delattr", "setitem", "delitem", "__setattr__", "__setitem__", "__delattr__"})
DISPLAYS = (ast.List, ast.ListComp, ast.Tuple, ast.Set, ast.SetComp, ast.Dict, ast.DictComp)


class Changes(NamedTuple):
    """The parameters that a function changes itself, and those that it passes on with the names of what it calls.

    A parameter is its position, from 0 behind the object whose method it is, and its name; that object is RECEIVER.
    `asked` are those that it calls a method of, with the method's name.
    """

    own: frozenset[int | str]
    passed: tuple[tuple[frozenset[int | str], str], ...]
    asked: tuple[tuple[frozenset[int | str], str], ...] = ()


def changes_of(node: ast.AST, *, method: bool = False, starts: bool = False) -> Changes:
    """What a function does to what it is given; `starts`: what it stores in its object, which is new, counts not."""
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        return Changes(frozenset(), ())
    inside, places = list(ast.walk(node)), _places(node.args, method)
    if starts:
        places = {name: place - {RECEIVER} for name, place in places.items()}
    for name, origins in _aliases(inside).items():
        places[name] = places.get(name, frozenset()).union(*(places.get(one, frozenset()) for one in origins))
    changed = (*changed_names(inside), *_set_by_calls(inside))
    own = (places[name] for name in changed if name in places)
    passed = ((places[name], called) for name, called in _passed_on(inside) if places.get(name))
    asked = ((places[name], called) for name, called in _asked(inside) if places.get(name))
    return Changes(frozenset[int | str]().union(*own), tuple(dict.fromkeys(passed)), tuple(dict.fromkeys(asked)))


def passed_on(functions: Sequence[Changes], known: Mapping[str, frozenset[int | str]]) -> frozenset[int | str]:
    """What functions of one name change, themselves or by what they call, of which this much is known."""
    found = frozenset[int | str]().union(*(one.own for one in functions))
    found = found.union(
        *(places for one in functions for places, called in one.passed if known.get(called, frozenset()) - {RECEIVER})
    )
    return found.union(
        *(places for one in functions for places, called in one.asked if RECEIVER in known.get(called, ()))
    )


def _places(arguments: ast.arguments, method: bool) -> dict[str, frozenset[int | str]]:
    ordered = [parameter.arg for parameter in (*arguments.posonlyargs, *arguments.args)]
    owner = ordered[:1] if method or ordered[:1] in (["self"], ["cls"]) else []
    ordered = ordered[len(owner) :]
    found: dict[str, frozenset[int | str]] = {name: frozenset((i, name)) for i, name in enumerate(ordered)}
    found |= {name: frozenset((RECEIVER,)) for name in (*owner, *(["super"] if owner else []))}
    found |= {parameter.arg: frozenset((parameter.arg,)) for parameter in arguments.kwonlyargs}
    stars = [star.arg for star in (arguments.vararg, arguments.kwarg) if star is not None]
    return found | {name: frozenset((STARRED,)) for name in stars}


def changed_names(inside: Sequence[ast.AST]) -> Iterator[str]:
    """The names that targets and the receivers of changing methods begin with."""
    for one in inside:
        if isinstance(one, ast.Attribute | ast.Subscript) and isinstance(one.ctx, ast.Store | ast.Del):
            yield _first_name(one)
        elif isinstance(one, ast.Call) and isinstance(one.func, ast.Attribute) and one.func.attr in MUTATORS:
            yield _first_name(one.func)
        elif isinstance(one, ast.AugAssign) and isinstance(one.target, ast.Name) and isinstance(one.value, DISPLAYS):
            yield one.target.id


def _passed_on(inside: Sequence[ast.AST]) -> Iterator[tuple[str, str]]:
    for one in inside:
        if isinstance(one, ast.Call) and isinstance(one.func, ast.Name | ast.Attribute):
            called = one.func.id if isinstance(one.func, ast.Name) else one.func.attr
            for given in (*one.args, *(keyword.value for keyword in one.keywords)):
                yield _first_name(given), called


def _asked(inside: Sequence[ast.AST]) -> Iterator[tuple[str, str]]:
    """What methods are called of, and taken from to be called later."""
    for one in inside:
        if isinstance(one, ast.Attribute) and isinstance(one.ctx, ast.Load):
            yield _first_name(one.value), one.attr


def _set_by_calls(inside: Sequence[ast.AST]) -> Iterator[str]:
    """What `setattr(x, ...)` changes, `object.__setattr__(x, ...)` and `dict.update(x, ...)`."""
    for one in inside:
        if not isinstance(one, ast.Call) or not one.args:
            continue
        match one.func:
            case ast.Name(id=name) if name in SETTING:
                yield _first_name(one.args[0])
            case ast.Attribute(value=ast.Name(), attr=name) if name in SETTING or name in MUTATORS:
                if _is_class(one.func.value):
                    yield _first_name(one.args[0])


def _is_class(node: ast.expr) -> bool:
    """Whether methods are taken from a class or a module, so that the first argument is the object."""
    return isinstance(node, ast.Name) and (node.id[:1].isupper() or hasattr(builtins, node.id) or node.id == "operator")


def _aliases(inside: Sequence[ast.AST]) -> dict[str, set[str]]:
    """What local names may be parts of: by the name that what is assigned to them begins with."""
    found: dict[str, set[str]] = {}
    for one in inside:
        match one:
            case ast.Assign(targets=targets, value=value):
                pairs = [(target, value) for target in targets]
            case ast.AnnAssign(target=target, value=ast.expr() as value) | ast.NamedExpr(target=target, value=value):
                pairs = [(target, value)]
            case ast.For(target=target, iter=value) | ast.comprehension(target=target, iter=value):
                pairs = [(target, value)]
            case ast.withitem(optional_vars=ast.expr() as target, context_expr=value):
                pairs = [(target, value)]
            case _:
                continue
        for target, value in pairs:
            origins = {*_held(value)}
            for name in ast.walk(target):
                if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store):
                    found.setdefault(name.id, set()).update(origins - {name.id})
    grows = True
    while grows:
        grows = False
        for origins in found.values():
            more = origins.union(*(found[one] for one in origins if one in found))
            grows |= more != origins
            origins |= more
    return found


def _held(value: ast.expr) -> Iterator[str]:
    """The names of what an expression may be a part of, or hold."""
    match value:
        case ast.Tuple(elts=inner) | ast.List(elts=inner) | ast.BoolOp(values=inner):
            for one in inner:
                yield from _held(one)
        case ast.IfExp(body=body, orelse=orelse):
            yield from _held(body)
            yield from _held(orelse)
        case ast.NamedExpr(value=inner):
            yield from _held(inner)
        case ast.Call(func=ast.Name(id=called), args=given) if hasattr(builtins, called):
            for one in given:  # getattr(x, name), enumerate(x), zip(x, y)
                yield from _held(one)
        case _:
            yield _first_name(value)


def _first_name(node: ast.AST) -> str:
    """The name that an expression begins with; none where it begins with something else."""
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call | ast.Starred):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""
