"""Which arrays of the host's code are deleted, statement by statement, for a call was allowed to reuse their memory."""
