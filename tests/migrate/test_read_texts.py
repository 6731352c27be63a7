"""What fix makes of a file is parsed once, however many steps look at it."""

from __future__ import annotations

import ast
from collections import Counter

import pytest

from jaxmigrate.migrate import fix_files

FILES = {
    "train.py": """\
import jax
from jax import lax
from jax.experimental import maps


def step(x):
    return lax.psum(x, "i")


def main(xs):
    count = jax.local_device_count()
    return jax.pmap(step, axis_name="i")(jax.tree_map(abs, xs)), lax.axis_size
""",
    "eval.py": """\
import jax


def evaluate(xs):
    return jax.device_put_replicated(jax.pmap(lambda x: x + 1)(xs), jax.local_devices())
""",
}


def test_a_text_is_parsed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: Counter[str] = Counter()
    parse = ast.parse

    def counted(source: str, *arguments: object, **keywords: object) -> ast.AST:
        parsed[source] += 1
        return parse(source, *arguments, **keywords)  # type: ignore[call-overload, no-any-return]

    monkeypatch.setattr(ast, "parse", counted)
    after = fix_files(FILES)
    assert all(after[name] != text for name, text in FILES.items())
    assert [parsed[after[name]] for name in FILES] == [1, 1]
