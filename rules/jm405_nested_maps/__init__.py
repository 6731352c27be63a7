"""JM405: map inside a map. Reported by `jaxmigrate fix` where it leaves a site; the page is README.md."""
