"""service_bench: a small sample of each scenario is served, and what the server takes is bounded."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

import process_figures
from service_bench import harness

BENCH = pathlib.Path(__file__).with_name("service_bench.py")
# Each slow call once held megabytes of a job with a large model.
SMALL = ("--rounds", "10", "--watchers", "200", "--slow", "60", "--uploads", "24", "--upload-bytes", "1000000",
         "--upload-blobs", "2")
MOST_MIB = 200


class ServiceBenchTest(unittest.TestCase):
    def test_every_scenario_is_served_in_bounded_memory(self):
        with tempfile.TemporaryDirectory() as folder:
            lines = pathlib.Path(folder) / "lines.json"
            ran = subprocess.run([sys.executable, BENCH, *SMALL, "--json", lines], capture_output=True, text=True)
            self.assertEqual(ran.returncode, 0, ran.stderr)
            runs = {run["scenario"]: run for run in map(json.loads, lines.read_text().splitlines())}
        self.assertEqual(len(runs), len(ran.stdout.splitlines()) - 1)
        for name, run in runs.items():
            with self.subTest(name):
                self.assertEqual({times["n"] for times in run["times"].values()}, {10})
                if not process_figures.is_sanitized(harness.BIN / "quotientd"):
                    self.assertLess(run["most"]["anon_mib"], MOST_MIB)
        self.assertEqual(runs["watchers"]["crowd_end"]["open"], 200)
        for name in ("uploads", "uploads at once", "uploads in haste"):
            self.assertEqual(runs[name]["crowd_end"]["ended"], {"OK": 24})

    def test_scenarios_that_there_are_not_are_refused(self):
        ran = subprocess.run([sys.executable, BENCH, "--only", "none"], capture_output=True, text=True)
        self.assertEqual(ran.returncode, 2)
        self.assertIn("slow downloads", ran.stderr)


if __name__ == "__main__":
    unittest.main()
