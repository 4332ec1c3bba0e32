"""A server that is killed at random now and then: no acknowledged job is lost. The whole is chaos.py."""

import pathlib
import sys
import tempfile
import unittest

sys.path.append(str(pathlib.Path(__file__).parents[1]))

import chaos
import history

KILLS = 20


class ChaosTest(unittest.TestCase):
    def test_nothing_is_lost(self):
        with tempfile.TemporaryDirectory() as folder:
            run = chaos.Chaos(folder, seed=1)
            past = run.run(KILLS, clients=2)
            found = history.anomalies(past, run.told)
            print(chaos.summary(run, past, found, 0))
        self.assertEqual(found, [])
        self.assertEqual(history.unfinished(past), [])
        self.assertGreaterEqual(len(past.states), 5)
        self.assertGreaterEqual(run.supervisor.deaths, KILLS)


if __name__ == "__main__":
    unittest.main()
