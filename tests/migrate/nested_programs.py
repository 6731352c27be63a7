"""Programs with a map in the body of what another one maps, which jax.pmap itself has refused since jax 0.8.

All arithmetic is exact in float32, so that the results of an older JAX hold for every newer one.
`python tests/campaigns/nesting.py --python EXE --write` recorded them beside, in nested_results.json.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).with_name("nested_results.json")

PRELUDE = """
import functools
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
X = np.arange(48, dtype=np.float32).reshape(2, 4, 6)
"""

PROGRAMS = {
    "both_axes": """
def g(y): return y - lax.pmean(y, 'j'), lax.psum(y, ('i', 'j')), lax.axis_index('j') + lax.axis_index('i') * 10
def f(x):
    a, b, c = jax.pmap(g, 'j')(x * 2)
    return a, b, c, lax.psum(a.sum(0), 'i')
p = jax.pmap(f, 'i')
def main(): return p(X), p(X[:1]), p(X[:, :2])
""",
    "in_axes": """
def f(x): return jax.pmap(lambda y, w: lax.psum(y, 'j') * w, 'j', in_axes=(1, None))(x, jnp.float32(2.0))
def main(): return jax.pmap(f, 'i', in_axes=1)(X.transpose(2, 0, 1)), jax.pmap(f, 'i')(X.transpose(0, 2, 1))
""",
    "scan": """
def f(x):
    def body(carry, row): return carry + jax.pmap(lambda y: lax.pmean(y, 'j'), 'j')(row), carry.sum()
    return lax.scan(body, x * 0, jnp.stack([x, x + 1]))
p = jax.pmap(f, axis_name='i')
def main(): return p(X)
""",
    "decorated_twice_called": """
@functools.partial(jax.pmap, axis_name='j')
def inner(y): return lax.psum(y, 'i') + lax.all_gather(y, 'j').sum(0)
@functools.partial(jax.pmap, axis_name='i')
def outer(x): return inner(inner(x))
def main(): return outer(X)
""",
    "unnamed": """
p = jax.pmap(lambda x: jax.pmap(lambda y: y * 2)(x) + 1)
def main(): return p(X)
""",
    "gradient_inside_of_both": """
def loss(w, y): return jnp.sum((y @ w) ** 2)
def train(w, x):
    gradients = jax.pmap(lambda y: jax.grad(loss)(w, y), 'j')(x)
    return w - 0.5 * lax.pmean(gradients.mean(0), 'i')
def main():
    step, w = jax.pmap(train, 'i', donate_argnums=(0,)), np.ones((2, 6), np.float32)
    for _ in range(2): w = step(w, X % 3)
    return w
""",
    "keys": """
def f(key): return jax.pmap(lambda k: jax.random.bits(k, (3,)), 'j')(jax.random.split(key, 4))
def main(): return jax.pmap(f, 'i')(jax.random.split(jax.random.PRNGKey(0), 2))
""",
    "trees_and_permutations": """
def g(e):
    shifted = lax.ppermute(e['b'], 'j', [(0, 1), (1, 2), (2, 3), (3, 0)])
    return {'s': e['a'] + e['b'], 'n': lax.all_gather(e['a'], 'j'), 'k': 2.0, 't': e['a'] > 9, 'z': shifted}
p = jax.pmap(lambda d: jax.pmap(g, 'j')(d), 'i')
def main(): return p({'a': X, 'b': X[..., 0]})
""",
    "under_a_condition": """
def summed(x): return jax.pmap(lambda y: lax.psum(y, 'j'), 'j')(x)
def f(x): return lax.cond(lax.axis_index('i') == 0, summed, lambda v: v, x)
p = jax.pmap(f, 'i')
def main(): return p(X)
""",
    "under_vmap": """
def f(x): return jax.vmap(lambda v: jax.pmap(lambda y: y - lax.pmean(y, 'j'), 'j')(v), in_axes=1, out_axes=1)(x)
p = jax.pmap(f, 'i')
def main(): return p(X)
""",
    "keywords": """
def scaled(y, w=3.0): return y * w
def f(x): return jax.pmap(scaled, axis_name='j')(x, w=x[:, 0]) + jax.pmap(scaled, axis_name='j')(x)
p = jax.pmap(f, 'i', devices=jax.devices()[::-1])
def main(): return p(X)
""",
    "method": """
class Model:
    scale = 2.0
    def row(self, y): return self.scale * y - lax.pmax(y, ('i', 'j'))
    @functools.partial(jax.pmap, axis_name='i', static_broadcasted_argnums=(0, 2))
    def step(self, x, n): return jax.pmap(self.row, axis_name='j')(x) + n
def main(): return Model().step(X, 3)
""",
    "factory": """
def make(scale):
    rows = jax.pmap(lambda y: y * scale + lax.psum(y, 'i'), axis_name='j')
    def step(x): return rows(x).sum(0)
    return step
p = jax.pmap(make(2.0), axis_name='i', out_axes=1)
def main(): return p(X)
""",
    "in_place_with_axes": """
p = jax.pmap(jax.pmap(lambda y, w: y * w + lax.psum(y, ('i', 'j')), 'j', in_axes=(1, None)), 'i', in_axes=(2, None))
def main(): return p(X.transpose(2, 1, 0), jnp.float32(3.0))
""",
    "starred_keywords": """
options = {'axis_name': 'i', 'axis_size': 2}
p = jax.pmap(lambda x: jax.pmap(lambda y: y + lax.psum(y, 'i'), 'j')(x), **options)
def main(): return p(X)
""",
    "decorated_twice": """
@functools.partial(jax.pmap, axis_name='i', out_axes=1)
@functools.partial(jax.pmap, axis_name='j')
def f(y): return y + lax.axis_index('i') - lax.psum(y, 'j')
def main(): return f(X)
""",
}


def programs() -> dict[str, str]:
    """The text of each program."""
    return {name: PRELUDE + text for name, text in PROGRAMS.items()}


def recorded() -> dict[str, Any]:
    """What jax.pmap made of each program when it still took them: key path, dtype, shape and bytes of each array."""
    return dict(json.loads(RESULTS.read_text(encoding="utf-8"))["results"])
