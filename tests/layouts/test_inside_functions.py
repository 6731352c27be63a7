"""Code that changes what functions hold, and code that only looks at it."""

from __future__ import annotations

import pytest

from tests.layouts.running import plan

MAIN = """\
import functools

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

X = np.sin(np.arange(48, dtype=np.float32)).reshape(16, 3)


def make(reduce):
    def step(w, x, *, more=None):
        return w - reduce(x.mean(0))

    return step


step = make(lambda x: jax.lax.pmean(x, "i"))
other = functools.partial(print, end="")
{change}
p_step = jax.pmap(step, axis_name="i")
w = p_step(jax_utils.replicate(jnp.ones(3)), shard(X))
RESULT = np.asarray(jax_utils.unreplicate(p_step(w, shard(X)))).tolist()
"""


def reasons(change: str) -> set[str]:
    """Why the arrays of a program that holds some statements stay stacked; none where they become global."""
    found = plan({"main.py": MAIN.format(change=change)})
    return {array.reason for site in found.sites for array in site.outputs if array.layout == "stacked"}


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ("step.__closure__[0].cell_contents = abs", "cell_contents"),
        ("setattr(step.__closure__[0], 'cell_contents', abs)", "cell_contents"),
        ("step.__kwdefaults__['more'] = abs", "more"),
        ("step.__kwdefaults__.update(more=abs)", "__kwdefaults__"),
        ("del other.keywords['end']", "end"),
        ("other.__setstate__((abs, (), {}, {}))", "__setstate__"),
        ("class A:\n    pass\n\n\nA.__bases__ = (B,)", "__bases__"),
    ],
)
def test_what_changes_functions_is_told(change: str, name: str) -> None:
    (reason,) = reasons(change)
    assert reason.startswith(f"the mapped function may depend on `{name}`, which the program monkeypatches (line ")


@pytest.mark.parametrize(
    "change",
    [
        "print({**other.keywords}, other.keywords['end'], other.keywords.get('end'))",
        "print(step.__kwdefaults__, step.__closure__)",
        "class A(list):\n    def __setstate__(self, state):\n        super().__setstate__(state)",
    ],
)
def test_what_only_looks_at_them_costs_nothing(change: str) -> None:
    assert reasons(change) == set()
