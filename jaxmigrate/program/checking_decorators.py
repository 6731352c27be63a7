"""Decorators of libraries that check, time or name the calls of a function, and hand back what does the same.

For lint alone: what a decorator of an unknown library does is not in sight.
"""

from __future__ import annotations

import sys

from jaxmigrate.program.library import libraries, named
from jaxmigrate.program.values import Application, External, Value

CHECKING = named("checks")
KNOWN = libraries()


def beneath(value: Value) -> Value:
    """The function under decorators that check or name its calls, as far as is known; any other value as it is.

    A decorator of a library of which nothing is known is taken for such a one.
    """
    while isinstance(value, Application) and len(value.arguments) == 1 and value.arguments[0].value is not None:
        made = value.callee.callee if isinstance(value.callee, Application) else value.callee
        name = made.name if isinstance(made, External) else ""
        top = name.partition(".")[0]
        if not top or not (name in CHECKING or (top not in KNOWN and top not in sys.stdlib_module_names)):
            break
        value = value.arguments[0].value
    return value
