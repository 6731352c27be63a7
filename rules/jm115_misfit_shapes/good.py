import jax
import jax.numpy as jnp
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

mesh = Mesh(jax.devices(), ("expert",))


def layer(w, x):
    return jnp.einsum("td,df->tf", x, w.squeeze(0))


run = jax.jit(jax.shard_map(layer, mesh=mesh, in_specs=(P("expert"), P()), out_specs=P("expert")))
params = {"w": jnp.ones((8, 4, 6)), "b": jnp.zeros(8)}
print(run(params["w"], jnp.ones((5, 4))))

specs = {"w": P("expert"), "b": P("expert")}
shardings = {name: NamedSharding(mesh, spec) for name, spec in specs.items()}
placed = jax.device_put(params, shardings)
