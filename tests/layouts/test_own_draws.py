"""What is drawn with a key for each device is no state that all have, whatever it is called."""

from __future__ import annotations

from pathlib import Path

import pytest

from jaxmigrate.migrate.options import PlanOptions
from jaxmigrate.migrate.project import plan_sources

MAIN = """import jax
from lib import initial, make_initial

def train(seed, members):
    n = jax.device_count()
    keys = jax.random.split(seed, n)
    key = jax.random.fold_in(seed, 0)
    one, other = jax.random.split(seed)
    MADE
    step = jax.pmap(lambda params: params * 2)
    return step(params)
"""


@pytest.mark.parametrize(
    ("made", "layout"),
    [
        ("params = jax.vmap(jax.vmap(initial))(jax.random.split(key, (n, members)))", "stacked"),
        ("params = initial(keys)", "stacked"),
        ("params = initial(members, rngs=keys)", "stacked"),
        ("own = keys\n    params = initial(own)", "stacked"),
        ("params, extra = initial(keys)", "stacked"),
        ("params = make_initial(members)((n, members), seed=key)", "stacked"),
        ("params = initial(key, [n, 3])", "stacked"),
        ("params = initial(shard_prng_key(key))", "stacked"),
        ("params = initial(one)", "replicated"),
        ("params = initial(keys[0], members)", "replicated"),
        ("params, extra = initial(key, (members, n))", "replicated"),
        ("params = initial(members, n)", "replicated"),
        ("params = initial((n, members))", "replicated"),
    ],
)
def test_what_is_made_with_keys(made: str, layout: str) -> None:
    plan, _ = plan_sources([("main.py", Path("/p/main.py"), MAIN.replace("MADE", made))], PlanOptions("likely"))
    assert [one.layout for one in plan.sites[0].arguments] == [layout]
