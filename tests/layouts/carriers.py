"""The ways in which a Python program carries a value from where it is made to where its device axis is looked at.

Each carrier takes a replicated `state` that left a mapped step, and hands it to an expression that sees all eight
slices. A rewrite that loses the value on its way, and makes it global all the same, gets a sum that is 8 times smaller.
"""

from __future__ import annotations

PROGRAM = '''"""{about}"""
import functools
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

BATCH = np.arange(48, dtype=np.float32).reshape(16, 3) / 7


def step(state, batch):
    grad = jax.grad(lambda w: jnp.mean((batch @ w - 1) ** 2))(state["w"])
    return {{"w": state["w"] - 0.01 * jax.lax.pmean(grad, "batch")}}


p_step = jax.pmap(step, axis_name="batch")


def start():
    return jax_utils.replicate({{"w": jnp.ones((3,))}})


{code}
'''

# name: what carries it, and the code
CARRIERS: dict[str, tuple[str, str]] = {
    "globals": (
        "A global statement.",
        """
STATE = None


def train():
    global STATE
    STATE = p_step(start(), shard(BATCH))


train()
RESULT = np.asarray(STATE["w"]).sum()
""",
    ),
    "globals_dictionary": (
        "The dictionary that globals() returns.",
        """
globals()["trained"] = p_step(start(), shard(BATCH))
RESULT = np.asarray(trained["w"]).sum()
""",
    ),
    "attribute": (
        "An attribute of an object of the project.",
        """
class Trainer:
    def __init__(self):
        self.state = start()

    def train(self):
        self.state = p_step(self.state, shard(BATCH))


trainer = Trainer()
trainer.train()
RESULT = np.asarray(trainer.state["w"]).sum()
""",
    ),
    "class_attribute": (
        "An attribute of a class, read through an instance.",
        """
class Registry:
    state = start()


Registry.state = p_step(Registry.state, shard(BATCH))
RESULT = np.asarray(Registry().state["w"]).sum()
""",
    ),
    "setattr": (
        "setattr and getattr with names made at run time.",
        """
class Bag:
    pass


bag = Bag()
setattr(bag, "st" + "ate", p_step(start(), shard(BATCH)))
RESULT = np.asarray(getattr(bag, "state")["w"]).sum()
""",
    ),
    "vars": (
        "The dictionary of an object's attributes.",
        """
class Bag:
    pass


bag = Bag()
bag.state = start()
vars(bag)["state"] = p_step(bag.state, shard(BATCH))
RESULT = sum(np.asarray(tree["w"]).sum() for tree in vars(bag).values())
""",
    ),
    "property": (
        "A property.",
        """
class Trainer:
    def __init__(self):
        self._state = p_step(start(), shard(BATCH))

    @property
    def weights(self):
        return self._state["w"]


RESULT = np.asarray(Trainer().weights).sum()
""",
    ),
    "dataclass": (
        "A field of a dataclass, copied by replace.",
        """
import dataclasses


@dataclasses.dataclass
class Run:
    state: dict
    steps: int = 0


run = Run(start())
run = dataclasses.replace(run, state=p_step(run.state, shard(BATCH)), steps=1)
RESULT = [np.asarray(value["w"]).sum() for value in dataclasses.asdict(run).values() if isinstance(value, dict)]
""",
    ),
    "named_tuple": (
        "A field of a named tuple, unpacked by position.",
        """
from typing import Any, NamedTuple


class Run(NamedTuple):
    steps: int
    state: Any


run = Run(0, start())
run = run._replace(state=p_step(run.state, shard(BATCH)))
_, state = run
RESULT = np.asarray(state["w"]).sum()
""",
    ),
    "dictionary": (
        "A dictionary under a key that is made at run time.",
        """
states = {}
for name in ("gen", "disc"):
    states["state_" + name] = p_step(start(), shard(BATCH))
RESULT = [np.asarray(states[key]["w"]).sum() for key in sorted(states)]
""",
    ),
    "nested_lists": (
        "Lists in lists, flattened by sum.",
        """
history = [[p_step(start(), shard(BATCH))], [start()]]
RESULT = [np.asarray(tree["w"]).sum() for tree in sum(history, [])]
""",
    ),
    "closure": (
        "A closure.",
        """
def make():
    state = p_step(start(), shard(BATCH))

    def total():
        return np.asarray(state["w"]).sum()

    return total


RESULT = make()()
""",
    ),
    "nonlocal": (
        "A variable of the function around.",
        """
def train():
    state = start()

    def once():
        nonlocal state
        state = p_step(state, shard(BATCH))

    once()
    return np.asarray(state["w"]).sum()


RESULT = train()
""",
    ),
    "default_argument": (
        "A default argument.",
        """
def total(state=p_step(start(), shard(BATCH))):
    return np.asarray(state["w"]).sum()


RESULT = total()
""",
    ),
    "mutable_default": (
        "A default argument that is filled by one call and read by the next.",
        """
def remember(state=None, memory=[]):
    if state is not None:
        memory.append(state)
    return memory


remember(p_step(start(), shard(BATCH)))
RESULT = [np.asarray(tree["w"]).sum() for tree in remember()]
""",
    ),
    "generator": (
        "A generator.",
        """
def states(steps):
    state = start()
    for _ in range(steps):
        state = p_step(state, shard(BATCH))
        yield state


RESULT = [np.asarray(state["w"]).sum() for state in states(2)]
""",
    ),
    "generator_send": (
        "A value sent into a generator.",
        """
def totals():
    found = []
    while True:
        state = yield found
        found.append(np.asarray(state["w"]).sum())


collector = totals()
next(collector)
RESULT = collector.send(p_step(start(), shard(BATCH)))
""",
    ),
    "queue": (
        "A queue.",
        """
import queue

waiting = queue.Queue()
waiting.put(p_step(start(), shard(BATCH)))
RESULT = np.asarray(waiting.get()["w"]).sum()
""",
    ),
    "deque": (
        "A deque, from its other end.",
        """
import collections

buffer = collections.deque(maxlen=2)
buffer.append(start())
buffer.append(p_step(buffer[-1], shard(BATCH)))
RESULT = np.asarray(buffer.pop()["w"]).sum()
""",
    ),
    "thread": (
        "A thread's target and a list that both sides know.",
        """
import threading

found = []


def evaluate(state):
    found.append(np.asarray(state["w"]).sum())


thread = threading.Thread(target=evaluate, args=(p_step(start(), shard(BATCH)),))
thread.start()
thread.join()
RESULT = found
""",
    ),
    "executor": (
        "A future.",
        """
import concurrent.futures

with concurrent.futures.ThreadPoolExecutor(1) as pool:
    future = pool.submit(lambda: p_step(start(), shard(BATCH)))
    RESULT = np.asarray(future.result()["w"]).sum()
""",
    ),
    "callback": (
        "A callback that was registered elsewhere.",
        """
HOOKS = []


def hook(function):
    HOOKS.append(function)
    return function


seen = []


@hook
def log_total(state):
    seen.append(np.asarray(state["w"]).sum())


state = p_step(start(), shard(BATCH))
for each in HOOKS:
    each(state)
RESULT = seen
""",
    ),
    "partial": (
        "A partial that holds the value.",
        """
def total(scale, state):
    return np.asarray(state["w"]).sum() * scale


finish = functools.partial(total, state=p_step(start(), shard(BATCH)))
RESULT = finish(2.0)
""",
    ),
    "exception": (
        "An exception's argument.",
        """
class Interrupted(Exception):
    pass


try:
    raise Interrupted(p_step(start(), shard(BATCH)))
except Interrupted as error:
    RESULT = np.asarray(error.args[0]["w"]).sum()
""",
    ),
    "star_arguments": (
        "*args.",
        """
def totals(*states):
    return [np.asarray(state["w"]).sum() for state in states]


RESULT = totals(start(), *[p_step(start(), shard(BATCH))])
""",
    ),
    "keyword_arguments": (
        "**kwargs.",
        """
def totals(**states):
    return {name: np.asarray(state["w"]).sum() for name, state in states.items()}


RESULT = totals(**{"trained": p_step(start(), shard(BATCH))})
""",
    ),
    "sorted": (
        "sorted with a key.",
        """
runs = [(1, p_step(start(), shard(BATCH))), (0, start())]
RESULT = [np.asarray(state["w"]).sum() for _, state in sorted(runs, key=lambda run: run[0])]
""",
    ),
    "zip": (
        "zip and enumerate.",
        """
states = [start(), p_step(start(), shard(BATCH))]
RESULT = [np.asarray(s["w"]).sum() * i for i, (s, _) in enumerate(zip(states, "ab"))]
""",
    ),
    "map": (
        "map and operator.itemgetter.",
        """
import operator

states = [p_step(start(), shard(BATCH)), start()]
RESULT = [float(np.sum(w)) for w in map(np.asarray, map(operator.itemgetter("w"), states))]
""",
    ),
    "filter": (
        "filter.",
        """
states = [None, p_step(start(), shard(BATCH))]
RESULT = [np.asarray(state["w"]).sum() for state in filter(None, states)]
""",
    ),
    "reduce": (
        "functools.reduce over steps.",
        """
state = functools.reduce(lambda state, batch: p_step(state, shard(batch)), [BATCH, BATCH + 1], start())
RESULT = np.asarray(state["w"]).sum()
""",
    ),
    "walrus": (
        "An assignment expression.",
        """
if (state := p_step(start(), shard(BATCH))) is not None:
    RESULT = np.asarray(state["w"]).sum()
""",
    ),
    "conditional_expression": (
        "A conditional expression of which only one side is mapped.",
        """
single = {"w": jnp.ones((3,))}
for use_pmap in (True, False):
    state = p_step(start(), shard(BATCH)) if use_pmap else single
    globals().setdefault("RESULT", []).append(np.asarray(state["w"]).sum())
""",
    ),
    "boolean_operator": (
        "`or` over a cache.",
        """
cache = {}
state = cache.get("state") or p_step(start(), shard(BATCH))
RESULT = np.asarray(state["w"]).sum()
""",
    ),
    "for_else": (
        "A loop with break and else.",
        """
state = start()
for i in range(3):
    state = p_step(state, shard(BATCH))
    if i == 1:
        break
else:
    state = {"w": jnp.ones((3,))}
RESULT = np.asarray(state["w"]).sum()
""",
    ),
    "try_finally": (
        "try, except and finally.",
        """
state = {"w": jnp.zeros((3,))}
try:
    state = start()
    state = p_step(state, shard(BATCH))
    int("x")
except ValueError:
    pass
finally:
    RESULT = np.asarray(state["w"]).sum()
""",
    ),
    "recursion": (
        "Recursion.",
        """
def train(state, steps):
    return train(p_step(state, shard(BATCH)), steps - 1) if steps else state


RESULT = np.asarray(train(start(), 2)["w"]).sum()
""",
    ),
    "decorated_step": (
        "A timing wrapper around the mapped step.",
        """
import time


def timed(function):
    @functools.wraps(function)
    def call(*args, **kwargs):
        begin = time.perf_counter()
        out = function(*args, **kwargs)
        timed.spent = time.perf_counter() - begin
        return out

    return call


fast_step = timed(p_step)
RESULT = np.asarray(fast_step(start(), shard(BATCH))["w"]).sum()
""",
    ),
    "context_manager": (
        "A context manager's value.",
        """
import contextlib


@contextlib.contextmanager
def training():
    state = p_step(start(), shard(BATCH))
    yield state


with training() as state:
    RESULT = np.asarray(state["w"]).sum()
""",
    ),
    "match": (
        "A match statement.",
        """
match {"state": p_step(start(), shard(BATCH)), "step": 1}:
    case {"state": {"w": weights}, "step": int()}:
        RESULT = np.asarray(weights).sum()
""",
    ),
    "star_target": (
        "A starred target.",
        """
first, *rest = [start(), p_step(start(), shard(BATCH)), None]
RESULT = np.asarray(rest[0]["w"]).sum()
""",
    ),
    "cached_function": (
        "functools.lru_cache.",
        """
@functools.lru_cache(maxsize=None)
def trained(steps):
    state = start()
    for _ in range(steps):
        state = p_step(state, shard(BATCH))
    return state


trained(1)
RESULT = np.asarray(trained(1)["w"]).sum()
""",
    ),
    "callable_object": (
        "An object that is called like a function.",
        """
class Step:
    def __call__(self, state):
        return p_step(state, shard(BATCH))


RESULT = np.asarray(Step()(start())["w"]).sum()
""",
    ),
    "operator_overload": (
        "An operator of a class of the project.",
        """
class Chain:
    def __init__(self, state):
        self.state = state

    def __or__(self, step):
        return Chain(step(self.state, shard(BATCH)))


RESULT = np.asarray((Chain(start()) | p_step | p_step).state["w"]).sum()
""",
    ),
    "pytree_of_objects": (
        "A registered class that JAX takes apart and puts together.",
        """
from flax import struct


class Box(struct.PyTreeNode):
    inner: dict


box = jax.tree.map(lambda x: x + 1, Box(p_step(start(), shard(BATCH))))
RESULT = np.asarray(box.inner["w"]).sum()
""",
    ),
    "pickle": (
        "A pickle.",
        """
import pickle

text = pickle.dumps(jax.device_get(p_step(start(), shard(BATCH))))
RESULT = pickle.loads(text)["w"].sum()
""",
    ),
    "inheritance": (
        "A method of a base class, with the step given by the derived one.",
        """
class Base:
    def total(self):
        return np.asarray(self.state["w"]).sum()


class Derived(Base):
    def __init__(self):
        self.state = p_step(start(), shard(BATCH))


RESULT = Derived().total()
""",
    ),
    "bound_methods": (
        "A table of bound methods.",
        """
class Trainer:
    def __init__(self):
        self.state = start()
        self.actions = {"train": self.train, "total": self.total}

    def train(self):
        self.state = p_step(self.state, shard(BATCH))

    def total(self):
        return np.asarray(self.state["w"]).sum()


trainer = Trainer()
RESULT = [trainer.actions[name]() for name in ("train", "total")]
""",
    ),
    "while_condition": (
        "A while loop whose condition looks at the whole array.",
        """
state = start()
steps = 0
while float(jnp.sum(state["w"])) > 10.0 and steps < 5:
    state = p_step(state, shard(BATCH))
    steps += 1
RESULT = (steps, np.asarray(state["w"])[0])
""",
    ),
    "comprehension": (
        "Comprehensions over devices.",
        """
state = p_step(start(), shard(BATCH))
RESULT = {f"device_{i}": np.asarray(w) for i, w in enumerate(state["w"])}
""",
    ),
    "async_function": (
        "A coroutine.",
        """
import asyncio


async def train():
    state = p_step(start(), shard(BATCH))
    await asyncio.sleep(0)
    return state


RESULT = np.asarray(asyncio.run(train())["w"]).sum()
""",
    ),
    "format": (
        "A format string.",
        """
state = p_step(start(), shard(BATCH))
RESULT = f"{state['w'].shape} {state['w'].ndim} {len(state['w'])}"
""",
    ),
}


def carried(name: str) -> str:
    """The program of a carrier."""
    about, code = CARRIERS[name]
    return PROGRAM.format(about=f"Carried by: {about}", code=code.strip())
