"""A list of devices in a module without maps of its own callers is cut by the module that imports it."""

import trainer

trainer.DEVICES.reverse()
del trainer.DEVICES[4:]
RESULT = trainer.train()
