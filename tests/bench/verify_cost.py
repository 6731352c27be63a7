"""What recording and comparing cost: `python tests/bench/verify_cost.py [CALLS] [SIDE]`.

A trainer makes CALLS mapped calls (default 2,000) with SIDE x SIDE matrices (default 128), once plainly on either side
and once under `verify`. Printed are the seconds of the runs, their ratio, and how much memory the verifier itself took.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

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


def main() -> None:
    """Time the runs and print the figures."""
    calls, side = (*sys.argv[1:], *("2000", "128")[len(sys.argv) - 1 :])
    programs = [f"{COMMON}{half}{LOOP}".encode() for half in (BEFORE, AFTER)]
    with tempfile.TemporaryDirectory() as folder:
        plain = [_plain(Path(folder), program, calls, side) for program in programs]
        command = (sys.executable, "program.py", calls, side)
        before, after = ({"program.py": program} for program in programs)
        request = VerifyRequest(Path(folder), command, before, after, ())
        started = time.monotonic()
        evidence = verify(request)
        seconds = time.monotonic() - started
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    sys.stdout.write(
        f"{evidence.verdict.value}: {evidence.message}\n"
        f"plain runs: {plain[0]:.1f} s and {plain[1]:.1f} s\n"
        f"recorded runs: {' and '.join(f'{run.seconds:.1f} s' for run in evidence.runs)}\n"
        f"verify as a whole: {seconds:.1f} s, {seconds / sum(plain):.2f} times the plain runs\n"
        f"memory of the verifier: {memory:.0f} MiB\n"
    )


def _plain(folder: Path, program: bytes, calls: str, side: str) -> float:
    (folder / "program.py").write_bytes(PLAIN.encode() + program)
    environment = {
        **os.environ,
        "JAX_PLATFORMS": "cpu",
        "NPROC": "64",
        "XLA_FLAGS": "--xla_force_host_platform_device_count=8",
    }
    started = time.monotonic()
    subprocess.run([sys.executable, "program.py", calls, side], cwd=folder, env=environment, check=True)
    return time.monotonic() - started


if __name__ == "__main__":
    main()
