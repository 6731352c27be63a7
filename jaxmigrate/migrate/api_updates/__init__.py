"""What code that uses pmap uses beside it, and JAX has since renamed or removed: one subject a file."""
