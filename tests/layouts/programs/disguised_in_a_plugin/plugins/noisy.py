"""An optimiser of which each device has its own."""
import jax
import optax

tx = optax.stateless(lambda u, p: u * jax.lax.axis_index("batch"))
