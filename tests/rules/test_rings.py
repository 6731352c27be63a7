"""JM116: loops in which blocks go round a ring, rightly and wrongly; each was run on 8 devices."""

from __future__ import annotations

import pytest

from jaxmigrate.config import Config
from jaxmigrate.lint.linting import lint
from jaxmigrate.sources import decode

TOP = """\
import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import Mesh, PartitionSpec as P

mesh = Mesh(jax.devices(), ("d",))
N = 8


def turn(x):
    n = lax.axis_size("d")
    return lax.ppermute(x, "d", [(i, (i + 1) % n) for i in range(n)])


def turn_all(tree, axis):
    size = lax.psum(1, axis)
    perm = [((j + 1) % size, j) for j in range(size)]
    return jax.tree.map(lambda x: lax.ppermute(x, axis, perm), tree)


def body(x):
"""
END = """

if __name__ == "__main__":
    x = jnp.arange(1.0, 17.0)
    print(jax.jit(jax.shard_map(body, mesh=mesh, in_specs=P("d"), out_specs=P("d"), check_vma=False))(x))
"""
SUMS = {  # of all blocks, on each device
    "rounds as devices, from the own block": """\
n = lax.axis_size("d")
total, part = x, x
for _ in range(n):
    part = turn(part)
    total += part
return total
""",
    "by numbers": """\
total = x
part = x
for i in range(N):
    part = lax.ppermute(part, "d", [(j, (j - 1) % N) for j in range(N)])
    total = total + part
return total
""",
    "scan of one round less": """\
def round(carry, _):
    part, total = carry
    total = total + part
    return (turn(part), total), None
(_, total), _ = lax.scan(round, (x, jnp.zeros_like(x)), None, length=lax.axis_size("d") - 1)
return total
""",
    "fori_loop of one round less": """\
n = lax.psum(1, "d")
def round(i, carry):
    total, (part, own) = carry
    return total + part, turn_all((part, own), "d")
total, (_, rest) = lax.fori_loop(0, n - 1, round, (x, (x, x)))
return total
""",
    "for of one round less": """\
total = jnp.zeros_like(x)
part = x
for _ in range(N - 1):
    total = total + 2 * part
    part = lax.ppermute(part, "d", [(j, (j + 1) % N) for j in range(N)])
return total / 2
""",
}
GATHERS = {  # of all blocks, in order
    "against the shift": """\
me = lax.axis_index("d")
n = lax.axis_size("d")
out = jnp.zeros((n * x.shape[0],))
def round(i, carry):
    part, out = carry
    out = lax.dynamic_update_slice(out, part, ((me + i) % n * x.shape[0],))
    return turn(part), out
return lax.fori_loop(0, n, round, (x, out))[1]
""",
    "against a shift to the one before": """\
me = lax.axis_index("d")
out = jnp.zeros((N, x.shape[0]))
part = x
for i in range(N):
    source = jnp.mod(me - i + N, N)
    out = out.at[source].set(part)
    part = turn_all(part, "d")
return out.reshape(-1)
""",
}
RIGHT = {
    "one round less, moved first": """\
total, part = x, x
for _ in range(lax.axis_size("d") - 1):
    part = turn(part)
    total += part
return total
""",
    "from zeros": """\
total, part = jnp.zeros_like(x), x
for _ in range(N):
    part = lax.ppermute(part, "d", [(j, (j + 1) % N) for j in range(N)])
    total += part
return total
""",
    "added first": """\
def round(carry, _):
    part, total = carry
    return (turn(part), total + part), None
(_, total), _ = lax.scan(round, (x, jnp.zeros_like(x)), None, length=lax.axis_size("d"))
return total
""",
    "the last one used after the loop": """\
def round(carry, _):
    part, total = carry
    return (turn(part), total + part), None
(last, total), _ = lax.scan(round, (x, jnp.zeros_like(x)), None, length=lax.axis_size("d") - 1)
return total + last
""",
    "the last one used after a for": """\
total, part = jnp.zeros_like(x), x
for _ in range(N - 1):
    total = total + part
    part = lax.ppermute(part, "d", [(j, (j + 1) % N) for j in range(N)])
return total + part
""",
    "with the shift": """\
me = lax.axis_index("d")
out = jnp.zeros((N * x.shape[0],))
def round(i, carry):
    part, out = carry
    out = lax.dynamic_update_slice(out, part, ((me - i) % N * x.shape[0],))
    return turn(part), out
return lax.fori_loop(0, N, round, (x, out))[1]
""",
    "with a shift to the one before": """\
me = lax.axis_index("d")
out = jnp.zeros((N, x.shape[0]))
part = x
for i in range(N):
    out = out.at[(me + i) % N].set(part)
    part = turn_all(part, "d")
return out.reshape(-1)
""",
    "both ways at once": """\
me = lax.axis_index("d")
out = jnp.zeros((N, x.shape[0]))
up = down = x
for i in range(N):
    out = out.at[(me - i) % N].set(up)
    out = out.at[(me + i) % N].set(down)
    up, down = turn(up), turn_all(down, "d")
return out.reshape(-1)
""",
    "the others alone": """\
total, part = jnp.zeros_like(x), x
for _ in range(N - 1):
    part = turn(part)
    total += part
return total
""",
    "a pipeline": """\
me = lax.axis_index("d")
state, out = jnp.zeros_like(x), jnp.zeros((N, x.shape[0]))
for i in range(N - 1 + N):
    state = jnp.where(me == 0, x * i, state) + 1
    out = out.at[(i - me) % N].set(state)
    state = lax.ppermute(state, "d", [(j, (j + 1) % N) for j in range(N)])
return out.reshape(-1)
""",
    "parts of a sum that go round": """\
me = lax.axis_index("d")
table = jnp.arange(N * 2.0).reshape(N, 2) * (me + 1)
total = jnp.zeros_like(x)
for i in range(N):
    total = turn(total) + table[(me - i - 1) % N]
return total
""",
    "a prefix sum": """\
total, part = x, x
for _ in range(N - 1):
    part = lax.ppermute(part, "d", [(j, j + 1) for j in range(N - 1)])
    total = total + part
return total
""",
    "neighbours that smooth": """\
for _ in range(N):
    x = 0.5 * (x + turn(x))
return x
""",
    "one round less in a loop that goes on": """\
total, part = jnp.zeros_like(x), x
for step in range(3):
    for _ in range(N - 1):
        total = total + part
        part = turn(part)
return total
""",
}


def program(lines: str) -> str:
    """A body as a whole program."""
    return TOP + "".join(f"    {line}\n" for line in lines.splitlines()) + END


def codes(lines: str) -> list[str]:
    """What is told of a body."""
    found = lint([decode(program(lines).encode(), "a.py", None)], Config())
    return [one.code for one in found if one.code not in ("JM501", "JM505")]


@pytest.mark.parametrize("name", [*SUMS, *GATHERS])
def test_a_ring_that_is_wrong(name: str) -> None:
    """Is told once."""
    assert codes((SUMS | GATHERS)[name]) == ["JM116"]


@pytest.mark.parametrize("name", RIGHT)
def test_a_ring_that_is_right(name: str) -> None:
    """Is not told."""
    assert codes(RIGHT[name]) == []
