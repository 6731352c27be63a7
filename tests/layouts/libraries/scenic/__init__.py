"""What programs take of scenic: helpers for replicated arrays."""
