"""A stand-in for einops, which is not installed: named axes that are split, moved and joined."""

import math
import re

import numpy as np


def _groups(side):
    found = re.findall(r"\(([^)]*)\)|(\S+)", side)
    return [(inner.split() if not alone else [alone]) for inner, alone in found]


def rearrange(tensor, pattern, **sizes):
    """The axes of `tensor`, or of a list of arrays with one in front, in another order."""
    if isinstance(tensor, list):
        tensor = np.stack(tensor)
    before, after = (_groups(side) for side in pattern.split("->"))
    rest = tensor.ndim - len(before) + 1 if ["..."] in before else 0
    names = [f"*{i}" for i in range(rest)]

    def whole(groups):
        return [one for group in groups for one in ([[n] for n in names] if group == ["..."] else [group])]

    before, after = whole(before), whole(after)
    assert len(before) == tensor.ndim, (pattern, tensor.shape)
    for size, group in zip(tensor.shape, before):
        unknown = [name for name in group if name not in sizes]
        assert len(unknown) <= 1, pattern
        for name in unknown:
            sizes[name] = size // math.prod(sizes[one] for one in group if one != name)
        assert math.prod(sizes[name] for name in group) == size, (pattern, tensor.shape)
    flat = [name for group in before for name in group]
    split = tensor.reshape(tuple(sizes[name] for name in flat))
    order = [name for group in after for name in group]
    moved = split.transpose(tuple(flat.index(name) for name in order))
    return moved.reshape(tuple(math.prod(sizes[name] for name in group) for group in after))
