"""Tuples given to maps whose parts have several layouts: their specs, their text, and several processes."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from jaxmigrate.migrate.project import fix_files
from tests.forks import Forks

STEP = """
import functools
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils


def step(carry, batch):
{body}


p_step = jax.pmap(step, axis_name="batch")


def main(batches):
    rngs = jax.random.split(jax.random.PRNGKey(0), jax.local_device_count())
    state = jax_utils.replicate(jnp.ones(3))
    for batch in batches:
        (rngs, state), loss = p_step((rngs, state), batch)
    return jax_utils.unreplicate(state)
"""
DRAWS = """
    rng, own = jax.random.split(rng)
    grad = jax.grad(lambda w: ((batch @ (w - jax.random.normal(own, w.shape))) ** 2).mean())(state)
    return (rng, state - 0.1 * jax.lax.pmean(grad, "batch")), jax.lax.pmean(grad.sum(), "batch")
"""


@pytest.mark.parametrize(
    ("unpacked", "written"),
    [
        ("    rng, state = carry", ["rng, state = carry\n    rng = rng.squeeze(0)\n", "own = jax.random.split(rng)"]),
        (
            "    rng, state = carry\n    print(carry)",
            ["carry = (jax.tree.map(lambda x: x.squeeze(0), carry[0]), carry[1])", "rng, own = jax.random.split(rng)"],
        ),
        (
            "    rng = carry[0]\n    state = carry[1]",
            ["carry = (jax.tree.map(lambda x: x.squeeze(0), carry[0]), carry[1])"],
        ),
    ],
)
def test_a_body_drops_the_axis_of_the_parts_that_have_one(unpacked: str, written: list[str]) -> None:
    after = fix_files({"main.py": STEP.format(body=unpacked + DRAWS)}, "auto")["main.py"]
    assert 'in_specs=((P("batch"), P()), P("batch"))' in after
    assert 'out_specs=((P("batch"), P()), P())' in after
    for line in written:
        assert line in after


@pytest.mark.parametrize("given", ["[rngs, state]", "tuple([rngs, state])", "carry_of(rngs, state)"])
def test_what_is_no_tuple_at_every_call_has_one_layout(given: str) -> None:
    text = STEP.format(body="    rng, state = carry" + DRAWS).replace(
        "p_step((rngs, state), batch)", f"p_step({given}, batch)"
    )
    after = fix_files({"main.py": text}, "auto")["main.py"]
    assert 'in_specs=P("batch")' in after


TRAINER = """
import functools
import json
import sys
import jax
jax.distributed.initialize(sys.argv[1], 2, int(sys.argv[2]))
import jax.numpy as jnp
import numpy as np
from flax import jax_utils

RANK = int(sys.argv[2])


def step(carry, batch):
    rng, state, count = carry
    rng, own = jax.random.split(rng)
    grad = jax.grad(lambda w: ((batch @ (w - jax.random.normal(own, w.shape))) ** 2).mean())(state)
    state = state - 0.1 * jax.lax.pmean(grad, axis_name="batch")
    return (rng, state, count + batch.sum()), jax.lax.pmean(grad.sum(), axis_name="batch")


p_step = jax.pmap(step, axis_name="batch", donate_argnums=0)
p_steps = jax.pmap(functools.partial(jax.lax.scan, step), axis_name="batch")


def main():
    n = jax.local_device_count()
    rngs = jax.random.split(jax.random.PRNGKey(RANK), n)
    state, count, losses = jax_utils.replicate(jnp.ones(3)), jnp.arange(n, dtype=jnp.float32), []
    for i in range(3):
        batch = np.sin(np.arange(n * 6, dtype=np.float32) + i + RANK).reshape(n, 2, 3)
        (rngs, state, count), loss = p_step((rngs, state, count), batch)
        LOOK
        rows = np.cos(np.arange(n * 12, dtype=np.float32) + i + RANK).reshape(n, 2, 2, 3)
        (rngs, state, count), more = p_steps((rngs, state, count), rows)
        losses += [jax_utils.unreplicate(loss), jax_utils.unreplicate(more).sum()]
    found = [jax_utils.unreplicate(state), np.asarray(count), *losses]
    print("RESULT", json.dumps([np.asarray(x).tolist() for x in found]))


main()
"""
RANKS = tuple(Forks("flax.jax_utils") for _ in range(2))


@pytest.fixture(scope="module", autouse=True)
def ranks_end() -> Iterator[None]:
    """Ends with the tests the processes that their programs are forks of."""
    with RANKS[0], RANKS[1]:
        yield


def run(text: str, folder: Path) -> list[str]:
    """What both processes print, by rank."""
    script = folder / "program.py"
    script.write_text(text, encoding="utf-8")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    for rank, forks in enumerate(RANKS):
        forks.begin([str(script), address, str(rank)], {"XLA_FLAGS": "--xla_force_host_platform_device_count=4"})
    ended = [forks.end() for forks in RANKS]
    assert all(one.status == 0 for one in ended), "".join(one.err[-2000:] for one in ended)
    return [next(line for line in one.out.splitlines() if line.startswith("RESULT")) for one in ended]


@pytest.mark.parametrize("look", ["pass", "seen = np.asarray(rngs)"])
def test_two_processes_keep_their_parts(look: str, tmp_path: Path) -> None:
    before = TRAINER.replace("LOOK", look)
    after = fix_files({"program.py": before}, "auto")["program.py"]
    assert 'in_specs=((P("batch"), P(), P("batch")), P("batch"))' in after
    expected, found = run(before, tmp_path), run(after, tmp_path)
    assert found == expected
    ranks = [json.loads(line.removeprefix("RESULT")) for line in found]
    assert ranks[0] != ranks[1]
    assert ranks[0][0] == ranks[1][0]
