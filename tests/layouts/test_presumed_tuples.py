"""What is indexed with a number where it may be one array or a tuple: one that its name starts as, and others."""

from __future__ import annotations

from tests.layouts.test_carried import both, layouts, plan, says

PROGRAM = """\
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

X = np.arange(48, dtype=np.float32).reshape(16, 3)


def epoch(carry, x):
    def body(carry, row):
        w, m = carry
        m = 0.5 * m + jax.lax.pmean(jax.grad(lambda w: jnp.mean((row @ w - 1) ** 2))(w), "d")
        return (w - 0.125 * m, m), jax.lax.pmean(row.sum(), "d")

    return jax.lax.scan(body, carry, x)


p_epoch = jax.pmap(epoch, axis_name="d")
joined = jax.pmap(lambda pair: jnp.concatenate(pair))


def main():
    carry = (jax_utils.replicate(jnp.ones(3)), jax_utils.replicate(jnp.zeros(3)))
    losses = []
    for _ in range(2):
        carry, losses = p_epoch(carry, shard(X))
    return READ


RESULT = [np.asarray(one).tolist() for one in main()]
"""


def test_what_starts_as_a_tuple_is_one() -> None:
    read = "[jax.tree.map(lambda x: x[0], carry[0]), jax_utils.unreplicate(carry[1]), losses[0]]"
    files = {"main.py": PROGRAM.replace("READ", read)}
    assert layouts(plan(files, "auto"))[0] == "stacked"
    found = plan(files)
    assert "stacked" not in layouts(found)[:4]
    assert [one for one in says(found) if one == "`carry` is a tuple or list of arrays, and not one array"]
    before, after = both(files, found)
    assert (before["error"], after["error"]) == ("", "")
    assert before["result"] == after["result"]


def test_what_is_known_to_be_an_array_is_none() -> None:
    text = PROGRAM.replace("READ", "[carry[0]]").replace("    return [", "    carry = joined(carry)\n    return [")
    files = {"main.py": text}
    before, after = both(files, plan(files))
    assert (before["error"], after["error"]) == ("", "")
    assert before["result"] == after["result"]


def test_a_name_that_stands_for_something_else_too_says_nothing() -> None:
    text = PROGRAM.replace("READ", "[carry[0]]").replace("    return [", "    carry = jnp.ones(3)\n    return [")
    assert not [one for one in says(plan({"main.py": text})) if "tuple or list" in one]


UNPACKED = """\
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

import source

X = np.arange(48, dtype=np.float32).reshape(16, 3)
MAKERS = source.MAKERS


def step(w, count, x):
    return w - 0.125 * jax.lax.pmean(x.mean(0), "d"), count + 1


def main():
    w, count = jax_utils.replicate(MAKERS["pair"]())
    p_step = jax.pmap(step, axis_name="d")
    for _ in range(2):
        w, count = p_step(w, count, shard(X))
    return np.asarray(w)[0], np.asarray(count)[0]


RESULT = [one.tolist() for one in main()]
"""


def test_what_several_names_get_is_no_array_to_a_reader() -> None:
    files = {
        "main.py": UNPACKED,
        "source.py": "import numpy as np\nMAKERS = {'pair': lambda: (np.ones(3), np.int32(0))}\n",
    }
    assert layouts(plan(files, "auto"))[0] == "stacked"
    found = plan(files)
    assert layouts(found)[:3] == ["replicated", "replicated", "split"]
    before, after = both(files, found)
    assert (before["error"], after["error"]) == ("", "")
    assert before["result"] == after["result"]
