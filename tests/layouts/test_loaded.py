"""What code uses of a file that it runs by its path stays as it is there, and no more than that."""

from __future__ import annotations

import pytest

from tests.layouts.running import Files, plan

SCRIPT = """\
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

BATCH = np.ones((16, 3), np.float32)


def reduce(x):
    return jax.lax.pmean(x, "batch")


p_step = jax.pmap(lambda w, x: w - reduce(x.mean(0)), axis_name="batch")


def main():
    w = p_step(jax_utils.replicate(jnp.ones(3)), shard(BATCH))
    w = p_step(w, shard(BATCH))
    return np.asarray(jnp.mean(w, 0)).tolist()


if __name__ == "__main__":
    print(main())
"""
STATE = SCRIPT + "    state = jax_utils.replicate(jnp.ones(3))\n    state = p_step(state, shard(BATCH))\n"
SPEC = """\
import importlib.util

spec = importlib.util.spec_from_file_location("script", "script.py")
script = importlib.util.module_from_spec(spec)
spec.loader.exec_module(script)
"""


def is_global(main: str, script: str = SCRIPT, **others: str) -> bool:
    files: Files = {"main.py": main, "script.py": script, **{f"{name}.py": text for name, text in others.items()}}
    return any(array.layout == "replicated" for site in plan(files).sites for array in site.outputs)


@pytest.mark.parametrize(
    "main",
    [
        'import runpy\n\nRESULT = runpy.run_path("script.py", run_name="__main__")["state"]\n',
        'import runpy\n\nRESULT = runpy.run_module("script", run_name="__main__").get("state")\n',
        SPEC + "\nRESULT = script.state\n",
        'names = {}\nexec(open("script.py").read(), names)\nRESULT = names["state"]\n',
        'exec(open("script.py").read())\nRESULT = state\n',
        'import runpy\nimport seen\n\nRESULT = seen.seen(runpy.run_path("script.py"))\n',
        "import held\n\nRESULT = held.names['state']\n",
    ],
)
def test_what_is_read_stays_stacked(main: str) -> None:
    seen = 'def seen(names):\n    return names["state"]\n'
    held = 'import runpy\n\nnames = runpy.run_path("script.py", run_name="__main__")\n'
    assert not is_global(main, STATE, seen=seen, held=held)


@pytest.mark.parametrize(
    "main",
    [
        'import runpy\n\nrunpy.run_path("script.py", run_name="__main__")\nRESULT = 1\n',
        SPEC + "\nscript.main()\nRESULT = 1\n",
        'names = {}\nexec(open("version.py").read(), names)\nRESULT = names["p_step"], names["main"]\n',
        'import runpy\nimport sys\n\nRESULT = runpy.run_path(sys.argv[1])["configuration"]\n',
        'import runpy\nimport seen\n\nRESULT = seen.seen(runpy.run_path("script.py"))\n',
    ],
)
def test_what_is_not_read_becomes_global(main: str) -> None:
    assert is_global(main, seen='def seen(names):\n    return names["main"]()\n', version='VERSION = "1"\n')


@pytest.mark.parametrize(
    "use",
    [
        "RESULT = script.p_step(W, X)\n",
        "script.reduce = lambda x: x\nRESULT = script.main()\n",
        "\n\ndef patch(module):\n    module.reduce = lambda x: x\n\n\npatch(script)\nRESULT = script.main()\n",
    ],
)
def test_functions_that_are_called_or_replaced_there_are_told(use: str) -> None:
    assert not is_global(SPEC + use)


def test_functions_that_are_replaced_in_a_dictionary_are_told() -> None:
    run = 'names = {"__name__": "script"}\nexec(open("script.py").read(), names)\n'
    assert is_global(run + 'names["more"] = lambda x: x\nRESULT = names["main"]()\n')
    assert not is_global(run + 'names["reduce"] = lambda x: x\nRESULT = names["main"]()\n')
    assert not is_global(run + "names.update(reduce=lambda x: x)\nRESULT = names['main']()\n")


CHOSEN = SCRIPT.replace(
    "    w = p_step(jax_utils", "    make = getattr(models, NAME)\n    w = p_step(jax_utils"
).replace("import numpy as np\n", "import numpy as np\nimport models\n\nNAME = 'sm' + 'all'\n")
MODELS = "import layers\n\n\ndef small():\n    return layers.dense(1)\n"
LAYERS = "def dense(n):\n    return n\n"
MAIN = "import script\n\nRESULT = script.main()\n"


def test_a_module_that_is_asked_for_a_name_keeps_what_it_leads_to() -> None:
    assert is_global(MAIN, CHOSEN, models=MODELS, layers=LAYERS)
    package = {
        "models/__init__": "from models import small, wide\n",
        "models/small": "",
        "models/wide": "import layers\n",
    }
    assert is_global(MAIN, CHOSEN, layers=LAYERS, **package)


@pytest.mark.parametrize(
    "others",
    [
        {"models": "import layers\n", "layers": "import script\n"},
        {"models": "from layers import *\n", "layers": "import script as small\n"},
        {"models": "import layers.wide\n", "layers/__init__": "", "layers/wide": "", "layers/deep": "import script\n"},
        {
            "models": "import layers\n\nlayers.small = layers.get()\n",
            "layers": "def get():\n    import script\n    return script\n",
        },
        {"models": "from script import p_step\n"},
    ],
)
def test_a_module_that_leads_to_a_map_may_give_it(others: dict[str, str]) -> None:
    assert not is_global(MAIN, CHOSEN, **others)


def test_what_a_package_imports_from_itself_is_in_it() -> None:
    package = {"steps/__init__": "from steps import inner\n", "steps/inner": SCRIPT}
    main = "import steps\n\nRESULT = steps.inner.main()\n"
    assert is_global(main, LAYERS, **package)
    package["steps/__init__"] = "import steps.inner\n\nW = steps.inner.main()\nfrom steps import steps as own\n"
    assert not is_global(main, LAYERS, **package)
