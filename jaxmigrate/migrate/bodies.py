"""Mapped functions that see blocks: they drop the mapped axis of what is stacked, and put it into what they return."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace

from jaxmigrate.flow.layout.model import Keys, Place
from jaxmigrate.migrate.given_arrays import given_arrays
from jaxmigrate.migrate.maps import OF_KEYS, Array, MapPlan, folded
from jaxmigrate.migrate.names import NAMING, names_in
from jaxmigrate.migrate.one_array import Returned, array_parameters
from jaxmigrate.migrate.opened_returns import Opened
from jaxmigrate.migrate.style import style_of
from jaxmigrate.program.operations import After, Before, First, Operation, Replace, ReplaceStatement, code
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.scopes import FunctionNode
from jaxmigrate.program.values import Function

Named = ast.FunctionDef | ast.AsyncFunctionDef
MANY = 4  # outputs of which a tuple is one line
_NAMES = re.compile(r"\w+")
FEW = 2  # arrays that lose an axis each by a statement of its own


@dataclass(frozen=True, slots=True)
class Words:
    """What a file calls jax and jax.numpy."""

    jax: str
    numpy: str


def squeezed(text: str, axis: int, words: Words, *, is_array: bool) -> str:
    """The source of a value without a mapped axis of size one."""
    if is_array:
        return f"{text}.squeeze({axis})"
    leaf = _leaf(text)
    return f"{words.jax}.tree.map(lambda {leaf}: {leaf}.squeeze({axis}), {text})"


def expanded(text: str, axis: int, words: Words, *, is_array: bool) -> str:
    """The source of a value with the mapped axis put back."""
    if is_array and axis == 0:
        return f"{text}[None]"
    leaf = _leaf(text)
    return f"{words.jax}.tree.map(lambda {leaf}: {words.numpy}.expand_dims({leaf}, {axis}), {text})"


def _leaf(text: str) -> str:
    """What a lambda calls the arrays of a tuple, among which there may be an x."""
    return "a" if text.startswith("(") and "x" in _NAMES.findall(text) else "x"


def copied(text: str, array: Array, change: object, words: Words, keys: Collection[str]) -> str:
    """The source of an object with its stacked fields changed; `keys` are those that are one array each."""
    assert callable(change)
    if array.method == OF_KEYS:
        entries = [f'"{name}": {change(f"""{text}["{name}"]""", 0, words, is_array=False)}' for name in array.fields]
        return f"{{**{text}, {', '.join(entries)}}}"
    fields = [
        f"{name}={text}.{name}[{'0' if change is squeezed else 'None'}]"
        if name in keys
        else f"{name}={change(f'{text}.{name}', 0, words, is_array=False)}"
        for name in array.fields
    ]
    return f"{text}.{array.method or 'replace'}({', '.join(fields)})"


def traced_names(plan: MapPlan, function: Function) -> frozenset[str]:
    """The parameters of a mapped function that are arrays for JAX, or trees of such: not static, and not bound."""
    names = plan.names or function.passed_names()
    inputs = plan.inputs * len(names) if plan.whole_in else plan.inputs
    return frozenset(name for name, array in zip(names, inputs, strict=False) if not array.static)


class Body:
    """The function that a site maps, where it is the program's own and serves no other end."""

    def __init__(
        self,
        plan: MapPlan,
        function: Function,
        words: Words,
        arrays: Collection[str],
        keys: Collection[str],
        fields: Collection[str],
        resolver: Resolver,
    ) -> None:
        self.plan = plan
        self.fields = fields  # of objects, those that are one array each
        self.words = words
        traced = traced_names(plan, function)
        given, places = given_arrays(plan.site, resolver), plan.names or function.passed_names()
        one_each = {name for i, name in enumerate(places) if i in given or name in given}
        used = array_parameters(function, resolver, traced) | one_each
        self.used = used.difference(keys)  # as if they were one array each
        self.arrays = {*arrays, *keys, *self.used}  # the parameters that are one array each
        self.keys = self.arrays.difference(arrays)  # of these, what goes along with others that lose an axis
        self.function = function
        self.resolver = resolver
        other = {*function.passed_names()} - traced  # which may be numbers
        self.returned = Returned(function, resolver, frozenset(self.arrays - other))

    def operations(self) -> list[Operation] | None:
        """What changes in the function, None where it cannot be changed."""
        function = self.function
        starred = _starred(function.node) if self.plan.any_keywords else None
        if _has_yield(function.node) or (function.node.args.vararg is not None and starred is None):
            return None
        own = function.module.table.own_scope[function.node].bindings
        if any(name.partition(".")[0] in own for name in (self.words.jax, self.words.numpy)):
            return None
        if isinstance(function.node, ast.Lambda) and not self._is_clear():
            return None
        if _only_raises(function.node):
            return []
        names = function.passed_names()
        count = len(self.plan.inputs)
        inputs: list[tuple[str, Array]]
        if starred is not None:
            inputs = [(name, self.plan.inputs[0]) for name in starred]
        elif self.plan.whole_in:
            if self.plan.names is None and (function.node.args.defaults or function.node.args.kwonlyargs):
                return None
            names = names if self.plan.names is None else list(self.plan.names)
            inputs = [(name, self.plan.inputs[0]) for name in names]
        elif self.plan.names is not None and len(self.plan.names) == count:
            inputs = list(zip(self.plan.names, self.plan.inputs, strict=True))
        elif len(names) < count:
            return None
        else:
            inputs = list(zip(names, self.plan.inputs, strict=False))
        outputs = self._outputs(function.node)
        return None if outputs is None else [*self._inputs(function, inputs), *outputs]

    def _is_clear(self) -> bool:
        """Whether a lambda stays readable: of what it is given, only single arrays lose their mapped axis."""
        names = self.plan.names or self.function.passed_names()
        inputs = self.plan.inputs * len(names) if self.plan.whole_in else self.plan.inputs
        if any(array.fields or array.parts for array in inputs):
            return False
        drops = [n for n, array in zip(names, inputs, strict=False) if array.drops]
        if any(n not in self.arrays for n in drops):
            return False
        return self.used.isdisjoint(drops) or all(self._is_short(one) for one in self.plan.outputs)

    def _is_short(self, output: Array) -> bool:
        """Whether a lambda gives back the mapped axis without a function of its own for the leaves of a tree."""
        assert isinstance(self.function.node, ast.Lambda)
        return not output.drops or (output.axis == 0 and self.returned.is_array(self.function.node.body))

    def _inputs(self, function: Function, inputs: Sequence[tuple[str, Array]]) -> Iterator[Operation]:
        if isinstance(function.node, ast.Lambda):
            yield from self._of_lambda(function.node, inputs)
            return
        lines: list[str] = []
        trees: dict[int, list[str]] = {}
        single: dict[int, list[str]] = {}
        changed = [one for name, one in inputs if _loses(one) and _mentions(function.node, name)]
        alone = len(changed) == 1  # where it is read; several are changed side by side, above all else
        for name, array in inputs:
            if array.fields:
                lines.append(f"{name} = {copied(name, array, squeezed, self.words, self.fields)}")
            elif array.parts:
                yield from self._of_tuple(function.node, name, array, alone=alone)
            elif not array.drops or not _mentions(function.node, name):
                continue
            elif name not in self.arrays:
                trees.setdefault(array.axis, []).append(name)
            elif alone and (read := _only_read(function.node.body, name)) is not None:
                yield Replace(read, code(f"$itself.squeeze({array.axis})"))
            else:
                single.setdefault(array.axis, []).append(name)
        lines += self._squeezes(single, trees, [name for name, _ in inputs].index)
        if lines:
            assert isinstance(function.node, Named)
            yield First(function.node, code("\n".join(lines)))

    def _squeezes(
        self, single: Mapping[int, Sequence[str]], trees: dict[int, list[str]], place: Callable[[str], int]
    ) -> Iterator[str]:
        """Statements that drop the mapped axis of single arrays, and of trees, which few arrays go along with."""
        for axis, names in single.items():
            own = [name for name in names if name in self.keys]
            yield from (f"{name} = {name}.squeeze({axis})" for name in names if name not in own)
            if axis in trees or len(own) > FEW:
                trees[axis] = sorted([*trees.get(axis, ()), *own], key=place)
            elif own:
                yield (f"{', '.join(own)} = {', '.join(f'{name}.squeeze({axis})' for name in own)}")
        for axis, names in trees.items():
            every = names[0] if len(names) == 1 else f"({', '.join(names)})"
            yield (f"{', '.join(names)} = {squeezed(every, axis, self.words, is_array=False)}")

    def _of_tuple(self, function: Named, name: str, array: Array, *, alone: bool) -> Iterator[Operation]:
        """The mapped axis dropped from parts of a tuple: where it is unpacked, else above all else."""
        if not any(part.drops for part in array.parts) or not _mentions(function, name):
            return
        unpacked = _unpacking(function, name, len(array.parts))
        if unpacked is None:
            parts = [
                squeezed(f"{name}[{i}]", 0, self.words, is_array=False) if one.drops else f"{name}[{i}]"
                for i, one in enumerate(array.parts)
            ]
            yield First(function, code(f"{name} = ({', '.join(parts)}{',' if len(parts) == 1 else ''})"))
            return
        statement, names = unpacked
        below = function.body[function.body.index(statement) + 1 :]
        lose = [n for n, part in zip(names, array.parts, strict=True) if part.drops]
        read = _only_read(below, lose[0]) if alone and len(lose) == 1 and lose[0] in self.arrays else None
        if read is not None:
            yield Replace(read, code("$itself.squeeze(0)"))
            return
        single = {0: [own for own in lose if own in self.arrays]}
        trees = {0: rest} if (rest := [own for own in lose if own not in self.arrays]) else {}
        yield After(statement, code("\n".join(self._squeezes(single, trees, names.index))))

    def _of_lambda(self, function: ast.Lambda, inputs: Sequence[tuple[str, Array]]) -> Iterator[Operation]:
        for name, array in inputs:
            if array.drops:
                for read in self._own_reads(function, name):
                    yield Replace(read, code(squeezed("$itself", array.axis, self.words, is_array=True)))

    def _own_reads(self, function: ast.Lambda, name: str) -> list[ast.Name]:
        """The reads of a parameter itself, and not of one of the same name within."""
        table = self.function.module.table
        own = table.own_scope[function]
        return [n for n in _reads(function.body, name) if table.scope_of[n].lookup(name) is own]

    def _outputs(self, function: FunctionNode) -> list[Operation] | None:
        if not any(array.drops or array.fields for array in self.plan.outputs):
            return []
        values = [function.body] if isinstance(function, ast.Lambda) else list(_returned(function))
        if not values:
            return None
        found: list[Operation] = []
        for value in values:
            made = self._one_output(function, value)
            if made is None:
                return None
            found += made
        return found

    def _one_output(self, function: FunctionNode, value: ast.expr) -> list[Operation] | None:
        """What changes in one returned value."""
        shown = {place for place, keys in self._dictionaries.items() if _is_shown(value, place, keys)}
        if shown != {*self._dictionaries}:
            places, outputs = folded(self.plan.places, self.plan.outputs, {*self._dictionaries} - shown)
            plan = replace(self.plan, places=places, outputs=outputs, whole_out=places == ((),))
            made = copy(self)
            made.plan = plan
            return made.of_value(function, value)
        return self.of_value(function, value)

    def of_value(self, function: FunctionNode, value: ast.expr) -> list[Operation] | None:
        """The same of one whose dictionaries are written out, where they have entries of their own."""
        pairs = self._pairs(value)
        if pairs is None:
            return self._opened(value) if self._is_nested else None
        if any(array.fields and not isinstance(element, ast.Name) for element, array in pairs):
            return self._named_first(function, value, pairs)
        together = self._together(function, value, pairs)
        if together is not None:
            return together
        return [operation for element, array in pairs for operation in self._changed(element, array)]

    @property
    def _dictionaries(self) -> dict[Place, Keys]:
        """The dictionaries among the outputs whose entries are outputs of their own."""
        return {place: keys for place, keys in self.plan.named.items() if isinstance(keys, Keys)}

    def _opened(self, value: ast.expr) -> list[Operation] | None:
        """What changes in a returned value that holds tuples by their names."""
        parts = list(zip(self.plan.places, self.plan.outputs, strict=True))
        statement = self._own_statement(self.function.node, value)
        return Opened(
            self.function,
            self.plan.site,
            self.resolver,
            frozenset(self.arrays),
            self._changed,
            lambda one, axis, is_array: expanded(one, axis, self.words, is_array=is_array),
            lambda text: statement is None or self._has_room(statement, text),
        ).operations(value, parts)

    def _together(
        self, function: FunctionNode, value: ast.expr, pairs: Sequence[tuple[ast.expr, Array]]
    ) -> list[Operation] | None:
        """The mapped axis put into several outputs, or into one of several lines, by a statement above the return."""
        if any(isinstance(step, str) for place in self.plan.places for step in place):
            return None
        statement = self._own_statement(function, value)
        arrays = [e for e, _ in pairs if self.returned.is_array(e)]
        trees = [(e, a) for e, a in pairs if a.drops and e not in arrays]
        if statement is not None and len(pairs) == 1 and value in arrays and isinstance(value, ast.BinOp | ast.Compare):
            (axis,) = (array.axis for _, array in pairs)
            if axis == 0 and not self._fits(statement, value, axis, is_array=True):
                out = self._free(function, "out")
                return [ReplaceStatement(statement, code(f"{out} = $value\nreturn {out}[None]", value=value))]
        if statement is None or not trees or len({array.axis for _, array in trees}) > 1:
            return None
        axis = trees[0][1].axis
        if len(pairs) == 1:
            if self._fits(statement, value, axis):
                return None
            out = self._free(function, "out")
            text = f"{out} = $value\nreturn {expanded(out, axis, self.words, is_array=False)}"
            return [ReplaceStatement(statement, code(text, value=value))]
        names = [e.id for e, _ in trees if isinstance(e, ast.Name)]
        rest = [e for e, _ in pairs if all(e is not tree for tree, _ in trees)]
        if len(trees) < 2 or not all(isinstance(e, ast.Name | ast.Constant) for e in rest):
            return None
        keys = [o for e, a in pairs if e in rest for o in self._changed(e, a)]
        if len(set(names)) == len(trees) and not {n.id for e in rest for n in names_in([e])} & {*names}:
            every = ", ".join(names)
            above = f"{every} = {expanded(f'({every})', axis, self.words, is_array=False)}"
            return [*keys, Before(statement, code(above))]
        first = next(i for i, (e, _) in enumerate(pairs) if e is trees[0][0])
        if self._is_nested or [e for e, _ in pairs][first : first + len(trees)] != [e for e, _ in trees]:
            return None
        out = self._free(function, "out")
        every = ", ".join(f"$e{i}" for i in range(len(trees)))
        shown = [f"$r{i}" for i in range(len(rest))]
        shown.insert(first, f"*{out}")
        made = expanded(f"({every})", axis, self.words, is_array=False)
        text = f"{out} = {made}\nreturn ({', '.join(shown)})" if rest else f"return {made}"
        parts = {f"e{i}": e for i, (e, _) in enumerate(trees)} | {f"r{i}": e for i, e in enumerate(rest)}
        return [*keys, ReplaceStatement(statement, code(text, **parts))]

    @property
    def _is_nested(self) -> bool:
        """Whether outputs stand in tuples that stand in a tuple."""
        return any(len([step for step in place if isinstance(step, int)]) > 1 for place in self.plan.places)

    def _own_statement(self, function: FunctionNode, value: ast.expr) -> ast.Return | None:
        """The return of a value, where other statements can stand above it."""
        parents = self.function.module.table.parents
        statement = parents[value]
        if isinstance(function, ast.Lambda) or not isinstance(statement, ast.Return):
            return None
        return None if getattr(parents[statement], "lineno", 0) == statement.lineno else statement

    def _fits(self, statement: ast.Return, value: ast.expr, axis: int, *, is_array: bool = False) -> bool:
        """Whether a returned value has room on one line with what puts the mapped axis into it."""
        return self._has_room(statement, expanded(ast.unparse(value), axis, self.words, is_array=is_array))

    def _has_room(self, statement: ast.Return, text: str) -> bool:
        """Whether some text fits behind a return, however what it is made of is broken into lines."""
        return statement.col_offset + len(f"return {text}") <= style_of(self.function.module).width

    def _free(self, function: FunctionNode, name: str) -> str:
        """A name that a function does not use."""
        taken = {n.id for n in ast.walk(function) if isinstance(n, ast.Name)} | set(self.function.passed_names())
        while name in taken:
            name += "_"
        return name

    def _pairs(self, value: ast.expr) -> list[tuple[ast.expr, Array]] | None:
        """The outputs with what is returned for each, where that shows."""
        plan = self.plan
        if plan.whole_out:
            return self._whole(value, plan.outputs[0])
        if plan.places:
            elements = _leaves(value, plan.places)
        else:
            elements = list(value.elts) if isinstance(value, ast.Tuple) else None
        if elements is None or len(elements) != len(plan.outputs):
            return None
        if any(isinstance(e, ast.Starred) for e in elements):
            return None
        return list(zip(elements, plan.outputs, strict=True))

    def _whole(self, value: ast.expr, array: Array) -> list[tuple[ast.expr, Array]]:
        """A returned value, or the parts of a tuple of which all but one are single arrays."""
        parts = value.elts if isinstance(value, ast.Tuple) and array.axis == 0 and array.drops else []
        trees = [one for one in parts if not self.returned.is_array(one)]
        if not 0 < len(parts) <= MANY or len(trees) >= min(2, len(parts)) or (trees and _is_starred(trees[0])):
            return [(value, array)]
        statement = self._own_statement(self.function.node, value)
        shown = [expanded(ast.unparse(one), 0, self.words, is_array=one not in trees) for one in parts]
        has_room = statement is None or self._has_room(statement, ", ".join(shown))
        if has_room or (statement is not None and not trees and not self._fits(statement, value, 0)):
            return [(one, array) for one in parts]
        return [(value, array)]

    def _changed(self, value: ast.expr, array: Array) -> list[Operation]:
        if array.fields:
            assert isinstance(value, ast.Name)
            return [Replace(value, code(self._copied(value.id, array)))]
        if not array.drops:
            return []
        one = array.axis == 0 and self.returned.is_array(value)
        return [Replace(value, code(expanded("$itself", array.axis, self.words, is_array=one)))]

    def _copied(self, name: str, array: Array) -> str:
        """The source of an object that is returned, with the mapped axis put into its stacked fields."""
        method = array.method or self.plan.inputs[array.like].method or ("_replace" if array.of else "replace")
        return copied(name, replace(array, method=method), expanded, self.words, self.fields)

    def _named_first(
        self, function: FunctionNode, value: ast.expr, pairs: Sequence[tuple[ast.expr, Array]]
    ) -> list[Operation] | None:
        """`return state.replace(...), loss` in two statements, so that the object has a name."""
        statement = self._own_statement(function, value)
        if statement is None or self._is_nested:
            return None
        taken = {n.id for n in ast.walk(function) if isinstance(n, ast.Name)} | set(self.function.passed_names())
        lines: list[str] = []
        texts: list[str] = []
        found: list[Operation] = []
        for index, (element, array) in enumerate(pairs):
            if array.fields and isinstance(element, ast.Name):
                texts.append(self._copied(element.id, array))
            elif array.fields:
                names = self.plan.names or self.function.passed_names()
                name = f"new_{names[array.like]}" if array.like < len(names) else "new_state"
                name = "out" if array.method == OF_KEYS else name
                while name in taken:
                    name += "_"
                taken.add(name)
                lines.append(f"{name} = $e{index}")
                texts.append(self._copied(name, array))
            else:
                texts.append(f"$e{index}")
                found += self._changed(element, array)
        comma = "," if len(texts) == 1 and not self.plan.whole_out else ""
        text = "\n".join([*lines, f"return {', '.join(texts)}{comma}"])
        parts = {f"e{i}": e for i, (e, _) in enumerate(pairs) if f"$e{i}" in text}
        return [*found, ReplaceStatement(statement, code(text, **parts))]


def _leaves(value: ast.expr, places: Sequence[Place]) -> list[ast.expr] | None:
    """What stands at each place of the tuples that are written in a returned value; None where some are not."""
    if places == ((),):
        return [value]
    if all(isinstance(place[0], str) for place in places):
        entries = shown_entries(value)
        return [entries[str(place[0])] for place in places] if entries is not None else None
    if not isinstance(value, ast.Tuple):
        return None
    tops = list(dict.fromkeys(place[0] for place in places if place))
    if tops != list(range(len(value.elts))) or any(isinstance(e, ast.Starred) for e in value.elts):
        return None
    found: list[ast.expr] = []
    for index, element in enumerate(value.elts):
        inner = _leaves(element, tuple(place[1:] for place in places if place[0] == index))
        if inner is None:
            return None
        found += inner
    return found


def shown_entries(value: ast.expr | None) -> dict[str, ast.expr] | None:
    """The entries of a dictionary that is written out; None of anything else."""
    if not isinstance(value, ast.Dict):
        return None
    keys = [key.value for key in value.keys if isinstance(key, ast.Constant) and isinstance(key.value, str)]
    return dict(zip(keys, value.values, strict=True)) if len({*keys}) == len(value.keys) else None


def _is_shown(value: ast.expr, place: Place, keys: Keys) -> bool:
    """Whether the dictionary at a place of a returned value is written out there."""
    for step in place:
        if not isinstance(value, ast.Tuple) or not isinstance(step, int) or step >= len(value.elts):
            return False
        value = value.elts[step]
    return {*(shown_entries(value) or ())} == {*keys.names}


def _loses(array: Array) -> bool:
    """Whether an argument is changed before it is read."""
    return array.drops or bool(array.fields) or any(part.drops for part in array.parts)


def _is_starred(value: ast.expr) -> bool:
    return isinstance(value, ast.Starred)


def _only_raises(function: FunctionNode) -> bool:
    """Whether a function does nothing but raise, as a method does that each subclass has its own of."""
    if isinstance(function, ast.Lambda):
        return False
    told = isinstance(function.body[0], ast.Expr) and isinstance(function.body[0].value, ast.Constant)
    match function.body[told:]:
        case [ast.Raise()]:
            return True
    return False


def _starred(node: FunctionNode) -> tuple[str, str] | None:
    """The names of `*args` and `**kwargs` of a function that takes nothing else."""
    given = node.args
    if given.vararg is None or given.kwarg is None or given.posonlyargs or given.args or given.kwonlyargs:
        return None
    return None if isinstance(node, ast.Lambda) else (given.vararg.arg, given.kwarg.arg)


def _has_yield(function: FunctionNode) -> bool:
    return any(isinstance(n, ast.Yield | ast.YieldFrom) for n in ast.walk(function))


def _unpacking(function: FunctionNode, name: str, count: int) -> tuple[ast.Assign, list[str]] | None:
    """The statement `a, b = name` of a function's own body that alone mentions a parameter, with its names."""
    for statement in function.body if isinstance(function.body, list) else ():
        match statement:
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Name(id=read)) if read == name:
                names = [one.id for one in targets if isinstance(one, ast.Name)]
                others = sum(isinstance(n, ast.Name) and n.id == name for n in ast.walk(function)) - 1
                if len({*names}) == len(targets) == count and not others and not _asks_for_names(function):
                    return statement, names
    return None


def _asks_for_names(function: FunctionNode) -> bool:
    return any(isinstance(n, ast.Name) and n.id in NAMING for n in ast.walk(function))


def _returned(function: FunctionNode) -> Iterator[ast.expr]:
    """The values that a function itself returns."""
    waiting: list[ast.AST] = list(function.body) if isinstance(function.body, list) else []
    while waiting:
        node = waiting.pop(0)
        if isinstance(node, ast.Return) and node.value is not None:
            yield node.value
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            waiting += ast.iter_child_nodes(node)


def _mentions(function: FunctionNode, name: str) -> bool:
    """Whether the body of a function mentions a name at all; one that asks for its names does."""
    body = function.body if isinstance(function.body, list) else [function.body]
    names = {n.id for statement in body for n in ast.walk(statement) if isinstance(n, ast.Name)}
    return not names.isdisjoint({name, *NAMING})


def _reads(node: ast.AST, name: str) -> list[ast.Name]:
    return [n for n in ast.walk(node) if isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Load)]


def _only_read(body: Sequence[ast.stmt], name: str) -> ast.Name | None:
    """Where a name is read before it is bound anew by the statement that reads it; None where that is not so."""
    for statement in body:
        mentions = [n for n in ast.walk(statement) if isinstance(n, ast.Name) and n.id == name]
        if not mentions:
            continue
        reads = _reads(statement, name)
        if len(reads) != 1 or not isinstance(statement, ast.Assign) or _is_deferred(statement.value, reads[0]):
            return None
        later = body[body.index(statement) + 1 :]
        bound = {n.id for t in statement.targets for n in ast.walk(t) if isinstance(n, ast.Name)}
        return reads[0] if name in bound or not any(_reads(s, name) for s in later) else None
    return None


def _is_deferred(value: ast.expr, read: ast.Name) -> bool:
    """Whether a read stands in a function or a comprehension, which may run more than once."""
    inner = (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
    return any(isinstance(n, inner) and any(m is read for m in ast.walk(n)) for n in ast.walk(value))
