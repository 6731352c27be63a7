"""The sizes that a stacked array had, said of the global array in its place."""

from __future__ import annotations

import ast

from jaxmigrate.flow.layout import sizes
from jaxmigrate.flow.layout.choices import OpChoice
from jaxmigrate.program.operations import Replace, code

BINDS_CLOSER = (ast.BinOp, ast.UnaryOp, ast.Attribute, ast.Subscript, ast.Starred, ast.Await)


def said(choice: OpChoice, jax: str, own: str, *, over_all: bool) -> Replace:
    """What becomes of a size that is read of an array: the same number, or the same tuple of numbers.

    `over_all`: the array may lie over the devices of several processes; `own` counts those that it lies on, where these
    are not all.
    """
    op = choice.op
    count, every = own or f"{jax}.local_device_count()", own or f"{jax}.device_count()"
    if choice.layout == "split":
        text = _of_split(op.form, jax, (count, every), over_all=over_all)
    else:
        text = _of_copy(op.form, count)
    if any(sign in text for sign in (" // ", " * ", " + ")) and not text.startswith("("):
        above = op.module.table.parents.get(op.node)
        text = f"({text})" if isinstance(above, BINDS_CLOSER) else text
    return Replace(op.node, code(text, x=op.operand))


def _of_copy(form: str, count: str) -> str:
    """A size of what each device has the same of, which had an axis of so many in front."""
    match form:
        case "0" | sizes.LENGTH:
            return count
        case "shape":
            return f"({count}, *$x.shape)"
        case "ndim":
            return "$x.ndim + 1"
        case "size":
            return f"{count} * $x.size"
        case "1:":
            return "$x.shape"
    return f"{count} * $x.shape[0]" if form == sizes.PRODUCT else _behind(form)


def _of_split(form: str, jax: str, counts: tuple[str, str], *, over_all: bool) -> str:
    """A size of a batch, of which each device had an equal part; `counts` are of those of this process and of all."""
    count, part = counts[0], f"$x.shape[0] // {counts[1]}"
    match form:
        case "0" | sizes.LENGTH:
            return count
        case "1":
            return part
        case "shape":
            return f"({count}, {part}, *$x.shape[1:])"
        case "1:":
            return f"({part}, *$x.shape[1:])"
        case "ndim":
            return "$x.ndim + 1"
        case "size":
            return f"$x.size // {jax}.process_count()" if over_all else "$x.size"
    if form == sizes.PRODUCT:
        return f"$x.shape[0] // {jax}.process_count()" if over_all else "$x.shape[0]"
    return _behind(form)


def _behind(form: str) -> str:
    """A size behind the axes that the layouts differ in."""
    start = int(form.removesuffix(":")) - 1
    return f"$x.shape[{start}{':' * form.endswith(':')}]"
