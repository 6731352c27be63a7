"""Runs a notebook's cells in order as one program; run as `python -m jaxmigrate_child.notebook NOTEBOOK`.

The cells lie beside the notebook, with what only IPython understands already masked: magics and shell lines do
nothing. What they would have given is an empty list that takes any call.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import json
import linecache
import os
import sys
import traceback
import types
from typing import Any

CELLS = ".{}.cells.json"


class Shell(list[Any]):
    """What `get_ipython()` gives where there is no IPython, and what a shell line leaves in a variable."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return sys.modules["__main__"].__dict__ if name == "user_ns" else _nothing


def _nothing(*_values: Any, **_options: Any) -> None:
    return None


def get_ipython(*_values: Any) -> Shell:
    """Stands for IPython's shell; masked lines pass it the values that they would have used."""
    return Shell()


def display(*values: Any, **_options: Any) -> None:
    """Prints what Jupyter would have shown, which is nothing for None."""
    for value in values:
        if value is not None:
            print(value)


def main() -> None:
    """Runs the cells in the notebook's folder, as a kernel would."""
    notebook = os.path.abspath(sys.argv[1])
    folder, name = os.path.split(notebook)
    with open(os.path.join(folder, CELLS.format(name)), encoding="utf-8") as file:
        cells = json.load(file)
    os.chdir(folder)
    sys.argv = [notebook]
    sys.path[0] = folder
    program = types.ModuleType("__main__")
    program.__dict__.update(__builtins__=builtins, get_ipython=get_ipython, display=display)
    sys.modules["__main__"] = program
    for number, source, may_fail, shown in cells:
        try:
            _run(source, shown, f"{notebook}:cell {number}", program.__dict__)
        except Exception as error:  # noqa: BLE001 - whatever a cell raises ends the notebook, told as a kernel would
            _tell(error, notebook)
            if not may_fail:
                sys.exit(1)


def _run(source: str, shown: str, name: str, namespace: dict[str, Any]) -> None:
    """Runs a cell; errors quote it as it is `shown` in the notebook."""
    linecache.cache[name] = (len(shown), None, shown.splitlines(keepends=True), name)
    code = compile(source, name, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
    if code.co_flags & inspect.CO_COROUTINE:
        _loop().run_until_complete(eval(code, namespace))
    else:
        exec(code, namespace)


def _tell(error: BaseException, notebook: str) -> None:
    """Prints an error with the lines of the cells that it came through; Python itself would not find them."""
    frames = error.__traceback__
    while frames is not None and not frames.tb_frame.f_code.co_filename.startswith(notebook):
        frames = frames.tb_next
    traceback.print_exception(error.with_traceback(frames))


def _loop() -> Any:
    """The one event loop of all cells, so that what one of them starts goes on in the next."""
    import asyncio

    if not _LOOPS:
        _LOOPS.append(asyncio.new_event_loop())
        asyncio.set_event_loop(_LOOPS[0])
    return _LOOPS[0]


_LOOPS: list[Any] = []

if __name__ == "__main__":
    main()
