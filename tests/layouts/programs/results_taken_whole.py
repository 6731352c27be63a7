"""Named tuples of results that are unpacked, indexed, replaced, mapped over, or fed back, and some that are not alike."""
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils


class Output(NamedTuple):
    params: Any
    own: Any

    @property
    def total(self):
        return self.own.sum()


def step(params, x):
    grads = jax.lax.pmean(params * x, "i")
    return Output(params=params - 0.1 * grads, own=x + params)


def again(out: Output):
    return Output(jax.lax.pmean(out.own, "i"), out.params * 2 + jax.lax.axis_index("i"))


def by_shape(params, x):
    if x.shape[0] == 2:
        return Output(x, params)
    return Output(params=jax.lax.pmean(params * x.sum(), "i"), own=x)


def listed(params, x):
    return [Output(params, x)], Output(own=params, params=x)


p_step = jax.pmap(step, axis_name="i")
p_again = jax.pmap(again, axis_name="i")
p_by_shape = jax.pmap(by_shape, axis_name="i")
p_listed = jax.pmap(listed, axis_name="i")


def main():
    n = jax.local_device_count()
    params = jax_utils.replicate(jnp.arange(3.0))
    x = np.arange(n * 3, dtype=np.float32).reshape(n, 3) / 9
    found = []
    out = p_step(params, x)
    found += [out[1], out.total, len(out), out._replace(own=out.params).own[3], tuple(out)[0][2]]
    params, own = p_step(out.params, x)
    found += [params[0], own[0], jax.tree.map(lambda a: a[0], out)]
    first, *rest = p_step(params, x)
    found += [first[1], rest[0]]
    out = p_again(p_step(params, x))
    found += [out.params[0], out.own, p_again(out).own]
    for i in range(2):
        out = p_step(out.params, out.own)
        found.append(getattr(out, "own" if i else "params"))
    found += [p_by_shape(params, x).params[0], p_by_shape(params, x[:, :2]).params]
    (inner,), other = p_listed(params, x)
    found += [inner.params[0], inner.own, other.params, other.own[4]]
    found += [p_step(**{"params": params, "x": x}).params[0]]
    return found


RESULT = [np.asarray(x) for x in jax.tree.leaves(main())]
