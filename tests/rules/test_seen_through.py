"""What lint sees through: first rounds of loops, starred arguments, kernels, imports that may fail, methods by name."""

from __future__ import annotations

import pytest

from jaxmigrate.config import Config
from jaxmigrate.lint.linting import lint
from jaxmigrate.sources import decode

PRELUDE = """\
import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import Mesh, PartitionSpec as P
"""


def found(text: str, *codes: str) -> list[tuple[str, int]]:
    """The codes of what is found in a module, with the lines of its text; only some codes, if any are given."""
    source = decode((PRELUDE + text).encode(), "a.py", None)
    lines = PRELUDE.count("\n")
    told = [one for one in lint([source], Config()) if not one.code.startswith(("JM4", "JM5")) or one.code in codes]
    return [(one.code, one.line - lines) for one in told]


LOOP = """\
def step(params, x):
    g = jax.grad(lambda p: jnp.mean((x @ p) ** 2))(params)
    {before}
    g = lax.while_loop(lambda g: jnp.linalg.norm(g) > 1.0, lambda g: 0.5 * {body}, g)
    return params - lax.pmean(g, "i")
mesh = Mesh(jax.devices(), ("i",))
f = jax.jit(jax.shard_map(step, mesh=mesh, in_specs=(P(), P("i")), out_specs=P(), check_vma=False))
"""


@pytest.mark.parametrize(
    ("before", "body", "codes"),
    [
        ("pass", 'lax.pmean(g, "i")', ["JM301"]),
        ("g = lax.pmean(g, 'i')", "g", []),
        ("pass", "g", []),  # each device goes round as often as it likes
    ],
)
def test_a_loop_that_some_devices_never_enter_hangs(before: str, body: str, codes: list[str]) -> None:
    """What the test sees at first is each device's own, whatever the body reduces after that."""
    told = [code for code, _ in found(LOOP.format(before=before, body=body)) if code == "JM301"]
    assert told == codes


DONATED = """\
def step(state, *batch):
    return state + 1.0
step = jax.jit(step, donate_argnums=0)
def train(state, batches):
    for batch in batches:
        {target} = step({arguments})
        print(state.sum())
        state = {target}
    return state
"""


@pytest.mark.parametrize(
    ("target", "arguments", "told"),
    [("new", "state, *batch", True), ("state", "state, *batch", False), ("new", "*batch, state", False)],
)
def test_what_stands_before_a_star_is_donated_as_well(target: str, arguments: str, told: bool) -> None:
    """A starred argument hides only those after it."""
    text = DONATED.format(target=target, arguments=arguments)
    assert found(text, "JM506") == ([("JM506", 7)] if told else [])


PERMUTED = """\
def pairs(n):
    left = tuple((i, (i - 1) % {modulus}) for i in range(n))
    right = tuple((i, (i + 1) % n) for i in range(n))
    return left, right
def exchange(x):
    n = lax.axis_size("i")
    left, right = pairs(n)
    return lax.ppermute(x, "i", left), lax.ppermute(x, "i", right)
f = jax.pmap(exchange, axis_name="i")
"""


@pytest.mark.parametrize(("modulus", "told"), [("n", False), ("(n - 1)", True)])
def test_pairs_that_a_function_makes_are_read(modulus: str, told: bool) -> None:
    """Also as one element of the tuple that it returns."""
    assert found(PERMUTED.format(modulus=modulus)) == ([("JM108", 2)] if told else [])


@pytest.mark.parametrize(
    ("pairs", "told"),
    [
        ("[(i, i + 1) for i in range(n)]", True),
        ("list(zip(range(n), range(1, n + 1)))", True),
        ("[(i, i + 1) for i in range(n - 1)]", False),  # a pipeline, whose first stage is sent zeros
        ("[(i, i - 1) for i in range(n)]", False),  # which JAX takes for a ring: -1 is the last
        ("[(i, (i + 1) % n) for i in range(n)]", False),
    ],
)
def test_no_device_sends_to_one_that_there_is_not(pairs: str, told: bool) -> None:
    """JAX 0.10.2 raises an IndexError."""
    text = f"""\
def exchange(x):
    n = lax.axis_size("i")
    return lax.ppermute(x, "i", {pairs})
f = jax.pmap(exchange, axis_name="i")
"""
    assert found(text) == ([("JM108", 3)] if told else [])


KERNEL = """\
try:
    from jax.experimental import pallas as pl
except ImportError:
    pl = None
def double(ref, out):
    out[...] = 2 * ref[...]
def body(x):
    call = pl.pallas_call(double, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))
    return {result}
mesh = Mesh(jax.devices(), ("i",))
f = jax.jit(jax.shard_map(body, mesh=mesh, in_specs=P("i"), out_specs=P(), check_vma=False))
"""


@pytest.mark.parametrize(("result", "codes"), [("call(x)", [("JM201", 11)]), ('lax.psum(call(x), "i")', [])])
def test_what_a_kernel_gives_differs_as_what_it_is_given(result: str, codes: list[tuple[str, int]]) -> None:
    """Also where the import of pallas may fail."""
    assert found(KERNEL.format(result=result)) == codes


def test_a_kernel_that_sends_to_other_devices_may_reduce() -> None:
    """Then nothing is known of what it gives."""
    sends = KERNEL.format(result="call(x)").replace(
        "out[...] =", "pltpu.make_async_remote_copy(ref, out)\n    out[...] ="
    )
    assert found(sends) == []


METHOD = """\
from jax.experimental import multihost_utils
class Evaluation:
    def gather_results(self, values):
        return multihost_utils.process_allgather(values)
def main(evaluation, values):
    {condition}
        {call}
"""


@pytest.mark.parametrize(
    ("condition", "call", "told"),
    [
        ("if jax.process_index() == 0:", "evaluation.gather_results(values)", True),
        ("if values:", "evaluation.gather_results(values)", False),
        ("if jax.process_index() == 0:", "evaluation.print_results(values)", False),
    ],
)
def test_the_only_method_of_a_name_is_what_is_called(condition: str, call: str, told: bool) -> None:
    """Whatever object it is called on: nothing else in the program has that name."""
    assert found(METHOD.format(condition=condition, call=call)) == ([("JM301", 7)] if told else [])


SUMMED = """\
def step(params, x):
    loss = jnp.mean((x @ params) ** 2)
    count = {count}
    return lax.psum(loss, "i") / count
f = jax.pmap(step, axis_name="i", in_axes=(None, 0))
"""


@pytest.mark.parametrize(("count", "told"), [("x.shape[0]", True), ("lax.axis_size('i')", False), ("8", False)])
def test_a_sum_of_means_is_not_divided_by_the_length_of_a_block(count: str, told: bool) -> None:
    """Whatever the name is that holds the length: each mean was divided by it already."""
    assert found(SUMMED.format(count=count)) == ([("JM207", 4)] if told else [])


DRAWN = """\
def step(params, x, source):
    noise = jax.random.normal(source, x.shape)
    return lax.pmean(params * jnp.mean(x + noise), "i")
f = jax.pmap(step, axis_name="i")
def train(params, x):
    source = jax.random.key(0)
    return f(params, x, {given})
"""


@pytest.mark.parametrize(
    ("given", "told"),
    [("jnp.broadcast_to(source, (8,))", True), ("jax.random.split(source, 8)", False)],
)
def test_what_is_drawn_from_is_a_key(given: str, told: bool) -> None:
    """Whatever its name is."""
    assert [code for code, _ in found(DRAWN.format(given=given))] == (["JM205"] if told else [])
