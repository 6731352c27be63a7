"""JM301 for what decorators keep to one process, and for conditions on what each process has of its own."""

from __future__ import annotations

import pytest

from jaxmigrate.config import Config
from jaxmigrate.lint.linting import lint
from jaxmigrate.sources import decode

HEAD = """\
import functools
import jax
import numpy as np
from jax.experimental import multihost_utils
"""

GUARDS = {
    "an if": """
def main_only(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        if jax.process_index() == 0:
            return function(*args, **kwargs)
    return wrapper
""",
    "an early return": """
def main_only(function):
    def wrapper(*args, **kwargs):
        if jax.process_index() != 0:
            return None
        return function(*args, **kwargs)
    return wrapper
""",
    "an expression": """
def main_only(function):
    def wrapper(*args, **kwargs):
        return function(*args, **kwargs) if jax.process_index() == 0 else None
    return wrapper
""",
    "a helper": """
def is_main():
    return jax.process_index() == 0
def main_only(function):
    def wrapper(self, *args):
        if not is_main():
            return
        function(self, *args)
    return wrapper
""",
}


def codes(program: str) -> list[str]:
    text = HEAD + program
    found = lint([decode(text.encode(), "a.py", None)], Config())
    lines = text.splitlines()
    return [lines[one.line - 1].strip() for one in found if one.code == "JM301"]


@pytest.mark.parametrize("guard", GUARDS.values(), ids=GUARDS)
def test_what_a_decorator_keeps_to_one_process_is_told_there(guard: str) -> None:
    used = """
@main_only
def evaluate(state):
    return multihost_utils.process_allgather(state)
"""
    assert codes(guard + used) == ["@main_only"]


def test_a_decorator_with_arguments_and_a_jitted_step_of_an_object() -> None:
    program = """
def only(processes=0):
    processes = [processes] if isinstance(processes, int) else processes
    def decorator(function):
        def wrapper(*args):
            if jax.process_index() in processes:
                return function(*args)
            return None
        return wrapper
    return decorator
class Loop:
    def __init__(self, sharding):
        self._spread = jax.jit(lambda tree: tree, out_shardings=sharding)
    @only()
    def evaluate(self, state):
        return self._spread(state)
    @only([0, 1])
    def write(self, text):
        print(text)
"""
    assert codes(program) == ["@only()"]


def test_decorators_that_run_it_on_all_are_none() -> None:
    program = """
def timed(function):
    def wrapper(*args):
        if jax.process_index() == 0:
            print("begin")
        out = function(*args)
        return out
    return wrapper
def named(function):
    def wrapper(*args):
        if jax.process_index() == 0:
            return function(*args, log=True)
        return function(*args, log=False)
    return wrapper
@timed
@named
def evaluate(state, log=True):
    return multihost_utils.process_allgather(state)
"""
    assert codes(program) == []


LOOP = """
@functools.partial(jax.jit, out_shardings=None)
def update(state, batch):
    return state + batch.mean()
def train(state, sharding, loader):
    for batch in loader:
{body}
        state = update(state, whole)
    return state
"""


@pytest.mark.parametrize(
    "test",
    [
        'batch["mask"].sum() == 0',
        'not np.any(batch["mask"])',
        'np.isnan(batch["x"]).any() or np.abs(batch["x"]).max() > 1e4',
    ],
)
def test_a_condition_on_the_batch_of_a_process_is_told(test: str) -> None:
    body = f"""\
        if {test}:
            continue
        whole = jax.make_array_from_process_local_data(sharding, batch)"""
    assert len(codes(LOOP.replace("{body}", body))) == 1


def test_a_condition_on_what_is_gathered_before_it_is_told() -> None:
    body = """\
        rewards = np.array([one.reward for one in batch])
        everyone = multihost_utils.process_allgather(rewards)
        if np.std(rewards) == 0:
            continue
        whole = everyone"""
    assert len(codes(LOOP.replace("{body}", body))) == 1


@pytest.mark.parametrize(
    "body",
    [
        # what all have together
        """\
        rewards = np.array([one.reward for one in batch])
        rewards = multihost_utils.process_allgather(rewards)
        if np.std(rewards) == 0:
            continue
        whole = rewards""",
        # whether there is anything, and how large it is
        """\
        if batch is None or len(batch["x"]) < 8 or batch["x"].shape[0] < 8:
            continue
        whole = jax.make_array_from_process_local_data(sharding, batch)""",
        # what is no data
        """\
        if sharding.is_fully_addressable:
            continue
        whole = jax.make_array_from_process_local_data(sharding, batch)""",
        # a global array that is gathered to be written
        """\
        whole = jax.make_array_from_process_local_data(sharding, batch)
        if state.step % 100 == 0:
            multihost_utils.process_allgather(state.params)
            continue""",
        # what every process runs into
        """\
        whole = jax.make_array_from_process_local_data(sharding, batch)
        if np.any(batch["mask"]):
            print("masked")""",
    ],
)
def test_conditions_that_all_agree_on_are_none(body: str) -> None:
    assert codes(LOOP.replace("{body}", body)) == []
