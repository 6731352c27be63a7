"""What a text may import by a string, told by the text alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from jaxmigrate.program.string_imports import may_load, runs_others

IN_PLUGINS = Path("/project/plugins/noisy.py")


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ('m = importlib.import_module("plugins.noisy")', IN_PLUGINS),
        ("m = import_module('.noisy', package='plugins')", IN_PLUGINS),
        ('m = __import__("plugins.noisy")', IN_PLUGINS),
        ('m = pkgutil.resolve_name("plugins.noisy:make")', IN_PLUGINS),
        ('m = pkgutil.resolve_name("plugins.noisy.make")', IN_PLUGINS),
        ('m = sys.modules["plugins.noisy"]', IN_PLUGINS),
        ('m = importlib.import_module(f"plugins.{name}")', IN_PLUGINS),
        ('m = importlib.import_module("plugins." + name)', IN_PLUGINS),
        ('ALL = {"n": "plugins.noisy"}\nm = importlib.import_module(ALL[key])', IN_PLUGINS),
        ('m = importlib.import_module("plugins.noisy")', Path("/project/plugins/__init__.py")),
        ('m = importlib.import_module("lib")', Path("/project/lib.py")),
    ],
)
def test_may_load(text: str, source: Path) -> None:
    assert may_load(text, source)


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ('m = importlib.import_module(name)\nmode = "noisy"', IN_PLUGINS),
        ('m = importlib.import_module("others.noisy")', IN_PLUGINS),
        ('m = importlib.import_module(f"others.{name}")', IN_PLUGINS),
        ('ALL = {"n": "plugins.noisy"}', IN_PLUGINS),
        ('ALL = {"n": "optimizer.noisy"}\nm = importlib.import_module(name)', IN_PLUGINS),
    ],
)
def test_does_not(text: str, source: Path) -> None:
    assert not may_load(text, source)


@pytest.mark.parametrize(
    "text",
    [
        "importlib.import_module(name)",
        "__import__('lib')",
        "runpy.run_module('lib')",
        "pkgutil.resolve_name('lib:f')",
        "sys.modules['lib']",
        "exec(text)",
        "execfile (path)",
        "runpath.run_path(path)",
        "util.spec_from_file_location('lib', path)",
        "SourceFileLoader('lib', path)",
        "imp.load_source('lib', path)",
    ],
)
def test_every_way_is_seen(text: str) -> None:
    assert runs_others(f"import os\n{text}\n")


@pytest.mark.parametrize("text", ["import lib", "executor.submit(f)", "def reload_sources(): ...", ""])
def test_nothing_else_is(text: str) -> None:
    assert not runs_others(text)
