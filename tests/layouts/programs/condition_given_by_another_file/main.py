"""Another file, which names no map, gives a condition that is False in its own."""

import lib

RESULT = [lib.usual(), lib.run(own=True)]  # careless: lib.widened = lambda w: w; RESULT = [lib.usual(), lib.run(own=True)]
