"""jaxmigrate: from jax.pmap to jax.shard_map, with a linter for SPMD code and a verifier that runs both programs.

Nothing is imported here, because `jaxmigrate lint` runs on every commit and start-up time is most of what it costs.
"""

__version__ = "0.1.0"
