"""JM117 of batches: those of one loader are divided over the devices in one loop, and given as they are in another."""

from __future__ import annotations

import pytest

from jaxmigrate.config import Config
from jaxmigrate.lint.linting import lint
from jaxmigrate.sources import decode

TOP = """\
import jax
from flax.training.common_utils import shard
from torch.utils.data import DataLoader
from tqdm import tqdm
p_train = jax.pmap(lambda s, x: (s, x.mean()))
p_eval = jax.pmap(lambda s, x: x.mean())
def reshape_for(batch, n):
    return jax.tree.map(lambda x: x.reshape(n, -1, *x.shape[1:]), batch)
def prepare(batch):
    return {"x": batch["x"].reshape(4, -1), "y": batch["y"]}
def prepare_eval(batch):
    return {"x": batch["x"], "y": batch["y"]}
"""
WAYS = {
    "reshaped and transposed before": """\
def main(state, train_set, valid_set, steps):
    train = DataLoader(train_set, 8)
    valid = DataLoader(valid_set, 8)
    for i, text in enumerate(tqdm(train)):
        text = text.reshape(steps, -1, 64).transpose(1, 0, 2)
        text = shard(text)
        state, loss = p_train(state, text)
    for j, text in enumerate(tqdm(valid, disable=True)):
        text = text[:, :32]
        {divided}
        p_eval(state, text)
""",
    "by iterators of numpy": """\
def main(state, train_set, valid_set):
    n = jax.local_device_count()
    train, valid = train_set.batch(8), valid_set.batch(8)
    train_its = train.as_numpy_iterator()
    for batch in tqdm(train_its):
        text = reshape_for(prepare(batch), n)
        state, loss = p_train(state, text)
    valid_its = valid.as_numpy_iterator()
    for text in tqdm(valid_its):
        text = prepare_eval(text)
        {divided}
        p_eval(state, text)
""",
}


@pytest.mark.parametrize("name", WAYS)
@pytest.mark.parametrize("divided", ["pass", "text = shard(text)", "text = reshape_for(text, 8)"])
def test_batches_of_one_loader(name: str, divided: str) -> None:
    text = TOP + WAYS[name].format(divided=divided)
    found = [one.code for one in lint([decode(text.encode(), "main.py")], Config()) if one.code == "JM117"]
    assert found == (["JM117"] if divided == "pass" else [])
