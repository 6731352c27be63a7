"""What the host's code holds, statement by statement: arrays with an axis of devices, and what maps gave."""
