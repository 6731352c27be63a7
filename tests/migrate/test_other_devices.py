"""Arguments on other devices, or on the same ones in another order: pmap moves them, and so does the rewrite."""

from __future__ import annotations

import pytest

from jaxmigrate.migrate import fix_files
from tests.flags import UNOPTIMISED
from tests.migrate.forms.running import Program, run

OPENING = """import functools
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

x = np.arange(16.0, dtype=np.float32).reshape(8, 2)


def step(x):
    return x * (1 + jax.lax.axis_index("i")) + jax.lax.pmean(x, "i")


def put(x, devices):
    return jax.device_put(x, NamedSharding(Mesh(devices, "q"), P("q")))


"""
MOVED = {
    "reversed": """p_step = jax.pmap(step, "i")


def main():
    return p_step(put(x, jax.devices()[::-1])), p_step(x)
""",
    "in another order": """devices = jax.devices()
order = [devices[i] for i in (3, 1, 0, 2, 7, 6, 5, 4)]


@functools.partial(jax.pmap, axis_name="i")
def p_step(x):
    return step(x)


def main():
    return p_step(put(x, order))
""",
    "reversed in place": """devices = list(jax.devices())
devices.reverse()
p_step = jax.pmap(step, axis_name="i")


def main():
    return p_step(put(x, devices))
""",
    "the last four": """learners = jax.devices()[4:]
act = jax.pmap(lambda x: x + 1, axis_name="i", devices=jax.devices()[:4])
learn = jax.pmap(step, axis_name="i", devices=learners)
look = jax.pmap(step, axis_name="i")


def main():
    learnt = learn(act(x[:4]))
    return look(learnt), act(learnt)
""",
    "axes": """p_step = jax.pmap(lambda w, x: w * step(x), axis_name="i", in_axes=(None, 1), out_axes=1)


def main():
    w = jax.device_put(np.float32(2.0), NamedSharding(Mesh(list(reversed(jax.devices())), "q"), P()))
    rows = NamedSharding(Mesh(jax.devices()[::-1], "q"), P(None, "q"))
    return p_step(w, jax.device_put(x.T, rows)), p_step(2.0, x.T), p_step(w, x.T)
""",
    "in a function, of which some are shown": """p_step = jax.pmap(step, "i")


def main(ids=(7, 6, 5, 4, 3, 2, 1, 0)):
    devices = jax.devices()
    order = [devices[i] for i in ids]
    print(len(order), [str(one) for one in order])
    there = np.array(order)
    return p_step(put(x, there))
""",
    "static and donated": """@functools.partial(jax.pmap, axis_name="i", static_broadcasted_argnums=1, donate_argnums=0)
def p_step(x, times, *, scale):
    return step(x) * times * scale


def main():
    there, here = put(x, jax.devices()[::-1]), put(x, jax.devices())
    found = p_step(there, 3, scale=np.full(8, 2.0)), p_step(here, 3, scale=put(np.ones(8), jax.devices()[::-1]))
    return found, there.is_deleted(), here.is_deleted()
""",
    "a map that is made at each call": """def run(f, x):
    return jax.pmap(f, "i")(x)


def main():
    return run(step, put(x, np.roll(np.array(jax.devices()), 1)))
""",
    "beside equal parameters": """from flax import jax_utils

p_step = jax.pmap(lambda w, x: step(w * x), axis_name="i")


def main():
    return p_step(jax_utils.replicate(jnp.float32(3.0)), put(x, jax.devices()[::-1]))
""",
}
OWN = {
    "all devices": "order = list(jax.devices())",
    "the first four": "order = jax.devices()[:4]",
    "one device": "order = jax.devices()[3]",
    "a range": "order = [jax.devices()[i] for i in range(4)]",
    "a process's own": "order = [d for d in jax.devices() if d.process_index == 0]",
    "a grid": "order = np.array(jax.devices()).reshape(2, 4)",
    "a list of numbers": "order = list(range(8))[::-1]",
}
CASES = [(name, layout) for name in MOVED for layout in ("stacked", "auto")]


def _fixed(body: str, layout: str = "stacked") -> dict[str, str]:
    return fix_files({"main.py": OPENING + body}, layout=layout)


@pytest.fixture(scope="module")
def verdicts() -> dict[tuple[str, str], str]:
    programs = [
        Program(f"{name}, {layout}", {"main.py": OPENING + MOVED[name]}, _fixed(MOVED[name], layout))
        for name, layout in CASES
    ]
    found = run(programs, flags=UNOPTIMISED)
    return {
        case: "" if v.verdict == "agrees" else f"{v.verdict}: {v.text[:3000]}"
        for case, v in zip(CASES, found, strict=True)
    }


@pytest.mark.parametrize(("name", "layout"), CASES)
def test_agrees(name: str, layout: str, verdicts: dict[tuple[str, str], str]) -> None:
    after = _fixed(MOVED[name], layout)["main.py"]
    assert "jax.pmap(" not in after
    assert not verdicts[name, layout], f"{verdicts[name, layout]}\n{after}"


@pytest.mark.parametrize("name", OWN)
def test_devices_in_their_own_order_cost_no_code(name: str) -> None:
    body = f'{OWN[name]}\np_step = jax.pmap(step, "i")\ny = p_step(x)\n'
    assert "moved" not in _fixed(body)["main.py"]


def test_maps_that_are_all_given_the_same_devices_cost_no_code() -> None:
    body = "".join(f"f{i} = jax.pmap(step, 'i', devices=jax.devices()[4:])\n" for i in range(2))
    assert "moved" not in _fixed(body + "y = f1(f0(x[:4]))\n")["main.py"]


TOLD = """from flax import jax_utils
from flax.training.common_utils import shard


def main(numbers=(4, 5)):
    devices = jax.devices()
    chosen = [devices[i] for i in numbers]
    {use}
    p_step = jax.pmap(lambda w, key, x: (step(x).mean() * w, key), "i")
    keys = jax.random.split(jax.random.PRNGKey(0), jax.local_device_count())
    return p_step(jax_utils.replicate(jnp.ones(2)), keys, shard(np.ones((16, 2), np.float32)))


y = main()
"""


@pytest.mark.parametrize(
    ("use", "is_global"),
    [
        ("print({'devices': chosen}, len(chosen))", True),
        ("names = [str(one) for one in chosen]", True),
        ("print(f'{chosen}')", True),
        ("here = put(x[:2], chosen)", False),
        ("print(chosen.pop())", False),
        ("other = chosen", False),
        ("names = [str(jax.device_put(x, one)) for one in chosen]", False),
        ("names = [print for one in chosen]", False),
    ],
)
def test_devices_that_are_only_told_lay_nothing_out(use: str, *, is_global: bool) -> None:
    after = _fixed(TOLD.format(use=use), "auto")["main.py"]
    assert ("shard_map_stacked" not in after) is is_global, after


@pytest.mark.parametrize("together", [False, True])
def test_what_does_not_run_with_it_costs_no_code(together: bool) -> None:
    """In a repository of several programs, the devices of one say nothing of the arrays of another."""
    other = f"{'import trainer' if together else 'import math'}\n{OPENING}{MOVED['reversed']}"
    trainer = f"{OPENING}p_step = jax.pmap(step, 'i')\ny = p_step(x)\n"
    after = fix_files({"trainer.py": trainer, "other.py": other})
    assert ("jax.shard_map(\n" in after["trainer.py"] or "jax.shard_map(step" in after["trainer.py"]) is not together


def test_devices_that_may_be_none_are_chosen_at_each_call() -> None:
    text = """import jax

def make(f, local):
    return jax.pmap(f, axis_name="a", devices=jax.local_devices() if local else None)

def main(x):
    return make(lambda x: jax.lax.psum(x, "a"), True)(x), make(lambda x: x, False)(x)
"""
    after = fix_files({"main.py": text})["main.py"]
    assert "devices=jax.local_devices() if local else None" in after
    assert "Mesh(jax.local_devices() if local else None" not in after
