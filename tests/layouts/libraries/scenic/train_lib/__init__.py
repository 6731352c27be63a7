"""What programs take of acme: helpers for replicated arrays."""
