"""What recording and comparing cost: `python tests/bench/verify_cost.py [CALLS] [SIDE]`.

A trainer makes CALLS mapped calls (default 2,000) with SIDE x SIDE matrices (default 128), once plainly on either side
and once under `verify`. Printed are the seconds of the runs, their ratio, and how much memory the verifier and the
largest of its programs took. On a machine with other work to do, the seconds of processor time say more.

    python tests/bench/verify_cost.py --fixture language_model -- python run_clm_flax.py --steps=2000

does the same with a program of fixtures/, by its command; with one process, as the plain runs: two more runs with two
processes follow where a program is written for several, and cost as much again.
"""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from jaxmigrate.verify.model import VerifyRequest
from jaxmigrate.verify.run import verify

COMMON = """
import sys, jax, numpy as np, jax.numpy as jnp
from jax import lax
calls, side = int(sys.argv[1]), int(sys.argv[2])
rng = np.random.RandomState(0)
def step(params, x):
    grads = jax.grad(lambda p: sum(((x @ w) ** 2).mean() for w in jax.tree.leaves(p)))(params)
    return jax.tree.map(lambda p, g: p - 1e-3 * lax.pmean(g, "i"), params, grads), lax.pmean(x.mean(), "i")
params = {f"w{number}": rng.randn(side, side).astype("f") for number in range(8)}
batch = rng.randn(64, side).astype("f")
"""
BEFORE = """
p_step = __jaxmigrate_transform__("step", jax.pmap)(step, axis_name="i")
params = jax.tree.map(lambda x: np.stack([x] * 8), params)
batch = batch.reshape(8, 8, side)
"""
AFTER = """
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
mesh = Mesh(jax.devices(), ("i",))
p_step = __jaxmigrate_mapped__("step", jax.jit(
    jax.shard_map(step, mesh=mesh, in_specs=(P(), P("i")), out_specs=P(), check_vma=False)))
params = jax.device_put(params, NamedSharding(mesh, P()))
batch = jax.device_put(batch, NamedSharding(mesh, P("i")))
"""
LOOP = """
for _ in range(calls):
    params, loss = p_step(params, batch)
    jax.block_until_ready(loss)
"""
PLAIN = "import builtins\nbuiltins.__jaxmigrate_transform__ = builtins.__jaxmigrate_mapped__ = lambda _, f: f\n"


class Spent(NamedTuple):
    """Seconds on the clock, and of processor time."""

    clock: float
    processor: float

    def __str__(self) -> str:
        return f"{self.clock:.1f} s ({self.processor:.1f} s of processor time)"


@contextmanager
def spent(found: list[Spent]) -> Iterator[None]:
    """Appends what the processes that ended meanwhile, and this one, took."""
    clock, processor = time.monotonic(), _processor()
    yield
    found.append(Spent(time.monotonic() - clock, _processor() - processor))


def _processor() -> float:
    usages = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def main() -> None:
    """Time the runs and print the figures."""
    if sys.argv[1:2] == ["--fixture"]:
        _fixture(sys.argv[2], sys.argv[sys.argv.index("--") + 1 :])
        return
    calls, side = (*sys.argv[1:], *("2000", "128")[len(sys.argv) - 1 :])
    programs = [f"{COMMON}{half}{LOOP}".encode() for half in (BEFORE, AFTER)]
    with tempfile.TemporaryDirectory() as folder:
        plain: list[Spent] = []
        for program in programs:
            (Path(folder) / "program.py").write_bytes(PLAIN.encode() + program)
            with spent(plain):
                _plain(Path(folder), [sys.executable, "program.py", calls, side])
        before, after = ({"program.py": program} for program in programs)
        request = VerifyRequest(Path(folder), (sys.executable, "program.py", calls, side), before, after, ())
        whole: list[Spent] = []
        with spent(whole):
            evidence = verify(request)
    _tell(f"{evidence.verdict.value}: {evidence.message}", plain, whole[0])


def _fixture(name: str, command: list[str]) -> None:
    """The same for a program of fixtures/, as it is and as it is kept rewritten there."""
    root = Path(__file__).parents[2] / "fixtures" / name
    command = [sys.executable if word == "python" else word for word in command]
    with tempfile.TemporaryDirectory() as folder:
        plain: list[Spent] = []
        for side in ("before", "auto"):
            project = Path(folder) / side
            shutil.copytree(root / "before", project)
            shutil.copytree(root / side, project, dirs_exist_ok=True)
            with spent(plain):
                _plain(project, command)
        (Path(folder) / "before" / "pyproject.toml").touch()
        whole: list[Spent] = []
        with spent(whole):
            verified = [sys.executable, "-m", "jaxmigrate", "verify", ".", "--processes", "1", "--", *command]
            told = subprocess.run(verified, cwd=Path(folder) / "before", capture_output=True, text=True, check=False)
    _tell(told.stdout.splitlines()[-1], plain, whole[0])


def _tell(verdict: str, plain: list[Spent], whole: Spent) -> None:
    memory = {
        "the verifier": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "the largest program": resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024,
    }
    both = Spent(sum(run.clock for run in plain), sum(run.processor for run in plain))
    sys.stdout.write(
        f"{verdict}\n"
        f"plain runs: {' and '.join(map(str, plain))}\n"
        f"verify as a whole: {whole}\n"
        f"times the plain runs: {whole.clock / both.clock:.2f}; "
        f"by processor time {whole.processor / both.processor:.2f}\n"
        f"memory: {', '.join(f'{size:.0f} MiB of {who}' for who, size in memory.items())}\n"
        f"load: {os.getloadavg()[0]:.1f}\n"
    )


def _plain(folder: Path, command: list[str]) -> None:
    environment = {
        **os.environ,
        "JAX_PLATFORMS": "cpu",
        "NPROC": "64",
        "XLA_FLAGS": "--xla_force_host_platform_device_count=8",
    }
    subprocess.run(command, cwd=folder, env=environment, check=True, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    main()
