"""The command and the environment of one run: simulated devices, the copy instead of the project, the recorder."""

from __future__ import annotations

import os
import platform
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from jaxmigrate.verify.model import CPU, VerifyError, VerifyRequest
from jaxmigrate.verify.scratch import is_below

OPTIMISATION = "--xla_backend_optimization_level"
INSTRUCTIONS = "--xla_cpu_max_isa"
DEVICE_COUNT = "--xla_force_host_platform_device_count"
# Where programs and libraries are found: these lead to environments, which are shared and not copied.
_KEPT = frozenset({"PATH", "VIRTUAL_ENV", "CONDA_PREFIX", "LD_LIBRARY_PATH", "HOME", "OLDPWD", "XDG_CACHE_HOME"})
# A device count that comes from elsewhere would contradict the one that is asked for.
_DROPPED = ("JAX_NUM_CPU_DEVICES", "JAX_PLATFORM_NAME")


@dataclass(frozen=True)
class Places:
    """Where one run finds things: the project, its copy, the recorder's folder, configuration and temporary files."""

    root: Path
    copy: Path
    boot: Path
    config: Path
    temporary: Path


def child_environment(request: VerifyRequest, places: Places, python: str) -> dict[str, str]:
    """The environment of a run: the user's own, led into the copy, with what simulated devices need."""
    environment = {name: _led(name, value, places) for name, value in {**os.environ, **request.environment}.items()}
    for name in _DROPPED:
        environment.pop(name, None)
    environment |= {
        # With fewer threads than this, unblocked loops of collectives deadlock on small machines.
        "NPROC": "64",
        "PWD": str(places.copy / request.cwd),
        "PYTHONFAULTHANDLER": "1",
        "PYTHONHASHSEED": "0",
        # So that it is known after which mapped call something was printed.
        "PYTHONUNBUFFERED": "1",
        "PYTHONPATH": _python_path(environment.get("PYTHONPATH", ""), places),
        "TMPDIR": str(places.temporary),
        "JAXMIGRATE_VERIFY": str(places.config),
    }
    if request.platform == CPU:
        flags = with_device_count(environment.get("XLA_FLAGS", ""), request.devices)
        environment |= {"JAX_PLATFORMS": CPU, "XLA_FLAGS": flags}
    else:
        environment.pop("JAX_PLATFORMS", None)
    # Without it a plot that the program shows would wait for somebody to close it.
    environment.setdefault("MPLBACKEND", "Agg")
    if python:
        environment["PATH"] = os.pathsep.join([str(places.boot / "bin"), str(Path(python).parent), environment["PATH"]])
    return environment


def shown_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """The part of an environment that a reader needs in order to run the same by hand."""
    names = ("JAX_PLATFORMS", "NPROC", "PYTHONHASHSEED", "XLA_FLAGS", "JAX_ENABLE_X64")
    return {name: environment[name] for name in names if name in environment}


def with_device_count(flags: str, devices: int) -> str:
    """The user's XLA_FLAGS with the device count that is asked for in place of any other."""
    kept = [flag for flag in flags.split() if flag.split("=")[0] != DEVICE_COUNT]
    return " ".join([*kept, f"{DEVICE_COUNT}={devices}"])


def cpu_flags(request: VerifyRequest) -> list[str]:
    """What XLA is told on simulated devices, where the user has not told it otherwise.

    LLVM puts a product and a sum into one instruction that rounds once, wherever they come to stand together, which is
    not the same in a right migration. Without those instructions, which came after AVX, it has every bit of the
    original. Where XLA cannot be told so, nothing is optimised, which takes up to twice as long.
    """
    exact = [] if request.as_compiled else [f"{OPTIMISATION}=0"]
    if exact and platform.machine().lower() in _X86:
        exact.insert(0, f"{OPTIMISATION}=1 {INSTRUCTIONS}=AVX")
    return [*collective_flags(request.collective_timeout), *exact]


_X86 = ("x86_64", "amd64")


def collective_flags(seconds: float) -> list[str]:
    """Flags that make XLA name a stuck collective soon and give it up after `seconds`."""
    return [
        "--xla_cpu_collective_call_warn_stuck_timeout_seconds=4",
        f"--xla_cpu_collective_call_terminate_timeout_seconds={max(1, round(seconds))}",
    ]


def led_into_copy(command: tuple[str, ...], cwd: Path, places: Places) -> list[str]:
    """The command with every path into the project replaced by the same path in its copy."""
    return [lead(_without_dots(argument, cwd, places), places) for argument in command]


def lead(text: str, places: Places) -> str:
    """The text with absolute paths into the project led to its copy, except to what the copy does not have."""
    if str(places.root) not in text:
        return text
    pattern = re.compile(rf"(?<![\w./-]){re.escape(str(places.root))}(?=$|[/\s\"':;,])([^\s\"':;,]*)")
    return pattern.sub(lambda match: _counterpart(match[0], places), text)


def _counterpart(path: str, places: Places) -> str:
    counterpart = str(places.copy) + path[len(str(places.root)) :]
    return path if os.path.exists(path) and not os.path.lexists(counterpart) else counterpart


def _without_dots(argument: str, cwd: Path, places: Places) -> str:
    """A relative path out of the project as an absolute one: the copy has other neighbours."""
    if not argument.startswith(f"..{os.sep}"):
        return argument
    absolute = os.path.normpath(cwd / argument)
    return absolute if os.path.exists(absolute) and not is_below(absolute, places.root) else argument


def _led(name: str, value: str, places: Places) -> str:
    return value if name in _KEPT else lead(value, places)


def _python_path(given: str, places: Places) -> str:
    return os.pathsep.join([str(places.boot), *(entry for entry in given.split(os.pathsep) if entry)])


def executable(command: list[str], environment: Mapping[str, str], cwd: Path) -> str:
    """The program that the user's shell would run for this command."""
    name = command[0]
    found = shutil.which(name if os.sep not in name else str(cwd / name), path=environment.get("PATH"))
    if found is None:
        raise VerifyError(f"{name}: no such command on the PATH")
    return found


def put_interpreter(boot: Path, python: str) -> None:
    """Make `python` and `python3` mean the given interpreter for commands that start with boot/bin on their PATH."""
    folder = boot / "bin"
    folder.mkdir(exist_ok=True)
    for name in ("python", "python3"):
        script = folder / name
        script.write_text(f'#!/bin/sh\nexec "{python}" "$@"\n')
        script.chmod(0o755)
