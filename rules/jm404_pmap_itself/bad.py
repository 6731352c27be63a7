import jax


def takes_stacked_arrays(transform):
    return transform is jax.pmap
