"""What a training step costs after `fix`, against pmap's.

    python tests/bench/step_cost.py [NAME...] [--sizes small large] [--repeats 5] [--devices 8]

The programs are those in tests/bench/programs/, as they are and as `--layout auto` and `--layout likely` write them.
They run on the devices that JAX finds; `--devices N` simulates N on the CPU. A step is `small`, so that the host takes
longer than a GPU, or `large`, 6 and 12 ms of an H200.

All layouts run in turn in one process, in each repeat another one first. The time of a step is that of many without a
wait, the time of the host is what passes until they are dispatched, and a part of it lays out the batch. Of the last
size each layout also runs alone in a process: the first step, which compiles, and the peak of the first device's
memory. Times pmap's: the median of the repeats, with least and most; less than 1 is faster.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import types
from collections.abc import Sequence
from pathlib import Path
from typing import Any

PROGRAMS = Path(__file__).parent / "programs"
LAYOUTS = ("pmap", "auto", "likely")
SIZES: dict[str, dict[str, dict[str, int]]] = {
    "transformer": {
        "small": {"width": 32, "layers": 2, "heads": 2, "vocab": 64, "batch": 16, "length": 16},
        "large": {"width": 768, "layers": 8, "heads": 12, "vocab": 8192, "batch": 16, "length": 512},
    },
    "resnet": {
        "small": {"width": 16, "layers": 2, "classes": 10, "batch": 16, "length": 8},
        "large": {"width": 128, "layers": 8, "classes": 1000, "batch": 64, "length": 32},
    },
}
STEPS = {"small": 500, "large": 50}
HEAD = (
    "| program | layout | ms a step | times pmap's | µs of the host | times pmap's | for the batch | loss off by |"
    "\n|---|---|---:|---:|---:|---:|---:|---:|"
)
Row = dict[str, Any]


def write(name: str, folder: Path) -> None:
    """Writes a program as it is and as each layout has it."""
    from jaxmigrate.migrate import plan_sources
    from jaxmigrate.migrate.options import PlanOptions

    path = PROGRAMS / f"{name}.py"
    text = path.read_text(encoding="utf-8")
    for layout in LAYOUTS:
        after = text
        if layout != "pmap":
            plan, _ = plan_sources([(path.name, path, text)], PlanOptions(layout))
            (after,) = (file.after for file in plan.files)
        (folder / f"{layout}.py").write_text(after, encoding="utf-8")


def child(mode: str, name: str, folder: str, *rest: str) -> None:
    """What runs in a process of its own: prints what it measured, as JSON."""
    sys.modules["telemetry"] = telemetry = types.ModuleType("telemetry")
    telemetry.log = lambda tree: None  # type: ignore[attr-defined]
    print(json.dumps(alone(name, folder, *rest) if mode == "alone" else in_turn(name, folder, *rest)), flush=True)


def load(layout: str, folder: str) -> Any:
    """A program as a module."""
    spec = importlib.util.spec_from_file_location(layout, f"{folder}/{layout}.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def alone(name: str, folder: str, size: str, layout: str) -> Row:
    """The first step of a layout, and how much memory it takes."""
    module = load(layout, folder)
    trainer = module.Trainer(SIZES[name][size])
    module.jax.block_until_ready(trainer.state)
    _, seconds, _ = trainer.run(1)
    trainer.run(4)
    return {"first": seconds, "peak": (module.jax.devices()[0].memory_stats() or {}).get("peak_bytes_in_use", 0)}


def in_turn(name: str, folder: str, size: str, repeats: str, steps: str) -> Row:
    """Seconds a step of each layout: of the host, of all, of the host for a batch; and the loss of the tenth step."""
    import jax

    modules = {layout: load(layout, folder) for layout in LAYOUTS}
    trainers = {layout: module.Trainer(SIZES[name][size]) for layout, module in modules.items()}
    losses = {layout: trainer.run(10)[2] for layout, trainer in trainers.items()}
    found: dict[str, list[tuple[float, float, float]]] = {layout: [] for layout in LAYOUTS}
    for repeat in range(int(repeats)):
        start = repeat % len(LAYOUTS)
        for layout in LAYOUTS[start:] + LAYOUTS[:start]:
            host, whole, _ = trainers[layout].run(int(steps))
            laid = batches(modules[layout], trainers[layout].batches, int(steps))
            found[layout].append((host / int(steps), whole / int(steps), laid))
    device = jax.devices()[0]
    where = f"{jax.device_count()} x {device.device_kind}, jax {jax.__version__}, Python {sys.version.split()[0]}"
    return {"where": where, "steps": found, "losses": losses}


def batches(module: Any, arrays: list[Any], steps: int) -> float:
    """Seconds that the host takes to lay out one batch as a program does."""
    started = time.perf_counter()
    for step in range(steps):
        batch = arrays[step % len(arrays)]
        made = module.shard(batch, module.P("batch")) if hasattr(module, "P") else module.common_utils.shard(batch)
    seconds = (time.perf_counter() - started) / steps
    module.jax.block_until_ready(made)
    return seconds


def run(devices: int, *args: object) -> Row:
    """What a child measured."""
    environment = {**os.environ, "XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
    if devices:
        flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count={devices}"
        environment |= {"JAX_PLATFORMS": "cpu", "NPROC": "64", "XLA_FLAGS": flags}
    command = [sys.executable, __file__, "--child", *map(str, args)]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    told: Row = json.loads(done.stdout.splitlines()[-1])
    return told


def ratios(own: Sequence[float], of_pmap: Sequence[float]) -> str:
    """Median, least and most of the quotients of repeats; nothing where there is nothing to divide."""
    found = [a / b for a, b in zip(own, of_pmap, strict=True) if b]
    return f"{statistics.median(found):.2f} ({min(found):.2f} to {max(found):.2f})" if found else "-"


def report(name: str, size: str, steps: dict[str, list[list[float]]], losses: dict[str, float]) -> None:
    """Prints the lines of a size of a program."""
    of_pmap = list(zip(*steps["pmap"], strict=True))
    for layout, rows in steps.items():
        host, whole, laid = (list(column) for column in zip(*rows, strict=True))
        off = abs(losses[layout] / losses["pmap"] - 1)
        print(
            f"| {name} {size} | {layout} | {statistics.median(whole) * 1e3:.3f} | {ratios(whole, of_pmap[1])} "
            f"| {statistics.median(host) * 1e6:.0f} | {ratios(host, of_pmap[0])} "
            f"| {statistics.median(laid) * 1e6:.0f} | {off:.1e} |",
            flush=True,
        )


def main() -> None:
    """Prints a table of the steps and one of the first steps."""
    if sys.argv[1:2] == ["--child"]:
        child(*sys.argv[2:])
        return
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--devices", type=int, default=0, help="simulated devices; 0: what JAX finds")
    parser.add_argument("--sizes", nargs="+", choices=list(STEPS), default=["small"])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--steps", type=int, help="of each repeat (default: 500 small or 50 large ones)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        lines: list[str] = []
        for name in options.names or SIZES:
            folder = Path(scratch, name)
            folder.mkdir()
            write(name, folder)
            for size in options.sizes:
                found = run(options.devices, "turns", name, folder, size, options.repeats, options.steps or STEPS[size])
                if not lines:
                    print(f"{found['where']}; load {os.getloadavg()[0]:.1f}\n\n{HEAD}", flush=True)
                report(name, size, found["steps"], found["losses"])
            for layout in LAYOUTS:
                one = run(options.devices, "alone", name, folder, options.sizes[-1], layout)
                lines.append(
                    f"| {name} {options.sizes[-1]} | {layout} | {one['first']:.1f} | {one['peak'] / 2**20:.0f} |"
                )
    print("\n| program | layout | s of the first step | MiB at the peak |\n|---|---|---:|---:|", *lines, sep="\n")


if __name__ == "__main__":
    main()
