"""Programs in which two trainers lend their states to one evaluator, which maps them.

The state of one trainer differs between devices, so that the evaluator's arrays stay stacked; that of the other does
not. Each program changes some lines of the first.
"""

from __future__ import annotations

BASE = """import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

BATCH = np.arange(48, dtype=np.float32).reshape(16, 3) / 7


class Evaluator:
    def __init__(self, represent, rounds):
        self.rounds = rounds
        self.represent = jax.pmap(represent, donate_argnums=(1,), axis_name="batch")

    def _representations(self, state, data):
        found = []
        for batch in data:
            found.append(np.asarray(jax_utils.unreplicate(self.represent(state, shard(batch)))))
        return np.concatenate(found)

    def _one(self, state, data, scale):
        return self._representations(state, data) * scale

    def run_all(self, state, several):
        results = {}
        for name, arguments in several.items():
            results[name] = self._one(state, *arguments)
        return results


def represent(state, batch):
    return jax.lax.all_gather(batch @ state["w"], "batch")


def synchronised(state, batch):
    grad = jax.grad(lambda w: jnp.mean((batch @ w - 1) ** 2))(state["w"])
    return {"w": state["w"] - 0.125 * jax.lax.pmean(grad, "batch")}


def alone(state, batch):
    grad = jax.grad(lambda w: jnp.mean((batch @ w - 1) ** 2))(state["w"])
    return {"w": state["w"] - 0.125 * grad}


def train_synchronised(rounds):
    evaluator = Evaluator(represent, rounds)
    p_step = jax.pmap(synchronised, axis_name="batch")
    state = jax_utils.replicate({"w": jnp.ones(3)})
    results = []
    for i in range(rounds):
        state = p_step(state, shard(BATCH + i))
        if i % 2:
            results.append(evaluator.run_all(state, {"some": ([BATCH, BATCH + 1], 2.0), "more": ([BATCH * 2], 3.0)}))
    return results, np.asarray(jax_utils.unreplicate(state)["w"])


def train_alone(rounds):
    evaluator = Evaluator(represent, rounds)
    p_step = jax.pmap(alone, axis_name="batch")
    state = jax_utils.replicate({"w": jnp.ones(3)})
    results = []
    for i in range(rounds):
        state = p_step(state, shard(BATCH + i))
        if i % 2:
            results.append(evaluator.run_all(state, {"some": ([BATCH, BATCH + 1], 2.0)}))
    return results, np.asarray(state["w"])


RESULT = [train_synchronised(3), train_alone(3)]
"""
RUN = 'evaluator.run_all(state, {"some": ([BATCH, BATCH + 1], 2.0), "more": ([BATCH * 2], 3.0)})'
RUN_ALONE = 'evaluator.run_all(state, {"some": ([BATCH, BATCH + 1], 2.0)})'
START = "        results = {}\n        for name"
MADE = "def train_synchronised(rounds):\n    evaluator = Evaluator(represent, rounds)"
EITHER = "def train_synchronised(rounds):\n    evaluator = {} if rounds > 2 else Evaluator(represent, rounds)"
LAST = 'return results, np.asarray(jax_utils.unreplicate(state)["w"])'
LAST_ALONE = 'return results, np.asarray(state["w"])'
CALLED = "results = [{k: v() if callable(v) else v for k, v in one.items()} for one in results]"

KEEPER = """class Keeper(Evaluator):
    def run_all(self, state, several):
        self.kept = state
        return {name: self._one(state, *arguments) for name, arguments in several.items()}


def represent(state"""
EITHER_STATE = """def whole_or_double(state, double):
    if double:
        return {"w": state["w"] * 2}
    return state


"""
HALVER = """class Halver:
    def __init__(self, represent, rounds):
        self.represent = jax.pmap(represent, axis_name="batch")

    def run_all(self, state, several):
        return {name: np.asarray(self.represent(state, shard(BATCH)))[0] / 2 for name in several}


def represent(state"""
FIXED = """        def fixed(batch):
            return jnp.sum(batch @ jax_utils.unreplicate(state)["w"])

        results = {"fixed": np.asarray(jax.pmap(fixed)(shard(BATCH)))}
        for name"""
LATER = """        def later():
            return float(np.sum(jax_utils.unreplicate(state)["s"]["n"]))

        results = {"later": later}
        for name"""

CHANGES: dict[str, tuple[str, list[tuple[str, str]]]] = {
    "shared": ("It only reads.", []),
    "keeps": (
        "It keeps the state, and shows it later.",
        [
            (START, f"        self.last = state\n{START}"),
            (LAST, f'{LAST}, np.asarray(evaluator.last["w"])'),
        ],
    ),
    "changes": ("It changes the state.", [(START, f'        state["w"] = state["w"] * 2\n{START}')]),
    "of_two_kinds": (
        "It is one of two, of which one keeps the state.",
        [
            ("def represent(state", KEEPER),
            (MADE, EITHER.format("Keeper(represent, rounds)")),
            (LAST, f'{LAST}, np.asarray(evaluator.kept["w"])'),
        ],
    ),
    "of_two_readers": (
        "It is one of two, both of which only read.",
        [("def represent(state", HALVER), (MADE, EITHER.format("Halver(represent, rounds)"))],
    ),
    "with_a_later_reader": ("It makes a function that reads the state, in a map of its own.", [(START, FIXED)]),
    "outlived": (
        "It gives back a function that reads the state, of which a part is changed in place before that.",
        [
            (START, LATER),
            ('replicate({"w": jnp.ones(3)})', 'replicate({"w": jnp.ones(3), "s": {"n": jnp.zeros(())}})'),
            ('lax.pmean(grad, "batch")}', 'lax.pmean(grad, "batch"), "s": state["s"]}'),
            ("0.125 * grad}", '0.125 * grad, "s": state["s"]}'),
            (LAST, f'inner = state["s"]\n    inner["n"] = inner["n"] + 3\n    {CALLED}\n    {LAST}'),
            (LAST_ALONE, f"{CALLED}\n    {LAST_ALONE}"),
        ],
    ),
    "that_donates": (
        "Its map gives up the buffers of the state.",
        [
            ("donate_argnums=(1,)", "donate_argnums=(0,)"),
            (RUN, 'evaluator.run_all(jax.tree.map(jnp.copy, state), {"some": ([BATCH], 2.0)})'),
            (RUN_ALONE, 'evaluator.run_all(jax.tree.map(jnp.copy, state), {"some": ([BATCH], 2.0)})'),
        ],
    ),
    "with_stars": (
        "It is given the state by keyword, and hands it on after a star.",
        [
            (RUN, 'evaluator.run_all(several={"some": ([BATCH, BATCH + 1], 2.0)}, state=state)'),
            ("self._one(state, *arguments)", "self._one(*[state], *arguments)"),
        ],
    ),
    "by_variables": (
        "It reads the state by way of variables and of helpers that give it back.",
        [
            (
                START,
                (
                    "        state = whole_or_double(state, self.rounds > 5)\n        weights = state['w']\n"
                    "        first = jax_utils.unreplicate(state)\n        first['w'] = first['w'] * 3\n"
                    "        results = {'sum': np.sum(weights), 'first': np.asarray(first['w'])}\n        for name"
                ),
            ),
            ("def represent(state", f"{EITHER_STATE}def represent(state"),
        ],
    ),
    "changes_by_a_variable": (
        "It changes the state by way of a variable.",
        [(START, f"        mine = state\n        mine['w'] = mine['w'] * 2\n{START}")],
    ),
    "changes_what_a_helper_gives_back": (
        "It changes the state that a helper gives back.",
        [
            (START, f"        mine = whole_or_double(state, False)\n        mine['w'] = mine['w'] * 2\n{START}"),
            ("def represent(state", f"{EITHER_STATE}def represent(state"),
        ],
    ),
    "keeps_what_a_helper_gives_back": (
        "It keeps the state that a helper gives back, and shows it later.",
        [
            (START, f"        self.last = whole_or_double(state, False)\n{START}"),
            ("def represent(state", f"{EITHER_STATE}def represent(state"),
            (LAST, f'{LAST}, np.asarray(evaluator.last["w"])'),
        ],
    ),
    "adds_to_a_variable": (
        "It adds to a list in the state by way of a variable.",
        [
            (START, f"        seen = state['s']\n        seen += [jax.tree.map(jnp.copy, state['w'])]\n{START}"),
            ('replicate({"w": jnp.ones(3)})', 'replicate({"w": jnp.ones(3), "s": []})'),
            ('lax.pmean(grad, "batch")}', 'lax.pmean(grad, "batch"), "s": state["s"]}'),
            ("0.125 * grad}", '0.125 * grad, "s": state["s"]}'),
            (LAST, LAST.replace('["w"])', '["w"]), len(state["s"])')),
            (LAST_ALONE, LAST_ALONE.replace('["w"])', '["w"]), len(state["s"])')),
        ],
    ),
    "gives_back": (
        "It gives the state back, for the trainer to go on with.",
        [
            ("        return results\n", "        return results, state\n"),
            (f"results.append({RUN})", f"found, state = {RUN}\n            results.append(found)"),
            (f"results.append({RUN_ALONE})", f"found, state = {RUN_ALONE}\n            results.append(found)"),
        ],
    ),
}


def evaluated(name: str) -> str:
    """The program of one evaluator."""
    text, changes = BASE, CHANGES[name][1]
    for before, after in changes:
        assert before in text, (name, before)
        text = text.replace(before, after)
    return f'"""Two trainers lend their states to one evaluator. {CHANGES[name][0]}"""\n\n{text}'
