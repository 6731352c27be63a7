"""One writer per format, each over plain data."""
