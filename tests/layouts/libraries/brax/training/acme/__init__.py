"""Statistics of what a program observes."""
