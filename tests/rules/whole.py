"""Whole programs of a file, each behind `=== NAME | CODES`, what lint is to tell in it; HEAD stands before each."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from _pytest.mark.structures import ParameterSet

HEAD = """\
from functools import partial
import numpy as np
import jax
import jax.numpy as jnp
import optax
from flax import jax_utils, nnx
from flax import linen as nn
from flax.training import train_state, common_utils
from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

MESH = Mesh(np.array(jax.devices()), ("data",))
X = np.arange(96, dtype=np.float32).reshape(8, 4, 3) / 100
XG = X.reshape(32, 3)
"""


def programs(name: str) -> list[ParameterSet]:
    """The programs of a file beside this one, with the codes that are told in each."""
    text = Path(__file__).with_name(name).read_text("utf-8")
    parts = [part.partition("\n") for part in re.split("^=== ", text, flags=re.MULTILINE)[1:]]
    return [
        pytest.param(head.partition(" |")[2].split(), HEAD + body, id=head.partition(" ")[0]) for head, _, body in parts
    ]
