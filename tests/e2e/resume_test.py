"""A search that is interrupted goes on from its last checkpoint."""

import json
import time
import unittest

import onnx

import harness
import models

# The share of the budget that growing the e-graph may take.
GROW_SHARE = 0.4


class ResumeTest(harness.TestCase):
    def setUp(self):
        super().setUp()
        onnx.save(models.chain(), self.folder / "m.onnx")

    def submit(self, budget_seconds):
        result = self.quotient("submit", "m.onnx", "--device", "model:h200", "--max-nodes", "100",
                               "--budget", f"{budget_seconds}s")
        self.assert_code(result, 0)
        return result.out.strip()

    def checkpoints(self):
        """Files by name, each with what changes when it is replaced."""
        folder = self.folder / "data" / "checkpoints"
        return {path.name: path.stat().st_mtime_ns for path in folder.iterdir() if not path.suffix}

    def await_checkpoints(self, count):
        """Until the job's checkpoint has been written so often."""
        seen = set()
        deadline = time.monotonic() + harness.PATIENCE_SECONDS
        while len(seen) < count:
            self.assertLess(time.monotonic(), deadline)
            seen.update(self.checkpoints().items())
            time.sleep(0.02)

    def await_search(self, job):
        """Until the tree search is under way: before, the size of the e-graph is not told."""
        with self.running("watch", job, "--json") as watcher:
            harness.read_until(watcher.stdout, "enodes")

    def report(self, job):
        self.assert_code(self.quotient("watch", job), 0)
        self.assert_code(
            self.quotient("result", job, "-o", "out.onnx", "--report", "report.json"), 0)
        onnx.checker.check_model(onnx.load(self.folder / "out.onnx"))
        self.assertEqual(self.checkpoints(), {})
        return json.loads((self.folder / "report.json").read_text())

    def test_a_killed_job_goes_on_from_its_checkpoint(self):
        budget = 20
        server = self.serve("--checkpoint-seconds", "1")
        job = self.submit(budget)
        self.await_checkpoints(3)
        server.kill()
        server.start()
        report = self.report(job)
        search = report["search"]
        self.assertEqual(search["resumed"]["times"], 1)
        self.assertGreater(search["resumed"]["simulations"], 0)
        self.assertGreater(search["simulations"], search["resumed"]["simulations"])
        # Three checkpoints, a second apart, before the last of which nothing was lost.
        self.assertGreaterEqual(search["resumed"]["seconds"], 2)
        # What was spent before was not spent again.
        self.assertLess(report["phase_seconds"]["search"], GROW_SHARE * budget)
        self.assertGreaterEqual(search["seconds"], search["resumed"]["seconds"])
        seconds = [step["seconds"] for step in search["best_costs"]]
        self.assertEqual(seconds, sorted(seconds))
        self.assertLessEqual(seconds[-1], search["seconds"])

    def test_sigterm_leaves_a_checkpoint(self):
        server = self.serve()
        job = self.submit(10)
        self.await_search(job)
        self.assertEqual(server.stop(), 0)
        self.assertEqual(len(self.checkpoints()), 1)
        server.start()
        self.assertEqual(self.report(job)["search"]["resumed"]["times"], 1)

    def test_a_damaged_checkpoint_is_noted_and_the_job_begins_anew(self):
        server = self.serve()
        job = self.submit(5)
        self.await_search(job)
        server.stop()
        (name,) = self.checkpoints()
        path = self.folder / "data" / "checkpoints" / name
        path.write_bytes(path.read_bytes()[:-1])
        server.start()
        report = self.report(job)
        self.assertEqual(report["search"]["resumed"]["times"], 0)
        self.assertTrue(any("damaged" in note for note in report["notes"]), report["notes"])

    def test_a_cancelled_job_leaves_no_checkpoint(self):
        self.serve("--checkpoint-seconds", "1")
        job = self.submit(600)
        self.await_checkpoints(1)
        self.assert_code(self.quotient("cancel", job), 0)
        self.assert_code(self.quotient("watch", job), 5)
        self.assertEqual(self.checkpoints(), {})


if __name__ == "__main__":
    unittest.main()
