"""Real devices in place of simulated ones: how many GPUs there are for a program, and how it is held to them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from jaxmigrate.verify.model import GPU, VerifyError, VerifyRequest

_COUNT = "import jax; print('gpus', len(jax.devices('gpu')))"
_PATIENCE_SECONDS = 120
# What keeps a program to some of the GPUs, by maker.
_VISIBLE = ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES")
# A reduction that adds in the order in which threads arrive would differ from itself.
FLAGS = ("--xla_gpu_deterministic_ops=true",)


def on_gpus(request: VerifyRequest) -> VerifyRequest:
    """The request for as many GPUs as it asks for, or for all if it asks for none.

    Raises:
        VerifyError: There are none, or fewer, or the program is to run in several processes.
    """
    if request.processes > 1:
        raise VerifyError("on GPUs a program is verified in one process: leave out --processes, or --platform gpu")
    if request.original_python:
        _count(request.original_python, request.environment)
    python = interpreter(request.command)
    found = _count(python, request.environment)
    if request.devices > found:
        raise VerifyError(f"there are {found} GPUs for {python}, not the {request.devices} asked for with --devices")
    wanted = request.devices or found
    chosen = "" if wanted == found else ",".join(map(str, range(wanted)))
    visible = {name: chosen for name in _VISIBLE if chosen}
    return replace(request, devices=wanted, environment={**visible, **request.environment})


def interpreter(command: tuple[str, ...]) -> str:
    """The Python that a command runs, as far as its first word tells; else the one that a shell would find."""
    named = command[0] if Path(command[0]).name.startswith("python") else "python"
    return shutil.which(named) or sys.executable


def _count(python: str, given: Mapping[str, str]) -> int:
    environment = {name: value for name, value in {**os.environ, **given}.items() if name != "JAX_PLATFORMS"}
    try:
        answer = subprocess.run(
            [python, "-c", _COUNT],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=_PATIENCE_SECONDS,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise VerifyError(f"the JAX of {python} did not say how many GPUs it sees: {error}") from None
    words = answer.stdout.split()
    if answer.returncode or "gpus" not in words:
        lines = [line for line in answer.stderr.splitlines() if "Error" in line]
        why = f": {lines[-1].strip()[:200]}" if lines else ""
        raise VerifyError(
            f"the JAX of {python} sees no {GPU.upper()}{why}; without --platform gpu, devices are simulated on the CPU"
        )
    return int(words[-1])
