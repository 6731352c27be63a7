"""Writes the names that an installed JAX has, a module a line, for the rule about names that the newest JAX lacks.

    PYTHON tools/jax_names.py jaxmigrate/program/jax_names.txt

where PYTHON has the newest release. Modules that only tests or single kinds of hardware import are not read, nor is
what cannot be imported for want of something else: each stands there with a star, as one that may have any name.
"""

from __future__ import annotations

import contextlib
import importlib
import pkgutil
import sys
import types
import warnings
from collections.abc import Iterator
from pathlib import Path

UNREAD = "*"
LEFT_OUT = (
    *("jax.tools", "jax.experimental.mosaic", "jax.experimental.jax2tf.tests", "jax._src.internal_test_util"),
    *("jax._src.pallas", "jax._src.test", "jax._src.cudnn", "jax._src.tpu", "jax._src.state", "jax._src.scipy"),
    *("jax._src.numpy", "jax._src.image", "jax._src.third", "jax._src.debugger", "jax._src.ops", "jax._src.nn"),
    *("jax._src.export.ser", "jax._src.lib", "jax._src.clusters"),
)


def modules(name: str) -> Iterator[tuple[str, types.ModuleType | None]]:
    """A module and all below it, by their names; nothing for one that is left out or cannot be imported here."""
    module = None
    if not name.startswith(LEFT_OUT):
        with contextlib.suppress(Exception):  # whatever an optional dependency raises
            module = importlib.import_module(name)
    yield name, module
    for found in pkgutil.iter_modules(getattr(module, "__path__", ())):
        yield from modules(f"{name}.{found.name}")


def names(module: types.ModuleType) -> set[str]:
    """The names that a module has, those that only warn included; of private modules not what they import whole."""
    found = {name for name in dir(module) if not name.startswith("_")}
    deprecated = module.__dict__.get("_deprecations")
    if isinstance(deprecated, dict):
        found |= {name for name, (_, value) in deprecated.items() if value is not None}
    if module.__name__.startswith("jax._src"):
        found = {name for name in found if not isinstance(getattr(module, name, None), types.ModuleType)}
    return found


def main() -> None:
    """Writes the file that is named."""
    warnings.simplefilter("ignore")
    import jax

    lines = sorted(f"{name} {' '.join(sorted(names(m))) if m else UNREAD}" for name, m in modules("jax"))
    heading = f"# The names that jax {jax.__version__} has, a module a line; made by tools/jax_names.py"
    Path(sys.argv[1]).write_text("\n".join([heading, *lines]) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
