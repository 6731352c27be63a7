"""JM404: pmap used as an object. Reported by `jaxmigrate fix` where it leaves a site; the page is README.md."""
