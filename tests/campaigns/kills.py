"""Kills verifications with SIGKILL, each at another moment, and looks for anything left of them after five seconds.

    python tests/campaigns/kills.py [--count 20] [--seed 0]

Three kinds take turns: a migration made by hand, one that is refuted (three runs, and arrays that are measured), and
`fix --verify` of a program of two processes. The moments are spread over the time that each kind takes by itself.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

SECONDS = 5.0
BEFORE = """
import jax, jax.numpy as jnp, numpy as np
from flax import jax_utils
def step(params, x):
    return params - 0.1 * jax.lax.pmean(x.mean(0), "batch")
p_step = jax.pmap(step, axis_name="batch")
params = jax_utils.replicate(jnp.full((256,), 0.3))
rng = np.random.RandomState(jax.process_index())
for _ in range(20):
    params = p_step(params, rng.rand(jax.local_device_count(), 8, 256).astype("f"))
print(params[0, 0])
"""
AFTER = """
import jax, jax.numpy as jnp, numpy as np
from jax.sharding import Mesh, PartitionSpec as P
def step(params, x):
    return params - 0.1 * jax.lax.pmean(x[0].mean(0), "batch")
mesh = Mesh(jax.devices(), ("batch",))
p_step = jax.jit(jax.shard_map(step, mesh=mesh, in_specs=(P(), P("batch")), out_specs=P(), check_vma=False))
params = jnp.full((256,), 0.3)
rng = np.random.RandomState(0)
for _ in range(20):
    params = p_step(params, rng.rand(8, 8, 256).astype("f"))
print(params[0])
"""


def kinds(folder: Path) -> list[tuple[Path, list[str]]]:
    """The verifications, each a folder to be in and the words after `jaxmigrate`."""
    programs = {"before": BEFORE, "right": AFTER, "wrong": AFTER.replace("pmean", "psum"), "fix": BEFORE}
    for name, text in programs.items():
        (folder / name).mkdir()
        (folder / name / "main.py").write_text(text)
    by_hand = ["verify", ".", "--original", str(folder / "before"), "--", "python", "main.py"]
    ours = ["verify", ".", "--processes", "2", "--devices", "4", "--", "python", "main.py"]
    return [(folder / "right", by_hand), (folder / "wrong", by_hand), (folder / "fix", ours)]


def start(place: Path, words: list[str], scratch: Path) -> subprocess.Popen[bytes]:
    """A verification with a folder of its own for temporary files."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    return subprocess.Popen(
        [sys.executable, "-m", "jaxmigrate", *words],
        cwd=place,
        env={**os.environ, "PATH": path, "TMPDIR": str(scratch)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def left(scratch: Path) -> list[str]:
    """What still lies in a folder for temporary files, and the processes that know of it."""
    return [*(str(path) for path in scratch.iterdir()), *_processes(str(scratch).encode())]


def _processes(needle: bytes) -> Iterator[str]:
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            state = (path / "stat").read_bytes().rpartition(b")")[2].split()[0]
            told = (path / "environ").read_bytes() + (path / "cmdline").read_bytes()
            if needle in told and state != b"Z":
                yield f"{path.name} {(path / 'cmdline').read_bytes()[:80]!r}"


def killed(place: Path, words: list[str], scratch: Path, seconds: float) -> tuple[bool, float, list[str]]:
    """Whether there was something to kill, when nothing was left of it, and what was left after all."""
    scratch.mkdir()
    child = start(place, words, scratch)
    with suppress(subprocess.TimeoutExpired):
        child.wait(seconds)
    was_running = child.poll() is None
    child.kill()
    child.wait()
    since = time.monotonic()
    while (found := left(scratch)) and time.monotonic() - since < SECONDS:
        time.sleep(0.05)
    return was_running, time.monotonic() - since, found


def main() -> int:
    """Prints a line for each kill; 1 if anything was left of one."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    chance = random.Random(options.seed)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        every = kinds(folder)
        whole = []
        for number, (place, words) in enumerate(every):
            (folder / f"whole{number}").mkdir()
            since = time.monotonic()
            start(place, words, folder / f"whole{number}").wait()
            whole.append(time.monotonic() - since)
        bad, longest, running = 0, 0.0, 0
        for number in range(options.count):
            kind = number % len(every)
            after = chance.uniform(0.1, whole[kind])
            was_running, gone, found = killed(*every[kind], folder / f"kill{number}", after)
            bad += bool(found)
            running += was_running
            longest = max(longest, gone)
            print(f"{every[kind][0].name}: killed after {after:.1f} of {whole[kind]:.1f} s; {found or 'nothing left'}")
        print(
            f"{running} of {options.count} were running; of {bad} something was left; the longest took {longest:.1f} s"
        )
    return int(bool(bad))


if __name__ == "__main__":
    sys.exit(main())
