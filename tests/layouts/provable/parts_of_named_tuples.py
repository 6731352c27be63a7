"""Named tuples that helpers make anew of what functions give for their parts, as programs that render rays do."""
import collections
import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np


class Rays(NamedTuple):
    origins: Any
    directions: Any


Pixels = collections.namedtuple("Pixels", ("rgb", "mask"))


def by_type(fn, tup):
    """Apply `fn` to each part of `tup`."""
    return type(tup)(*map(fn, tup))


def by_make(fn, tup):
    return tup._make(map(fn, tup))


def by_leaves(fn, tree):
    return jax.tree.map(fn, tree)


def shard(xs):
    return jax.tree.map(lambda x: x.reshape((jax.local_device_count(), -1) + x.shape[1:]), xs)


def unshard(x):
    return x.reshape([x.shape[0] * x.shape[1]] + list(x.shape[2:]))


def render(w, rays):
    out = jnp.sin(rays.origins * w) + rays.directions
    return jax.lax.all_gather((out, out.sum(-1)), axis_name="batch")


def render_image(render_fn, rays, chunk):
    results = []
    for i in range(0, rays[0].shape[0], chunk):
        part = by_type(lambda r: r[i : i + chunk], rays)
        part = by_type(lambda r: shard(r), part)
        results.append([unshard(x[0]) for x in render_fn(part)])
    return [jnp.concatenate(r, axis=0) for r in zip(*results)]


p_render = jax.pmap(render, in_axes=(None, 0), donate_argnums=(1,), axis_name="batch")  # expect: broadcast, split -> stacked
p_masked = jax.pmap(lambda p: jax.lax.psum((p.rgb * p.mask).sum(), "batch"), axis_name="batch")  # expect: split -> replicated
p_moments = jax.pmap(lambda p: jax.lax.pmean(p.rgb.mean(0) * p.mask.mean(), "batch"), axis_name="batch")  # expect: split -> replicated


class Images:
    """Images one after the other, as a data set gives them."""

    def __init__(self, count):
        self.left = count

    def __iter__(self):
        return self

    def __next__(self):
        self.left -= 1
        if self.left < 0:
            raise StopIteration
        return pixels()


def pixels():
    return Pixels(np.cos(np.arange(96, dtype=np.float32)).reshape(32, 3), np.ones((32, 1), np.float32))


rays = Rays(np.arange(192, dtype=np.float32).reshape(64, 3), np.ones((64, 3), np.float32))
image = render_image(functools.partial(p_render, jnp.float32(0.25)), rays, 32)
halved = by_make(lambda p: p[:16], next(iter(Images(1))))
masked = p_masked(by_make(shard, halved))
doubled = by_leaves(lambda p: p * 2, pixels())
moments = p_moments(by_leaves(lambda p: shard(p), doubled))
RESULT = [*image, float(masked[0]), np.asarray(moments[0])]
