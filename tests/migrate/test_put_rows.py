"""Parts that stay stacked beside replicated ones lie on the same mesh, and on none of their own."""

from __future__ import annotations

import pytest

from jaxmigrate.migrate import fix_files
from tests.flags import UNOPTIMISED
from tests.migrate.forms.running import Program
from tests.migrate.forms.running import run as run_here

TUPLE = """
import jax
import jax.numpy as jnp
import numpy as np

{setup}


def update(w, aux, x):
    loss, grads = jax.value_and_grad(lambda w: ((x @ w) ** 2).mean())(w)
    aux = {{"mean": 0.9 * aux["mean"] + 0.1 * x.mean(0), "count": aux["count"] + 1, "scale": aux["scale"] * 1.5}}
    return w - 0.1 * jax.lax.pmean(grads, "i"), aux, loss


p_update = jax.pmap(update, axis_name="i")


def main():
    w, aux = jnp.arange(3.0), {{"mean": jnp.zeros(3), "count": jnp.zeros((), jnp.int32), "scale": np.float32(2.0)}}
    {put}
    found = []
    for i in range(3):
        x = np.sin(np.arange(48, dtype=np.float32) + i).reshape(jax.local_device_count(), 2, 3)
        w, aux, loss = p_update(w, aux, x)
        found.append(np.asarray(loss))
    return found, jax.tree.map(np.asarray, aux), np.asarray(jax.tree.map(lambda x: x[0], w))
"""
PUT = {
    "jax.devices()": ("", "w, aux = jax.device_put_replicated((w, aux), jax.devices())"),
    "jax.local_devices()": ("", "w, aux = jax.device_put_replicated((w, aux), jax.local_devices())"),
    "a list": ("", "devices = jax.devices()\n    w, aux = jax.device_put_replicated((w, aux), devices)"),
    "at the top": ("devices = jax.local_devices()", "w, aux = jax.device_put_replicated((w, aux), devices)"),
    "two calls": (
        "",
        "w = jax.device_put_replicated(w, jax.devices())\n    aux = jax.device_put_replicated(aux, jax.devices())",
    ),
}
COPIES = """

def put_copies(tree, devices):  # what was removed from JAX
    return jax.tree.map(lambda x: jnp.stack([jnp.asarray(x)] * len(devices)), tree)
"""


@pytest.mark.parametrize("name", PUT)
def test_rows_lie_on_the_mesh_of_all_else(name: str) -> None:
    setup, put = PUT[name]
    before = TUPLE.format(setup=setup, put=put)
    after = fix_files({"main.py": before}, "auto")["main.py"]
    assert 'in_specs=(P(), P("i"), P("i"))' in after
    if name != "two calls":
        assert "broadcast_to(" in after
        assert "Mesh(devices" not in after
    meant = before.replace("jax.device_put_replicated", "put_copies") + COPIES
    (verdict,) = run_here([Program(name, {"main.py": meant}, {"main.py": after})], flags=UNOPTIMISED)
    assert verdict.verdict == "agrees", f"{verdict.text}\n{after}"
