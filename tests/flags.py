"""Options of XLA that tests start child processes with."""

from __future__ import annotations

from importlib.metadata import version

NEWER = tuple(map(int, version("jaxlib").split(".")[:2])) >= (0, 11)  # XLA aborts on a flag that it does not know

# A third of the time of a compilation. Programs are compared under the same options; how XLA rounds what it fuses is
# not what is asked about where these are used.
UNOPTIMISED = (
    *("--xla_backend_optimization_level=0", "--xla_llvm_disable_expensive_passes=true"),
    "--xla_cpu_parallel_codegen_split_count=1",
    *(() if NEWER else ("--xla_cpu_use_fusion_emitters=false",)),
)
