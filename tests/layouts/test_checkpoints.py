"""The tables of what checkpoints of jaxline hold, after some of it has lost its device axis."""

from __future__ import annotations

import ast

import pytest

from tests.layouts.running import plan

PROGRAM = """
import jax
import jax.numpy as jnp
from jaxline import experiment, platform, utils


class Experiment(experiment.AbstractExperiment):
{tables}

    def __init__(self, mode, init_rng):
        super().__init__(mode, init_rng)
        self._params = utils.bcast_local_devices(jnp.ones(3))
        self._seen = jax.pmap(lambda p: p + jax.lax.axis_index("i"), axis_name="i")(self._params)
        self._update = jax.pmap(lambda p, n: (p / 2, n + 1){donate})
        self._steps = 0

    def step(self, *, global_step, rng, writer):
        self._params, self._seen = self._update(self._params, self._seen)
        return {{}}

    def evaluate(self, *, global_step, rng, writer):
        return {{"all": self._seen}}


if __name__ == "__main__":
    platform.main(Experiment, [])
RESULT = 0
"""
SLICES, WHOLES = "CHECKPOINT_ATTRS", "NON_BROADCAST_CHECKPOINT_ATTRS"
TABLES = {
    "one that is left empty": (
        [f'{SLICES} = {{"_params": "params"}}'],
        [f'{WHOLES} = {{"_params": "params"}}'],
    ),
    "on one line": (
        [f'{SLICES} = {{"_params": "params", "_seen": "seen"}}'],
        [f'{SLICES} = {{"_seen": "seen"}}', f'{WHOLES} = {{"_params": "params"}}'],
    ),
    "with a comment": (
        [f"{SLICES} = {{", '    "_params": "params",  # of the network', '    "_seen": "seen"', "}"],
        [
            f'{SLICES} = {{"_seen": "seen"}}',
            f"{WHOLES} = {{",
            '    "_params": "params",  # of the network',
            "}",
        ],
    ),
    "beside another": (
        [f"{WHOLES} = {{", '    "_steps": "steps"', "}", f'{SLICES} = {{"_params": "params", "_seen": "seen"}}'],
        [f"{WHOLES} = {{", '    "_params": "params",', '    "_steps": "steps"', "}", f'{SLICES} = {{"_seen": "seen"}}'],
    ),
    "beside one on one line": (
        [f'{SLICES}: dict[str, str] = {{"_params": "params"}}', f'{WHOLES} = {{"_steps": "steps"}}'],
        [f"{SLICES}: dict[str, str] = {{}}", f'{WHOLES} = {{"_steps": "steps", "_params": "params"}}'],
    ),
}


@pytest.mark.parametrize("donate", ["", ", donate_argnums=(0,)"])
@pytest.mark.parametrize("name", TABLES)
def test_an_entry_moves_to_the_other_table(name: str, donate: str) -> None:
    before, after = TABLES[name]
    text = PROGRAM.format(tables="\n".join(f"    {line}" for line in before), donate=donate)
    (file,) = plan({"main.py": text}).files
    (cls,) = [n for n in ast.walk(ast.parse(file.after)) if isinstance(n, ast.ClassDef)]
    lines = [line.strip() for line in file.after.splitlines()[cls.lineno : cls.lineno + len(after)]]
    assert lines == [line.strip() for line in after]
    methods = [n.name for n in cls.body if isinstance(n, ast.FunctionDef)]
    assert methods == ["snapshot_state", "restore_from_snapshot", "__init__", "step", "evaluate"]
    assert ("jnp.copy(x.addressable_data(0))" in file.after) is bool(donate)


REFUSED = {
    "not of strings": f'{SLICES} = {{"_params": PARAMS}}',
    "an attribute twice": f'{SLICES} = {{"_params": "params", "_params": "weights"}}',
    "two on a line": f'{SLICES} = {{\n        "_params": "params", "_seen": "seen"\n    }}',
    "made under a condition": f'if True:\n        {SLICES} = {{"_params": "params"}}',
    "with its own restoring": f'{SLICES} = {{"_params": "params"}}\n    def restore_from_snapshot(self, s): ...',
    "a property": f'@property\n    def {SLICES}(self): return {{"_params": "params"}}',
}


@pytest.mark.parametrize("table", REFUSED.values(), ids=REFUSED)
def test_other_tables_keep_what_they_name_stacked(table: str) -> None:
    found = plan({"main.py": PROGRAM.format(tables=f"    {table}", donate="")})
    assert table in found.files[0].after
    assert all(a.layout == "stacked" for site in found.sites for a in site.arguments)


def test_a_file_that_is_not_parsed_may_read_anything() -> None:
    text = PROGRAM.format(tables=f'    {SLICES} = {{"_params": "params"}}', donate="")
    unread = "import main\ntype State = int\nprint(state.experiment_module)\n"
    found = plan({"main.py": text, "later.py": unread})
    assert all(a.layout == "stacked" for site in found.sites for a in site.arguments)
