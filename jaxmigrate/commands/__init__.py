"""One module for each command that users type: `run(options) -> exit status`."""


class Failure(Exception):  # noqa: N818 - not a bug: work that cannot be done, told to the user in one line
    """Work that cannot be done, with a message for the user. The exit status is 2."""
