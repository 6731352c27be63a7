"""Expressions on one array that make a device axis, or drop one, by sizes: reshapes, tilings, broadcasts, patterns."""

from __future__ import annotations

import ast

from jaxmigrate.flow.layout.device_counts import DeviceCounts
from jaxmigrate.flow.layout.kinds import LEADING, PATTERN, Idiom
from jaxmigrate.flow.layout.listed_devices import ListedDevices
from jaxmigrate.flow.layout.made_arrays import CONVERTS
from jaxmigrate.flow.layout.ranks import rank_of
from jaxmigrate.flow.layout.shape_texts import (
    is_first_axis,
    is_minus_one,
    is_one,
    is_ones,
    is_whole,
    is_zero,
    leading_sizes,
    mentions,
    must_fit,
    pattern_sides,
    same,
    shape_from,
    shape_given,
)
from jaxmigrate.flow.layout.some_devices import SomeDevices
from jaxmigrate.program.library import named
from jaxmigrate.program.modules import Module
from jaxmigrate.program.resolve import Resolver

NEW_AXES = ("jax.numpy.newaxis", "numpy.newaxis")
SHAPES = named("shape-of")


class ShapeIdioms(DeviceCounts):
    """Recognises what gives an array a device axis, or takes it, by the sizes that it says.

    `by_rank` takes arrays for such as have as many dimensions as what is made of them needs: `ranked` is the last such.
    """

    def __init__(
        self,
        resolver: Resolver,
        *,
        any_count: bool = False,
        by_name: bool = False,
        by_rank: bool = False,
        some: SomeDevices | ListedDevices | None = None,
    ) -> None:
        super().__init__(resolver, any_count=any_count, by_name=by_name, some=some)
        self.by_rank = by_rank
        self.ranked: tuple[ast.expr, int] | None = None

    def tiled(self, node: ast.Call, name: str, module: Module) -> Idiom | None:
        """`jnp.repeat(x[None], n, axis=0)`, `jnp.tile(x, (n,) + (1,) * x.ndim)`, and `jnp.tile(key, (n, 1))`."""
        match node.args:
            case [array, ast.Tuple(elts=[count, *ones]) | ast.List(elts=[count, *ones])] if (
                ones and name.endswith(".tile") and not node.keywords and all(map(is_one, ones))
            ):
                new = isinstance(array, ast.Subscript) and self.is_new_axis(array.slice, module)
                one = array.value if new and isinstance(array, ast.Subscript) else array
                if not self.is_count(count, module):
                    return None
                rank = rank_of(one, module, self.resolver)
                if rank is None and self.by_rank and (new or isinstance(one, ast.Name | ast.Call)):
                    self.ranked = one, len(ones)
                    return Idiom("replicate", one, name)
                return Idiom("replicate", one, name) if rank == len(ones) else None
            case [
                array,
                ast.BinOp(left=ast.Tuple(elts=[count]) | ast.List(elts=[count]) as first, op=ast.Add(), right=rest),
            ] if name.endswith(".tile") and not node.keywords and self.is_count(count, module):
                return Idiom("replicate", array, name) if is_ones(rest, array, type(first)) else None
            case [array, count] if name.endswith(".repeat") and len(node.keywords) == 1:
                if is_first_axis(node.keywords[0]):
                    return self._repeat(array, count, name, module)
            case [array, count, axis] if name.endswith(".repeat") and not node.keywords:
                if is_zero(axis):
                    return self._repeat(array, count, name, module)
        return None

    def _repeat(self, array: ast.expr, count: ast.expr, name: str, module: Module) -> Idiom | None:
        match array:
            case ast.Subscript(value=one, slice=index) if self.is_new_axis(index, module):
                return Idiom("replicate", one, name) if self.is_count(count, module) else None
        return None

    def rearranged(self, node: ast.Call, module: Module) -> Idiom | None:
        """`einops.rearrange(x, "(d b) ... -> d b ...", d=n)`: an axis of all devices in front of another."""
        match node.args:
            case [array, ast.Constant(value=str(pattern))] if (sides := pattern_sides(pattern)) is not None:
                (devices, rows, *rest), before = sides[1], sides[0]
                count = next((k.value for k in node.keywords if k.arg == devices), None)
                if count is None or not self.is_count(count, module):
                    return None
                is_leading = before == [f"({devices}", f"{rows})", *rest]
                return Idiom("split", array, LEADING if is_leading else PATTERN)
        return None

    def led(self, array: ast.expr, sizes: ast.expr, name: str, module: Module) -> Idiom | None:
        """`lax.broadcast(x, (n,))`, which puts the sizes before those that an array has."""
        match sizes:
            case ast.Tuple(elts=[count]) | ast.List(elts=[count]) if self.is_count(count, module):
                return Idiom("replicate", array, name)
        return None

    def broadcast(self, array: ast.expr, shape: ast.expr, name: str, module: Module) -> Idiom | None:
        """`broadcast_to(x, (n,) + x.shape)` and `(n, *x.shape)`; between n and the shape there may be other sizes.

        It is the same of `x[None]`, but that nothing may be between.
        """
        is_wider = isinstance(array, ast.Subscript) and self.is_new_axis(array.slice, module)
        array = array.value if is_wider and isinstance(array, ast.Subscript) else array
        match shape:
            case ast.BinOp(left=ast.Tuple(elts=[count, *others]), op=ast.Add(), right=rest):
                pass
            case ast.Tuple(elts=[count, *others, ast.Starred(value=rest)]):
                pass
            case ast.Tuple(elts=[count, *others]) if self.is_count(count, module) and not is_wider:
                return self._to_sizes(array, others, module)
            case _:
                return None
        called = isinstance(rest, ast.Call) and self.external(rest.func, module) in SHAPES and len(rest.args) == 1
        of = rest.args[0] if isinstance(rest, ast.Call) and called else None
        of = rest.value if isinstance(rest, ast.Attribute) and rest.attr == "shape" else of
        whole = of is not None and same(self._converted(of, module), self._converted(array, module))
        if self.is_count(count, module) and whole and not (others and (is_wider or name.startswith("numpy."))):
            return Idiom("replicate", array, "wider" if others else name)
        return None

    def _converted(self, node: ast.expr, module: Module) -> ast.expr:
        """What an array of the same shape is made of: `x` of `jnp.asarray(x)`."""
        while isinstance(node, ast.Call) and len(node.args) == 1 and self.external(node.func, module) in CONVERTS:
            node = node.args[0]
        return node

    def _to_sizes(self, array: ast.expr, others: list[ast.expr], module: Module) -> Idiom | None:
        """`broadcast_to(x, (n, 3))` of what has no axis for the devices: else `broadcast_to(x, (3,))` raises."""
        rank = rank_of(array, module, self.resolver)
        if rank is None and self.by_rank and isinstance(array, ast.Name | ast.Call):
            self.ranked = array, len(others)
            return Idiom("replicate", array, "wider")
        return Idiom("replicate", array, "wider") if rank is not None and rank <= len(others) else None

    def reshaped(self, array: ast.expr, shape: ast.expr, module: Module) -> Idiom | None:
        """`x.reshape((n, -1) + x.shape[1:])`, and `x.reshape(-1, *x.shape[2:])`, which joins the first two axes."""
        match shape:
            case ast.BinOp(left=ast.Tuple(elts=leading) | ast.List(elts=leading), op=ast.Add(), right=rest):
                pass
            case (
                ast.Tuple(elts=[*leading, ast.Starred(value=rest)]) | ast.List(elts=[*leading, ast.Starred(value=rest)])
            ):
                pass
            case _:
                return self._reshape_to(array, shape, module)
        start = shape_from(rest, array)
        if start == 1 and len(leading) == 2 and self.is_count(leading[0], module):
            return Idiom("split", array, "reshape")
        if start == 2 and len(leading) == 1 and (is_whole(leading[0], array) or must_fit(leading[0], module)):
            return Idiom("merge", array, "reshape")
        if len(leading) >= 2 and self.is_count(leading[0], module):
            return Idiom("split", array, "sizes" if is_minus_one(leading[1]) else "product")
        return None

    def _reshape_to(self, array: ast.expr, shape: ast.expr, module: Module) -> Idiom | None:
        """A reshape to so many sizes."""
        sizes = shape.elts if isinstance(shape, ast.Tuple | ast.List) else [shape]
        if any(isinstance(s, ast.Starred) for s in sizes):
            return None
        if len(sizes) >= 2 and self.is_count(sizes[0], module):
            rest_is_open = any(is_minus_one(s) for s in sizes[2:])
            return Idiom("split", array, "product" if rest_is_open else "sizes")
        merges = len(sizes) >= 2 and is_minus_one(sizes[0]) and not any(mentions(s, array) for s in sizes)
        return Idiom("merge", array, "same") if merges else None

    def is_new_axis(self, index: ast.expr, module: Module) -> bool:
        """Whether a subscript is `None`, `np.newaxis`, or one of them before an ellipsis: an axis of one in front."""
        match index:
            case ast.Tuple(elts=[first, ast.Constant(value=rest)]):
                return rest is ... and self.is_new_axis(first, module)
            case ast.Constant(value=None):
                return True
        return self.external(index, module) in NEW_AXES

    def repeats_a_constant(self, call: ast.Call, module: Module) -> bool:
        """Whether `jnp.zeros((n, 3))` makes an array of one value with a slice for each device."""
        sizes = leading_sizes(shape_given(call))
        return bool(sizes) and self.is_count(sizes[0], module)
