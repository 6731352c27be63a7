"""How `lint` gets through many files: told apart by a glance, divided among processes, and remembered.

A piece of a project is examined on its own: its files are read, those that mention nothing that a rule is about are put
aside unparsed, and the rules are asked about the others and whatever these import. What came out is kept under a digest
of all that it depends on.
"""
