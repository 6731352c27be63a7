"""Which defaults of a mapped function the function around it has too."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jaxmigrate.migrate.maps import MapPlan


def kept_defaults(plan: MapPlan, function: ast.FunctionDef) -> Iterator[str]:
    """The last parameters whose constants pass a map as they are: static ones, and None, which is a tree of no arrays.

    Any other would be an array in the map, which the mapped function need not take in the place of a number.
    """
    names = plan.names or ()
    every = [*function.args.posonlyargs, *function.args.args]
    defaults = dict(zip([one.arg for one in every][::-1], function.args.defaults[::-1], strict=False))
    for name, array in zip(reversed(names), reversed(plan.inputs), strict=False):
        default = defaults.get(name)
        is_none = isinstance(default, ast.Constant) and default.value is None
        if not isinstance(default, ast.Constant) or not (array.static or (is_none and not array.fields)):
            return
        yield name
