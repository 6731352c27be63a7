import jax


def run(mesh, f, x):
    with jax.set_mesh(mesh):
        return f(x)
