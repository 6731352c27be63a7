"""A trainer whose constructor, after that of its base, hides a method by the mapped one; tests alone make trainers."""
import unittest

import numpy as np
import zoo

BATCH = np.arange(48, dtype=np.float32).reshape(16, 3) / 7
FOUND = []


class TestTrainer(unittest.TestCase):
    def test_train(self):
        trainer = zoo.Trainer(0.5)
        FOUND.append(np.asarray(trainer.train([BATCH, BATCH])["w"]))
        FOUND.append(len(trainer.name))


result = unittest.TestResult()
unittest.defaultTestLoader.loadTestsFromTestCase(TestTrainer).run(result)
RESULT = [FOUND, len(result.errors)]
