"""Python imports this at start-up; it starts the recorder, then whatever sitecustomize the environment has itself."""

import importlib
import importlib.machinery
import importlib.util
import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))


def _run_next() -> None:
    """Run the sitecustomize that this one hides, if there is one."""
    others = [entry for entry in sys.path if os.path.abspath(entry or os.curdir) != _HERE]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", others)
    if spec is not None and spec.loader is not None:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


if os.environ.get("JAXMIGRATE_VERIFY"):
    importlib.import_module("jaxmigrate_child.start").start()
_run_next()
