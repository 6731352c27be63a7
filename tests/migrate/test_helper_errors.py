"""The stacked form raises what pmap raises where no argument has an axis to map."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import pytest

from jaxmigrate.migrate import fix_files

CALLS = [
    ("jax.pmap(f, axis_name='i')", "(1,)"),
    ("jax.pmap(f, axis_name='i', in_axes=(0,))", "(1,)"),
    ("jax.pmap(lambda x, y: f(x), axis_name='i', in_axes=(0, None))", "(1, jnp.ones(3))"),
    ("jax.pmap(lambda x, y: f(x), axis_name='i', static_broadcasted_argnums=1)", "(1, 'static')"),
]


@pytest.mark.parametrize(("mapped", "arguments"), CALLS)
def test_a_value_error_where_nothing_has_an_axis(mapped: str, arguments: str) -> None:
    opening = "import jax\nimport jax.numpy as jnp\n\n\ndef f(x):\n    return jax.lax.psum(x, 'i')\n\n\n"
    before = f"{opening}g = {mapped}\n"
    after = fix_files({"a.py": before}, layout="stacked")["a.py"]
    assert "jax.pmap" not in after
    for text in (before, after):
        scope: dict[str, object] = {"jax": jax, "jnp": jnp}
        exec(compile(text, "case", "exec"), scope)
        with pytest.raises(ValueError):  # noqa: PT011 - JAX words it otherwise
            exec(f"g(*{arguments})", scope)
