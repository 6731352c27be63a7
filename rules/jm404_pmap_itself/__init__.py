"""JM404: jax.pmap used as a value. Reported by `jaxmigrate fix` where it leaves a site; the page is README.md."""
