"""Every way to write a pmap that the rewriter knows, run before and after on 8 devices: the results agree bitwise."""

from __future__ import annotations

import functools
import json
import subprocess
import sys

import pytest

from jaxmigrate.migrate import fix_files
from tests.migrate.forms.running import Program, run

PRELUDE = """
import functools
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
X = np.arange(48, dtype=np.float32).reshape(8, 6) / 7
Y = np.linspace(0, 1, 48, dtype=np.float32).reshape(8, 6)
def step(x, y):
    return lax.pmean(x * y, "i") + x, lax.psum(y, "i")
"""

SIMPLE = {
    "name": "p = jax.pmap(step, axis_name='i')\ndef main(): return p(X, Y)",
    "positional_axis": "p = jax.pmap(step, 'i')\ndef main(): return p(X, Y)",
    "attribute": "class A: pass\ndef main():\n    a = A(); a.p = jax.pmap(step, 'i'); return a.p(X, Y)",
    "subscript": "def main():\n    d = {}\n    d['p'] = jax.pmap(step, 'i')\n    return d['p'](X, Y)",
    "dictionary": "TABLE = {'p': jax.pmap(step, axis_name='i')}\ndef main(): return TABLE['p'](X, Y)",
    "decorator": "@jax.pmap\ndef f(x, y): return x + y\ndef main(): return f(X, Y)",
    "partial_decorator": "@functools.partial(jax.pmap, axis_name='i')\ndef f(x): return lax.psum(x, 'i')\n"
    "def main(): return f(X)",
    "at_once": "def main(): return jax.pmap(step, axis_name='i')(X, Y)",
    "partial_at_once": "def main(): return functools.partial(jax.pmap, axis_name='i')(step)(X, Y)",
    "returned": "def make(): return jax.pmap(step, 'i')\ndef main(): return make()(X, Y)",
    "argument": "def call(f): return f(X, Y)\ndef main(): return call(jax.pmap(step, 'i'))",
    "conditional": "def main(): return (jax.pmap(step, 'i') if len(X) else jax.jit(step))(X, Y)",
    "lambda_body": "make = lambda f: jax.pmap(f, axis_name='i')\ndef main(): return make(step)(X, Y)",
    "method": "class A:\n    @functools.partial(jax.pmap, axis_name='i', static_broadcasted_argnums=0)\n"
    "    def f(self, x): return lax.pmean(x, 'i')\n    def g(self, x): return x * 2\n"
    "def main():\n    a = A(); return a.f(X), jax.pmap(a.g)(X)",
    "self_attribute": "class A:\n    def __init__(self): self.p = jax.pmap(self.f, axis_name='i')\n"
    "    def f(self, x): return lax.psum(x, 'i')\ndef main(): return A().p(X)",
    "lower": "def main():\n    p = jax.pmap(step, axis_name='i')\n    return p.lower(X, Y).compile()(X, Y)",
    "wrapped": "p = jax.pmap(lambda x: x + 1)\ndef main(): return p(X), p.__wrapped__(X)",
    "maps_lambda": "p = jax.pmap(lambda x, y: x @ y)\ndef main(): return p(X, Y)",
    "maps_partial": "p = jax.pmap(functools.partial(step, y=2.0), axis_name='i')\ndef main(): return p(X)[0]",
    "maps_vmap": "p = jax.pmap(jax.vmap(lambda x: lax.psum(x, ('i', 'b')), axis_name='b'), axis_name='i')\n"
    "def main(): return p(X)",
    "maps_jit": "p = jax.pmap(jax.jit(step), axis_name='i')\ndef main(): return p(X, Y)",
    "maps_parameter": "def mapped(f, **kw): return jax.pmap(f, axis_name='i', **kw)\n"
    "def main(): return mapped(step, in_axes=(0, None))(X, Y[0])",
    "maps_external": "def main(): return jax.pmap(jnp.sin)(X)",
    "grad": "p = jax.pmap(lambda w, x: lax.pmean(jax.grad(lambda v: jnp.sum((v * x) ** 2))(w), 'i'), 'i')\n"
    "def main(): return p(Y, X)",
    "scan": "def f(c, xs):\n    return lax.scan(lambda a, x: (a + lax.psum(x, 'i'), a), c, xs)\n"
    "p = jax.pmap(f, axis_name='i')\ndef main(): return p(X[:, 0], Y)",
    "default_value": "def run(mapper=jax.pmap): return mapper(lambda x: x * 3)(X)\ndef main(): return run()",
    "table_of_transforms": "T = {'pmap': jax.pmap, 'vmap': jax.vmap}\ndef main(): return T['pmap'](lambda x: x - 1)(X)",
    "local_alias": "mapper = functools.partial(jax.pmap, axis_name='i')\np = mapper(step, donate_argnums=(0,))\n"
    "def main(): return p(X, Y)",
    "defined_for_readers": "def mapper(f, *args, **kwargs): return jax.pmap(f, *args, **kwargs, axis_name='i')\n"
    "mapper = functools.partial(jax.pmap, axis_name='i')\ndef main(): return mapper(step)(X, Y)",
    "defined_twice": "def mapper(f): return jax.pmap(f, axis_name='i')\np = mapper(step)\n"
    "mapper = functools.partial(jax.pmap, axis_name='i')\ndef main(): return p(X, Y), mapper(step)(Y, X)",
    "walrus": "def main():\n    return (p := jax.pmap(lambda x: x + 1))(X), p(Y)",
    "loop": "def main():\n    x = X\n    p = jax.pmap(step, 'i')\n"
    "    for _ in range(3): x, s = p(x, Y)\n    return x, s",
}

KEYWORDS = {
    "axis_constant": "AXIS = 'i'\np = jax.pmap(step, axis_name=AXIS)\ndef main(): return p(X, Y)",
    "axis_attribute": "class C: axis = 'i'\np = jax.pmap(step, axis_name=C.axis)\ndef main(): return p(X, Y)",
    "axis_parameter": "def make(axis=None): return jax.pmap(lambda x: x + 1, axis_name=axis)\n"
    "def main(): return make()(X), make('k')(X)",
    "axis_absent": "def main(): return jax.pmap(lambda x: {'a': x, 'b': (x.sum(), 2.0, 3)})(X)",
    "axis_twice": "def main(): return jax.pmap(lambda x: x)(X), jax.pmap(step, 'i')(X, Y)",
    "in_none": "p = jax.pmap(step, axis_name='i', in_axes=(0, None))\ndef main(): return p(X, Y[0])",
    "in_one": "p = jax.pmap(lambda x: x * 2, in_axes=1)\ndef main(): return p(X.T)",
    "in_mixed": "p = jax.pmap(lambda x, y, z: x + y * z, in_axes=(1, 0, None))\ndef main(): return p(X.T, Y, 3.0)",
    "in_list": "AXES = [0, None]\ndef main(): return jax.pmap(step, 'i', in_axes=tuple(AXES))(X, Y[0])",
    "in_tree": "p = jax.pmap(lambda d, y: d['a'] + d['b'] * y, in_axes=({'a': 1, 'b': None}, 0))\n"
    "def main(): return p({'a': X.T, 'b': Y[0]}, Y)",
    "in_computed": "def make(n): return jax.pmap(step, 'i', in_axes=(0,) * n)\ndef main(): return make(2)(X, Y)",
    "out_one": "p = jax.pmap(lambda x: x * 2, out_axes=1)\ndef main(): return p(X)",
    "out_none": "p = jax.pmap(lambda x: lax.psum(x, 'i'), 'i', out_axes=None)\ndef main(): return p(X)",
    "out_tree": "p = jax.pmap(lambda x: {'a': x, 'b': lax.psum(x, 'i')}, 'i', out_axes={'a': 1, 'b': None})\n"
    "def main(): return p(X)",
    "out_tuple": "p = jax.pmap(step, 'i', out_axes=(0, None))\ndef main(): return p(X, Y)",
    "static_int": "p = jax.pmap(lambda x, n: x ** n, static_broadcasted_argnums=1)\n"
    "def main(): return p(X, 2), p(X, 3)",
    "static_tuple": "p = jax.pmap(lambda n, x, f: f(x) * n, static_broadcasted_argnums=(0, 2))\n"
    "def main(): return p(2, X, jnp.tanh)",
    "static_axes": "p = jax.pmap(lambda n, x, y: x * n + y, static_broadcasted_argnums=0, in_axes=(None, 1, None))\n"
    "def main(): return p(2, X.T, Y[0])",
    "static_donate": "p = jax.pmap(lambda n, x: x * n, static_broadcasted_argnums=(0,), donate_argnums=(1,))\n"
    "def main(): return p(2, X)",
    "donate": "p = jax.pmap(step, 'i', donate_argnums=(0,))\ndef main(): return p(jnp.asarray(X), Y)",
    "devices": "p = jax.pmap(step, 'i', devices=jax.devices()[4:])\ndef main(): return p(X[:4], Y[:4])",
    "devices_reversed": "p = jax.pmap(lambda x: x + lax.axis_index('i'), 'i', devices=jax.devices()[::-1])\n"
    "def main(): return p(X)",
    "axis_size": "p = jax.pmap(step, 'i', axis_size=8)\ndef main(): return p(X, Y)",
    "backend": "p = jax.pmap(step, 'i', backend='cpu')\ndef main(): return p(X, Y)",
    "keyword_call": "p = jax.pmap(step, 'i')\ndef main(): return p(X, y=Y), p(x=X, y=Y)",
    "keyword_axes": "p = jax.pmap(step, 'i', in_axes=(1,))\ndef main(): return p(X.T, y=Y)",
    "default_left_out": "@jax.pmap\ndef f(x, scale=3.0): return x * scale\ndef main(): return f(X), f(X, Y)",
    "star_call": "p = jax.pmap(step, 'i')\ndef main():\n    args = (X, Y)\n    return p(*args)",
    "fewer_rows": "p = jax.pmap(step, 'i')\ndef main(): return p(X[:3], Y[:3])",
    "changing_rows": "p = jax.pmap(step, 'i')\ndef main(): return p(X, Y), p(X[:4], Y[:4]), p(X[:1], Y[:1])",
    "keys": "p = jax.pmap(lambda k: jax.random.normal(k, (3,)))\n"
    "def main(): return p(jax.random.split(jax.random.key(0), 8)), p(jax.random.split(jax.random.PRNGKey(0), 8))",
    "bfloat16": "p = jax.pmap(step, 'i')\n"
    "def main(): return p(jnp.asarray(X, jnp.bfloat16), jnp.asarray(Y, jnp.bfloat16))",
    "under_jit": "p = jax.pmap(step, 'i')\ndef main(): return jax.jit(lambda x, y: p(x, y))(X, Y)",
    "host_local": "p = jax.pmap(step, 'i')\ndef main():\n    n = jax.local_device_count()\n"
    "    return p(X[:n], Y[:n]), jax.process_index()",
    "host_local_all": "p = jax.pmap(lambda n, x, y: (x * n, lax.pmean(y, 'i')), axis_name='i',\n"
    "    in_axes=(None, 1, None), static_broadcasted_argnums=0, donate_argnums=1, out_axes=(1, None),\n"
    "    devices=jax.devices())\n"
    "def main(): return p(3, X.T, Y[0]), jax.process_count()",
}

NAMED = {
    "from_import": {"main.py": "from jax import pmap\nimport numpy as np\nimport jax\nX = np.ones((8, 2))\n"
                    "def main(): return pmap(lambda x: jax.lax.psum(x, 'i'), axis_name='i')(X)\n"},
    "from_import_only": {"main.py": "from jax import pmap\nimport numpy as np\nX = np.ones((8, 2))\n"
                         "def main(): return pmap(lambda x: x + 1)(X)\n"},
    "import_as": {"main.py": "import jax as j\nimport numpy as np\nX = np.ones((8, 2))\n"
                  "def main(): return j.pmap(lambda x: x + 1)(X)\n"},
    "from_import_as": {"main.py": "from jax import pmap as pm, vmap\nimport numpy as np\nX = np.ones((8, 2))\n"
                       "def main(): return pm(vmap(lambda x: x + 1))(X)\n"},
    "inside_function": {"main.py": "import numpy as np\ndef main():\n    import jax\n"
                        "    return jax.pmap(lambda x: x + 1)(np.ones((8, 2)))\n"},
    "re_export": {"compat.py": "from jax import pmap\n",
                  "main.py": "from compat import pmap\nimport numpy as np\n"
                  "def main(): return pmap(lambda x: x + 1)(np.ones((8, 2)))\n"},
    "alias_elsewhere": {"pkg/__init__.py": "", "pkg/constants.py": "import functools\nimport jax\nAXIS = 'i'\n"
                        "parallel = functools.partial(jax.pmap, axis_name=AXIS)\n",
                        "main.py": "import numpy as np\nimport jax\nfrom pkg import constants\n"
                        "def f(x): return jax.lax.psum(x, constants.AXIS)\n"
                        "def main(): return constants.parallel(f, in_axes=1, donate_argnums=0)(np.ones((3, 8)))\n"},
    "plain_alias_elsewhere": {"tools.py": "import jax\nspread = jax.pmap\n",
                              "main.py": "import numpy as np\nfrom tools import spread\n"
                              "@spread\ndef f(x): return x * 2\ndef main(): return f(np.ones((8, 2)))\n"},
    "wrapper_elsewhere": {"tools.py": "import jax\ndef spread(f, axis_name=None, **kw):\n"
                          "    return jax.pmap(f, axis_name, **kw)\n",
                          "main.py": "import numpy as np\nfrom tools import spread\n"
                          "def main(): return spread(lambda x, y: x + y, in_axes=(0, None))(np.ones((8, 2)), 1.0)\n"},
    "imported_function": {"model.py": "import jax\ndef apply(x): return jax.lax.pmean(x, 'i')\n",
                          "main.py": "import jax, numpy as np\nimport model\n"
                          "p = jax.pmap(model.apply, 'i')\ndef main(): return p(np.arange(8.0))\n"},
    "names_taken": {"main.py": "import jax\nimport numpy as np\nP = 3\nMesh = 'net'\n_shard_map_stacked = 2\n"
                    "def main(): return jax.pmap(lambda x: x * P)(np.ones((8, 2))), len(Mesh), _shard_map_stacked\n"},
    "defined_for_readers_elsewhere": {"tools.py": "import functools\nimport jax\n"
                                      "def spread(f, **kw): return jax.pmap(f, **kw)\n"
                                      "spread = functools.partial(jax.pmap, axis_name='i')\n",
                                      "main.py": "import jax, numpy as np\nfrom tools import spread\n"
                                      "p = spread(lambda x: jax.lax.psum(x, 'i'))\n"
                                      "def main(): return p(np.ones((8, 2)))\n"},
    "optional_jax": {"main.py": "import numpy as np\ntry:\n    import jax\nexcept ImportError:\n    jax = None\n"
                     "def main(): return jax.pmap(lambda x: x * 2)(np.ones((8, 2)))\n"},
}  # fmt: skip


def cases() -> dict[str, dict[str, str]]:
    """Every case's files."""
    plain = {**SIMPLE, **KEYWORDS}
    return {**{name: {"main.py": PRELUDE + text + "\n"} for name, text in plain.items()}, **NAMED}


@functools.cache
def fixed(name: str) -> dict[str, str]:
    """The files of a case as fix leaves them."""
    return fix_files(cases()[name])


def run_child(programs: dict[str, dict[str, dict[str, str]]]) -> dict[str, str]:
    """What is wrong with each program; an empty string where both agree."""
    verdicts = run(Program(name, case["before"], case["after"]) for name, case in programs.items())
    return {v.name: "" if v.verdict == "agrees" else f"{v.verdict}: {v.text}" for v in verdicts}


@pytest.fixture(scope="module")
def verdicts() -> dict[str, str]:
    """What the child says of each case."""
    return run_child({name: {"before": files, "after": fixed(name)} for name, files in cases().items()})


@pytest.mark.parametrize("name", cases())
def test_agrees_bitwise(name: str, verdicts: dict[str, str]) -> None:
    assert not verdicts[name], verdicts[name] + "\n" + "\n".join(fixed(name).values())


@pytest.mark.parametrize("name", cases())
def test_again_changes_nothing(name: str) -> None:
    once = fixed(name)
    assert once != cases()[name]
    assert fix_files(once) == once


NESTED = """
def f(x): return lax.psum(x, ('i', 'j')), lax.psum(x, 'j'), lax.axis_index('i'), lax.axis_index('j'), x * 2
p = jax.MAP(jax.MAP(f, axis_name='j'), axis_name='i')
q = jax.MAP(jax.MAP(lambda x, y: x + lax.pmax(y, 'j'), axis_name='j'), axis_name='i')
N = np.arange(48).reshape(2, 4, 6)
def main(): return p(N), p(N[:, :2]), q(N, N + 1)
"""


def test_a_map_of_a_map_is_one_map_over_two_axes() -> None:
    """jax.pmap itself refuses nested maps since 0.8; on integers, nested vmaps say exactly what they mean."""
    after = fix_files({"main.py": PRELUDE + NESTED.replace("MAP", "pmap")})
    assert "axis_name=('i', 'j')" in after["main.py"]
    meant = {"main.py": PRELUDE + NESTED.replace("MAP", "vmap")}
    found = [json.loads(v.text) for v in run([Program("meant", meant, None), Program("after", after, None)])]
    assert [row[:4] for row in found[0]] == [row[:4] for row in found[1]]
    assert fix_files(after) == after


IMPORT_ALL = """
import json, sys, types
from jax._src import xla_bridge
for name, text in json.load(sys.stdin).items():
    exec(compile(text, name, "exec"), types.ModuleType(name).__dict__)
    assert not xla_bridge.backends_are_initialized(), name
"""


def test_importing_a_rewritten_module_does_not_start_the_backend() -> None:
    quiet = {name: text for name, text in {**SIMPLE, **KEYWORDS}.items() if "jax.devices()" not in text}
    after = {name: fix_files({"main.py": PRELUDE + text + "\n"})["main.py"] for name, text in quiet.items()}
    done = subprocess.run(
        [sys.executable, "-c", IMPORT_ALL], input=json.dumps(after), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert len(after) > 40
