"""JM114 of labels that count one device's rows beside the columns of all devices, and the right programs beside it."""

from __future__ import annotations

from pathlib import Path

import pytest

from jaxmigrate.config import Config
from jaxmigrate.lint.linting import lint
from jaxmigrate.sources import decode

PROGRAM = """\
import jax
import jax.numpy as jnp
import optax
def norm(z):
    return z / jnp.linalg.norm(z, axis=-1, keepdims=True)
def gathered(x, axis="batch"):
    return jax.lax.all_gather(x, axis).reshape(-1, x.shape[-1])
def loss(image, text):
    {body}
step = jax.pmap(loss, axis_name="batch")
"""
ALL = "jax.lax.all_gather(text, 'batch', tiled=True)"
XENT = "optax.softmax_cross_entropy_with_integer_labels"
WRONG = {
    "in one line each": f"logits = image @ {ALL}.T\nlabels = jnp.arange(image.shape[0])\nreturn {XENT}(logits, labels)",
    "rows of the logits": (
        f"logits = image @ {ALL}.T\nlabels = jnp.arange(logits.shape[0])\nreturn {XENT}(logits, labels)"
    ),
    "by a function": (
        "texts = norm(gathered(text))\nlogits = jnp.exp(1.0) * jnp.einsum('id,jd->ij', image, texts)\n"
        f"n = image.shape[0]\nlabels = jnp.arange(n)\nreturn {XENT}(logits=logits, labels=labels).mean()"
    ),
    "one row of ones and zeros each": (
        f"texts = {ALL}\nlogits = jnp.dot(image, texts.T)\nb, d = image.shape\n"
        "targets = jax.nn.one_hot(jnp.arange(b), len(texts))\n"
        "return -(targets * jax.nn.log_softmax(logits)).sum(-1).mean()"
    ),
    "taken along the columns": (
        f"logp = jax.nn.log_softmax(image @ {ALL}.T)\nlabels = jnp.arange(len(image))[:, None]\n"
        "return -jnp.take_along_axis(logp, labels, 1).mean()"
    ),
    "by an index": (
        f"logp = jax.nn.log_softmax(image @ {ALL}.T)\nlabels = jnp.arange(image.shape[0])\n"
        "return -logp[jnp.arange(image.shape[0]), labels].mean()"
    ),
}
RIGHT = {
    "the device's own rows": (
        f"logits = image @ {ALL}.T\nn = image.shape[0]\nlabels = jnp.arange(n) + n * jax.lax.axis_index('batch')\n"
        f"return {XENT}(logits, labels)"
    ),
    "offset by an argument": (
        f"logits = image @ {ALL}.T\nlabels = jnp.arange(image.shape[0])\nlabels = labels + start\n"
        f"return {XENT}(logits, labels)"
    ),
    "both of all devices": (
        "images, texts = gathered(image), gathered(text)\nlogits = images @ texts.T\n"
        f"labels = jnp.arange(images.shape[0])\nreturn {XENT}(logits, labels)"
    ),
    "both of one device": (
        f"all_texts = {ALL}\nlogits = image @ text.T\nlabels = jnp.arange(image.shape[0])\n"
        f"return {XENT}(logits, labels) + all_texts.mean()"
    ),
    "rows that are only numbered": (
        f"logits = image @ {ALL}.T\nrows = jnp.arange(image.shape[0])\nreturn logits.max(-1) * rows"
    ),
    "labels that are given": (
        f"logits = image @ {ALL}.T\nrows = jnp.arange(image.shape[0])\nreturn -logits[rows, labels].mean()"
    ),
}


def codes(body: str) -> list[str]:
    """What lint says of a loss."""
    text = PROGRAM.replace("{body}", body.replace("\n", "\n    "))
    found = lint([decode(text.encode(), "loss.py", Path("/project/loss.py"))], Config())
    return [one.code for one in found if one.code == "JM114"]


@pytest.mark.parametrize("name", WRONG)
def test_labels_count_from_zero_on_each_device(name: str) -> None:
    assert codes(WRONG[name]) == ["JM114"]


@pytest.mark.parametrize("name", RIGHT)
def test_labels_that_are_right(name: str) -> None:
    assert codes(RIGHT[name]) == []
