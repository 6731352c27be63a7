"""The cases of the gallery: which migrations of which programs are right, and which mistakes are made in them."""

from __future__ import annotations

from typing import NamedTuple


class Case(NamedTuple):
    """A migration: a right one, or one with a mistake of some `kind` at a site, made by `edits`."""

    program: str
    migration: str
    kind: str = ""
    site: str = ""
    edits: tuple[tuple[str, str], ...] = ()

    @property
    def right(self) -> bool:
        return not self.kind

    @property
    def quick(self) -> bool:
        """Whether the tests verify it; the others are left to the campaign."""
        return self.name not in FOR_THE_CAMPAIGN

    @property
    def name(self) -> str:
        return f"{self.program}/{self.migration}{f': {self.kind}' if self.kind else ''}"


def wrong(program: str, migration: str, kind: str, site: str, *edits: tuple[str, str]) -> Case:
    return Case(program, migration, kind, site, edits)


FOR_THE_CAMPAIGN = {
    "accumulation/global: micro batches not averaged",
    "dropout/global: not reduced",
    "gan/apart: a sum",
    "pinn/compiled: a factor",
    "pinn/compiled: evaluation on half",
    "predictions/full: rows shifted",
    "ragged/unpadded: the last batch dropped",
    "rates/checked: the division lost",
    "rates/global: parameters returned as they were",
    "rates/global: schedule",
    "rl/mapped: sum for mean",
    "rl/means: one key",
    "specs/renamed: a rate",
    "waves/compiled: a factor",
    "waves/flat: a sum lost",
}

CASES = (
    Case("waves", "global"),
    Case("waves", "compiled"),
    Case("waves", "flat"),
    wrong(
        "waves",
        "global",
        "neighbours swapped",
        "advance",
        ("concatenate([left, height, right])", "concatenate([right, height, left])"),
    ),
    wrong("waves", "compiled", "a factor", "advance", ("0.1 * (jnp.roll", "0.11 * (jnp.roll")),
    wrong(
        "waves",
        "flat",
        "a sum lost",
        "energy",
        (
            'jax.lax.psum(0.5 * (speed**2).sum() + 0.5 * (jnp.diff(height, axis=0) ** 2).sum(), "ring")',
            "0.5 * (speed**2).sum() + 0.5 * (jnp.diff(height, axis=0) ** 2).sum()",
        ),
    ),
    wrong(
        "waves",
        "compiled",
        "order",
        "energy",
        ("jnp.diff(height.reshape(N, 16, 2), axis=1)", "jnp.diff(height, axis=0)"),
    ),
    Case("rl", "means"),
    Case("rl", "mapped"),
    wrong(
        "rl",
        "means",
        "sum for mean",
        "host",
        ('"reward": rewards.mean(), "norm"', '"reward": 8 * rewards.mean(), "norm"'),
    ),
    wrong(
        "rl",
        "means",
        "the first device's",
        "update",
        ('"norm": norm}, "i")', '"norm": norm}, "i")\n    means["loss"] = loss'),
    ),
    wrong(
        "rl",
        "means",
        "one key",
        "update",
        ("jax.random.split(key[0])", "jax.random.split(jax.lax.all_gather(key[0], 'i')[0])"),
    ),
    wrong("rl", "mapped", "sum for mean", "update", ("lambda g: g.mean(0), grads", "lambda g: g.sum(0), grads")),
    Case("gan", "apart"),
    wrong(
        "gan",
        "apart",
        "old discriminator",
        "train_step",
        ("(g_state.params, d_state.params, z)", "(g_state.params, old.params, z)"),
        ("    d_loss, grads", "    old = d_state\n    d_loss, grads"),
    ),
    wrong("gan", "apart", "a sum", "train_step", ('jax.lax.pmean(grads, "batch")', 'jax.lax.psum(grads, "batch")')),
    wrong(
        "gan",
        "apart",
        "optimizer thrown away",
        "train_step",
        (
            "return State(optax.apply_updates(state.params, updates), opt)",
            "return State(optax.apply_updates(state.params, updates), state.opt)",
        ),
    ),
    Case("pinn", "compiled"),
    wrong("pinn", "compiled", "another batch size", "train_step", ("(N, 12)).reshape(-1)", "(N, 6)).reshape(-1)")),
    wrong("pinn", "compiled", "a factor", "train_step", ("- 1.0) ** 2", "- 1.0) ** 2 * 1.0000001")),
    wrong(
        "pinn",
        "compiled",
        "evaluation on half",
        "error",
        ("np.linspace(0, 6, N * 6)", "np.linspace(0, 6, N * 6)[: N * 3]"),
    ),
    wrong("pinn", "compiled", "single precision", "train_step", ('jax.config.update("jax_enable_x64", True)\n', "")),
    Case("ragged", "unpadded"),
    wrong(
        "ragged",
        "unpadded",
        "the last batch dropped",
        "host",
        ("range(0, ROWS, BATCH)", "range(0, ROWS - BATCH, BATCH)"),
    ),
    wrong("ragged", "unpadded", "mean for sum", "evaluate", ("losses.sum()", "losses.mean()")),
    Case("predictions", "full"),
    wrong(
        "predictions",
        "full",
        "padded rows counted",
        "predict",
        ("padded(x[part])))[: len(y[part])]", "padded(x[part])))"),
    ),
    wrong(
        "predictions",
        "full",
        "rows shifted",
        "predict",
        ("jax.nn.softmax(logits_of(params, x))", "jnp.roll(jax.nn.softmax(logits_of(params, x)), x.shape[0] == 4, 0)"),
    ),
    Case("scales", "global"),
    wrong(
        "scales", "global", "the scales decay", "train", (", mask=lambda p: jax.tree.map(lambda x: x.ndim > 1, p)", "")
    ),
    Case("rates", "global"),
    Case("rates", "checked"),
    wrong(
        "rates",
        "global",
        "sum for mean",
        "train_step",
        ('jax.lax.pmean(grads, "batch")', 'jax.lax.psum(grads, "batch")'),
    ),
    wrong("rates", "checked", "the division lost", "train_step", ("lambda g: g / N, grads", "lambda g: g, grads")),
    wrong("rates", "global", "weight decay", "train_step", ("m + 0.01 * p", "m + 0.1 * p")),
    wrong("rates", "global", "schedule", "train_step", ('(state["step"] + 1) / 4', 'state["step"] / 4')),
    wrong(
        "rates",
        "global",
        "parameters returned as they were",
        "train_step",
        (
            '"params": params, "momentum": momentum, "average": average',
            '"params": state["params"], "momentum": momentum, "average": average',
        ),
    ),
    Case("dropout", "global"),
    wrong(
        "dropout",
        "global",
        "one key",
        "train_step",
        ("jax.random.fold_in(keys[0], step)", 'jax.random.fold_in(jax.lax.all_gather(keys[0], "i")[0], step)'),
    ),
    wrong("dropout", "global", "not reduced", "train_step", ('    grads = jax.lax.pmean(grads, "i")\n', "")),
    wrong("dropout", "global", "printed", "host", ("float(loss[0])", "float(loss[-1])")),
    Case("bfloat16", "compiled"),
    wrong("bfloat16", "compiled", "a cast lost", "train_step", ('params["w"].astype(jnp.bfloat16)', 'params["w"]')),
    wrong("bfloat16", "compiled", "a factor", "train_step", ("p - 0.5 * g", "p - 0.51 * g")),
    Case("accumulation", "global"),
    wrong(
        "accumulation",
        "global",
        "micro batches not averaged",
        "train_step",
        ("lambda g: g / MICRO, total", "lambda g: g, total"),
    ),
    wrong(
        "accumulation",
        "global",
        "clipped before the mean",
        "train_step",
        (
            'grads = jax.lax.pmean(jax.tree.map(lambda g: g / MICRO, total), "i")',
            "grads = jax.tree.map(lambda g: g / MICRO, total)",
        ),
        (
            "params = jax.tree.map(lambda p, g: p - 0.1 * scale * g, params, grads)",
            'params = jax.tree.map(lambda p, g: p - 0.1 * jax.lax.pmean(scale * g, "i"), params, grads)',
        ),
    ),
    wrong(
        "accumulation",
        "global",
        "rows in another order",
        "train_step",
        (
            "np.concatenate(list(stacked), axis=1)",
            "stacked.swapaxes(0, 1).swapaxes(1, 2).reshape(MICRO, -1, stacked.shape[-1])",
        ),
    ),
    Case("specs", "renamed"),
    wrong("specs", "renamed", "a sum lost", "step", ('jax.lax.psum(x @ w, "model")', "x @ w")),
    wrong("specs", "renamed", "a rate", "step", ("w - 0.1 * grad", "w - 0.11 * grad")),
    Case("planes", "global"),
    Case("planes", "permuted"),
    wrong("planes", "global", "a sum along the wrong axis", "layer", ('(part, "column")', '(part, "row")')),
    wrong("planes", "global", "gradients along the wrong axis", "layer", ('(grad, "row")', '(grad, "column")')),
    wrong("planes", "global", "an index along the wrong axis", "rotate", ('axis_index("row")', 'axis_index("column")')),
)
