"""What an editor shows of a document while it is written, and what it offers to change. Knows no protocol.

The document and all others that are open are taken as the editor has them, saved or not; the rest of the project is
read from the disk. One document is not the whole program, so that the rewrite that is offered is the one that leaves
every caller as it is (`--layout stacked`).
"""
