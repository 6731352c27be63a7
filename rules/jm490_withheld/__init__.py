"""JM490: rewrite withheld. Reported by `jaxmigrate fix` where a file was not written; the page is README.md."""
