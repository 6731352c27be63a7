"""A stand-in for einops, which is not installed: named axes that are split, moved and joined."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np

Axes = list[list[str]]


def rearrange(tensor: Any, pattern: str, **sizes: int) -> Any:
    """The axes of `tensor`, or of a list of arrays with one in front, in another order."""
    if isinstance(tensor, list):
        tensor = np.stack(tensor)
    given, wanted = (_groups(side) for side in pattern.split("->"))
    count = tensor.ndim - len(given) + 1 if ["..."] in given else 0
    rest: Axes = [[f"*{i}"] for i in range(count)]
    before, after = _whole(given, rest), _whole(wanted, rest)
    assert len(before) == tensor.ndim, (pattern, tensor.shape)
    for size, group in zip(tensor.shape, before, strict=True):
        unknown = [name for name in group if name not in sizes]
        assert len(unknown) <= 1, pattern
        for name in unknown:
            sizes[name] = size // math.prod(sizes[one] for one in group if one != name)
        assert math.prod(sizes[name] for name in group) == size, (pattern, tensor.shape)
    flat = [name for group in before for name in group]
    split = tensor.reshape(tuple(sizes[name] for name in flat))
    moved = split.transpose(tuple(flat.index(name) for group in after for name in group))
    return moved.reshape(tuple(math.prod(sizes[name] for name in group) for group in after))


def _groups(side: str) -> Axes:
    found = re.findall(r"\(([^)]*)\)|(\S+)", side)
    return [[alone] if alone else inner.split() for inner, alone in found]


def _whole(groups: Axes, rest: Axes) -> Axes:
    return [one for group in groups for one in (rest if group == ["..."] else [group])]
