"""A whole program: containers, mapped functions, the host's code around them, and the modules they are spread over."""

from __future__ import annotations

from dataclasses import dataclass, field

from tests.fuzz.grammar.choices import Choices
from tests.fuzz.grammar.hosts import Host, call, cut, example, may_pad, moves, padded, replicated, single_state, start
from tests.fuzz.grammar.maps import FORMS, Mapped, binding, plan_map
from tests.fuzz.grammar.observing import observed
from tests.fuzz.grammar.steps import Parameter, Step, write_step
from tests.fuzz.grammar.trees import CLASSES, Leaf, Tree, Type, declarations, leaves

Files = dict[str, str]
STYLES = ("", "scanned", "batched", "dict", "named")  # how a step runs its body, or puts its results together
STYLE_WEIGHTS = (10, 4, 4, 2, 2)
IMPORTS = """
import contextlib
import copy
import dataclasses
import functools
import pickle
import string
from types import SimpleNamespace
from typing import Any, NamedTuple
import flax
import flax.struct
import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import jax_utils
from flax.training import common_utils
from flax.training.dynamic_scale import DynamicScale
"""
DATA = """
N = jax.local_device_count()
KEY = jax.random.PRNGKey(3)
X = np.random.RandomState(0).normal(size=(4, 8 * {rows}, 3)).astype(np.float32)
Y = np.random.RandomState(1).normal(size=(4, 8 * {rows})).astype(np.float32)
BUFFER = np.zeros((8 * {rows}, 3), np.float32)
out = []
"""
FUNCTIONS = {
    "first": "def first(tree):\n    return jax.tree.map(lambda x: x[0], tree)",
    "merged": "def merged(x):\n    return np.asarray(x).reshape((-1,) + x.shape[2:])",
    "spread": "def spread(tree):\n    return jax.tree.map(lambda x: jnp.stack([x] * jax.local_device_count()), tree)",
    "cut": "def cut(tree):\n    n = jax.local_device_count()\n"
    "    return jax.tree.map(lambda x: x.reshape((n, x.shape[0] // n) + x.shape[1:]), tree)",
    "apply": "def apply(f, *args, **kwargs):\n    return f(*args, **kwargs)",
    "identity": "def identity(value):\n    return value",
    "fill": "def fill(buffer):\n    buffer[...] = 0.5",
    "note": "def note(value):\n    out.append(value)",
}
HELPERS = """import jax
import jax.numpy as jnp
from flax import jax_utils


def first(tree):
    return {first}


def replicate(tree):
    return {replicate}


def shard(tree):
    return {shard}
"""


@dataclass
class Draft:
    """What is decided of a program before its host code is written."""

    choices: Choices
    axis: str
    state: Type
    batch: Type
    rows: int
    maps: list[Mapped] = field(default_factory=list)
    above: list[list[str]] = field(default_factory=list)
    bindings: list[str] = field(default_factory=list)
    layers: list[list[str]] = field(default_factory=list)
    steps: list[list[str]] = field(default_factory=list)
    style: str = ""


def state_type(choices: Choices) -> Type:
    """What a trainer keeps: one array, or a container of several."""
    form = choices.pick(("bare", "dict", "struct", "tuple", "named", "registered", "list"), (4, 5, 4, 3, 3, 2, 1))
    if form == "bare":
        return Leaf((3,))
    fields: list[tuple[str, Type]] = [("w", Leaf((3,)))]
    if choices.chance(20):
        fields = [("params", Tree(choices.pick(("dict", "tuple")), (("w", Leaf((3,))), ("b", Leaf(())))))]
    for name, leaf, share in (
        ("b", Leaf(()), 35),
        ("m", Leaf((3,)), 30),
        ("step", Leaf((), "i"), 25),
        ("stats", Leaf((3,)), 20),
        ("rng", Leaf((2,), "key"), 12),
    ):
        if choices.chance(share):
            fields.append((name, leaf))
    return Tree(form, tuple(fields), "State" if form in CLASSES else "")


def draft(choices: Choices) -> Draft:
    """Decides a program's containers and mapped functions; two of three programs are small, which is more of them."""
    small = choices.chance(67)
    state = state_type(choices)
    rows = choices.pick((2, 1, 3), (6, 3, 1))
    x, y = Leaf((rows, 3)), Leaf((rows,))
    form = choices.pick(("bare", "dict", "tuple", "named"), (4, 5, 2, 1))
    batch: Type = x if form == "bare" else Tree(form, (("x", x), ("y", y)), "Batch" if form == "named" else "")
    made = Draft(choices, choices.pick(('"batch"', "AXIS")), state, batch, rows)
    made.style = choices.pick(STYLES, STYLE_WEIGHTS)
    forms = FORMS if "AXIS" not in made.axis else tuple(f for f in FORMS if f != "module")
    donates = choices.chance(25)
    add_map(made, "train_step", ["state", "batch"], train_results(choices), forms, donates)
    if choices.chance(20 if small else 45):
        results = choices.pick((["metrics"], ["rows"], ["metrics", "rows"]))
        add_map(made, "eval_step", ["state", "batch"], results, forms, may_donate=False)
    if not small and choices.chance(15):
        add_map(made, "other_step", ["state", "batch"], ["state"], forms, may_donate=False)
    return made


def train_results(choices: Choices) -> list[str]:
    """The roles of what the main step returns."""
    return choices.pick((["state"], ["state", "metrics"], ["state", "metrics", "rows"]), (5, 7, 2))


def add_map(
    made: Draft, name: str, roles: list[str], results: list[str], forms: tuple[str, ...], may_donate: bool
) -> None:
    """Writes a step and decides how it is mapped."""
    choices = made.choices
    with choices.span():
        parameters = [Parameter("state", "state", made.state), Parameter("batch", "batch", made.batch)]
        if choices.chance(20):
            parameters.append(Parameter("key", "key", Leaf((2,), "key")))
            if choices.chance(30):
                results = [*results, "key"]
        if choices.chance(12):
            parameters.append(Parameter("rate", "rate", Leaf(())))
        if choices.chance(8):
            parameters.append(Parameter("flag", "flag", Leaf(())))
        mute = choices.chance(6)
        metrics = choices.pick(("dict", "bare", "tuple", "named"), (6, 4, 1, 1))
        style = made.style if made.style != "batched" or results[0] == "state" else ""
        step = write_step(choices, name, parameters, results, made.axis, mute, metrics, style)
        mapped = plan_map(choices, step, f"p_{name}", made.axis, forms, may_donate)
    made.maps.append(mapped)
    place(made, mapped)


def place(made: Draft, mapped: Mapped) -> None:
    """Puts a step and its map into their modules."""
    step: Step = mapped.step
    defined, bound = binding(made.choices, mapped, mapped.name)
    made.layers += step.elsewhere
    if mapped.form == "module":
        made.steps += [*step.above, step.lines]
    else:
        made.above += step.above
    if defined:
        made.above.append(defined)
    made.bindings += bound


def train(made: Draft, host: Host) -> None:
    """The main loop, and what comes behind it."""
    choices = made.choices
    main = made.maps[0]
    has_metrics = any(role == "metrics" for role, _ in main.step.results)
    feeds_key = any(role == "key" for role, _ in main.step.results)
    history = has_metrics and choices.chance(30)
    keys = ""
    if feeds_key:
        keys = "keys"
        host.put(f"keys = {choices.pick(('jax.random.split(KEY, N)', 'jax_utils.replicate(KEY)'), (5, 1))}")
    if history:
        host.put("history = []")
    moves(host, host.state, 30)
    with choices.span():
        looping = choices.chance(75)
        if looping and main.takes[1] == 0 and choices.chance(20):
            fed(made, host, keys, history)
        elif looping:
            head = choices.pick(
                ("for i in range(2):", "for i in range(3):", "for i, _ in enumerate(X[:2]):"), (6, 3, 1)
            )
            with host.block(head):
                once(made, host, "i", keys, history)
        else:
            host.put("i = 0")
            once(made, host, "0", keys, history)
    if history:
        past(made, host)


def fed(made: Draft, host: Host, keys: str, history: bool) -> None:
    """A loop over batches that a generator, a list or a prefetching iterator gives."""
    choices = made.choices
    kind = choices.pick(("generator", "list", "prefetch", "zip"))
    with host.block("def loader():"), host.block("for j in range(3):"):
        host.put(f"yield {cut(host, example(host, 'j'))}")
    given = {
        "generator": "loader()",
        "list": "list(loader())",
        "prefetch": "jax_utils.prefetch_to_device(loader(), 2)",
        "zip": "[b for _, b in zip(range(2), loader())]",
    }[kind]
    with host.block(f"for i, given in enumerate({given}):"):
        once(made, host, "i", keys, history, "given")


def once(made: Draft, host: Host, index: str, keys: str, history: bool, batch: str = "") -> None:
    """A step, and what a trainer does beside it."""
    choices = made.choices
    results = call(host, made.maps[0], host.state, index, keys, batch)
    looked(made, host, made.maps[0], results, 45)
    if results.get("metrics") and choices.chance(15):
        watched(made, host, results["metrics"])
    if history and results.get("metrics"):
        host.put(f"history.append({results['metrics']})")
    for mapped in made.maps[1:]:
        with choices.span():
            if choices.chance(60):
                guard = choices.chance(30)
                if guard:
                    with host.block(f"if {index} % 2 == 0:"):
                        looked(made, host, mapped, call(host, mapped, host.state, index), 80)
                elif may_pad(mapped) and choices.chance(35):
                    padded(host, mapped, host.state, index)
                else:
                    looked(made, host, mapped, call(host, mapped, host.state, index), 80)
    moves(host, host.state, 30)


def watched(made: Draft, host: Host, metrics: str) -> None:
    """A number of the metrics is added up, or decides whether the loop goes on."""
    type_ = dict(made.maps[0].step.results)["metrics"]
    code = leaves(type_, metrics)[0][0]
    hostile = made.choices.chance(host.hostile)
    number = made.choices.pick(("float({}.mean())", "float(jnp.sum({}))") if hostile else ("float({}[0])", "{}[0]"))
    if made.choices.chance(50) and host.depth > 0:
        total = host.name("total")
        host.put(f"{total} = 1.0", f"{total} += {number.format(code)}")
        host.see(total)
    else:
        with host.block(f"if {number.format(code)} > {made.choices.pick(('0.3', '1e9', '-1e9'))}:"):
            host.look(metrics, type_)


def looked(made: Draft, host: Host, mapped: Mapped, results: dict[str, str], percent: int) -> None:
    """Looks at some of what a call gave."""
    types = dict(mapped.step.results)
    for role, name in results.items():
        if name and made.choices.chance(percent if role != "state" else 20):
            host.look(name, types[role], rows=role == "rows")


def past(made: Draft, host: Host) -> None:
    """Looks at the metrics of all steps."""
    type_ = dict(made.maps[0].step.results)["metrics"]
    inner = observed(made.choices, "m", type_, host.hostile)
    ways = [f"[{inner} for m in history]", "[first(m) for m in history]", "[jax_utils.unreplicate(m) for m in history]"]
    ways += ["[jax.device_get(m) for m in jax_utils.unreplicate(history)]"]
    if isinstance(type_, Tree):
        ways += ["common_utils.get_metrics(history)"]
    if made.choices.chance(host.hostile):
        ways = ["jax.tree.map(lambda *x: np.mean(np.stack(x)), *history)", "jax.device_get(history)", "len(history[0])"]
        ways += [
            "common_utils.stack_forest(jax.device_get(history))",
            "jax.tree.map(lambda *x: sum(v.sum() for v in x), *history)",
        ]
        if not isinstance(type_, Tree):
            ways = [
                "np.mean(history)",
                "np.stack(history).mean(1)",
                "sum(m.sum() for m in history)",
                "jnp.concatenate(history)",
            ]
    host.see(made.choices.pick(ways))


def host_code(made: Draft) -> list[str]:
    """The code that runs when the program does."""
    choices = made.choices
    hostile = choices.pick((0, 5, 15, 50), (45, 25, 20, 10))
    place_ = choices.pick(("state", "self.state", 'box["state"]', "box.state", "states[0]"), (12, 0, 2, 2, 1))
    structure = choices.pick(("script", "main", "class", "train"), (5, 4, 3, 2))
    if structure == "class":
        place_ = "self.state"
    host = Host(choices, hostile, place_, made.state, made.batch, donated=bool(made.maps[0].donated))
    host.batched = made.maps[0].step.batched
    if structure == "class":
        as_class(made, host)
    elif structure == "main":
        with host.block("def main():"):
            if choices.chance(30):
                host.put(*made.bindings)
                made.bindings = []
            everything(made, host)
        host.put("main()")
    elif structure == "train" and place_ == "state":
        begin(made, host)
        with host.block("def train(state):"):
            train(made, host)
            aliases(made, host)
            host.put("return state")
        host.put("state = train(state)")
        end(made, host)
    else:
        everything(made, host)
    return host.lines


def as_class(made: Draft, host: Host) -> None:
    """A trainer that keeps its state and its mapped steps on itself."""
    with host.block("class Trainer:"):
        with host.block("def __init__(self):"):
            if made.choices.chance(40):
                begun(made, host)
            else:
                start(host, host.state)
            for mapped in made.maps:
                if made.choices.chance(60):
                    host.put(f"self.{mapped.name} = {mapped.name}")
                    mapped.name = f"self.{mapped.name}"
        with host.block("def peek(self):"):
            host.put("out.append(jax.tree.map(lambda x: x[:1] if jnp.ndim(x) else x, self.state))")
        with host.block("def run(self):"):
            train(made, host)
            end(made, host)
    host.put("Trainer().run()")


def begun(made: Draft, host: Host) -> None:
    """An attribute holds the host's state for a moment, and its copies from then on."""
    choices = made.choices
    host.put(f"{host.state} = {single_state(made.state)}")
    between = choices.pick(
        ("", "self.average = jax.tree.map(jnp.asarray, self.state)", "note(jax.device_get(self.state))", "self.peek()"),
        (6, 2, 2, 1),
    )
    if between:
        host.put(between)
    host.put(f"{host.state} = {replicated(host, host.state, first=True)}")


def everything(made: Draft, host: Host) -> None:
    """State, loop and looks in one place, at times with a function that is defined before the state is made."""
    choices = made.choices
    early = host.depth > 0 and host.state == "state" and choices.chance(30)
    if early:
        with host.block("def early():"):
            host.put(f"return {observed(choices, 'state', made.state, host.hostile)}")
    begin(made, host)
    if early and choices.chance(20):
        host.put("seen = early")
        early = choices.chance(50)
    train(made, host)
    if early:
        host.see("early()")
    end(made, host)


def begin(made: Draft, host: Host) -> None:
    """Makes the state, in what it is kept in."""
    containers = {'box["state"]': "box = {}", "box.state": "box = SimpleNamespace()"}
    if host.state in containers:
        host.put(containers[host.state])
    if host.state == "states[0]":
        start(host, "one")
        start(host, "two", "0.6")
        host.put("states = [one, two]")
        host.kept.append(("states[1]", host.type, False))
        return
    start(host, host.state)


def end(made: Draft, host: Host) -> None:
    """Looks at the state, and at what was kept of it; at times goes on with it."""
    choices = made.choices
    with choices.span():
        if choices.chance(25):
            mapped = choices.pick(made.maps)
            fed = any(role == "key" for role, _ in mapped.step.results) and mapped is made.maps[0]
            if not fed:
                looked(made, host, mapped, call(host, mapped, host.state, "1"), 80)
    if choices.chance(10) and not host.donated:
        second = host.name("second")
        start(host, second, "0.7")
        if "key" not in dict(made.maps[0].step.results):
            call(host, made.maps[0], second, "2")
        if choices.chance(30):
            host.put(f"{host.state}, {second} = {second}, {host.state}")
        host.look(second, made.state)
    aliases(made, host)
    host.look(host.state, made.state)
    for _ in choices.times(30, 2):
        host.look(host.state, made.state)


def aliases(made: Draft, host: Host) -> None:
    """Looks at what was kept under other names."""
    for expression, type_, rows in host.kept:
        if made.choices.chance(70):
            host.look(expression, type_, rows)
    host.kept.clear()


def write_program(choices: Choices, host: str = "") -> Files:
    """Writes a program; its observed values are in `RESULT` and in what it prints.

    With a seed for the host's code, the mapped functions are still those of the seed of the choices.
    """
    made = draft(choices)
    choices.reseed(host)
    code = host_code(made)
    files: Files = {}
    classes = declarations(made.state) + declarations(made.batch)
    classes += [d for mapped in made.maps for _, type_ in mapped.step.results for d in declarations(type_)]
    unique = [list(lines) for lines in dict.fromkeys(tuple(lines) for lines in classes)]
    head = [*IMPORTS.strip().splitlines()]
    if made.steps:
        files["shapes.py"] = _module([IMPORTS.strip().splitlines(), *unique])
        head.append("import steps")
        blocks = [[*IMPORTS.strip().splitlines(), "from shapes import *"], *made.steps]
        files["steps.py"] = _module(blocks, made.layers)
        unique = [["from shapes import *"]] if unique else []
    if made.layers:
        files["layers.py"] = _module([["import jax", "import jax.numpy as jnp"], *made.layers])
        head.append("import layers")
    body = "\n".join(code) + "\n" + "\n".join(made.bindings)
    axis = ['AXIS = "batch"'] if made.axis == "AXIS" else []
    used = [text.splitlines() for name, text in FUNCTIONS.items() if _calls(body, name)]
    if "helpers." in body:
        head.append("import helpers")
        files["helpers.py"] = helpers(choices)
    data = DATA.strip().format(rows=made.rows).splitlines()
    blocks = [head, [*data, *axis], *unique, *used, *made.above, [*made.bindings, *code], ["RESULT = out"]]
    return {"main.py": _module(blocks), **files}


def _calls(text: str, name: str) -> bool:
    return any(f"{before}{name}(" in text for before in (" ", "(", "[", "\n", "=", "{", "*")) or f"({name}" in text


def helpers(choices: Choices) -> str:
    """A module of a project's own helpers."""
    return HELPERS.format(
        first=choices.pick(("jax.tree.map(lambda x: x[0], tree)", "jax_utils.unreplicate(tree)")),
        replicate=choices.pick(
            ("jax_utils.replicate(tree)", "jax.tree.map(lambda x: jnp.stack([x] * jax.local_device_count()), tree)")
        ),
        shard="jax.tree.map(lambda x: x.reshape((jax.local_device_count(), -1) + x.shape[1:]), tree)",
    )


def _module(blocks: list[list[str]], layers: list[list[str]] | None = None) -> str:
    text = "\n\n\n".join("\n".join(block) for block in blocks if block) + "\n"
    return text if not layers else text.replace("from shapes import *", "from shapes import *\nimport layers", 1)
