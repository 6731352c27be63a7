"""What programs take of brax: helpers for replicated arrays."""
