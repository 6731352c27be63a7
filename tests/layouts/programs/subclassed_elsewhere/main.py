"""A script that says nothing of maps derives from a trainer and looks at its whole state."""
import numpy as np

from training import Trainer


class Verbose(Trainer):
    def report(self):
        return {"whole": np.asarray(self.w).sum(), "rows": len(self.w), "first": super().report()}


trainer = Verbose()
trainer.train(2)
RESULT = trainer.report()
