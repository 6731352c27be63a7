"""Mapped methods whose object is a tree of arrays, where a library is given such an object."""

from __future__ import annotations

from tests.layouts.running import Program, run
from tests.layouts.test_presumed import layouts, plan

MAIN = """\
from functools import partial
from typing import Any
import flax.struct
import jax
import jax.numpy as jnp
import numpy as np
import treelib
from flax import jax_utils
from flax.training.common_utils import shard


@flax.struct.dataclass
class Trainer:
    w: Any

    @partial(jax.pmap, axis_name="i")
    def step(self, x):
        grad = jax.lax.pmean(jax.grad(lambda w: jnp.mean((x @ w - 1) ** 2))(self.w), "i")
        return self.replace(w=self.w - 0.125 * grad)

    def doubled(self):
        return treelib.scaled(self, 2)


trainer = Trainer(jnp.ones(3)).doubled()
trainer = jax_utils.replicate(trainer)
for i in range(3):
    trainer = trainer.step(shard(np.sin(np.arange(48, dtype=np.float32) + i).reshape(16, 3)))
RESULT = jax_utils.unreplicate(trainer).w.tolist()
"""
LIBRARY = "import jax\n\n\ndef scaled(tree, by):\n    return jax.tree.map(lambda x: x * by, tree)\n"


def test_a_library_that_is_given_such_an_object_gives_another() -> None:
    files = {"main.py": MAIN}
    assert set(layouts(plan(files, "auto"))[0]) == {"stacked"}
    found = plan(files)
    assert layouts(found) == (["replicated", "split"], ["replicated"])
    after = {"treelib.py": LIBRARY, **{file.path: file.after for file in found.files}}
    out = run([Program("library", {**files, "treelib.py": LIBRARY}), Program("after", after)])
    assert (out["library"]["error"], out["after"]["error"]) == ("", "")
    assert out["library"]["result"] == out["after"]["result"]
