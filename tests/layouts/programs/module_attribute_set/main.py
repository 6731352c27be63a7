"""A variable of another module is set from here and read there."""
import setup_state
from setup_state import p_step, shard, BATCH

setup_state.STATE = p_step(setup_state.STATE, shard(BATCH))
RESULT = [setup_state.total(), setup_state.STATE.shape[0]]
