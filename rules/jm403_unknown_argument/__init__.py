"""JM403: argument that pmap no longer takes. Reported by `jaxmigrate fix` where it leaves a site."""
