"""soak: nothing grows in a short run, and what grows is found."""

import pathlib
import random
import subprocess
import sys
import unittest

import process_figures
import soak
from slope import Growth

SOAK = pathlib.Path(__file__).with_name("soak.py")


def run(*arguments):
    return subprocess.run([sys.executable, SOAK, *map(str, arguments)], capture_output=True, text=True)


def growing(ran):
    return {line.split()[0] for line in ran.stdout.splitlines() if line.endswith("GROWS")}


class SlopeTest(unittest.TestCase):
    def setUp(self):
        chance = random.Random(1)
        self.noise = [chance.gauss(0, 3) for _ in range(300)]

    def growth(self, value):
        return Growth([(i, value(i) + noise) for i, noise in enumerate(self.noise)])

    def test_noise_does_not_grow(self):
        growth = self.growth(lambda i: 100)
        self.assertAlmostEqual(growth.level, 100, delta=1)
        self.assertTrue(growth.is_within(3, 0))

    def test_a_slope_is_found_in_noise(self):
        growth = self.growth(lambda i: 100 + i / 30)
        self.assertAlmostEqual(growth.slope, 1 / 30, delta=0.005)
        self.assertFalse(growth.is_within(3, 0))
        self.assertTrue(growth.is_within(3, 0.1))

    def test_a_warm_up_does_not_count(self):
        self.assertTrue(self.growth(lambda i: min(i, 90)).is_within(3, 0))

    def test_neither_do_outliers(self):
        self.assertTrue(self.growth(lambda i: 1000 if i % 7 == 0 else 100).is_within(3, 0))

    def test_long_runs_are_judged_by_medians(self):
        growth = Growth([(i, i % 5) for i in range(9000)])
        self.assertTrue(growth.is_within(0.5, 0))
        self.assertAlmostEqual(growth.seconds, 6000, delta=20)

    def test_too_few_samples_say_nothing(self):
        with self.assertRaises(ValueError):
            Growth([(0, 1), (1, 1), (2, 1)])


@unittest.skipIf(process_figures.is_sanitized(soak.harness.BIN / "quotientd"), "its memory says nothing")
class SoakTest(unittest.TestCase):
    def test_a_server_stays_as_it_is(self):
        ran = run("--seconds", 40)
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)

    def test_a_server_that_leaks_is_found(self):
        ran = run("--seconds", 25, "--leak-kib", 2048)
        self.assertEqual(ran.returncode, 1, ran.stdout + ran.stderr)
        self.assertLessEqual({"anon_mib", "descriptors"}, growing(ran), ran.stdout)

    def test_jobs_that_nobody_deletes_are_found(self):
        ran = run("--seconds", 25, "--keep-jobs")
        self.assertEqual(ran.returncode, 1, ran.stdout + ran.stderr)
        self.assertIn("rows", growing(ran), ran.stdout)


if __name__ == "__main__":
    unittest.main()
