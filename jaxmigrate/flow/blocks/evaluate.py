"""Follows blocks through the body of a mapped function, and arrays through the code that makes them."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from jaxmigrate.flow.axis_values import bind_arguments, bound, of_receiver
from jaxmigrate.flow.blocks.block import (
    NOWHERE,
    WHOLE,
    Block,
    unknown,
)
from jaxmigrate.flow.blocks.evidence import called, is_layer, only_binding, passed_to, ranks_in
from jaxmigrate.flow.blocks.indexing import choose, indexed, note_cut
from jaxmigrate.flow.blocks.inside import Inside, is_literal
from jaxmigrate.flow.blocks.leaves import stored_in
from jaxmigrate.flow.blocks.library import of_library, of_method
from jaxmigrate.flow.blocks.loops import row
from jaxmigrate.flow.blocks.operators import note_curved, note_scaled, operated, product_of, together_with
from jaxmigrate.flow.receivers import Bindings, attribute
from jaxmigrate.program.arguments import call_arguments
from jaxmigrate.program.collectives import GRADIENTS, argument
from jaxmigrate.program.functions import returned_by
from jaxmigrate.program.scopes import Binding, Path, defaults_of
from jaxmigrate.program.values import Application, Constant, External, Function

DEEPEST = 3  # functions that are followed one within the other


class Evaluator(Inside):
    """What is known of the blocks in one function.

    `given` holds the blocks of its parameters; what is asked for only once is worked out then. Operations that cannot
    fit are kept in `clashes`, parts that are divided once more in `chosen`.
    """

    def run(self) -> None:
        """Looks at every product in the function, and at what is chosen by an index."""
        for node in ast.walk(self.function) if self.function is not None else ():
            if isinstance(node, ast.BinOp | ast.Call):
                self.block(node)
            elif isinstance(node, ast.Subscript):
                parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
                for position, one in enumerate(parts):
                    if is_literal(one, None) or is_literal(one, ...):
                        break
                    choose(self, node, node.value, one, position)
                    note_cut(self, node.value, one, position)

    def returned(self, path: Path = ()) -> Block | None:
        """What the function returns, or a part of it, if each of its returns gives the same."""
        returned = returned_by(self.function) if self.function is not None else []
        found = {self.part(one, path) if one is not None else None for one in returned}
        return found.pop() if len(found) == 1 else None

    def part(self, node: ast.expr, path: Path) -> Block | None:
        """What is known of a part of a tuple that an expression gives."""
        match node:
            case _ if not path:
                return self.block(node)
            case ast.Tuple(elts=parts):
                first = path[0]
                known = isinstance(first, int) and first < len(parts)
                whole = known and not any(isinstance(one, ast.Starred) for one in parts)
                return self.part(parts[first], path[1:]) if isinstance(first, int) and whole else None
            case ast.Name():
                binding = only_binding(node, self.module)
                if self.outer is not None and node.id in self.passed and self.is_parameter(node):
                    return self.outer.part(self.passed[node.id], path)
                own = binding is not None and binding.kind == "assign" and binding.scope.node is self.function
                if binding is None or binding.value is None or not own or node in self.entered:
                    return None
                self.entered.add(node)  # for what leads back to itself
                found = self.part(binding.value, (*binding.path, *path))
                self.entered.discard(node)
                return found
            case ast.Call():
                inner = self._callee(node)
                return None if inner is None else inner.returned(path)
        return None

    def of_parameter(self, name: ast.Name) -> Block | None:
        """What the function's body says of one of its parameters."""
        return self.block(name) if self.is_parameter(name) else None

    def block(self, node: ast.expr) -> Block | None:
        """What is known of an expression's dimensions."""
        if node not in self.known:
            self.known[node] = None  # for what leads back to itself
            self.known[node] = self._evaluate(node)
        return self.known[node]

    def _evaluate(self, node: ast.expr) -> Block | None:
        match node:
            case ast.Constant(value=int() | float() | complex()):
                return Block((), True)
            case ast.Name():
                return self._name(node)
            case ast.UnaryOp(operand=operand):
                return self.block(operand)
            case ast.BinOp(left=left, op=ast.MatMult(), right=right):
                return product_of(self, node, left, right)
            case ast.BinOp(left=left, op=op, right=right):
                note_scaled(self, node, left, right)
                if isinstance(op, ast.Pow):
                    note_curved(self, node, left)
                return operated(self, node, op, left, right)
            case ast.Compare(left=left, comparators=[right]):
                made = together_with(self, node, [left, right])
                return None if made is None else made._replace(local=NOWHERE)
            case ast.Subscript():
                return self._subscript(node)
            case ast.Attribute(value=held, attr="T"):
                found = self.block(held)
                return Block(found.dims[::-1], True) if found is not None and found.sure else None
            case ast.Attribute():
                return self._number(node)
            case ast.Call():
                return self._call(node)
        return None

    def _name(self, node: ast.Name) -> Block | None:
        binding = only_binding(node, self.module)
        if binding is None or node not in self.module.table.scope_of:
            return None
        if self.outer is not None and binding.scope.node is self.outer.function:
            return self.outer.block(node)
        if binding.kind == "param":
            own = binding.scope.node is self.function
            if own and node.id in self.given:
                return self._with_rank(self.given[node.id], binding)
            return self._evidence(binding) or self._default(binding)
        if binding.kind == "assign" and binding.value is not None and not binding.path:
            found = self.block(binding.value)
            return found if found is not None and found.sure else self._with_rank(found, binding)
        if binding.path and isinstance(binding.value, ast.Attribute) and binding.value.attr == "shape":
            return Block((), True)
        if binding.path and binding.path in self._losses(binding.value):
            return self._loss(binding.value) or Block((), True)
        found = self._unpacked(binding)
        return self._evidence(binding) or self._number(node) if found is None else self._with_rank(found, binding)

    def _number(self, node: ast.Attribute | ast.Name) -> Block | None:
        """A number that a module or an object holds: `self.eps`, `WIDTH`."""
        own = attribute(node, self.module, self.resolver, self.bindings)
        values = bound(self.resolver.values(node, self.module) if own is None else own, self.bindings)
        numbers = [isinstance(one, Constant) and isinstance(one.value, int | float | complex) for one in values]
        return Block((), True) if numbers and all(numbers) else None

    def _unpacked(self, binding: Binding) -> Block | None:
        """A part of what a function of the project returns: `mean, var = moments(x)`."""
        value = binding.value if binding.kind == "assign" and binding.path else None
        own = binding.scope.node is self.function
        return self.part(value, binding.path) if own and isinstance(value, ast.Call | ast.Name) else None

    def _subscript(self, node: ast.Subscript) -> Block | None:
        """A part of an array, or an entry of a dictionary."""
        named = isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str)
        given = self.given_entry(node) if named else None
        if given is not None:
            return given
        return (
            self._entry(node) if named and isinstance(node.value, ast.Name) else indexed(self, node.value, node.slice)
        )

    def given_entry(self, node: ast.expr, path: str = "") -> Block | None:
        """An array in a dictionary of arrays that the function is given, or the mapped one that calls it."""
        while isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
            path = f"[{node.slice.value!r}]{path}"
            node = node.value
        if not isinstance(node, ast.Name) or not self.is_parameter(node) or self.function is None:
            return None
        if any(True for _ in stored_in(node.id, self.function)):
            return None
        if self.outer is not None and node.id in self.passed:
            return self.outer.given_entry(self.passed[node.id], path)
        return self.given.get(f"{node.id}{path}")

    def _entry(self, node: ast.Subscript) -> Block | None:
        """An entry of a dictionary that is written out."""
        held = node.value
        binding = only_binding(held, self.module) if isinstance(held, ast.Name) else None
        display = binding.value if binding is not None and binding.kind == "assign" and not binding.path else None
        if binding is None or not isinstance(display, ast.Dict) or binding.scope.node is not self.function:
            return None
        key = node.slice.value if isinstance(node.slice, ast.Constant) else None
        found = [v for k, v in zip(display.keys, display.values, strict=True) if is_literal(k, key)]
        stored = any(True for _ in stored_in(binding.name, binding.scope.node))
        return self.block(found[0]) if len(found) == 1 and not stored else None

    def _losses(self, node: ast.expr | None) -> tuple[tuple[int, ...], ...]:
        """Where the loss, one number, is in what a call of `value_and_grad(f)` gives."""
        made = self.resolver.value(node.func, self.module) if isinstance(node, ast.Call) else None
        if not isinstance(made, Application) or not isinstance(made.callee, External):
            return ()
        if made.callee.name not in GRADIENTS or not made.callee.name.endswith("value_and_grad"):
            return ()
        beside = argument(made.arguments, None, "has_aux")
        told = self.resolver.literal(beside) if beside is not None else False
        return ((0, 0),) if told is True else ((0,),) if told is False else ()

    def _loss(self, node: ast.expr | None) -> Block | None:
        """What is known of the loss that a call of `value_and_grad(f)` gives."""
        made = self.resolver.value(node.func, self.module) if isinstance(node, ast.Call) else None
        loss = argument(made.arguments, 0, "fun") if isinstance(made, Application) else None
        values = self.resolver.argument_values(loss) if loss is not None else ()
        if len(values) != 1 or not isinstance(values[0], Function) or not isinstance(node, ast.Call):
            return None
        found = self._inner(values[0], node)
        return found if found is not None and found.sure and not found.dims else None

    def _evidence(self, binding: Binding) -> Block | None:
        function = binding.scope.node
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            return None
        rank = ranks_in(function, self.module, self.resolver).get(binding)
        return None if rank is None else unknown(rank)

    def _default(self, binding: Binding) -> Block | None:
        """A number, where a parameter's default is one: `eps=1e-6`."""
        function = binding.scope.node
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            return None
        default = dict(defaults_of(function.args)).get(binding.name)
        number = isinstance(default, ast.Constant) and isinstance(default.value, int | float)
        return Block((), True) if number else None

    def _with_rank(self, found: Block | None, binding: Binding) -> Block | None:
        told = self._evidence(binding)
        if told is None or found is None:
            return found if told is None else told
        more = len(told.dims) - len(found.dims)
        return Block((*found.dims, *(WHOLE,) * more), True) if more >= 0 else told

    # Indexing

    # Calls

    def _call(self, node: ast.Call) -> Block | None:
        callee = self.resolver.value(node.func, self.module)
        if isinstance(callee, External):
            return of_library(self, node, callee.name)
        inner = called(callee, self.resolver)
        if inner is not None:
            return self._inner(inner, node)
        if isinstance(callee, Application) and isinstance(callee.callee, External) and callee.callee.name in GRADIENTS:
            loss = argument(callee.arguments, 0, "fun")
            values = self.resolver.argument_values(loss) if loss is not None else ()
            if len(values) == 1 and isinstance(values[0], Function):
                self._inner(values[0], node)
            return None
        if is_layer(callee) and node.args:
            found = self.block(node.args[0])
            return unknown(len(found.dims)) if found is not None and found.sure else None
        return of_method(self, node) if isinstance(node.func, ast.Attribute) else None

    def _inner(self, callee: Function, node: ast.Call) -> Block | None:
        """What a function of the project gives, which is followed with the blocks that it is given."""
        inner = self._entered_by(callee, node)
        return None if inner is None else inner.returned()

    def _callee(self, node: ast.Call) -> Inside | None:
        """What is known in the function of the project that a call enters; None where that is not in sight."""
        callee = called(self.resolver.value(node.func, self.module), self.resolver)
        return self._entered_by(callee, node) if callee is not None else None

    def _entered_by(self, callee: Function, node: ast.Call) -> Inside | None:
        if callee.node is self.function or self.depth >= DEEPEST:
            return None
        if node not in self.callees:
            self.callees[node] = None  # for what leads back to itself
            self.callees[node] = self._enter(callee, node)
        return self.callees[node]

    def _enter(self, callee: Function, node: ast.Call) -> Evaluator:
        arguments = call_arguments(node, self.module)
        bindings = {
            **self.bindings,
            **bind_arguments(callee, arguments, self.resolver, self.bindings),
            **of_receiver(callee.receiver, (node, self.module), self.resolver, self.bindings),
        }
        return self._followed(callee, node, bindings, dict(passed_to(callee, node)), {})

    def enter(
        self, callee: Function, node: ast.Call, passed: Mapping[str, ast.expr], rows: Mapping[str, ast.expr]
    ) -> None:
        """Follows a function that a library calls, with what it is passed, and with rows of what is passed."""
        if callee.node is not self.function and self.depth < DEEPEST and node not in self.callees:
            self.callees[node] = None  # for what leads back to itself
            bindings = {**self.bindings, **bind_arguments(callee, (), self.resolver, self.bindings)}
            self.callees[node] = self._followed(callee, node, bindings, passed, rows)

    def _followed(
        self,
        callee: Function,
        node: ast.Call,
        bindings: Bindings,
        passed: Mapping[str, ast.expr],
        rows: Mapping[str, ast.expr],
    ) -> Evaluator:
        blocks = {name: self.block(one) for name, one in passed.items()}
        blocks |= {name: row(self.block(one)) for name, one in rows.items()}
        given = {name: block for name, block in blocks.items() if block is not None}
        inner = Evaluator(callee.node, callee.module, self.resolver, given, bindings, self)
        inner.passed, inner.entering = dict(passed), node
        if given or any(isinstance(one, ast.Tuple) for one in passed.values()):
            inner.run()
            self.clashes += inner.clashes
            self.chosen += inner.chosen
            self.parts += inner.parts
        return inner
