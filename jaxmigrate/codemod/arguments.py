"""Changes the arguments of a call that its author wrote."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import libcst as cst

from jaxmigrate.codemod import commas
from jaxmigrate.codemod.binding import in_brackets
from jaxmigrate.codemod.joined import joined
from jaxmigrate.codemod.layout import comments_in, fits, fitted, source
from jaxmigrate.codemod.rewriting import Rewriting
from jaxmigrate.program.operations import DropArgument, NameArgument, SetKeyword

_NEXT = cst.Comma(whitespace_after=cst.SimpleWhitespace(" "))


def changed(
    command: Rewriting,
    original: cst.Call,
    updated: cst.Call,
    operations: Sequence[SetKeyword | NameArgument | DropArgument],
) -> cst.Call:
    """A call after operations on its arguments."""
    places = command.places
    args: list[cst.Arg | None] = list(updated.args)
    keys = [(places.of_cst(arg), places.of_cst(arg.value)) for arg in original.args]
    added: list[cst.Arg] = []
    for operation in operations:
        if isinstance(operation, SetKeyword):
            value = command.templates.expression(operation.code)
            index = next((i for i, a in enumerate(args) if a and a.keyword and a.keyword.value == operation.name), None)
            if index is None:
                added.append(keyword(operation.name, value))
            else:
                args[index] = _with(args[index], value=value)
            continue
        key = places.of_ast(operation.argument)
        index = next(i for i, pair in enumerate(keys) if key in pair)
        if isinstance(operation, DropArgument):
            args[index] = None
        elif operation.name:
            args[index] = keyword(operation.name, _value(args[index]), args[index])
        else:
            args[index] = _with(args[index], keyword=None, equal=cst.MaybeSentinel.DEFAULT)
    kept = [arg for arg in args if arg is not None]
    kept = [_apart(arg) for arg in kept] if len(kept) + len(added) > 1 or any(arg.keyword for arg in kept) else kept
    result = updated.with_changes(args=_ended(updated, kept, added))
    command.keep_comments(updated, result)
    room = command.room(original)
    one_line = "\n" not in source(updated)
    return (
        result
        if not one_line or command.breaks_later() or fits(source(result), room)
        else _refitted(result, command, original)
    )


def spread(command: Rewriting, original: cst.Call, call: cst.Call, is_new: Callable[[object], bool]) -> cst.Call:
    """A call that passes the elements of new tuples one by one, and not `*(a, b)`."""
    args: list[cst.Arg] = []
    for arg in call.args:
        elements = arg.value.elements if isinstance(arg.value, cst.Tuple) and arg.star == "*" else ()
        if not elements or not is_new(arg.value) or any(comments_in(arg)):
            args.append(arg)
            continue
        parts = [
            cst.Arg(one.value, star="*" if isinstance(one, cst.StarredElement) else "", comma=_NEXT) for one in elements
        ]
        last = parts[-1].with_changes(comma=arg.comma, whitespace_after_arg=arg.whitespace_after_arg)
        args += [*parts[:-1], last]
    result, room = call.with_changes(args=args), command.room(original)
    first, *lines = source(result).split("\n")
    fitting = fits(first, room) and all(len(line) + len(room.block) <= room.width for line in lines)
    if len(args) == len(call.args) or fitting or command.breaks_later():
        return result
    found = joined(result, commas=not room.style.fills)
    return _refitted(found, command, original) if isinstance(found, cst.Call) else result


def _apart(arg: cst.Arg) -> cst.Arg:
    """An argument that can stand beside others: only alone does a generator need no parentheses of its own."""
    value = arg.value
    return arg.with_changes(value=in_brackets(value)) if isinstance(value, cst.GeneratorExp) and not value.lpar else arg


def _refitted(call: cst.Call, command: Rewriting, original: cst.Call) -> cst.Call:
    found = fitted(call, command.room(original))
    assert isinstance(found, cst.Call)
    return found


def _with(arg: cst.Arg | None, **changes: object) -> cst.Arg:
    assert arg is not None
    return arg.with_changes(**changes)


def _value(arg: cst.Arg | None) -> cst.BaseExpression:
    assert arg is not None
    return arg.value


def keyword(name: str, value: cst.BaseExpression, like: cst.Arg | None = None) -> cst.Arg:
    """An argument by keyword, with the comma of another one."""
    equal = cst.AssignEqual(cst.SimpleWhitespace(""), cst.SimpleWhitespace(""))
    made = cst.Arg(value, keyword=cst.Name(name), equal=equal)
    return made if like is None else made.with_changes(comma=like.comma, whitespace_after_arg=like.whitespace_after_arg)


def _ended(old: cst.Call, kept: list[cst.Arg], added: list[cst.Arg]) -> list[cst.Arg]:
    """Arguments with commas between them: new ones stand as the last one did, and it ends as the old last one did."""
    last = old.args[-1] if old.args else None
    args = [*kept, *added]
    if not args:
        return args
    gap = next((comma for a in old.args[:-1] if (comma := commas.between(a.comma))), None)
    broken = commas.between(cst.Comma(whitespace_after=old.whitespace_before_args))
    if gap is None and broken is not None and isinstance(old.whitespace_before_args, cst.ParenthesizedWhitespace):
        gap = broken
    gap = gap or _NEXT
    made: list[cst.Arg] = []
    for index, arg in enumerate(args):
        if index + 1 == len(args):
            end = commas.between(last.comma) if last is not None else None
            after = last.whitespace_after_arg if last is not None else cst.SimpleWhitespace("")
            made.append(
                arg
                if arg is last
                else arg.with_changes(
                    comma=commas.ended(arg.comma, end or cst.MaybeSentinel.DEFAULT), whitespace_after_arg=after
                )
            )
        elif (last is not None and arg.comma is last.comma) or not isinstance(arg.comma, cst.Comma):
            made.append(
                arg.with_changes(comma=commas.ended(arg.comma, gap), whitespace_after_arg=cst.SimpleWhitespace(""))
            )
        else:
            made.append(arg)
    return made
