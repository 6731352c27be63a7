"""Another file, which names no map, gives another count of devices."""

import lib

RESULT = [lib.usual(), lib.run(4)]  # careless: RESULT = [lib.usual(), lib.run(8)]
