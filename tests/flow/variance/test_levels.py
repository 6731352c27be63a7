"""What the engine makes of single traps: each line is a body, and the levels of what it returns.

Arguments called x, y or z differ between devices, one called m may, all others are equal.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from jaxmigrate.flow.variance import (
    EQUAL,
    MAY,
    AbstractValue,
    Level,
    Mode,
    Reading,
    introduces_variance,
    read,
    statements,
)
from jaxmigrate.program.modules import Project, parse_module
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.values import Function

PRELUDE = """
import dataclasses, functools, os, random, time
from typing import Any, NamedTuple
import equinox as eqx, flax, flax.linen as nn, jax, jax.numpy as jnp, numpy as np, optax
from flax.training import train_state
from jax import lax
from jax.experimental import io_callback
import elsewhere
"""

BY_HAND = """
@jax.custom_vjp
def g(v): return v
def back(r, t): return ({},)
g.defvjp(lambda v: (v, v), back)
def f(p): return jax.grad(lambda w: g(w).sum())(p)
"""

WITH_KEY = "def f(k, p): return g(p, jax.random.split(k)[0])"
SUM_OF = "def g(v, n): return lax.psum(v, 'i')\n"
NET = "class Net(nn.Module):\n def __call__(s, x):"
NOISY = "def net(v, x=0): return v + lax.axis_index('i')\n"
METHODS = "class E:\n def go(self, g): return jax.pmap(g, 'i')\n"
SUMMED = """def f(p, x, o):
 given = {'p': p, **o.s}
 loss = 0
 for d in o.rounds:
  loss += o.loss(o.apply(given, x), given)
"""
RUN = "\n def run(self, x): return jax.process_index() * x"
OF_A_SET = """@elsewhere.add('set')
def get(x):
 def to_devices(x): return flax.jax_utils.prefetch_to_device(x, 2)
"""
LOGGER = "def note(v):\n if jax.process_index() == 0:\n"


def reading(text: str, axes: tuple[str, ...] = ("i",), local: bool = False) -> Reading:
    """Reads the function `f` of a module."""
    module = parse_module(Path("/nowhere/a.py"), PRELUDE + text)
    resolver = Resolver(Project([module]))
    node = next(n for n in module.tree.body if isinstance(n, ast.FunctionDef) and n.name == "f")
    given = [
        AbstractValue(Level.YES) if a.arg[0] in "xyz" else MAY if a.arg[0] == "m" else EQUAL for a in node.args.args
    ]
    return read(Function(module, node), given, frozenset(axes), resolver, mode=Mode(local=local))


def levels(text: str, axes: tuple[str, ...] = ("i",), local: bool = False) -> str:
    """N, M or Y for each element of what `f` returns, or for all of it."""
    returned = reading(text, axes, local).returned
    return "".join("NMY"[v.level] for v in (returned.parts if returned.parts is not None else [returned]))


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("lax.psum(x, 'i'), lax.pmean(x, axis_name='i'), lax.pmax(x, ('i',)), lax.pmin(x, 'i')", "NNNN"),
        ("lax.psum(x, 'j'), lax.psum(p, 'j'), lax.psum(x, ('i', 'j'))", "YNN"),
        ("lax.psum(x, elsewhere.AXIS), lax.psum(p, elsewhere.AXIS)", "MN"),
        ("lax.psum(x, 'i', axis_index_groups=[[0, 1], [2, 3]])", "M"),
        ("lax.psum(x, 'i', axis_index_groups=None)", "N"),
        ("lax.all_gather(x, 'i'), lax.all_gather(x, 'j')", "NY"),
        ("lax.ppermute(p, 'i', [(0, 1)]), lax.all_to_all(p, 'i', 0, 0), lax.psum_scatter(p, 'i')", "MMM"),
        ("lax.axis_index('i'), lax.axis_index('j'), lax.psum(1, 'i'), lax.axis_size('i')", "YNNN"),
        ("jax.process_index(), time.time(), np.random.rand(), os.environ['A'], random.random()", "MMMMM"),
        ("io_callback(abs, p, p), jax.pure_callback(os.getppid, p, p)", "MM"),
        ("elsewhere.f(p), elsewhere.f(p).mean(), elsewhere.C().g(p)", "MMM"),
        ("jax.random.normal(p, (3,)), jax.random.normal(x), jax.random.fold_in(p, lax.axis_index('i'))", "NYY"),
        ("x.shape[0], len(x), x.dtype, jnp.zeros_like(x), jnp.zeros(x.shape)", "NNNNN"),
        ("jax.vmap(lambda v: lax.psum(v, 'i'), axis_name='i')(x)", "Y"),
        ("jax.vmap(lambda v: lax.axis_index('i') + v, axis_name='i')(p)", "N"),
        ("jax.vmap(lambda v: lax.psum(v, ('i', 'b')), axis_name='b')(x)", "N"),
        ("jax.vmap(lambda v: lax.psum(v, 'i'), axis_name=elsewhere.AXIS)(x)", "M"),
        ("jax.grad(lambda w: (w * x).sum())(p), jax.grad(lambda w: lax.pmean((w * x).sum(), 'i'))(p)", "YY"),
        ("jax.grad(lambda w: w.sum())(p), lax.pmean(jax.grad(lambda w: (w * x).sum())(p), 'i')", "NN"),
        ("lax.cond(x[0] > 0, lambda: p, lambda: 2 * p), lax.cond(p[0] > 0, lambda: p, lambda: 2 * p)", "MN"),
        (
            "lax.while_loop(lambda c: c[0] < x[0], lambda c: c + 1, p), lax.fori_loop(0, x[0], lambda k, c: c + 1, p)",
            "YY",
        ),
        ("lax.scan(lambda c, v: (c + v, c), p, x)[0], lax.scan(lambda c, v: (c, c + v), p, x)[0]", "YN"),
        ("optax.tree.map(lambda v: v * lax.axis_index('i'), p), optax.tree.map(lambda v: v * p, p)", "MN"),
        ("flax.core.apply(lambda v: lax.ppermute(v, 'i', [(0, 1)]), p), flax.core.apply(lambda v: v + x, p)", "MM"),
        ("optax.adam(1e-3).update(p, p, p)[0], optax.adam(1e-3).update(x, p, p)[0]", "NY"),
        ("optax.apply_updates(p, p), optax.apply_updates(p, x), optax.global_norm(p)", "NYN"),
        ("eqx.apply_updates(p, q), eqx.apply_updates(p, x), eqx.apply_updates(model=p, updates=x)", "NYY"),
        ("eqx.filter(p, eqx.is_array), eqx.filter(x, eqx.is_array), eqx.filter(p, eqx.is_array, replace=x)", "NYY"),
        ("eqx.filter(p, lambda v: v.ndim > 1), eqx.filter(p, lambda v: jax.process_index() == 0)", "NM"),
        ("eqx.filter(p, (eqx.is_array, True)), eqx.filter(p, (eqx.is_array, lambda v: os.getpid() > 9))", "NM"),
        ("eqx.filter(p, elsewhere.asked), eqx.filter(p, jax.process_index() == 0)", "MM"),
        ("eqx.combine(*eqx.partition(p, eqx.is_array)), eqx.combine(eqx.partition(p, eqx.is_array)[1], x)", "NY"),
        ("eqx.tree_at(lambda t: t.w, p, q), eqx.tree_at(lambda t: t.w, p, x), eqx.tree_at(lambda t: t.w, x, q)", "NYY"),
        (
            "eqx.tree_at(lambda t: t.w, p, replace_fn=lambda w: w * x), eqx.tree_at(lambda t: 0, p, replace_fn=abs)",
            "MN",
        ),
        ("eqx.nn.inference_mode(p), eqx.tree_inference(x, True), eqx.tree_at(elsewhere.where, p, q)", "NYM"),
        ("nn.relu(p), nn.Dense(3).apply(p, x), nn.Dense(3).apply(p, p)", "NYN"),
        ("jax.tree.map(lambda a, b: a + b, p, p), jax.tree.map(lambda a, b: a - b, p, x)", "NY"),
        ("jax.tree.map(lambda a: a + x, p), jax.tree.map(jnp.sin, p), jax.tree.map(elsewhere.g, p)", "YNM"),
        ("functools.reduce(jnp.add, [p, x]), functools.reduce(lambda a, b: a + b, [p, p])", "MN"),
        ("dict(a=p, b=x)['a'], {'a': p, **{'b': x}}['b'], (p, x)[0], [x, p][-1], (lambda *a: a[1])(x, p)", "NYNNN"),
        ("getattr(p, 'a'), getattr(x, 'a'), sum([p, p]), max(x, 1), sorted([p])[0]", "NYNYN"),
        ("lax.pmean({'a': x, 'b': p}, 'i')['a'], lax.pmean((x, p), 'i')[0]", "NN"),
        ("jnp.mean(x), [v for v in (p, x)][0], next(iter([p])), lax.pmean(elsewhere.f(x), 'i'), x", "YNMMM"),
        ("p if os.path.exists('a') else p + 1, p if p.ndim > 1 else p + 1, p if jax.process_index() else p", "MNM"),
        ("x.at[0].set(p), p.at[0].set(x), p.at[0].add(1), p.at[x].get()", "YYNY"),
        ("jax.eval_shape(elsewhere.f, p), jax.jit(lambda v: v)(p), jax.checkpoint(lambda v: v + x)(p)", "NNY"),
        ("jax.lax.ragged_all_to_all(p, p, p, p, p, p, axis_name='i'), nn.Foo, jax.experimental.pallas.f(p)", "MNM"),
    ],
)
def test_expressions(expression: str, expected: str) -> None:
    assert levels(f"def f(p, x, m):\n    return {expression}\n") == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # branches and loops that processes take differently
        ("def f(p):\n if jax.process_index() == 0:\n  p = p + 1\n return p", "M"),
        ("def f(p):\n if jax.process_index() == 0:\n  return p\n return p + 1", "M"),
        ("def f(p):\n for k in range(jax.process_index()):\n  p = p + 1\n return p", "M"),
        ("def f(p):\n while time.time() < 3:\n  p = p + 1\n return p", "M"),
        ("def f(p):\n for k in range(9):\n  if elsewhere.g():\n   break\n  p = p + 1\n return p", "M"),
        ("def f(p):\n try:\n  open('a')\n  q = p\n except OSError:\n  q = p + 1\n return q", "M"),
        ("def f(p, x):\n q = p\n for k in range(9):\n  q, p = p, x\n return q", "M"),
        ("def f(p, x):\n for v in (p, p):\n  p = p + v\n return p", "N"),
        ("def f(p, train):\n if train:\n  return p\n return p + 1", "N"),
        ("def f(p, kind):\n match kind:\n  case 'a':\n   return p\n  case other:\n   return p + 1", "N"),
        ("def f(p, x):\n try:\n  p = x\n  p = lax.psum(p, 'i')\n except ValueError:\n  pass\n return p", "M"),
        ("def f(p, x):\n try:\n  try: g()\n  except E: pass\n  p = x\n except E: pass\n return p, x", "MY"),
        ("def f(p, x):\n try:\n  p = x\n except* ValueError:\n  pass\n return p", "M"),
        ("def f(p):\n d = {}\n if jax.process_index():\n  d['a'] = p\n return d", "M"),
        ("def f(p):\n q = [p]\n if jax.process_index():\n  q.append(p)\n return len(q) * p", "M"),
        # aliases
        ("def f(p, x):\n a = [p]\n b = a\n b[0] = x\n return a[0]", "M"),
        ("def f(p, x):\n a = {'k': [p]}\n a['k'].append(x)\n return a['k'][0], a['k'][1]", "NY"),
        ("def f(p, x):\n a = [p]\n b = (a, 1)\n b[0].append(x)\n return sum(a)", "M"),
        ("def g(d, v): d['k'] = v\ndef f(p, x):\n a = dict(k=p)\n g(a, x)\n return a['k']", "M"),
        ("def f(p, x):\n a = [p]\n g = a.append\n g(x)\n return sum(a)", "M"),
        ("def f(p, x):\n a = [p]\n g = functools.partial(sum, a)\n a.append(x)\n return g()", "M"),
        ("def f(p, x):\n a = [p]\n elsewhere.g(a, x)\n return sum(a)", "M"),
        ("def f(p, x):\n a = dict(k=p)\n setattr(a, 'k', x)\n return a['k']", "M"),
        ("def f(p, x):\n a = dict(k=p)\n a.update(l=x)\n return a['k'], a['l'], p", "NYN"),
        ("def f(p, x):\n a = p\n p += x\n return a, p", "MM"),
        ("def f(s, x):\n t = s\n t.k = x\n return s.k", "M"),
        ("def f(p, x):\n g = (v for v in [p])\n return sum(g)", "M"),
        ("def f(p, x):\n a = [p]\n list.append(a, x)\n return sum(a)", "M"),
        ("def f(s, x):\n t = s\n object.__setattr__(t, 'k', x)\n return s.k", "M"),
        ("def f(p, x):\n globals()['q'] = x\n return eval('q')", "M"),
        ("def f(p):\n a = np.zeros(3)\n b = a\n np.add(p, jax.process_index(), out=b)\n return a", "M"),
        (f"{SUMMED} return p, o.s", "NN"),
        (f"class M:\n def __radd__(s, v): return s\n{SUMMED} return p, o.s", "MM"),
        ("def f(p, x):\n a = 3 * [p]\n b = a\n b += [x]\n return sum(a)", "M"),
        # state that outlives a call
        ("class A:\n v = 1.\ndef f(p, x):\n r = A.v * p\n A.v = x\n return r", "M"),
        ("seen = []\ndef f(p, x):\n r = sum(seen) + p\n seen.append(x)\n return r", "M"),
        ("last = None\ndef f(p, x):\n global last\n r = last\n last = x\n return r", "M"),
        ("class A:\n def g(self, v):\n  self.v = v\na = A()\ndef f(p, x):\n a.g(x)\n return a.v", "M"),
        ("def g(v, seen=[]):\n seen.append(v)\n return seen[0]\ndef f(p, x):\n return g(x), g(p)", "MM"),
        ("def f(p, x):\n def g():\n  nonlocal p\n  p = x\n g()\n return p", "M"),
        ("def f(p, x):\n q = p\n def g():\n  return q\n q = x\n return g()", "Y"),
        # functions that are given to code out of sight
        ("def f(p, s, x):\n def g(v): return v @ x\n return s.run(g), s.run(g)(p), s(g), o.run([g])", "MMMM"),
        ("def f(p, s, x):\n def g(v): return v @ p\n return s.run(g), s.run(lambda v: v * 2)", "NN"),
        ("def f(p, s, x):\n return s.run(functools.partial(g, x)), s.run(jax.jit(lambda v: x)), s.run(x.dot)", "MMY"),
        ("def f(p, s, x):\n class A:\n  def g(self): return x\n return s.run(A), s.run(A()), s.run(A().g)", "MMM"),
        ("def f(p, s, x):\n return optax.anything(lambda v: v @ x)(p), optax.anything(lambda v: v @ p)(p)", "MN"),
        ("def f(p, s, x):\n def g(v): return v @ q\n r = s.run(g)\n q = x\n return r", "M"),
        ("def f(p, s, x):\n g = None\n if s.k:\n  g = lambda v: v @ x\n return s.run(g)", "M"),
        ("def f(p, s, x):\n d = {}\n g = lambda v: v @ d['x']\n d['x'] = x\n return s.run(g)", "M"),
        ("def f(p, s, x):\n a = p\n def g():\n  nonlocal a\n  a = x\n s.run(g)\n return a", "M"),
        ("def f(p, s, x):\n a = [p]\n s.run(lambda: a.append(x))\n return sum(a)", "Y"),
        ("def f(p, s, x):\n a = [p]\n def g(v):\n  a[0] = x\n s.k(g)\n return a[0]", "M"),
        ("def f(p, s, x):\n g = s.d.value_and_grad(lambda v: v @ x)\n return g(p)", "M"),
        ("def f(p, s, x):\n a, b, c, d = s.value_and_grad(lambda v: x, axis_name='i')(p)\n return a, b, c, d", "NNYN"),
        ("def f(p, s, x):\n a, b, _, d = s.value_and_grad(lambda v: v * x, axis_name='j')(p)\n return a, b, d", "YYY"),
        ("def f(p, s, x):\n a, b, c, d = s.value_and_grad(lambda v: v, axis_name=None)(x)\n return a, b", "YY"),
        ("def f(p, x):\n a, b = (p.get(k, None) for k in ['a', 'b'])\n return a, b, x.get(p)", "NNM"),
        ("def f(p, x):\n g = (v for v in [p])\n a, = g\n return a", "M"),
        # captured values
        ("rank = jax.process_index()\ndef f(p):\n return p + rank", "M"),
        ("rank = jax.process_index()\nscale = 2 if rank else 3\ndef f(p):\n return p + scale", "M"),
        ("def make(n):\n def f(p):\n  return p * n\n return f\ndef f(p): return make(jax.process_index())(p)", "M"),
        ("scale = 3.\ndef f(p):\n return p * scale", "N"),
        ("def f(k):\n r = jax.random.fold_in(k, jax.process_index())\n return r, lax.pmean(r, 'i')", "MN"),
        ("def f(k):\n r = jax.random.PRNGKey(jax.process_index())\n return r, lax.pmean(r, 'i')", "MN"),
        ("def f(k):\n r = jnp.ones(jax.process_index())\n return lax.pmean(r, 'i')", "M"),
        (f"def g(v, k=None): return np.random.beta(v) if k is None else k\n{WITH_KEY}", "M"),
        (f"def g(v, k=None):\n if k is None:\n  return np.random.beta(v)\n return v\n{WITH_KEY}", "N"),
        ("noise = np.random.rand(3)\ndef f(p):\n return p * noise", "M"),
        # recursion, and what calls functions in some way of its own
        ("def g(v, n): return v if n == 0 else g(v, n - 1)\ndef f(p): return g(p, 3)", "M"),
        ("def f(p, x): return jax.scipy.optimize.minimize(lambda v: v * x, p, method='BFGS').x", "M"),
        ("def f(p): return jax.scipy.optimize.minimize(lambda v: v * lax.axis_index('i'), p, method='BFGS').x", "M"),
        ("def f(p): return jnp.apply_along_axis(lambda v: v + 1, 0, p)", "N"),
        # derivatives given by hand
        (BY_HAND.format("t * lax.axis_index('i')"), "M"),
        (BY_HAND.format("t * 2"), "N"),
        # options before what a decorator is given
        (f"@functools.partial(jax.jit, static_argnums=1)\n{SUM_OF}def f(x): return g(x, 2)", "N"),
        # unknown stars
        ("def g(a, b): return a\ndef f(p, x):\n return g(*[p, x]), g(**dict(a=p, b=x)), g(*elsewhere.g(p)), p", "NNMM"),
        ("def g(a, b=0): return b\ndef f(p, x):\n return g(p, *x)", "M"),
    ],
)  # fmt: skip
def test_bodies(text: str, expected: str) -> None:
    assert levels(text) == expected


@pytest.mark.parametrize(
    ("text", "of_all", "of_one"),
    [
        ("def f(p):\n if time.time() > 3:\n  p = p + 1\n return p", "M", "N"),
        ("def f(p):\n for k in range(np.random.randint(3)):\n  p = p + 1\n return p", "M", "N"),
        ("def f(p):\n try:\n  open('a')\n  q = p\n except OSError:\n  q = p + 1\n return q", "M", "N"),
        ("def f(p, x):\n if time.time() > 3:\n  p = p + x\n return p", "M", "M"),
        ("def f(p):\n return p + jax.process_index(), p + time.time()", "MM", "MM"),
        ("def f(p):\n return jax.pure_callback(os.getppid, p, p), io_callback(abs, p, p)", "MM", "MM"),
        ("def f(p):\n return elsewhere.f(p) if os.path.exists('a') else p", "M", "M"),
        ("def f(p, x):\n return lax.cond(x[0] > 0, lambda: p, lambda: 2 * p)", "M", "M"),
    ],
)
def test_devices_of_one_process(text: str, of_all: str, of_one: str) -> None:
    """What Python tests while it traces a function, it tests once for all devices of its process."""
    assert levels(text) == of_all
    assert levels(text, local=True) == of_one


@pytest.mark.parametrize(
    ("rest", "expected"),
    [
        ("", "NN"),
        ("def other(x): return lax.axis_index('i') * x\np = jax.pmap(other, axis_name='i')", "NN"),
        ("def net(v, x): return x + lax.axis_index('i')\nstate = make(apply_fn=net)", "MM"),
        ("def net(v, x): return x + lax.axis_index('j')\nstate = make(apply_fn=net)", "NN"),
        ("def inner(x): return lax.ppermute(x, AXIS, [(0, 1)])\ndef net(v, x): return inner(x)\nhooks = [net]", "MM"),
        ("class Net(nn.Module):\n def __call__(self, x): return x + lax.axis_index('i')", "MM"),
        ("class Net(nn.Module):\n def __call__(self, x): return nn.BatchNorm(axis_name='i')(x)", "NN"),
        (f"{NET} return lax.pmean(x, 'i', axis_index_groups=s.axis_index_groups)", "NN"),
        (f"{NET} return lax.psum(x, 'i', axis_index_groups=s.axis_index_groups)", "MM"),
        (f"{NET} return nn.BatchNorm(axis_name='i', axis_index_groups=G)(x)", "NN"),
        (f"{NET} return functools.partial(nn.BatchNorm, axis_name='i', axis_index_groups=G)()(x)", "NN"),
        (f"{NET} return functools.partial(s.mixed, axis_index_groups=G)(x)", "MM"),
        (f"{NET} return x * len(s.axis_index_groups)", "MM"),
        ("class Net(Base):\n def call(self, x): return x + lax.axis_index('i')\nstate = make(nn.remat(Net))", "MM"),
        ("class Opt:\n def update(self, g, s, p): return g + jax.process_index(), s", "NM"),
        ("def make(k):\n def net(v, x): return x + lax.axis_index('i')\n return net\nstate = State(make(3))", "MM"),
        ("def main():\n print(jax.process_index())\n p = jax.pmap(other)\nif __name__ == '__main__':\n main()", "NN"),
        # what a function or constructor does with a function that it is given
        (f"{NOISY}def run(g): return jax.pmap(g, axis_name='i')\np = run(net)", "NN"),
        (f"{NOISY}class Eval:\n def __init__(self, g): self.p = jax.pmap(g, axis_name='i')\ne = Eval(net)", "NN"),
        (f"{NOISY}class Eval:\n def __init__(self, g): self.all = [g]\ne = Eval(net)", "MM"),
        (f"{NOISY}class Net:\n def __init__(self, g): self.update = g\ne = Net(net)", "NM"),
        (f"{NOISY}class N:\n def __init__(self, g): self.g = g\n def __call__(self, v): self.g(v)\ne = N(net)", "MM"),
        (f"{NOISY}def keep(g): return State(g)\ns = keep(net)", "MM"),
        (f"{NOISY}def keep(g):\n def inner(v): return g(v)\n return State(inner)\ns = keep(net)", "MM"),
        (f"{NOISY}def keep(g): return g\ns = State(keep(net))", "MM"),
        (f"{NOISY}s = elsewhere.keep(net)", "MM"),
        (f"{NOISY}def keep(*g): return State(g)\ns = keep(net)", "MM"),
        (f"{NOISY}class T:\n def go(self): super(T, self).go()\n def there(self): return net", "NN"),
        ("def main(a): print(jax.process_index())\nfrom absl import app\napp.run(main=main)", "NN"),
        (f"{NOISY}{METHODS}def main(e): e.go(net)\nmain(elsewhere.E())", "MM"),
        (f"{NOISY}{METHODS}class F(E):\n def go(self, g): return State(g)\nE().go(net)", "MM"),
        (f"{NOISY}{METHODS}E.go = lambda self, g: State(g)\nE().go(net)", "MM"),
        (f"{NOISY}{METHODS}E().go(net)", "NN"),
        # of namesakes only the one that a decorator keeps, and no test
        ("@elsewhere.add(1)\ndef go(x): return x\nclass Other:\n def go(self, x): return lax.axis_index('i')", "NN"),
        ("@elsewhere.add(1)\ndef go(x): return lax.axis_index('i')\nclass Other:\n def go(self, x): return x", "MM"),
        ("class T(TestCase):\n def test_it(self, x): return lax.axis_index('i') * x", "NN"),
        # the classes of host libraries call what derives from them on the host
        (f"import threading\nclass T(threading.Thread):{RUN}", "NN"),
        (f"from concurrent import futures\nclass T(futures.Executor):{RUN}", "NN"),
        (f"class T(elsewhere.Thread):{RUN}", "MM"),
        (f"import threading\nclass T(threading.Thread): pass\nclass U(elsewhere.Thread):{RUN}", "MM"),
        (f"import threading\nclass T(threading.Thread, elsewhere.Thing):{RUN}", "MM"),
        # what calls a function of its own that is for the host
        (f"{OF_A_SET} return to_devices(x), jax.process_index()", "NN"),
        (f"{OF_A_SET} return jax.process_index()", "MM"),
        (f"{OF_A_SET} return to_devices, jax.process_index()", "MM"),
        (f"{OF_A_SET} to_devices = elsewhere.f\n return to_devices(x), jax.process_index()", "MM"),
        # functions that only log
        (f"{LOGGER}  print(v)\nhooks = [note]", "NN"),
        (f"{LOGGER}  print(v)\n return None\nhooks = [note]", "NN"),
        (f"{LOGGER}  return v\nhooks = [note]", "MM"),
        (f"{LOGGER}  return None\n return v\nhooks = [note]", "MM"),
        (f"{LOGGER}  v['a'] = 1\nhooks = [note]", "MM"),
        (f"{LOGGER}  v.update(a=1)\nhooks = [note]", "MM"),
        (f"{LOGGER}  print(v.pop())\nhooks = [note]", "MM"),
        (f"{LOGGER}  print(1, file=v)\nhooks = [note]", "MM"),
        (f"{LOGGER}  other(v)\ndef other(v): v.append(1)\nhooks = [note]", "MM"),
        (f"{LOGGER}  elsewhere.note(v)\nhooks = [note]", "MM"),
    ],
)  # fmt: skip
def test_what_is_stored_out_of_sight(rest: str, expected: str) -> None:
    """The functions of a state are trusted only where nothing that they can be tells devices apart."""
    step = """
def f(state, p):
    out = state.apply_fn({'params': state.params}, p)
    updates, _ = state.tx.update(p, state.opt_state, state.params)
    return out, updates
"""
    assert levels(step + rest + "\n") == expected


@pytest.mark.parametrize(
    ("main", "expected"),
    [
        ("import step", "N"),
        ("import step, noisy", "M"),
        ("import step\ndef later():\n import noisy", "M"),
        ("import step, importlib\nimportlib.import_module('pkg.noisy')", "M"),
        ("import step, importlib\nimportlib.import_module('pkg.quiet')", "N"),
        ("import step, importlib, sys\nimportlib.import_module(sys.argv[1])", "M"),
        ("import step\n__import__(name)", "M"),
        ("import step, gin\ngin.parse_config_file(name)", "M"),
        ("import step\nfrom importlib.metadata import entry_points", "M"),
        ("import step\nfrom ml_collections import config_flags\nconfig_flags.DEFINE_config_file('config')", "M"),
        ("import step\nbeginning = 1", "N"),
    ],
)
def test_what_another_program_stores_is_not_asked_about(tmp_path: Path, main: str, expected: str) -> None:
    texts = {
        "step": "def f(state, p): return state.tx.update(p, state.opt_state, state.params)[0]\n",
        "noisy": "hooks = [net]\n",
        "quiet": "scale = 2\n",
        "other": "def get_config():\n import noisy\n return noisy.hooks\n",
        "main": main + "\n",
    }
    (tmp_path / "pkg").mkdir()
    modules = {}
    for name, text in texts.items():
        path = tmp_path / "pkg" / f"{name}.py"
        path.write_text(PRELUDE + (NOISY if name == "noisy" else "") + text)
        modules[name] = parse_module(path, path.read_text())
    resolver = Resolver(Project([*modules.values()]))
    node = next(n for n in modules["step"].tree.body if isinstance(n, ast.FunctionDef))
    returned = read(Function(modules["step"], node), [EQUAL, EQUAL], frozenset({"i"}), resolver).returned
    assert "NMY"[returned.level] == expected


def test_fields_of_a_training_state() -> None:
    step = """
def f(state, x):
    def loss_fn(params):
        logits, new = state.apply_fn({'params': params, 'batch_stats': state.batch_stats}, x, mutable=['batch_stats'])
        return logits.mean(), new
    (loss, new), grads = jax.value_and_grad(loss_fn, has_aux=True)(state.params)
    grads = lax.pmean(grads, 'i')
    state = state.apply_gradients(grads=grads, batch_stats=new['batch_stats'])
    return state.replace(ema=optax.incremental_update(state.params, state.ema, 0.1)), {'loss': loss}
"""
    returned = reading(step).returned
    assert returned.parts is not None
    state, metrics = returned.parts
    assert state.fields is not None
    assert {name: value.level.name for name, value in state.fields.items()} == {
        "*": "NO", "params": "NO", "opt_state": "NO", "step": "NO", "batch_stats": "YES", "ema": "NO",
    }  # fmt: skip
    assert metrics.fields is not None
    assert (metrics.fields["loss"].level, metrics.fields["loss"].kind) == (Level.YES, "array")


def test_objects_keep_their_fields_apart() -> None:
    text = """
class Batch(NamedTuple):
    a: Any
    b: Any = 0

@dataclasses.dataclass(frozen=True)
class State:
    p: Any
    q: Any
    @property
    def both(self): return self.p + self.q
    def moved(self, v): return dataclasses.replace(self, q=v)

def f(p, x):
    s = State(p, q=x)
    t = State(p, p).moved(p)
    return s.p, s.q, s.both, t.both, Batch(p, b=x)._replace(a=x).b, Batch(p).a
"""
    assert levels(text) == "NYYNYN"


def test_a_named_tuple_is_unpacked_into_its_fields() -> None:
    text = """
class Pair(NamedTuple):
    a: Any
    b: Any

class Held(flax.struct.PyTreeNode):
    a: Any

def f(p, x, m):
    a, b = Pair(p, b=x)
    c, _ = Pair(b=p, a=x)
    d, e = [Pair(p, x), Pair(x, p)][m]
    first, = Held(x)
    return a, b, c, d, Pair(p, x)[0], Pair(p, x)[1], (lambda u, v: v)(*Pair(p, x)), first
"""
    assert levels(text) == "NYYMNYYY"


def test_reducing_a_dictionary_reads_its_values() -> None:
    assert levels("def f(p, x): return jax.tree.reduce(jnp.add, {'a': p, 'b': x}), [k for k in {'a': x}]") == "MN"


def test_several_axes_and_none() -> None:
    assert levels("def f(x): return lax.psum(x, 'i'), lax.psum(x, ('i', 'j'))", axes=("i", "j")) == "MN"
    assert levels("def f(x, p): return x + 1, p + 1", axes=()) == "YN"


def test_any_callable_is_read() -> None:
    text = "def g(a, p, x): return p, x\nclass A:\n def __call__(self, p): return p\n def m(self, p): return p\n"
    text += "h = functools.partial(g, 1)\nk = jax.jit(jax.vmap(g))\na = A()\nm = a.m\nn = len\n"
    module = parse_module(Path("/nowhere/a.py"), PRELUDE + text)
    resolver = Resolver(Project([module]))

    def returned(name: str, *given: AbstractValue, **named: AbstractValue) -> str:
        value = resolver.module_attribute(module, name)[0]
        found = read(value, given, frozenset("i"), resolver, named).returned
        return "".join("NMY"[v.level] for v in (found.parts if found.parts is not None else [found]))

    varying = AbstractValue(Level.YES)
    assert returned("g", EQUAL, EQUAL, varying) == "NY"
    assert returned("g", EQUAL, p=varying, x=EQUAL) == "YN"
    assert returned("h", EQUAL, varying) == "NY"
    assert returned("k", EQUAL, varying, EQUAL) == "YN"
    assert returned("a", EQUAL) == "N"
    assert returned("m", varying) == "Y"


def test_what_a_factory_is_given_is_followed_to_its_callers() -> None:
    text = """
def make(g, n=2):
    def step(p):
        return g(p) * n
    return step
def h(v): return v + lax.axis_index('i')
def h_equal(v): return v + 1
"""
    assert levels(text + "k = make(h)\ndef f(p): return k(p)\n") == "Y"
    assert levels(text + "k = make(h_equal, n=3)\ndef f(p): return k(p)\n") == "N"
    module = parse_module(Path("/nowhere/a.py"), PRELUDE + text + "k = jax.pmap(make(h_equal), axis_name='i')\n")
    make = next(n for n in module.tree.body if isinstance(n, ast.FunctionDef) and n.name == "make")
    step = next(n for n in make.body if isinstance(n, ast.FunctionDef))
    found = read(Function(module, step), [EQUAL], frozenset("i"), Resolver(Project([module]))).returned
    assert found.level == Level.NO


def test_the_program_is_asked_once_for_what_tells_devices_apart() -> None:
    module = parse_module(Path("/nowhere/a.py"), PRELUDE + "def g(x): return lax.axis_index('i')\nhooks = {'a': g}\n")
    resolver = Resolver(Project([module]))
    assert introduces_variance(resolver, frozenset("i"))
    assert not introduces_variance(resolver, frozenset("j"))


@pytest.mark.parametrize(
    ("classes", "expected"),
    [
        ("class A:\n def __init__(s): s.v = lax.axis_index('i')", True),
        ("class A: pass\nclass C:\n def __init__(s): s.v = lax.axis_index('i')", False),
        ("class B:\n def __init__(s): s.v = lax.axis_index('i')\nclass A(B): pass", True),
        ("class B:\n def __init__(s): s.v = lax.axis_index('i')\nO = B\nclass A(O): pass", True),
        ("class B:\n def update(s, v): return v + lax.axis_index('i')\nclass A(B): pass", True),
        (
            "class B:\n def __init__(s): s.v = lax.axis_index('i')\nclass A(B):\n def __init__(s): super().__init__()",
            True,
        ),
        (
            (
                "class B:\n def __init__(s): super().__init__()\n"
                "class C:\n def __init__(s): s.v = lax.axis_index('i')\nclass A(B, C): pass"
            ),
            True,
        ),
        ("class C:\n def __init__(s): s.v = lax.axis_index('i')\nclass A:\n def __init__(s): C.__init__(s)", True),
        (
            (
                "class A:\n def __call__(s): return s.__class__.__subclasses__()[0]()\n"
                "class C(A):\n def __init__(s): s.v = lax.axis_index('i')"
            ),
            True,
        ),
    ],
)
def test_a_stored_class_can_do_what_its_line_can(classes: str, expected: bool) -> None:
    module = parse_module(Path("/nowhere/a.py"), f"{PRELUDE}{classes}\nhooks = {{'a': A}}\n")
    assert introduces_variance(Resolver(Project([module])), frozenset("i")) is expected


@pytest.mark.parametrize(
    ("method", "use"),
    [
        ("@property\n def n(s): return {}", "p + o.n"),
        ("@functools.cached_property\n def n(s): return s.go()\n def go(s): return {}", "p + o.n"),
        ("def __getattr__(s, k): return {}", "p + o.n"),
        ("def __getitem__(s, k): return {}", "p + o['n']"),
        ("def __add__(s, k): return {}", "o + p"),
        ("def __iter__(s): yield {}", "sum(o)"),
    ],
)
def test_what_an_object_does_without_being_called(method: str, use: str) -> None:
    text = "class C:\n {}\nclass D(C): pass\nhooks = {{'a': D()}}\ndef f(p, o): return {}\n"
    assert levels(text.format(method.format("lax.axis_index('i')"), use)) == "M"
    assert levels(text.format(method.format("lax.axis_index('j')"), use)) == "N"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("o.scale.value_and_grad(g)(p)", "M"),
        ("o.scale.value_and_grad(lambda v: v * {})(p)", "M"),
        ("o.pool.map(g, p)", "M"),
        ("o.pool.run(lambda v: v * {}, p)", "M"),
        ("o.pool.run(lambda v: g(v), p)", "M"),
        ("o.pool.run(dict(h=[lambda v: v * {}]), p)", "M"),
        ("optax.value_and_grad_from_state(lambda v: v * {})(p, state=p)", "M"),
        ("(jax.jit(g)(p), o.apply(p))[1]", "N"),
        ("(jax.tree.map(lambda v: v * {}, p), o.apply(p))[1]", "N"),
        ("(o.scale.value_and_grad(g, axis_name='i')(p), o.apply(p))[1]", "N"),
        ("(o.pool.run(lambda v: v * 2, p), o.apply(p))[1]", "N"),
    ],
)
def test_functions_that_objects_are_given(given: str, expected: str) -> None:
    """A method out of sight may run them, whatever JAX's function of its name does; a lambda is one of them."""
    text = "def f(p, o):\n def g(v): return v * {}\n return {}\n"
    index = "lax.axis_index('i')"
    assert levels(text.format(index, given.format(index))) == expected
    assert levels(text.format("2", given.format("2"))) == "N"


@pytest.mark.parametrize(
    ("kept", "expected"),
    [
        ("elsewhere.tool.g = told", "M"),
        ("TOOL = elsewhere.Tool()\nTOOL.g = lambda v: v * {}", "M"),
        ("def make(tool):\n tool.g = told\n return tool", "M"),
        ("class T(elsewhere.Tool):\n def __init__(self): self.g = told", "M"),
        ("class T(elsewhere.Tool):\n g = told", "M"),
        ("class T(elsewhere.Tool):\n def g(self, v): return v * {}", "M"),
        ("class S:\n def g(self, v): return v * {}\nclass T(S, elsewhere.Tool): pass", "M"),
        ("class S:\n def __init__(self): self.g = told\nclass T(S, elsewhere.Tool): pass", "M"),
        ("class T:\n def __init__(self): self.g = told", "N"),
        ("class T:\n def g(self, v): return v * {}\n def h(self, v): return v\nT().h(1)", "N"),
        ("class T(NamedTuple):\n a: int\n def g(self, v): return v * {}\nT(1)", "N"),
    ],
)
def test_functions_that_objects_keep(kept: str, expected: str) -> None:
    """What code out of sight has of them it may call; objects of the program's own are read by names."""
    text = f"def told(v): return v * {{}}\n{kept}\ndef f(p, o): return o.run(p)\n"
    assert levels(text.replace("{}", "lax.axis_index('i')")) == expected
    assert levels(text.replace("{}", "2")) == "N"


REGISTER = "TABLE = {}\ndef register(g):\n TABLE[g.__name__] = g\n return g\n"
NAMED_REGISTER = "TABLE = {}\ndef register(n):\n def put(g):\n  TABLE[n] = g\n  return g\n return put\n"


@pytest.mark.parametrize(
    ("before", "decorator", "expected"),
    [
        (REGISTER, "register", "M"),
        (NAMED_REGISTER, "register('a')", "M"),
        ("TABLE = elsewhere.Table()", "TABLE.put", "M"),
        ("TABLE = elsewhere.Table()", "TABLE.put('a')", "M"),
        ("", "elsewhere.register", "M"),
        ("def register(*g): return g[0]", "register", "M"),
        ("def register(g): return g", "register", "N"),
        ("def register(g): return jax.jit(g)", "register", "N"),
        ("", "jax.jit", "N"),
        ("", "functools.partial(jax.jit, static_argnums=1)", "N"),
        ("", "functools.lru_cache(1)", "N"),
    ],
)
def test_functions_that_decorators_are_given(before: str, decorator: str, expected: str) -> None:
    """A decorator may keep what it is given where any code finds it."""
    text = f"{before}\n@{decorator}\ndef told(v): return v * lax.axis_index('i')\ndef f(p, o): return o.table['a'](p)\n"
    assert levels(text) == expected
    assert levels(text.replace("lax.axis_index('i')", "2")) == "N"


@pytest.mark.parametrize(
    ("kept", "expected"),
    [
        ("def told(v): return v * {}\nTABLE = [globals()[n] for n in os.environ]", "M"),
        ("def told(v): return v * {}\ndef find(n): return getattr(sys.modules[__name__], n)", "M"),
        ("def told(v): return v * {}\ndef find(n): return getattr(sys.modules[__name__], 'to' + n)", "M"),
        ("def told(v): return v * {}\ndef find(n): return getattr(sys.modules[__name__], f'other_{n}')", "N"),
        ("def told(v): return v * {}\ndef find(n): return getattr(elsewhere, n)", "N"),
        ("class T:\n def told(s, v): return v * {}\n def find(s, n): return getattr(s, n)", "M"),
        ("def told(v): return v * {}\ndef find(n): return operator.attrgetter(n)(elsewhere)", "M"),
        ("def told(v): return v * {}\ndef find(n): return operator.methodcaller(n)(elsewhere)", "M"),
        ("def told(v): return v * {}\ndef find(n): return operator.attrgetter('told')(elsewhere)", "N"),
        ("def told(v): return v * {}\ndef find(n): return getattr(sys.modules[n], n)", "M"),
        ("def told(v): return v * {}\nlook = getattr", "M"),
        ("def told(v): return v * {}\nlook = functools.partial(getattr, elsewhere)", "M"),
        ("class T:\n def told(s, v): return v * {}\ndef find(n): return T.__dict__[n]", "M"),
        ("class T:\n def told(s, v): return v * {}\ndef find(n): return T.__dict__['told']", "M"),
        ("class T:\n def told(s, v): return v * {}\ndef find(n): return T.__dict__['other']", "N"),
        ("class T:\n def told(s, v): return v * {}\ndef find(n): return vars(T)[n]", "M"),
        ("class T:\n def told(s, v): return v * {}\ndef find(n): return vars(T).get(n)", "M"),
        ("class T:\n def told(s, v): return v * {}\ndef find(n): return vars(elsewhere).get(n)", "N"),
        ("class T:\n def told(s, v): return v * {}\n def find(s, n): return s.__getattribute__(n)", "M"),
        ("class T:\n def told(s, v): return v * {}\n def find(s, n): return object.__getattribute__(s, n)", "M"),
        ("class T:\n def told(s, v): return v * {}\n def put(s, **given): s.__dict__.update(given)", "N"),
        ("class S:\n def told(s, v): return v * {}\nclass T(S):\n def find(s, n): return getattr(s, n)", "M"),
        ("class T:\n def told(s, v): return v * {}\n def find(s, n): return getattr(s, 'a')", "N"),
        ("class T:\n def __init_subclass__(c): TABLE.append(c)\nclass U(T):\n def g(s, v): return v * {}", "M"),
        ("class M(type): pass\nclass T(metaclass=M):\n def g(s, v): return v * {}", "M"),
        ("import abc\nclass T(metaclass=abc.ABCMeta):\n def g(s, v): return v * {}", "N"),
    ],
)
def test_functions_that_nothing_names(kept: str, expected: str) -> None:
    """A program may find them by computed names, or keep its classes where they are made."""
    text = f"import sys\n{kept}\ndef f(p, o): return o.run(p)\n"
    assert levels(text.replace("{}", "lax.axis_index('i')")) == expected
    assert levels(text.replace("{}", "2")) == "N"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("C.append(2.0)\n return p * C[0]", "N"),
        ("C.append(x)\n return p * C[0]", "M"),
        ("C.append(lambda v: v * lax.axis_index('i'))\n return C[0](p)", "M"),
        ("C.append(lambda v: v * x)\n return C[0](p)", "M"),
        ("C.append(lambda v: v * 2)\n return C[0](p)", "N"),
        ("mine = []\n C.append(mine)\n mine.append(2.0)\n return p * C[0][0]", "N"),
        ("mine = []\n C.append(mine)\n mine.append(x)\n return p * C[0][0]", "M"),
        ("mine = []\n mine.append(x)\n C.append(mine)\n return p * C[0][0]", "M"),
        ("mine = []\n for _ in range(2):\n  mine.append(x)\n  C.append(mine)\n return p * C[0][0]", "M"),
        ("mine, all = [], []\n all.append(mine)\n C.append(all)\n mine.append(x)\n return p * C[0][0][0]", "M"),
        ("C.append(2.0)\n for _ in range(2):\n  q = p * C[0]\n  C.append(x)\n return q", "M"),
        ("if jax.process_index() == 0:\n  C.append(2.0)\n return p * len(C)", "M"),
        ("C.append(jax.process_index())\n return p * C[0]", "M"),
        ("global G\n G = 2.0\n return p * G", "N"),
        ("global G\n G = x\n return p * G", "M"),
        ("D.a = 2.0\n return p * D.a", "N"),
        ("D.a = x\n return p * D.b.a", "M"),
        ("elsewhere.keep(C, 2.0)\n return p * C[0]", "M"),
        # a number that is multiplied by what stands outside is no part of it
        ("r = 1.0\n for k in C:\n  r *= C[0]\n  r *= x\n return p * C[0]", "N"),
        ("r = 1\n for k in C:\n  r *= C[0]\n  r += x\n return p * C[0]", "M"),
    ],
)
def test_what_is_stored_outside(body: str, expected: str) -> None:
    """What is the same on all devices may be stored outside, if nothing that is stored changes later."""
    head = "C = elsewhere.made()\nD = elsewhere.made()\nG = 1.0\n"
    assert levels(f"{head}def f(p, x):\n {body}\n") == expected


@pytest.mark.parametrize(
    ("callback", "expected"),
    [
        ("np.linalg.eigh", "N"),
        ("abs", "N"),
        ("lambda v: np.argsort(-v.sum(axis=0))", "N"),
        ("lambda v: K * v", "N"),
        ("recursive", "N"),
        ("np.random.permutation", "M"),
        ("lambda v: v + np.random.rand()", "M"),
        ("lambda v: sorted(v, key=np.random.rand)", "M"),
        ("lambda v: np.random.default_rng(0).normal()", "M"),
        ("lambda v: v + time.time()", "M"),
        ("lambda v: v * os.getpid()", "M"),
        ("lambda v: v * jax.process_index()", "M"),
        ("lambda v: v + L[0]", "M"),
        ("lambda v: L.append(v) or v * len(L)", "M"),
        ("lambda v: elsewhere.f(v)", "M"),
        ("lambda v: v.of_my_own()", "M"),
        ("lambda v, seen=[]: seen.append(1) or v * len(seen)", "M"),
        ("lambda v: (yield)", "M"),
        ("lambda v: np.add(v, 1, out=L)", "M"),
        ("lambda v: v + p", "M"),
        ("aliased", "M"),
        ("counted", "M"),
        ("stored", "M"),
        ("kept", "M"),
        ("opened", "M"),
        ("inner", "M"),
        ("functools.partial(np.add, 1)", "M"),
        ("elsewhere.f", "M"),
        ("M", "M"),
    ],
)
def test_what_runs_on_the_host(callback: str, expected: str) -> None:
    """A pure callback gives equal devices equal things only if it can be read to be a function of its arguments."""
    text = f"""
K, N, L, M = 3, 2, [1], elsewhere.made()
def recursive(v): return v if len(v) < 2 else recursive(v[1:])
def aliased(v):
 mine = L
 mine.append(1)
 return v * len(mine)
def counted(v):
 global N
 N += 1
 return v * N
def stored(v):
 L[0] += 1
 return v
def kept(v):
 kept.calls = getattr(kept, 'calls', 0) + 1
 return v * kept.calls
def opened(v):
 with open('a') as file:
  return v * len(file.read())
def inner(v):
 def draw(): return np.random.rand()
 return v * draw()
def f(p): return jax.pure_callback({callback}, p, p)
"""
    assert levels(text) == expected


TAPS = "from jax.experimental import host_callback as hcb\nfrom jax.experimental.host_callback import id_tap\n"


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("hcb.id_tap(print, p), hcb.id_tap(print, x), id_tap(print, arg=p)", "NYN"),
        ("hcb.id_print(p), hcb.id_print(x, what='x'), hcb.id_print(x, result=p)", "NYY"),
        ("hcb.id_tap(print, p, result=None), hcb.id_tap(print, p, result=x)", "NY"),
        ("hcb.id_tap(*p), hcb.call(abs, p, result_shape=p)", "MM"),
        ("id_tap(lambda v, t: L.append(v), p), p + L[0]", "NM"),
    ],
)
def test_a_tap_gives_what_it_is_given(expression: str, expected: str) -> None:
    assert levels(f"{TAPS}L = [1]\ndef f(p, x): return {expression}\n") == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("hcb.id_tap(print, v)", False),
        ("(hcb.id_print(v), hcb.barrier_wait())", False),
        ("id_tap(print, v)", False),
        ("io_callback(print, None, v)", False),
        ("io_callback(print, result_shape_dtypes=None, ordered=True)", False),
        ("hcb.call(abs, v, result_shape=v)", True),
        ("getattr(hcb, 'call')(abs, v, result_shape=v)", True),
        ("io_callback(abs, v, v)", True),
        ("io_callback(*v)", True),
        ("elsewhere.g(hcb)(v)", True),
        ("elsewhere.g(io_callback)(v)", True),
        ("hcb.id_tap(print, lax.axis_index('i'))", True),
        ("(hcb.id_tap(print, v), io_callback(print, None, v), io_callback(abs, v, v))", True),
    ],
)
def test_a_call_of_the_host_that_gives_nothing_back_tells_no_devices_apart(body: str, expected: bool) -> None:
    text = f"{PRELUDE}{TAPS}def g(v): return {body}\nhooks = {{'a': g}}\n"
    module = parse_module(Path("/nowhere/a.py"), text)
    assert introduces_variance(Resolver(Project([module])), frozenset("i")) is expected


def test_a_module_of_taps_by_another_name_elsewhere() -> None:
    taps = parse_module(Path("/nowhere/taps.py"), "from jax.experimental import host_callback as hcb\n")
    user = "from taps import hcb\ndef g(v): return hcb.call(abs, v, result_shape=v)\nhooks = {'a': g}\n"
    modules = [taps, parse_module(Path("/nowhere/a.py"), user)]
    assert introduces_variance(Resolver(Project(modules)), frozenset("i"))


@pytest.mark.parametrize(
    ("decorated", "expected"),
    [
        ("@helper\ndef g(v): return np.argsort(v)", "N"),
        ("@helper\ndef g(v): return np.random.permutation(v)", "M"),
        ("@helper\n@elsewhere.f\ndef g(v): return np.argsort(v)", "M"),
        ("@elsewhere.f\n@helper\ndef g(v): return np.argsort(v)", "N"),
        ("g = helper(np.argsort)", "N"),
        ("g = helper(np.random.permutation)", "M"),
        ("g = helper(elsewhere.f)", "M"),
        ("g = helper(np.argsort)\nother = helper(np.random.permutation)", "M"),
        ("g = helper(np.argsort)\nother = [helper]", "N"),  # which nothing reads
        ("g = helper(np.argsort)\nelsewhere.f([helper])", "M"),
        ("g = helper(np.argsort)\nTABLE = {helper: 1}\nfor of, n in TABLE.items(): elsewhere.f(of)", "M"),
        ("g = helper(*elsewhere.f)", "M"),
    ],
)
def test_callbacks_of_a_function_that_is_passed(decorated: str, expected: str) -> None:
    text = f"""
def helper(of):
 def run(v): return np.stack([of(one) for one in v])
 def traced(v): return jax.pure_callback(run, v, v)
 return traced
{decorated}
def f(p): return g(p)
"""
    assert levels(text) == expected


def test_nothing_is_known_after_a_statement_of_a_kind_that_is_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "def f(p):\n try:\n  p = p + 1\n finally:\n  pass\n return p"
    assert reading(text).returned.level == Level.NO
    monkeypatch.delitem(statements.HANDLERS, ast.Try)
    assert reading(text).returned.level == Level.MAY
