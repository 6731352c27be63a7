"""Which arrays of a program are replicated, split or stacked: the representation of values that mapped calls take."""
