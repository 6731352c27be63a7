"""Functions and methods that a program calls by names which nobody sees: they get more than stacked arrays."""

from __future__ import annotations

import pytest

from tests.layouts.test_presumed import plan

MAIN = """\
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils

X = np.sin(np.arange(48, dtype=np.float32)).reshape(16, 3)


class Base:
    def take(self, x):
        return x[0]


class Helper(Base):
    pass


def main(name):
    w, h = jnp.ones(3), Helper()
    run = jax.pmap(lambda w, x: w - jax.lax.pmean((x @ w).sum() * w, "b"), axis_name="b")
    w = run(jax_utils.replicate(w), X.reshape(jax.device_count(), -1, 3))
    return h.take(w), {call}


RESULT = [np.asarray(one).tolist() for one in main("take")]
"""


@pytest.mark.parametrize("call", ["getattr(h, name)(X)", "getattr(Helper(), name)(X)"])
def test_a_method_that_is_called_by_any_name_stays(call: str) -> None:
    found = plan({"main.py": MAIN.format(call=call)}, "auto")
    assert "return x[0]" in found.files[0].after


@pytest.mark.parametrize("found", ["globals()[name]", "globals().get(name)", "globals()['take']"])
def test_a_function_that_is_called_by_any_name_stays(found: str) -> None:
    text = MAIN.format(call=f"{found}(X)").replace("class Base", "def take(x):\n    return x[0]\n\n\nclass Base")
    text = text.replace("h.take(w)", "take(w)")
    assert plan({"main.py": text}, "auto").files[0].after.count("return x[0]") == 2


def test_a_function_that_evaluated_text_calls_stays() -> None:
    text = MAIN.format(call="eval('take(X)')").replace("class Base", "def take(x):\n    return x[0]\n\n\nclass Base")
    text = text.replace("h.take(w)", "take(w)")
    assert plan({"main.py": text}, "auto").files[0].after.count("return x[0]") == 2


def test_a_method_that_is_called_by_another_name_changes() -> None:
    found = plan({"main.py": MAIN.format(call='getattr(h, "other", X)')}, "auto")
    assert "return x[0]" not in found.files[0].after
