"""Prepares a Python process of the program that is verified, before the program's first line runs."""

from __future__ import annotations

import builtins
import faulthandler
import json
import os
import random
import time
from typing import Any

from . import compiled, flags, loaded, log, outside, overlay, processes, recorder, seeds, watch, witness

CONFIG = "JAXMIGRATE_VERIFY"


def start() -> None:
    """Install the marks as builtins and point the process at the copy of the project that it has to run."""
    with open(os.environ[CONFIG], encoding="utf-8") as file:
        config: dict[str, Any] = json.load(file)
    log.configure(config)
    _leave_stack_at_deadline(config)
    flags.extend(config["flags"], config["flag_cache"])
    compiled.keep_compiled(config["compiled"])
    overlay.redirect_imports(config["root"], config["copy"], config["marked"])
    overlay.protect(config["links"])
    loaded.tell_of(config["copy"])
    outside.tell_of(config["copy"], config["records"], config["compiled"])
    _seed(config["seed"])
    if config["watch"]:
        watch.watch(config["copy"], config["watch"])
    processes.join_when_imported()
    builtins.__dict__["__jaxmigrate_transform__"] = recorder.transform
    builtins.__dict__["__jaxmigrate_mapped__"] = recorder.mapped
    builtins.__dict__["__jaxmigrate_host__"] = witness.host


def _leave_stack_at_deadline(config: dict[str, Any]) -> None:
    """Write what every thread is doing shortly before the time is up; the kernel's kill leaves no other trace."""
    left = config["deadline"] - time.time()
    if left > 0:
        name = os.path.join(config["records"], f"{os.getpid()}.stack")
        _STACKS.append(open(name, "w"))  # noqa: SIM115 - written to for as long as the process lives
        faulthandler.dump_traceback_later(left, file=_STACKS[0], exit=False)


_STACKS: list[Any] = []


def _seed(seed: Any) -> None:
    if seed is not None:
        random.seed(seed)
        seeds.seed_numpy_when_imported(seed)
