"""Programs with a class whose method maps its arguments, or does something else, by what its object was asked for.

Each has a way of its own to say which: a careless reader of conditions follows one branch where both are taken. In
`JITTED` the other way is `jax.jit`, chosen in the constructor, in `DECIDED` where the method is called, and in `SUMMED`
a sum over all devices, for which the arrays must stay stacked.
"""

from __future__ import annotations

HEAD = '''"""{about}"""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

BATCH = np.arange(48, dtype=np.float32).reshape(16, 3) / 7


def step(params, x):
    def loss(p):
        return jnp.mean((x @ p["w"] + p["b"] - 1) ** 2)
    grads = {grads}
    return jax.tree.map(lambda p, g: p - 0.125 * g, params, grads)
'''
ALONE, AVERAGED = "jax.grad(loss)(params)", 'jax.lax.pmean(jax.grad(loss)(params), "batch")'
MAP = 'p_step = jax.pmap(step, axis_name="batch")\n'
TRAINS = """params = jax_utils.replicate({"w": jnp.ones(3), "b": jnp.zeros(())})
for i in range(3):
    params = runner.run(params, shard(BATCH + i))
"""
SHOWS = "RESULT = [jax_utils.unreplicate(params)]\n"
OTHER = 'RESULT.append(np.asarray(other.run({"w": jnp.ones(3), "b": jnp.zeros(())}, BATCH)["w"]))\n'
OTHER_SHAPE = 'RESULT.append(np.shape(other.run(jax.tree.map(lambda v: v[0], params), BATCH)["w"]))\n'
SUM = "RESULT = [jax_utils.unreplicate(params), float(other.run(params, shard(BATCH)))]\n"

MAPS_OR_JITS = """class Runner:
    def __init__(self, fn, backend="pmap"):
        self.backend = backend
        if self.backend == "pmap":
            self.fn = jax.pmap(fn, axis_name="batch")
        elif self.backend == "jit":
            self.fn = jax.jit(fn)

    def run(self, params, x):
        out = self.fn(params, x)
        if self.backend == "jit":
            return jax.tree.map(lambda v: v[None], out)
        return out
"""
JITTED_CLASS = """

class Jitted(Runner):
    def __init__(self, fn):
        super().__init__(fn, "jit")

"""
MAKE = """

def make(**kwargs):
    return Runner(step, **kwargs)


other = make(backend="jit")
"""
SET = """
other = Runner(step)
other.backend, other.fn = "jit", jax.jit(step)
"""

# name: what it says, what the step does with gradients, what else is defined, and how the other object is made
JITTED: dict[str, tuple[str, str, str, str]] = {
    "backend_never_other": ("A class maps or jits its function; only maps are asked for.", AVERAGED, "", ""),
    "backend_other_too": (
        "A class maps or jits its function, and is asked for both.",
        ALONE,
        "",
        '\nother = Runner(step, "jit")\n',
    ),
    "backend_by_keyword": ("The other way is asked for by keyword, from a helper.", ALONE, "", MAKE),
    "backend_of_a_subclass": ("A subclass asks for the other way.", ALONE, JITTED_CLASS, "\nother = Jitted(step)\n"),
    "backend_set_later": ("What a class was asked for is changed from outside.", ALONE, "", SET),
}

# name: what it says, and the class with its objects
DECIDED: dict[str, tuple[str, str]] = {
    "backend_from_a_config": (
        "The other way comes from a configuration that is written to.",
        """


class Config:
    backend = "pmap"


class Runner:
    def __init__(self, config):
        self.config = config

    def run(self, params, x):
        if self.config.backend == "jit":
            return jax.jit(step)(params, x)
        return p_step(params, x)


config, changed = Config(), Config()
changed.backend = "jit"
runner, other = Runner(config), Runner(changed)
""",
    ),
    "backend_loop": (
        "A local name takes another value later in the loop.",
        """


class Runner:
    def run(self, params, x):
        backend = "pmap"
        for turn in range(1):
            if backend == "jit":
                return jax.jit(step)(params, x)
            out = p_step(params, x)
            backend = "jit"
        return out


class Other:
    def run(self, params, x):
        return jax.jit(step)(params, x)


runner, other = Runner(), Other()
""",
    ),
    "backend_named_tuple": (
        "The other way is a field of a named tuple.",
        """
from typing import NamedTuple


class Runner(NamedTuple):
    backend: str = "pmap"

    def run(self, params, x):
        if self.backend == "jit":
            return jax.jit(step)(params, x)
        return p_step(params, x)


runner = Runner()
other = runner._replace(backend="jit")
""",
    ),
}

RUN = """    def run(self, params, x):
        if self.backend == "total":
            return jnp.sum(params["w"])
        return p_step(params, x)
"""
MAPS_OR_SUMS = f"""


class Runner:
    def __init__(self, backend="pmap"):
        self.backend = backend

{RUN}"""

# name: what it says, the class with its objects, and what happens after the training
SUMMED: dict[str, tuple[str, str, str]] = {
    "condition_asked_for": (
        "A method sums over all devices where it is asked to; one object asks.",
        MAPS_OR_SUMS
        + """

runner, other = Runner(), Runner("total")
""",
        "",
    ),
    "condition_by_keywords": (
        "What decides it comes from keywords that are passed on.",
        MAPS_OR_SUMS
        + """

def make(**options):
    return Runner(**options)


runner, other = Runner(), make(backend="total")
""",
        "",
    ),
    "condition_of_a_dataclass": (
        "A field of a dataclass decides whether a sum is taken over all devices.",
        f"""
import dataclasses


@dataclasses.dataclass
class Runner:
    backend: str = "pmap"

{RUN}

runner = Runner()
other = dataclasses.replace(runner, backend="total")
""",
        "",
    ),
    "condition_of_a_global": (
        "A global that another function sets by its name decides it.",
        """
BACKEND = "pmap"


class Runner:
    def run(self, params, x):
        if BACKEND == "total":
            return jnp.sum(params["w"])
        return p_step(params, x)


def choose(name):
    globals().update(BACKEND=name)


runner = other = Runner()
""",
        'choose("total")\n',
    ),
    "condition_of_a_subclass": (
        "A class attribute that a subclass has, too, decides it.",
        f"""


class Runner:
    backend = "pmap"

{RUN}

class Total(Runner):
    backend = "total"


runner, other = Runner(), Total()
""",
        "",
    ),
    "condition_of_an_alias": (
        "The class is made under another name.",
        MAPS_OR_SUMS
        + """

Another = Runner
runner, other = Runner(), Another("total")
""",
        "",
    ),
    "condition_set_by_reflection": (
        "What decides it is set through the dictionary of the object.",
        MAPS_OR_SUMS
        + """

runner, other = Runner(), Runner()
vars(other).update(backend="total")
""",
        "",
    ),
    "condition_set_in_a_tuple": (
        "What decides it is set from outside, together with something else.",
        MAPS_OR_SUMS
        + """

runner, other = Runner(), Runner()
other.name, other.backend = "other", "total"
""",
        "",
    ),
}


def chosen() -> dict[str, str]:
    """The programs by name."""
    made = {name: _jitted(*parts) for name, parts in JITTED.items()}
    made |= {name: _decided(*parts) for name, parts in DECIDED.items()}
    return made | {name: _summed(*parts) for name, parts in SUMMED.items()}


def _jitted(about: str, grads: str, defined: str, other: str) -> str:
    shown = f"{other}{OTHER}" if other else ""
    head = HEAD.format(about=about, grads=grads)
    return f"{head}\n\n\n\n{MAPS_OR_JITS}\n{defined}\nrunner = Runner(step)\n{TRAINS}{SHOWS}{shown}"


def _decided(about: str, code: str) -> str:
    return f"{HEAD.format(about=about, grads=ALONE)}\n{code}\n{MAP}{TRAINS}{SHOWS}{OTHER}{OTHER_SHAPE}"


def _summed(about: str, code: str, after: str) -> str:
    return f"{HEAD.format(about=about, grads=AVERAGED)}\n\n{MAP}{code}\n{TRAINS}{after}{SUM}"
