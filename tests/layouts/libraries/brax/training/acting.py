"""What an environment and a policy give, step by step."""

from typing import Any

import jax


def actor_step(env: Any, state: Any, policy: Any, key: Any) -> Any:
    """One step."""
    action, _ = policy(state, key)
    after = env.step(state, action)
    return after, after


def generate_unroll(env: Any, state: Any, policy: Any, key: Any, unroll_length: int) -> Any:
    """Some steps, and what was seen in each."""

    def one(carry: Any, _: Any) -> Any:
        state, key = carry
        key, next_key = jax.random.split(key)
        after, seen = actor_step(env, state, policy, key)
        return (after, next_key), seen

    (state, _), seen = jax.lax.scan(one, (state, key), (), length=unroll_length)
    return state, seen
