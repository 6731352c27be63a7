"""Compares the engine's levels of generated bodies with a run on 8 devices, and with JAX's own check."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from jaxmigrate.flow.variance import EQUAL, AbstractValue, Level, read
from jaxmigrate.program.modules import Project, parse_module
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.values import Function
from tests.flags import UNOPTIMISED

from .explain import UNEXPLAINED, cause_of
from .programs import body, program

FLAGS = " ".join(("--xla_force_host_platform_device_count=8", *UNOPTIMISED))
CHILD = Path(__file__).with_name("oracle_child.py")


@dataclass
class Verdicts:
    """Counts over all outputs of all bodies, and the bodies behind those that should not be."""

    outputs: int = 0
    levels: Counter[str] = field(default_factory=Counter)
    unsound: list[str] = field(default_factory=list)
    equal_after_all: list[str] = field(default_factory=list)
    unproven: list[str] = field(default_factory=list)
    refused: Counter[str] = field(default_factory=Counter)
    against_check: Counter[str] = field(default_factory=Counter)
    missed: list[str] = field(default_factory=list)
    causes: Counter[str] = field(default_factory=Counter)
    unexplained: list[str] = field(default_factory=list)


def levels(text: str, seeds: range) -> dict[int, list[Level]]:
    """The engine's level of each output of each body."""
    module = parse_module(Path("/bodies.py"), text)
    resolver = Resolver(Project([module]))
    nodes = {n.name: n for n in module.tree.body if isinstance(n, ast.FunctionDef)}
    found: dict[int, list[Level]] = {}
    for seed in seeds:
        reading = read(
            Function(module, nodes[f"body_{seed}"]),
            [AbstractValue(Level.YES), EQUAL, EQUAL],
            frozenset({"i"}),
            resolver,
        )
        assert reading.returned.parts is not None
        found[seed] = [part.level for part in reading.returned.parts]
    return found


def compare(seeds: range, folder: Path, length: int = 3, *, handed: bool = False) -> Verdicts:
    """Generates bodies of these seeds, with so many statements each, reads and runs them.

    `handed`: among the statements are some that give functions to libraries.
    """
    text = program(seeds, length, handed=handed)
    path = folder / f"bodies_{seeds.start}.py"
    path.write_text(text)
    environment = {**os.environ, "NPROC": "64", "XLA_FLAGS": FLAGS, "JAX_PLATFORMS": "cpu"}
    command = [sys.executable, str(CHILD), str(path), *map(str, seeds)]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600, check=False)
    assert ran.returncode == 0, ran.stderr[-4000:]
    observed = json.loads(ran.stdout.splitlines()[-1])
    verdicts = Verdicts()
    for seed, given in levels(text, seeds).items():
        _judge(verdicts, body(seed, f"body_{seed}", length, handed=handed), given, observed[str(seed)])
    return verdicts


def _judge(verdicts: Verdicts, text: str, given: list[Level], observed: dict[str, object]) -> None:
    differs, varies = observed["differs"], observed["varies"]
    assert isinstance(differs, list)
    if not isinstance(varies, list):
        verdicts.refused[str(observed["error"]).split("\n")[0][:60]] += 1
    called = varies if isinstance(varies, list) else [True] * len(given)
    disagreeing = {n for n, level in enumerate(given) if level != Level.NO and not called[n]}
    for index, (level, differing) in enumerate(zip(given, differs, strict=True)):
        where = f"output {index} of\n{text}"
        verdicts.outputs += 1
        verdicts.levels[f"{level.name}, {'differs' if differing else 'equal'}"] += 1
        if level == Level.NO and differing:
            verdicts.unsound.append(where)
        if level == Level.YES and not differing:
            verdicts.equal_after_all.append(where)
        if level == Level.MAY and not differing:
            verdicts.unproven.append(where)
        if isinstance(varies, list):
            said = "varies" if varies[index] else "invariant"
            verdicts.against_check[f"{level.name}, check_vma: {said}"] += 1
            if index in disagreeing:
                verdicts.missed.append(where)
                cause = cause_of(text, index, level, differing, disagreeing - {index})
                verdicts.causes[f"{level.name}: {cause}"] += 1
                if cause == UNEXPLAINED:
                    verdicts.unexplained.append(where)
