"""JM406: pmap out of sight. Reported by `jaxmigrate fix` where it leaves a site; the page is README.md."""
