"""Random bodies of shard_map: each statement makes a new variable from earlier ones.

A body takes `x`, the device's own row, `p`, the same everywhere, and `key`, also the same; all arrays have shape (4,).
Whatever a statement does, its values depend on all of its operands for generic data, so that "varies" can be seen.
"""

from __future__ import annotations

import random
from collections.abc import Callable

PRELUDE = """\
import dataclasses
import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

SCALE = 1.5


class Pair(NamedTuple):
    left: Any
    right: Any


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class State:
    params: Any
    stats: Any


def total(v):
    return lax.psum(v, "i")


def blend(a, b=None, *, scale=SCALE):
    if b is None:
        return scale * jnp.sin(a)
    return scale * jnp.sin(a) + jnp.cos(b)


def swap(pair):
    a, b = pair
    return b, a


def step(state, v):
    return dataclasses.replace(state, stats=state.stats + jnp.tanh(v))


def make(offset):
    def shifted(v):
        return jnp.sin(v + offset)
    return shifted


def collect(into, v):
    into.append(jnp.cos(v))
    return into


@jax.custom_vjp
def cubed(v):
    return v ** 3


def cubed_forward(v):
    return v ** 3, v


def cubed_backward(v, g):
    return (3 * v ** 2 * g,)


cubed.defvjp(cubed_forward, cubed_backward)
"""

LIBRARIES = """

import flax.linen as nn
import optax
from flax.training.dynamic_scale import DynamicScale

SCALER = DynamicScale(scale=4.0)
DENSE = nn.Dense(4)
"""

Pick = Callable[[], str]


def _collective(r: random.Random, a: Pick, n: str) -> list[str]:
    return [
        r.choice(
            [
                f"{n} = lax.psum({a()}, 'i')",
                f"{n} = lax.pmean({a()}, 'i')",
                f"{n} = lax.pmax({a()}, axis_name='i')",
                f"{n} = lax.pmin({a()}, ('i',))",
                f"{n} = lax.all_gather({a()}, 'i').sum(0)",
                f"{n} = lax.ppermute({a()}, 'i', [(k, (k + 1) % 8) for k in range(8)])",
                f"{n} = lax.psum_scatter(jnp.tile({a()}, (8, 1)) * jnp.arange(1., 9.)[:, None], 'i')",
                f"{n} = lax.all_to_all(jnp.outer(jnp.arange(1., 9.), {a()}), 'i', 0, 0)[0]",
                f"{n} = {a()} * (lax.axis_index('i') + 1)",
                f"{n} = total({a()})",
                f"{n} = {a()} / lax.psum(1, 'i')",
                f"{n} = jax.tree.map(lambda v: lax.pmean(v, 'i'), {{'k': {a()}, 'm': {a()}}})['k']",
                f"{n} = 0.5 * {a()} - lax.stop_gradient(lax.pmean({a()}, 'i'))",
            ]
        )
    ]


def _arithmetic(r: random.Random, a: Pick, n: str) -> list[str]:
    return r.choice(
        [
            [f"{n} = {a()} * {a()} + 1.25"],
            [f"{n} = jnp.sin({a()}) - 0.5 * {a()}"],
            [f"{n} = blend({a()})"],
            [f"{n} = blend({a()}, b={a()}, scale=0.5)"],
            [f"{n} = jnp.where({a()} > 0.1, {a()}, {a()} + 0.3)"],
            [f"{n} = {a()}.at[1].add({a()}[2])"],
            [f"{n} = jnp.zeros_like({a()}) + {a()}.shape[0]"],
            [f"{n} = {a()}", f"{n} += jnp.exp(-{a()} ** 2)"],
            [f"{n} = functools.partial(blend, {a()})({a()})"],
            [f"{n} = make({a()})({a()})"],
            [f"{n} = jax.jit(lambda v: v * {a()})({a()})"],
            [f"{n} = jax.checkpoint(blend)({a()}, {a()})"],
            [f"{n} = {a()} + cubed({a()})"],
            [f"{n} = {a()} if {a()}.ndim > 5 else {a()} * 2"],
            [f"{n} = jax.random.normal(key, (4,)) + {a()}"],
            [f"{n} = jax.random.normal(jax.random.fold_in(key, lax.axis_index('i')), (4,))"],
            [f"{n} = jnp.stack([{a()}, {a()}]).mean(0)"],
            [f"{n} = lax.dynamic_slice(jnp.tile({a()}, 2), (2,), (4,))"],
        ]
    )


def _container(r: random.Random, a: Pick, n: str) -> list[str]:
    return r.choice(
        [
            [f"{n}_l = [{a()}]", f"collect({n}_l, {a()})", f"{n} = {n}_l[{r.randrange(2)}]"],
            [f"{n}_l = [{a()}]", f"{n}_m = {n}_l", f"{n}_m.append({a()})", f"{n} = sum({n}_l)"],
            [f"{n}_d = {{'a': {a()}, 'b': {a()}}}", f"{n} = {n}_d['{r.choice('ab')}']"],
            [f"{n}_d = dict(a={a()})", f"{n}_e = {n}_d", f"{n}_e['a'] = {a()}", f"{n} = {n}_d['a']"],
            [f"{n}_d = dict(a={a()})", f"{n}_d.update(b={a()})", f"{n} = {n}_d.pop('{r.choice('ab')}')"],
            [f"{n}, {n}_o = swap(({a()}, {a()}))"],
            [f"{n}_p = Pair({a()}, right={a()})", f"{n} = {n}_p._replace(left={a()}).{r.choice(['left', 'right'])}"],
            [f"{n}, {n}_o = Pair({a()}, right={a()})"],
            [f"{n} = Pair({a()}, {a()})[{r.randrange(2)}]"],
            [f"{n} = blend(*Pair({a()}, {a()}))"],
            [f"{n} = jax.tree.reduce(lambda s, v: s + v, {{'u': {a()}, 'v': Pair({a()}, {a()})}})"],
            [f"{n}_s = step(State({a()}, {a()}), {a()})", f"{n} = {n}_s.{r.choice(['params', 'stats'])}"],
            [f"{n} = sum(v * 2 for v in ({a()}, {a()}))"],
            [f"{n} = {{k: v + 1 for k, v in dict(a={a()}, b={a()}).items()}}['{r.choice('ab')}']"],
            [f"{n} = functools.reduce(lambda s, v: s + v, [{a()}, {a()}], {a()})"],
            [f"{n} = jax.tree.map(lambda u, v: u - 0.5 * v, ({a()}, {a()}), ({a()}, {a()}))[{r.randrange(2)}]"],
            [f"{n} = {a()}", f"for {n}_v in ({a()}, {a()}):", f"    {n} = {n} + {n}_v"],
            [f"{n} = {a()}", f"for {n}_k in range(9):", f"    {n} = blend({n}, {a()})"],
            [f"{n}_q, *{n}_r = [{a()}, {a()}, {a()}]", f"{n} = {n}_r[-1]"],
            [f"{n} = sum(jax.tree.leaves({{'u': {a()}, 'v': [{a()}]}}))"],
            [
                f"def {n}_f(v, seen=[]):",
                "    seen.append(v)",
                "    return sum(seen) if len(seen) < 2 else seen[0]",
                f"{n} = {n}_f({a()}) + {n}_f({a()})",
            ],
            [
                f"{n}_c = {a()}",
                f"def {n}_f(v):",
                f"    nonlocal {n}_c",
                f"    {n}_c = {n}_c + v",
                f"{n}_f({a()})",
                f"{n} = {n}_c",
            ],
        ]
    )


def _control(r: random.Random, a: Pick, n: str) -> list[str]:
    return r.choice(
        [
            [f"{n} = lax.cond({a()}[0] > 0.2, lambda u: u * 2, lambda u: u + 1, {a()})"],
            [f"{n} = lax.switch({a()}[0].astype(int), [lambda u: u, lambda u: u * {a()}], {a()})"],
            [f"{n}, {n}_y = lax.scan(lambda c, v: (c + jnp.sin(v), c * v), {a()}, jnp.stack([{a()}, {a()}]))"],
            [f"_, {n}_y = lax.scan(lambda c, v: (c * 1.5, c + v), {a()}, jnp.stack([{a()}] * 2))", f"{n} = {n}_y[1]"],
            [f"{n} = lax.fori_loop(0, 3, lambda k, c: blend(c, {a()}) + k, {a()})"],
            [f"{n} = lax.while_loop(lambda c: c[1] < 3, lambda c: (c[0] * 1.5 + {a()}, c[1] + 1), ({a()}, 0))[0]"],
            [f"{n} = jax.vmap(lambda v: v * {a()}[0])({a()})"],
            [f"{n} = jax.vmap(lambda v: v - lax.pmean(v, 'j'), axis_name='j')({a()})"],
            [f"{n} = jax.vmap(lambda v: v + lax.psum(v, 'i'), axis_name='i')({a()})"],
            [f"{n} = lax.map(lambda v: v * {a()}[1], {a()})"],
        ]
    )


def _gradient(r: random.Random, a: Pick, n: str) -> list[str]:
    loss = r.choice(
        [
            "jnp.mean((w * {0} + {1}) ** 2)",
            "lax.pmean(jnp.sum(jnp.sin(w) * {0}), 'i')",
            "jnp.sum(cubed(w) * {0})",
            "jnp.sum(w ** 3 * lax.stop_gradient({0}))",
            "lax.psum(jnp.sum(w ** 3 + {0}), 'i')",
        ]
    ).format(a(), a())
    return r.choice(
        [
            [f"{n} = jax.grad(lambda w: {loss})({a()})"],
            [f"{n}_l, {n} = jax.value_and_grad(lambda w: {loss})({a()})"],
            [f"({n}_l, {n}), {n}_g = jax.value_and_grad(lambda w: ({loss}, w + {a()}), has_aux=True)({a()})"],
            [
                f"{n}_s = jax.grad(lambda w, b: {loss} + jnp.sum((b * w) ** 2), argnums=(0, 1))({a()}, {a()})",
                f"{n} = {n}_s[{r.randrange(2)}]",
            ],
            [f"{n} = lax.pmean(jax.grad(lambda w: {loss})({a()}), 'i')"],
            [f"{n}_o, {n}_b = jax.vjp(lambda w: w * {a()}, {a()})", f"{n} = {n}_b({a()})[0]"],
            [f"{n} = jax.jvp(lambda w: jnp.sin(w) * {a()}, ({a()},), ({a()},))[1]"],
        ]
    )


def _handed(r: random.Random, a: Pick, n: str) -> list[str]:
    """Functions that see other values are given to libraries, which run them."""
    loss = f"jnp.mean((w * {a()} - {a()}) ** 2)"
    weights = "{'kernel': jnp.eye(4) / 2, 'bias': " + a() + "}"
    made = r.choice(
        [
            f"{n}_f = lambda w: {loss}",
            f"{n}_f = jax.jit(lambda w: {loss})",
            f"{n}_f = functools.partial(lambda b, w: {loss} + b.sum(), {a()})",
            f"def {n}_f(w): return {loss}",
            f"def {n}_f(w, b={a()}): return {loss} + b.sum()",
        ]
    )
    used = r.choice(
        [
            [f"{n} = SCALER.value_and_grad({n}_f)({a()})[3]"],
            [f"{n}_s, {n}_i, {n}_v, {n} = SCALER.value_and_grad({n}_f, axis_name='i')({a()})"],
            [f"{n} = {a()} * SCALER.value_and_grad({n}_f, axis_name='i')({a()})[0].scale"],
            [f"{n}_g = SCALER.value_and_grad({n}_f, axis_name=None)", f"{n} = {n}_g({a()})[3]"],
            [f"{n} = DENSE.apply({{'params': {weights}}}, {a()}, method=lambda m, v: m(v) + {n}_f(v))"],
            [f"{n} = DENSE.apply({{'params': {weights}}}, {a()}, method=lambda m, v: m(v) * {a()})"],
            [
                f"{n}_t = optax.scale_by_backtracking_linesearch(2, store_grad=True)",
                f"{n}_v, {n} = optax.value_and_grad_from_state({n}_f)({a()}, state={n}_t.init({a()}))",
            ],
            [
                f"class {n}_M(nn.Module):",
                f"    def __call__(self, v): return v + {a()}",
                f"{n} = {n}_M().apply({{}}, {a()})",
            ],
            [
                f"{n}_l = [{a()}]",
                f"{n}_o = DENSE.apply({{'params': {weights}}}, {a()}, method=lambda m, v: {n}_l.append(m(v) + {a()}))",
                f"{n} = sum({n}_l)",
            ],
        ]
    )
    return [made, *used]


KINDS = [(_collective, 4), (_arithmetic, 4), (_container, 3), (_control, 2), (_gradient, 2)]
HANDED = [*KINDS, (_handed, 6)]


def body(seed: int, name: str, length: int, *, handed: bool = False) -> str:
    """The text of one body; it returns every variable that its statements make. `handed` are functions to libraries."""
    kinds = HANDED if handed else KINDS
    r = random.Random(seed)
    known, made, lines = ["x", "p"], list[str](), list[str]()
    for index in range(length):
        new = f"v{index}"
        kind = r.choices([k for k, _ in kinds], [w for _, w in kinds])[0]
        lines += kind(r, lambda: r.choice(known[-4:] if r.random() < 0.6 else known), new)
        known.append(new)
        made.append(new)
    text = "".join(f"    {line}\n" for line in lines)
    return f"def {name}(x, p, key):\n{text}    return ({', '.join(made)},)\n"


def program(seeds: range, length: int, *, handed: bool = False) -> str:
    """A module of bodies, one for each seed."""
    bodies = "".join("\n\n" + body(seed, f"body_{seed}", length, handed=handed) for seed in seeds)
    return PRELUDE + (LIBRARIES if handed else "") + bodies
