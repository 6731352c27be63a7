"""Measures how time and memory of fix and lint grow with a project: its files, its call chain, its sites.

    python tests/bench/growth.py [--most 50000] [--commands lint fix] [--kinds files chain sites functions family]
                                 [--svg FILE] [--limit SECONDS] [--log FILE]

Projects are synthetic and of doubling sizes. `files`: a tree of folders in which one file in ten uses JAX and one in a
hundred maps; `chain`: functions that call one another in a row behind one map, with a collective in the last, ten to a
module; `sites`: mapped functions with their states and loops, twenty to a module; `functions`: one file of functions
with an old name in each, 43,000 to 10 MB; `family`: classes of one family with their tests, which all name what the one
trainer names, so that all are followed, two files to a class. Each measurement is a process of its own: its processor
time, and the most memory that one of its processes held. The exponent is that of size in a fit of time over the larger
half of the sizes: 1 is linear. With `--log` each measurement is a line of the file, and what it holds is not measured
again.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

LIMIT = 900
PLAIN = '''"""Module {n}."""

import collections
import os


class Thing{n}:
    def __init__(self, size: int) -> None:
        self.size = size
        self.parts = collections.deque(range(size))

    def total(self) -> int:
        return sum(part * {n} for part in self.parts if part % 3)


def paths(root: str) -> list[str]:
    return sorted(os.path.join(root, name) for name in os.listdir(root))
'''
USES = """import jax
import jax.numpy as jnp
from {package}.plain_{other} import Thing{other}


def loss_{n}(params, batch):
    x = jnp.tanh(batch["x"] @ params["w"])
    return jnp.mean((x - batch["y"]) ** 2) + Thing{other}(3).total()


def update_{n}(params, batch):
    grads = jax.grad(loss_{n})(params, batch)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
"""
SITE = """

def train_step_{n}(params, batch):
    def loss(p):
        return jnp.mean((batch @ p - 1.0) ** 2)

    value, grads = jax.value_and_grad(loss)(params)
    grads = jax.lax.pmean(grads, "batch")
    return params - 0.1 * grads, jax.lax.pmean(value, "batch")


p_train_step_{n} = jax.pmap(train_step_{n}, axis_name="batch")


def train_{n}(batches):
    params = jax_utils.replicate(jnp.zeros(3))
    for batch in batches:
        params, value = p_train_step_{n}(params, shard(batch))
        print(value[0])
    return jax_utils.unreplicate(params)
"""
OLD = '''

def normalise_{n}(params, batch):
    """Scales what the layer {n} gives to unit size."""
    scaled = jax.tree_map(lambda leaf: leaf / jnp.linalg.norm(leaf), params)
    total = jnp.sum(batch["x"]) * {n}
    return scaled, total
'''
OPERATOR = """import numpy as np

from project.library.base import Operator, prepared


class Operator{n}(Operator):
    def __init__(self, shape, scale={n}, use_pmap=False):
        super().__init__(shape, lambda x: x * scale, use_pmap)
        self.weights = prepared(np.ones(shape), self)
        self.other = None

    def apply(self, x):
        y = self.evaluate(x)
        for weight in self.weights:
            y = y + weight
        self.other = y
        return y

    def scaled(self, factor):
        return Operator{n}(self.shape, factor)
"""
TESTED = """import numpy as np

from project.library.base import prepared
from project.library.operator_{n} import Operator{n}
from project.library.trainer import Trainer


class TestOperator{n}:
    def setup_method(self):
        self.operator = Operator{n}((3, 4))
        self.data = prepared(np.ones((3, 4)), self.operator)

    def test_apply(self):
        trainer = Trainer(self.operator, use_pmap=False)
        assert trainer.run([self.data]) is not None
        assert self.operator.apply(self.data) is not None

    def test_scaled(self):
        data = self.data
        data[0] = 3
        assert self.operator.scaled(2).apply(data) is not None
"""
BASE = """import jax


def prepared(array, owner):
    array = array.reshape(owner.shape)
    array.setflags(write=True)
    return array


class Operator:
    def __init__(self, shape, evaluate, use_pmap=False):
        self.shape = shape
        self.evaluate = jax.pmap(evaluate) if use_pmap else evaluate
        self.use_pmap = use_pmap

    def __call__(self, x):
        return self.evaluate(x)

    def __add__(self, other):
        return Operator(self.shape, lambda x: self.evaluate(x) + other.evaluate(x))
"""
TRAINER = """import jax
import jax.numpy as jnp
from flax import jax_utils
from flax.training.common_utils import shard


class Trainer:
    def __init__(self, operator, use_pmap=True):
        self.operator = operator
        self.use_pmap = use_pmap
        step = lambda w, x: (w - 0.1 * jax.lax.pmean(jnp.mean(x), "batch"))
        self.step = jax.pmap(step, axis_name="batch") if self.use_pmap else step

    def run(self, batches):
        state = jnp.zeros(())
        if self.use_pmap:
            state = jax_utils.replicate(state)
        for batch in batches:
            data = self.operator(batch)
            state = self.step(state, shard(data) if self.use_pmap else data)
        return jax_utils.unreplicate(state) if self.use_pmap else state
"""
HEAD = """import jax
import jax.numpy as jnp
from flax import jax_utils
from flax.training.common_utils import shard
"""


@dataclass(frozen=True)
class Measured:
    """One measurement: what was run over how much, its processor seconds and its most memory in MiB."""

    command: str
    kind: str
    size: int
    seconds: float
    memory: float


def files(root: Path, size: int) -> None:
    """A tree of modules, a hundred to a folder."""
    for n in range(size):
        package = f"package_{n // 100}"
        folder = root / package
        if n % 100 == 0:
            folder.mkdir(parents=True)
            (folder / "__init__.py").write_text("", encoding="utf-8")
        if n % 100 == 99:
            (folder / f"train_{n}.py").write_text(HEAD + SITE.format(n=n), encoding="utf-8")
        elif n % 10 == 9:
            other = n - n % 10
            text = USES.format(n=n, other=other, package=package)
            (folder / f"uses_{n}.py").write_text(text, encoding="utf-8")
        else:
            (folder / f"plain_{n}.py").write_text(PLAIN.format(n=n), encoding="utf-8")


def chain(root: Path, size: int) -> None:
    """Functions that call one another, the last of which reduces."""
    root.mkdir(parents=True)
    for start in range(0, size, 10):
        lines = ["import jax", f"from links_{start + 10} import link_{start + 10}" if start + 10 < size else ""]
        for n in range(start, min(start + 10, size)):
            call = f"link_{n + 1}(x, axis)" if n + 1 < size else "jax.lax.pmean(x, axis)"
            lines += ["", "", f"def link_{n}(x, axis):", f"    y = x * {n}", f"    return {call} + y"]
        (root / f"links_{start}.py").write_text("\n".join(lines) + "\n", encoding="utf-8")
    text = HEAD + (
        "from links_0 import link_0\n\n\ndef step(state, batch):\n"
        '    return state - 0.1 * link_0(batch.mean(0), "batch")\n\n\n'
        'p_step = jax.pmap(step, axis_name="batch")\nstate = jax_utils.replicate(jnp.zeros(3))\n'
        "state = p_step(state, shard(jnp.ones((16, 3))))\nprint(state[0])\n"
    )
    (root / "main.py").write_text(text, encoding="utf-8")


def sites(root: Path, size: int) -> None:
    """Trainers, twenty to a module."""
    root.mkdir(parents=True)
    for start in range(0, size, 20):
        text = HEAD + "".join(SITE.format(n=n) for n in range(start, min(start + 20, size)))
        (root / f"trainers_{start}.py").write_text(text, encoding="utf-8")


def functions(root: Path, size: int) -> None:
    """One long file, of which each function changes."""
    root.mkdir(parents=True)
    text = HEAD + "".join(OLD.format(n=n) for n in range(size))
    (root / "generated.py").write_text(text, encoding="utf-8")


def family(root: Path, size: int) -> None:
    """Classes of one family, each with a test."""
    for folder in ("library", "tests"):
        (root / folder).mkdir(parents=True)
        (root / folder / "__init__.py").write_text("", encoding="utf-8")
    (root / "__init__.py").write_text("", encoding="utf-8")
    (root / "library" / "base.py").write_text(BASE, encoding="utf-8")
    (root / "library" / "trainer.py").write_text(TRAINER, encoding="utf-8")
    for n in range(size):
        (root / "library" / f"operator_{n}.py").write_text(OPERATOR.format(n=n), encoding="utf-8")
        (root / "tests" / f"test_{n}.py").write_text(TESTED.format(n=n), encoding="utf-8")


KINDS: dict[str, tuple[Callable[[Path, int], None], int, int]] = {
    "files": (files, 500, 50_000),
    "chain": (chain, 125, 2_000),
    "sites": (sites, 50, 800),
    "functions": (functions, 250, 4_000),
    "family": (family, 25, 200),
}
COMMANDS = {
    "lint": ("lint", "--no-cache", "--statistics"),
    "fix": ("fix", "--check"),
    "fix likely": ("fix", "--check", "--layout", "likely"),
    "fix stacked": ("fix", "--check", "--layout", "stacked"),
}


def sizes(kind: str, most: int) -> Iterator[int]:
    """The sizes of a kind of project, each twice (of files, up to ten times) the one before."""
    _, least, limit = KINDS[kind]
    size = least
    while size <= min(limit, most):
        yield size
        size *= 2 if kind != "files" else 10 if size * 10 <= limit else 2


def measure(command: str, kind: str, size: int, limit: float) -> Measured | None:
    """Runs a command over a new project; None where it takes longer than the limit."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "project"
        KINDS[kind][0](root, size)
        code = "import sys; from jaxmigrate.cli import main; sys.exit(main(sys.argv[1:]))"
        watch = [sys.executable, "-c", WATCH, sys.executable, "-c", code, *COMMANDS[command], str(root)]
        try:
            child = subprocess.run(watch, capture_output=True, text=True, timeout=limit, check=True)
        except subprocess.TimeoutExpired:
            return None
        status, seconds, memory = child.stdout.split()[-3:]
        assert int(status) in (0, 1), child.stderr[-2000:]
        return Measured(command, kind, size, float(seconds), float(memory))


# Between here and the command: the processor time and memory of what it started, and of nothing before.
WATCH = """
import resource, subprocess, sys
child = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(child.returncode, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)
"""


def kept(log: Path | None) -> dict[tuple[str, str, int], Measured]:
    """The measurements of an earlier run."""
    lines = log.read_text(encoding="utf-8").splitlines() if log is not None and log.exists() else []
    found = [Measured(**json.loads(line)) for line in lines]
    return {(one.command, one.kind, one.size): one for one in found}


def exponent(found: Sequence[Measured]) -> float:
    """The slope of time over size, both as logarithms, over the larger half of the sizes."""
    rest = found[len(found) // 2 - 1 if len(found) > 2 else 0 :]
    points = [(math.log(one.size), math.log(one.seconds)) for one in rest]
    x_mean, y_mean = (sum(values) / len(points) for values in zip(*points, strict=True))
    above: float = sum((x - x_mean) * (y - y_mean) for x, y in points)
    below: float = sum((x - x_mean) ** 2 for x, _ in points)
    return above / below


WIDTH, HEIGHT, MARGIN = 260, 200, 45
COLOURS = {"lint": "#1b6ca8", "fix": "#b5541c", "fix stacked": "#4b8b3b"}


def picture(curves: dict[tuple[str, str], list[Measured]]) -> str:
    """The curves as SVG, one panel for each kind, both axes in logarithms."""
    kinds = list(dict.fromkeys(kind for _, kind in curves))
    lines: list[str] = []
    for place, kind in enumerate(kinds):
        mine = {command: found for (command, k), found in curves.items() if k == kind}
        lines += panel(kind, mine, MARGIN + place * (WIDTH + 2 * MARGIN))
    total = len(kinds) * (WIDTH + 2 * MARGIN)
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{total}" height="{HEIGHT + 2 * MARGIN}"'
    return "\n".join([f'{head} font-family="sans-serif" font-size="11">', *lines, "</svg>", ""])


def panel(kind: str, curves: dict[str, list[Measured]], left: float) -> Iterator[str]:
    """The curves of one kind of project."""
    every = [one for found in curves.values() for one in found]
    across = scale([one.size for one in every], left, left + WIDTH)
    up = scale([one.seconds for one in every], MARGIN + HEIGHT, MARGIN)
    yield f'<rect x="{left}" y="{MARGIN}" width="{WIDTH}" height="{HEIGHT}" fill="none" stroke="#999"/>'
    yield f'<text x="{left}" y="{MARGIN - 12}">{kind}: processor seconds over their number</text>'
    for command, found in curves.items():
        points = " ".join(f"{across(one.size):.1f},{up(one.seconds):.1f}" for one in found)
        yield f'<polyline points="{points}" fill="none" stroke="{COLOURS[command]}" stroke-width="2"/>'
        where = f'x="{across(found[-1].size):.1f}" y="{up(found[-1].seconds) - 6:.1f}" text-anchor="end"'
        yield f'<text {where} fill="{COLOURS[command]}">{command} {found[-1].seconds:.1f} s</text>'
    for size in {one.size for one in every}:
        yield f'<text x="{across(size):.1f}" y="{MARGIN + HEIGHT + 16}" text-anchor="middle">{size}</text>'


def scale(values: Sequence[float], start: float, end: float) -> Callable[[float], float]:
    """Where a value stands between two ends, by its logarithm."""
    low, high = math.log10(min(values)), math.log10(max(values))
    return lambda value: start + (end - start) * (math.log10(value) - low) / max(high - low, 0.1)


def main() -> None:
    """Prints a row for each measurement, and for each curve its exponent."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--most", type=int, default=50_000, help="no project of more than so many")
    parser.add_argument("--commands", nargs="+", choices=COMMANDS, default=list(COMMANDS))
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument(
        "--limit", type=float, default=LIMIT, help="seconds for each measurement (default: %(default)s)"
    )
    parser.add_argument("--log", type=Path, help="keep measurements in this file, and begin with those in it")
    parser.add_argument("--svg", type=Path, help="write the curves to this file")
    options = parser.parse_args()
    curves: dict[tuple[str, str], list[Measured]] = {}
    known = kept(options.log)
    print("| command | of | number | processor seconds | ms each | MiB |\n|---|---|---:|---:|---:|---:|")
    for kind in options.kinds:
        for command in options.commands:
            for size in sizes(kind, options.most):
                found = known.get((command, kind, size)) or measure(command, kind, size, options.limit)
                if found is None:
                    print(f"| {command} | {kind} | {size} | not within {options.limit:.0f} s | | |", flush=True)
                    break
                if options.log and (command, kind, size) not in known:
                    with options.log.open("a", encoding="utf-8") as log:
                        print(json.dumps(asdict(found)), file=log)
                curves.setdefault((command, kind), []).append(found)
                each = 1000 * found.seconds / size
                figures = f"{found.seconds:.2f} | {each:.2f} | {found.memory:.0f}"
                print(f"| {command} | {kind} | {size} | {figures} |", flush=True)
    for (command, kind), found_all in curves.items():
        if len(found_all) > 1:
            print(f"{command} over {kind}: time grows with the number to the {exponent(found_all):.2f}")
    if options.svg:
        options.svg.write_text(picture(curves), encoding="utf-8")


if __name__ == "__main__":
    main()
