"""In which precisions a mapped function multiplies and reduces, read from what it is lowered to.

A cast that was lost, or one that is new, hides in what the coarser of both precisions rounds; here it shows.
"""

from __future__ import annotations

import re
from typing import Any

# Of longer texts, the beginning.
_TEXT_LIMIT = 64 << 20
_FLOATS = r"(?:bf16|f16|f32|f64|f8\w+)"
_OPERATIONS = {
    "products": re.compile(rf"stablehlo\.(?:dot_general|dot|convolution)\b[^\n]*?: \(tensor<(?:[\dx?]*x)?({_FLOATS})>"),
    "sums over devices": re.compile(rf"stablehlo\.all_reduce.{{0,4000}}?\^bb0\(%\w+: tensor<({_FLOATS})>", re.DOTALL),
}
_TENSOR = re.compile(r"(?:<|x)(bf16|f16)>")


def lowered_text(function: Any, args: Any, kwargs: Any) -> str:
    """What a function is lowered to for some arguments; nothing where that cannot be asked."""
    try:
        return str(function.lower(*args, **kwargs).as_text())[:_TEXT_LIMIT]
    except Exception:  # noqa: BLE001 - what cannot be lowered says nothing of itself
        return ""


def precisions(text: str) -> dict[str, list[str]]:
    """For each kind of operation the types of numbers that it is done with."""
    return {name: sorted({*pattern.findall(text)}) for name, pattern in _OPERATIONS.items()}


def coarse_types(text: str) -> set[str]:
    """The coarse types of numbers that occur at all."""
    return {*_TENSOR.findall(text)}
