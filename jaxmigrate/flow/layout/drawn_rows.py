"""Random numbers that are drawn with a row for each device: `jax.random.normal(key, (n, b, 3))` is a batch.

Most arrays that host code draws are no business of maps. So a draw counts only where it is what a map is given at
first, and nothing else loses its layout for it: the program is followed once more with what is found here.
"""

from __future__ import annotations

import ast

from jaxmigrate.flow.layout import presuming
from jaxmigrate.flow.layout.choices import Layouts
from jaxmigrate.flow.layout.idioms import Idioms
from jaxmigrate.flow.layout.interpreter import Interpreter
from jaxmigrate.flow.layout.observing import spot_of
from jaxmigrate.flow.layout.shape_texts import leading_sizes, shape_given
from jaxmigrate.flow.layout.site_facts import SiteFacts
from jaxmigrate.program.library import valued
from jaxmigrate.program.modules import Module
from jaxmigrate.program.observed import Making, Observed, Spot

SHAPED = valued("shape")  # draws by their names, with the position of the shape
DEEPEST = 4  # callers of callers
LEAST_AXES = 2  # of a batch: the devices, and the rows of each


def drawn(it: Interpreter, found: Layouts) -> Observed:
    """The draws with a row for each device that arguments which stay stacked come from."""
    rows = {spot_of(call, m) for m in it.modules for call in m.table.calls if is_drawn(it.idioms, call, m)}
    if not rows:
        return Observed()
    facts = SiteFacts(it, "")
    made: dict[Spot, Making] = {}
    for call in it.maps.calls.values():
        axes, choice = facts.in_axes(call.site) or (), found.sites[call.site]
        for index, place in enumerate(call.places[: len(axes)]):
            mapped = axes[index] == 0 and not call.is_spread(place) and index < len(choice.arguments)
            if mapped and choice.arguments[index].layout == "stacked":
                makers = presuming.makers(it, place, call.module, DEEPEST)
                made |= {spot: Making("split", 0, proven=True) for spot in makers if spot in rows}
    return Observed(made)


def is_drawn(idioms: Idioms, call: ast.Call, module: Module) -> bool:
    """Whether a call draws an array of at least two axes, the first of which has the size of all devices."""
    shape = drawn_shape(idioms, call, module)
    sizes = leading_sizes(shape) if isinstance(shape, ast.Tuple | ast.List | ast.BinOp) else []
    return len(sizes) >= LEAST_AXES and idioms.is_count(sizes[0], module)


def drawn_shape(idioms: Idioms, call: ast.Call, module: Module) -> ast.expr | None:
    """The shape that a function which draws is given."""
    position = SHAPED.get(idioms.external(call.func, module))
    if position is None or any(isinstance(one, ast.Starred) for one in call.args):
        return None
    return shape_given(call, int(position))


def sizes_behind(idioms: Idioms, call: ast.expr, module: Module) -> list[ast.expr] | None:
    """The sizes behind the first two of what a call draws, with a star before such as are listed elsewhere.

    None where it draws nothing, or where these sizes would not be the same if they were computed again.
    """
    shape = drawn_shape(idioms, call, module) if isinstance(call, ast.Call) and is_drawn(idioms, call, module) else None
    more = [ast.Starred(value=shape.right, ctx=ast.Load())] if isinstance(shape, ast.BinOp) else []
    whole = shape.left if isinstance(shape, ast.BinOp) else shape
    if not isinstance(whole, ast.Tuple | ast.List):
        return None
    sizes = [*whole.elts[LEAST_AXES:], *more]
    simple = ast.Name | ast.Attribute | ast.Constant | ast.BinOp | ast.Starred | ast.Subscript | ast.Slice
    simple |= ast.operator | ast.unaryop | ast.expr_context
    return sizes if all(isinstance(n, simple) for size in sizes for n in ast.walk(size)) else None
