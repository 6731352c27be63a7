"""Arrays that host code shows as text: what it prints, formats or puts into an f-string.

The text of a stacked array has every slice, that of a global one each value once. So a text changes with the layout,
and no number does: that only people read it is what a reader takes for granted, where nothing makes a number, a name or
a test of it.
"""

from __future__ import annotations

import ast
import re
from dataclasses import replace

from jaxmigrate.flow.layout.causes import Reason
from jaxmigrate.flow.layout.interpreter import Interpreter
from jaxmigrate.flow.layout.model import Frame, Given
from jaxmigrate.flow.layout.values import PLAIN, Abstract, Dct, Nothing, Plain, Ref, Seq, Tup, groups_in, is_tracked
from jaxmigrate.program.library import named, starting
from jaxmigrate.program.modules import Module
from jaxmigrate.program.trust import Assumption
from jaxmigrate.program.values import External

SHOWS = named("shows")  # functions that do nothing but show what they are given
SHOWING = starting("shows")
AS_TEXT = named("as-text")
SAYING = frozenset(  # methods and functions that show texts, by their names
    {
        "add_text",
        "critical",
        "debug",
        "error",
        "exception",
        "fatal",
        "info",
        "log",
        "pprint",
        "print",
        "set_description",
    }
    | {"set_description_str", "set_postfix_str", "warn", "warning", "write"}
)
OF_TEXTS = frozenset({"center", "format", "join", "ljust", "rjust", "strip"})  # methods that give another text
SCREENS = re.compile("tqdm|pbar|bar$|std(?:out|err)|console|logger")  # what is written to for people, and is no file
DEEPEST = 8  # containers within one another
LONGEST = 40  # of what stands in an assumption


def shown(it: Interpreter, value: Abstract, place: ast.expr, reason: Reason, node: ast.expr, frame: Frame) -> None:
    """A value that stands in a text, which is `node`."""
    if is_tracked(value) and not _is_taken_for_shown(it, value, place, node, frame):
        it.block_all([value], reason, node, frame.module)


def all_shown(it: Interpreter, name: str, given: Given, node: ast.expr, frame: Frame) -> Given:
    """What is left of the arguments of a library's function when those are taken out that it shows to people."""
    if not it.trust.likely or not isinstance(node, ast.Call):
        return given
    if not (name in AS_TEXT or name in SHOWS or name.startswith(SHOWING)) or _is_to_file(node):
        return given
    return _without_shown(it, given, node if name in AS_TEXT else None, frame)


def _is_to_file(call: ast.Call) -> bool:
    """Whether `print` is told to write to what may be a file, which programs read, too."""
    files = [keyword.value for keyword in call.keywords if keyword.arg == "file"]
    return any(not SCREENS.search(ast.unparse(one)) for one in files)


def formatted(it: Interpreter, given: Given, node: ast.expr, frame: Frame) -> Given:
    """The same of what `"loss {}".format` is given."""
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Constant(value=str()), attr="format")):
            return _without_shown(it, given, node, frame)
    return given


def _without_shown(it: Interpreter, given: Given, text: ast.expr | None, frame: Frame) -> Given:
    """The arguments of a call without those that only people see; `text` is the call where it gives a text."""
    positional = [
        PLAIN if _is_taken_for_shown(it, value, given.places.get(i), text, frame) else value
        for i, value in enumerate(given.positional)
    ]
    named = {
        name: PLAIN
        if text is not None and _is_taken_for_shown(it, value, given.places.get(name), text, frame)
        else value
        for name, value in given.named.items()
    }
    return replace(given, positional=tuple(positional), named=named)


def _is_taken_for_shown(
    it: Interpreter, value: Abstract, place: ast.expr | None, text: ast.expr | None, frame: Frame
) -> bool:
    """Whether a reader takes it for granted that only people see what is shown of a value."""
    if not it.trust.likely or place is None or not is_tracked(value) or not _is_of_arrays(value):
        return False
    if text is not None and not _is_for_people(it, text, frame.module):
        return False
    shown = ast.unparse(place)
    name = f"`{shown}`" if len(shown) <= LONGEST else "an array"
    it.lean([value], Assumption("likely", "readers", "", f"only people read the text of {name}", frame.module, place))
    it.lending.shown.update(groups_in(value))
    return True


def _is_of_arrays(value: Abstract, depth: int = DEEPEST) -> bool:
    """Whether a value has arrays alone, in no containers but Python's; objects say themselves how they are shown."""
    match value:
        case Plain() | Nothing() | Ref():
            return True
        case Tup(parts=parts):
            return depth > 0 and all(_is_of_arrays(part, depth - 1) for part in parts)
        case Seq(box=box) | Dct(box=box):
            return depth > 0 and all(_is_of_arrays(part, depth - 1) for part in (box.element, *box.fields.values()))
    return False


def _is_for_people(it: Interpreter, text: ast.expr, module: Module, depth: int = DEEPEST) -> bool:
    """Whether a text goes where texts for people go: it is printed, logged, or put into a longer one that is.

    `float(f"{x}")` makes a number of it, and the name of a file or a key is looked up.
    """
    parent = module.table.parents.get(text)
    match parent:
        case _ if not depth:
            return False
        case ast.Expr() | ast.Assert() | ast.Raise():
            return True
        case ast.Call(func=func) if func is not text:
            return _is_said(it, func, parent, module, depth)
        case ast.keyword():
            call = module.table.parents[parent]
            return isinstance(call, ast.Call) and _is_said(it, call.func, call, module, depth)
        case ast.Attribute(attr=name):
            call = module.table.parents[parent]
            return name in OF_TEXTS and isinstance(call, ast.Call) and _is_for_people(it, call, module, depth - 1)
        case ast.BinOp() | ast.JoinedStr() | ast.FormattedValue() | ast.IfExp() | ast.List() | ast.Tuple():
            return _is_for_people(it, parent, module, depth - 1)
        case ast.ListComp(elt=elt) | ast.GeneratorExp(elt=elt):
            return elt is text and _is_for_people(it, parent, module, depth - 1)
        case ast.Assign(targets=[ast.Name() as target]):
            reads = _reads_of(target, module)
            return reads is not None and all(_is_for_people(it, one, module, depth - 1) for one in reads)
    return False


def _is_said(it: Interpreter, called: ast.expr, call: ast.Call, module: Module, depth: int) -> bool:
    """Whether a call shows the text that it is given, or gives one that is shown."""
    value = it.resolver.value(called, module)
    if isinstance(value, External) and (value.name in AS_TEXT or value.name.startswith("textwrap.")):
        return _is_for_people(it, call, module, depth - 1)
    if isinstance(value, External) and (value.name in SHOWS or value.name.startswith(SHOWING)):
        return not _is_to_file(call)
    name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
    if isinstance(called, ast.Attribute) and name in OF_TEXTS:
        return _is_for_people(it, call, module, depth - 1)
    if isinstance(module.table.parents.get(call), ast.Raise):
        return True
    if name == "write" and isinstance(called, ast.Attribute):
        return SCREENS.search(ast.unparse(called.value)) is not None
    return name in SAYING and not _is_to_file(call)


def _reads_of(target: ast.Name, module: Module) -> list[ast.Name] | None:
    """The reads of a name that a function alone knows; None where others may know it."""
    scope = module.table.scope_of[target]
    if not isinstance(scope.node, ast.FunctionDef) or any(
        target.id in s.outer_names for s in module.table.own_scope.values()
    ):
        return None
    names = [n for n in ast.walk(scope.node) if isinstance(n, ast.Name) and n.id == target.id]
    return [one for one in names if isinstance(one.ctx, ast.Load)]
