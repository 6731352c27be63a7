"""JM211 in one function: values that are named and made alike, of which one is not reduced as its siblings are."""

from __future__ import annotations

import re

import pytest

from jaxmigrate.config import Config
from jaxmigrate.lint.linting import lint
from jaxmigrate.sources import decode

TOP = """\
from dataclasses import dataclass
import jax
import jax.numpy as jnp
from jax import lax
"""
PROGRAMS = {
    "one of a row over another axis": """\
def backward(res, dp, ep):
    d_wi_0, d_wi_1, d_wo = res
    d_wi_0 = jax.lax.psum(d_wi_0, axis_name=dp)
    d_wi_1 = jax.lax.psum(d_wi_1, axis_name=dp)
    d_wo = jax.lax.psum(d_wo, axis_name=ep)  # JM211
    return d_wi_0, d_wi_1, d_wo
""",
    "a row over one axis": """\
def backward(res, dp, ep):
    d_wi_0, d_wi_1, d_wo = res
    d_wi_0 = jax.lax.psum(d_wi_0, axis_name=dp)
    d_wi_1 = jax.lax.psum(d_wi_1, axis_name=dp)
    d_wo = jax.lax.psum(d_wo, axis_name=dp)
    return d_wi_0, d_wi_1, d_wo
""",
    "two and two over two axes": """\
def backward(res, dp, ep):
    a, b, c, d = res
    a = jax.lax.psum(a, dp)
    b = jax.lax.psum(b, dp)
    c = jax.lax.psum(c, ep)
    d = jax.lax.psum(d, ep)
    return a, b, c, d
""",
    "the second of three is left out": """\
def backward(res, axis):
    grad_0, grad_1, grad_2 = res
    grad_0 = lax.psum(grad_0, axis)
    grad_2 = lax.psum(grad_2, axis)  # JM211
    return grad_0, grad_1, grad_2
""",
    "all of them are reduced together": """\
def backward(res, axis):
    grad_0, grad_1, grad_2 = res
    grad_0 = lax.psum(grad_0, axis)
    grad_1, grad_2 = lax.psum((grad_1, grad_2), axis)
    return grad_0, grad_1, grad_2
""",
    "a weight that is not summed": """\
@dataclass
class Average:
    total: jax.Array
    weight: jax.Array
    def reduce(self):
        ntotal = jnp.sum(self.total)
        nweight = jnp.sum(self.weight)
        ntotal = jax.lax.psum(ntotal, axis_name="batch")  # JM211
        return Average(ntotal, nweight)
""",
    "a total and its weight are summed": """\
@dataclass
class Average:
    total: jax.Array
    weight: jax.Array
    def reduce(self):
        ntotal = jnp.sum(self.total)
        nweight = jnp.sum(self.weight)
        ntotal = jax.lax.psum(ntotal, axis_name="batch")
        nweight = jax.lax.psum(nweight, axis_name="batch")
        return Average(ntotal, nweight)
""",
    "a total over a fixed size": """\
def score(correct, batch_size):
    total_correct = jnp.sum(correct)
    total_correct = jax.lax.psum(total_correct, "batch")
    return total_correct / batch_size
""",
    "a mean over a sum": """\
def score(losses, mask, axis):
    loss_sum = jnp.sum(losses * mask)
    weight_sum = jnp.sum(mask)
    loss_sum = lax.pmean(loss_sum, axis)  # JM211
    weight_sum = lax.psum(weight_sum, axis)
    return safe_divide(loss_sum, weight_sum)
""",
    "a mean and a sum that are no ratio": """\
def score(losses, mask, axis):
    loss = jnp.mean(losses)
    weight_sum = jnp.sum(mask)
    loss = lax.pmean(loss, axis)
    weight_sum = lax.psum(weight_sum, axis)
    return loss, weight_sum
""",
    "the mean and the mean of squares of a norm": """\
class Norm:
    def __call__(self, x):
        mean = jnp.mean(x, 0)
        mean_of_squares = jnp.mean(x * x, 0)
        if self.axis is not None:
            mean, mean_of_squares = lax.pmean((mean, mean_of_squares), self.axis)
        var = mean_of_squares - jnp.square(mean)
        return (x - mean) * lax.rsqrt(var + 1e-5)
""",
    "a value and what it was before": """\
def step(x, axis):
    loss = jnp.mean(x)
    loss_local = loss
    loss = lax.pmean(loss, axis)
    return loss, loss_local
""",
}
CODE = re.compile("JM211")


@pytest.mark.parametrize("name", PROGRAMS)
def test_families(name: str) -> None:
    text = TOP + PROGRAMS[name]
    expected = [n for n, line in enumerate(text.splitlines(), 1) if CODE.search(line)]
    found = lint([decode(text.encode(), "main.py")], Config())
    assert [one.line for one in found if one.code == "JM211"] == expected
