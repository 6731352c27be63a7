"""The rules of `jaxmigrate lint`, one folder each."""
