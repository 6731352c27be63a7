"""JM402: negative mapped axis. Reported by `jaxmigrate fix` where it leaves a site; the page is README.md."""
