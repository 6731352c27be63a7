"""Which files a text runs by their paths, and which of their names it uses then."""

from __future__ import annotations

from pathlib import Path

import pytest

from jaxmigrate.program.loaded_files import loads
from jaxmigrate.program.modules import parse_module

SPEC = "import importlib.util as u\nspec = u.spec_from_file_location('t', PATH)\nm = u.module_from_spec(spec)\n"


def loaded(text: str, path: str = "/project/train.py") -> list[set[str] | None]:
    """What a text uses of a file, for each place where it may load it."""
    found = loads(parse_module(Path("/project/main.py"), text))
    return [None if one.names is None else {*one.names} for one in found if one.may_be(Path(path))]


@pytest.mark.parametrize(
    "path",
    [
        "'train.py'",
        "'./train.py'",
        "'/elsewhere/../project/train.py'",
        "os.path.join(os.path.dirname(__file__), 'train.py')",
        "pathlib.Path(__file__).parent / 'train.py'",
        "str((ROOT / 'train.py').resolve())",
        "f'{ROOT}/train.py'",
        "ROOT + '/train.py'",
        "'tra' + 'in.py'",
        "NAME",
        "sys.argv[1]",
    ],
)
def test_the_path_is_the_end_of_what_is_said(path: str) -> None:
    text = f"import runpy\nNAME = 'train.py'\nprint(runpy.run_path({path})['state'])\n"
    assert loaded(text) == [{"state"}]
    assert loaded(text, "/project/other.py") == ([{"state"}] if "argv" in path else [])


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("import runpy\nrunpy.run_path('train.py')\n", [set()]),
        ("import runpy\ng = runpy.run_path('train.py')\nprint(g['a'], g.get('b'))\n", [{"a", "b"}]),
        ("import runpy\ng = runpy.run_path('train.py')\nprint(g[key])\n", [None]),
        ("import runpy\ng = runpy.run_path('train.py')\nprint(g.items())\n", [None]),
        ("import runpy\ndef load():\n    return runpy.run_path('train.py')\n", [None]),
        ("from runpy import run_path as go\nprint(go('train.py')['a'])\n", [{"a"}]),
        ("import runpy\ng = runpy.run_path('train.py')\nh = g\ng = h\nprint(h['a'])\n", [{"a"}]),
        ("import runpy\nprint(runpy.run_module('train')['a'])\n", [{"a"}]),
        (SPEC.replace("PATH", "'train.py'") + "spec.loader.exec_module(m)\nm.main()\n", [{"main"}]),
        (SPEC.replace("PATH", "'train.py'") + "spec.loader.exec_module(m)\nm.rate = 2\n", [{"rate"}]),
        (SPEC.replace("PATH", "'train.py'") + "spec.loader.exec_module(m)\nshow(m)\n", [None]),
        ("from importlib.machinery import SourceFileLoader as L\nm = L('t', 'train.py').load_module()\nm.a\n", [{"a"}]),
        ("import importlib.util as u\nm = u.module_from_spec(u.find_spec('train'))\nm.a\n", [{"a"}]),
        ("import importlib.util as u\nprint(u.find_spec('train') is None)\n", []),
        ("import imp\nprint(imp.load_source('t', 'train.py').a)\n", [{"a"}]),
        ("g = {}\nexec(open('train.py').read(), g)\nprint(g['a'])\n", [{"a"}]),
        ("g = {}\nwith open('train.py') as f:\n    exec(compile(f.read(), 'x', 'exec'), g)\nprint(g['a'])\n", [{"a"}]),
        ("import pathlib\nexec(pathlib.Path('train.py').read_text(), {})\n", [set()]),
        ("exec(open('train.py').read())\n", [None]),
        ("exec(made(), {})\n", []),
        ("import importlib\nprint(importlib.import_module('train').a)\n", [{"a"}]),
        ("import pkgutil\nprint(pkgutil.resolve_name('train:a'))\n", [{"a"}]),
        ("import importlib\nprint(importlib.import_module(name).a)\n", []),
    ],
)
def test_the_names_are_those_that_are_asked_for(text: str, names: list[set[str] | None]) -> None:
    assert loaded(text) == names
    assert loaded(text.replace("train", "version")) == []


def test_what_loads_may_be_passed_on() -> None:
    text = "import runpy\nload = runpy.run_path\n"
    assert loaded(text) == loaded(text, "/project/other.py") == [None]


def test_what_is_set_where_a_file_runs_is_told() -> None:
    texts = ["g = {}\nexec(open('train.py').read(), g)\ng['a'] = 1\ng.update({'b': 2}, c=3)\n"]
    texts.append("exec(open('train.py').read())\nimport d\ndef b():\n    pass\nc = a = 1\n")
    found = [loads(parse_module(Path("/project/main.py"), text))[0].sets for text in texts]
    assert found == [{"a", "b", "c"}, {"a", "b", "c", "d"}]
