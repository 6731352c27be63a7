import jax
import jax.numpy as jnp

double = jax.pmap(lambda x: 2 * x)  # jaxmigrate: ignore[JM491]  # JM491

print(double(jnp.arange(float(jax.device_count()))))
