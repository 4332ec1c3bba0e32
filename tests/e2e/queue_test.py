"""Whose job is next, how it can be ended, and what is kept: stop, delete, look up, deadlines."""

import json
import os
import pathlib
import time
import unittest

import onnx

import harness
import models

# The search of such a job takes all of its budget.
LONG = ("--device", "model:h200", "--max-nodes", "100", "--budget", "1h")
SHORT = ("--device", "model:h200", "--simulations", "5")
DAY_SECONDS = 24 * 3600


class QueueTest(harness.TestCase):
    def setUp(self):
        super().setUp()
        onnx.save(models.chain(), self.folder / "long.onnx")
        for i in range(3):
            onnx.save(models.conv_bn_relu(i + 1), self.folder / f"m{i}.onnx")
        onnx.save(models.with_unknown_operator(), self.folder / "unknown.onnx")
        onnx.save(models.of_a_future_opset(), self.folder / "odd.onnx")
        (self.folder / "broken.onnx").write_bytes(b"no model")

    def submit(self, model, *options):
        result = self.quotient("submit", model, *options)
        self.assert_code(result, 0)
        return result.out.strip()

    def jobs(self, *options):
        result = self.quotient("jobs", "--json", *options)
        self.assert_code(result, 0)
        return {job["name"]: job for job in map(json.loads, result.out.splitlines())}

    def occupy(self):
        """A job that keeps the only worker, in its search."""
        job = self.submit("long.onnx", *LONG)
        with self.running("watch", job, "--json") as watcher:
            harness.read_until(watcher.stdout, "enodes")
        return job

    def test_a_stopped_job_returns_its_best_result_and_equal_jobs_run_anew(self):
        self.serve()
        job = self.occupy()
        begin = time.monotonic()
        self.assert_code(self.quotient("stop", job), 0)
        self.assert_code(self.quotient("stop", job), 0)
        self.assert_code(self.quotient("watch", job), 0)
        self.assertLess(time.monotonic() - begin, 120)
        result = self.quotient("result", job, "-o", "out.onnx", "--report", "report.json")
        self.assert_code(result, 0)
        onnx.checker.check_model(onnx.load(self.folder / "out.onnx"))
        notes = json.loads((self.folder / "report.json").read_text())["notes"]
        self.assertTrue(any("told to finish" in note for note in notes), notes)
        self.assert_code(self.quotient("check", "long.onnx", "out.onnx"), 0)
        again = self.submit("long.onnx", *LONG)
        self.assertNotEqual(again, job)
        self.assert_code(self.quotient("cancel", again), 0)

    def test_a_stop_outlives_the_server(self):
        server = self.serve()
        blocker = self.occupy()
        waiting = self.submit("long.onnx", *LONG, "--seed", "7")
        self.assert_code(self.quotient("stop", waiting), 0)
        server.kill()
        server.start()
        self.assert_code(self.quotient("cancel", blocker), 0)
        self.assert_code(self.quotient("watch", waiting), 0)
        self.assertTrue(self.jobs()[waiting]["result"]["stopped_early"])

    def test_a_result_is_taken_from_the_cache_or_not_at_all(self):
        self.serve()
        wanted = ("optimize", "m0.onnx", *SHORT, "--only-cached", "-o", "found.onnx")
        self.assert_code(self.quotient(*wanted), 5, "RESULT_NOT_FOUND")
        self.assertEqual(self.jobs(), {})
        self.assert_code(self.quotient("optimize", "m0.onnx", *SHORT, "-o", "made.onnx"), 0)
        self.assert_code(self.quotient(*wanted), 0)
        self.assertEqual((self.folder / "found.onnx").read_bytes(),
                         (self.folder / "made.onnx").read_bytes())
        self.assertEqual(len(self.jobs()), 1)
        self.assert_code(self.quotient(*wanted, "--seed", "9"), 5, "RESULT_NOT_FOUND")
        self.assert_code(self.quotient(*wanted, "--local"), 2, "--only-cached")

    def test_a_model_is_validated_without_a_job(self):
        self.serve()
        for place in ((), ("--local",)):
            self.assert_code(self.quotient("validate", "m0.onnx", *place), 0)
            unknown = self.quotient("validate", "unknown.onnx", *place, "--json")
            self.assert_code(unknown, 0)
            self.assertIn("not understood", " ".join(unknown.json()["notes"]))
            odd = self.quotient("validate", "odd.onnx", *place)
            self.assert_code(odd, 1)
            self.assertIn("return the model as it came: OPSET_UNKNOWN", odd.out)
            self.assert_code(self.quotient("validate", "broken.onnx", *place), 3, "MODEL_MALFORMED")
            self.assert_code(self.quotient("validate", "m0.onnx", *place, "--shape", "none=1"), 2,
                             "OPTION_INVALID")
        self.assertEqual(self.jobs(), {})

    def test_a_result_is_verified_anew(self):
        self.serve()
        job = self.submit("m0.onnx", *SHORT)
        self.assert_code(self.quotient("watch", job), 0)
        self.assert_code(self.quotient("verify", job), 0)
        again = self.quotient("verify", job, "--seed", "11", "--verify-inputs", "5", "--json")
        self.assert_code(again, 0)
        self.assertTrue(again.json()["same"])
        self.assert_code(self.quotient("verify", "jobs/none"), 2, "JOB_NOT_FOUND")

    def test_a_result_is_made_again_from_its_journal(self):
        self.serve()
        job = self.submit("m0.onnx", *SHORT)
        self.assert_code(self.quotient("watch", job), 0)
        again = self.quotient("replay", job, "--json")
        self.assert_code(again, 0)
        self.assertTrue(again.json()["is_result"])
        self.assert_code(self.quotient("replay", "jobs/none"), 2, "JOB_NOT_FOUND")
        # The same here, from the files that the server has.
        self.assert_code(self.quotient("result", job, "-o", "fast.onnx", "--journal", "fast.journal"), 0)
        self.assert_code(self.quotient("replay", "m0.onnx", "fast.journal", "-o", "again.onnx"), 0)
        self.assertEqual((self.folder / "again.onnx").read_bytes(), (self.folder / "fast.onnx").read_bytes())
        self.assert_code(self.quotient("replay", "m1.onnx", "fast.journal"), 1, "JOURNAL_INVALID")
        text = (self.folder / "fast.journal").read_text()
        (self.folder / "damaged.journal").write_text(text.replace("engine", "Engine"))
        self.assert_code(self.quotient("replay", "m0.onnx", "damaged.journal"), 1, "JOURNAL_INVALID")
        self.assert_code(self.quotient("replay", "m0.onnx", "no.journal"), 2, "OPTION_INVALID")

    def test_a_replay_tells_what_its_result_assumes(self):
        self.serve()
        onnx.save(models.branches(), self.folder / "branches.onnx")
        job = self.submit("branches.onnx", *SHORT, "--assume-finite-inputs")
        self.assert_code(self.quotient("watch", job), 0)
        again = self.quotient("replay", job, "--json")
        self.assert_code(again, 0)
        self.assertIn("float inputs hold no NaN", again.json()["conditions"][0])
        self.assertIn("follows only if float inputs hold no NaN", self.quotient("replay", job).out)

    def test_a_deleted_job_is_gone(self):
        self.serve()
        job = self.submit("m0.onnx", *SHORT)
        self.assert_code(self.quotient("watch", job), 0)
        self.assert_code(self.quotient("delete", job), 0)
        self.assert_code(self.quotient("result", job), 2, "JOB_NOT_FOUND")
        self.assert_code(self.quotient("delete", job), 2, "JOB_NOT_FOUND")
        self.assertEqual(self.jobs(), {})
        running = self.occupy()
        self.assert_code(self.quotient("delete", running), 5, "JOB_NOT_FINISHED")

    def test_deadlines_of_waiting_and_of_running(self):
        self.serve()
        blocker = self.occupy()
        late = self.submit("m0.onnx", *SHORT, "--queue-deadline", "1s")
        self.assert_code(self.quotient("watch", late), 5, "QUEUE_DEADLINE")
        self.assert_code(self.quotient("cancel", blocker), 0)
        hopeless = self.submit("long.onnx", *LONG, "--seed", "3", "--run-deadline", "1ms")
        self.assert_code(self.quotient("watch", hopeless), 5, "RUN_BUDGET")

    def test_a_run_deadline_bounds_the_budget(self):
        self.serve()
        job = self.submit("long.onnx", *LONG, "--run-deadline", "9s")
        self.assert_code(self.quotient("watch", job), 0)
        self.assertTrue(self.jobs()[job]["result"]["stopped_early"])
        self.assert_code(self.quotient("result", job, "-o", "out.onnx"), 0)
        self.assert_code(self.quotient("check", "long.onnx", "out.onnx"), 0)

    def test_the_highest_priority_is_next(self):
        self.serve()
        blocker = self.occupy()
        low = self.submit("m0.onnx", *SHORT, "--priority", "-1")
        usual = self.submit("m1.onnx", *SHORT)
        high = self.submit("m2.onnx", *SHORT, "--priority", "5")
        self.assert_code(self.quotient("cancel", blocker), 0)
        for job in (low, usual, high):
            self.assert_code(self.quotient("watch", job), 0)
        jobs = self.jobs()
        self.assertLess(jobs[high]["start_time"], jobs[usual]["start_time"])
        self.assertLess(jobs[usual]["start_time"], jobs[low]["start_time"])
        self.assert_code(self.quotient("submit", "m0.onnx", "--priority", "11"), 2, "-10 to 10")

    def test_lists_are_filtered(self):
        self.serve()
        names = [self.submit(f"m{i}.onnx", *SHORT) for i in range(3)]
        for name in names:
            self.assert_code(self.quotient("watch", name), 0)
        self.assertEqual(set(self.jobs("--model", "m1.onnx")), {names[1]})
        self.assertEqual(set(self.jobs("--since", "1h", "--state", "succeeded")), set(names))
        client = self.jobs()[names[0]]["client"]
        self.assertEqual(set(self.jobs("--client", client)), set(names))
        self.assertEqual(self.jobs("--client", "10.9.8.7"), {})

    def test_one_machine_cannot_fill_the_queue(self):
        self.serve("--max-queued-jobs-per-client", "1")
        blocker = self.occupy()
        self.submit("m0.onnx", *SHORT)
        self.assert_code(self.quotient("submit", "m1.onnx", *SHORT), 4, "QUOTA_JOBS")
        self.submit("m0.onnx", *SHORT)  # Joins the job that waits.
        self.assert_code(self.quotient("cancel", blocker), 0)

    def test_one_machine_cannot_fill_the_disk(self):
        size = (self.folder / "m1.onnx").stat().st_size
        limit = size + 6000  # With the record of a job, and no result.
        server = self.serve("--max-bytes-per-client", str(limit), "--metrics-listen", "127.0.0.1:0")
        job = self.submit("m0.onnx", *SHORT)
        self.assert_code(self.quotient("watch", job), 0)
        another = ("submit", "m0.onnx", *SHORT, "--seed", "2")
        refused = self.quotient(*another)
        self.assert_code(refused, 4, "QUOTA_BYTES")
        self.assertRegex(refused.err, f"this job would add [0-9]+, and the limit is {limit}; delete jobs")
        refused = self.quotient("submit", "m1.onnx", *SHORT)
        self.assert_code(refused, 4, "QUOTA_BYTES")
        self.assertIn(f"this file would add {size}, and the limit is {limit}; delete jobs", refused.err)
        self.assertEqual(self.submit("m0.onnx", *SHORT), job)  # Found by its content.
        self.assertIn('quotient_jobs_refused_total{reason="QUOTA_BYTES"} 1\n', server.metrics())
        self.assert_code(self.quotient("validate", "m0.onnx"), 0)
        server.kill()
        server.start()
        self.assert_code(self.quotient(*another), 4, "QUOTA_BYTES")
        old = time.time() - DAY_SECONDS
        for path in self.blobs():
            os.utime(path, (old, old))
        self.assert_code(self.quotient("delete", job), 0)
        self.assertEqual(self.blobs(), set())
        self.submit("m1.onnx", *SHORT)

    def test_deleting_jobs_does_not_evade_the_limit(self):
        size = (self.folder / "m1.onnx").stat().st_size
        server = self.serve("--max-bytes-per-client", str(size + 6000))
        job = self.submit("m0.onnx", *SHORT)
        self.assert_code(self.quotient("watch", job), 0)
        self.assert_code(self.quotient("delete", job), 0)
        self.assertGreaterEqual(len(self.blobs()), 3)  # Somebody may be about to use them.
        self.assert_code(self.quotient("submit", "m1.onnx", *SHORT), 4, "QUOTA_BYTES")
        server.kill()
        server.start()
        self.assert_code(self.quotient("submit", "m1.onnx", *SHORT), 4, "QUOTA_BYTES")

    def blobs(self):
        folder = self.folder / "data" / "blobs"
        return {path for path in folder.glob("??/??/*") if path.is_file()}

    def test_files_that_no_job_has_are_removed_and_others_stay(self):
        server = self.serve("--metrics-listen", "127.0.0.1:0")
        job = self.submit("m0.onnx", *SHORT)
        self.assert_code(self.quotient("watch", job), 0)
        needed = self.blobs()
        gone = self.submit("m1.onnx", *SHORT, "--seed", "2")
        self.assert_code(self.quotient("watch", gone), 0)
        self.assert_code(self.quotient("delete", gone), 0)
        unneeded = self.blobs() - needed
        self.assertGreaterEqual(len(unneeded), 3)
        self.assertEqual(server.stop(), 0)
        old = time.time() - 2 * DAY_SECONDS
        for path in needed | unneeded:
            os.utime(path, (old, old))
        fresh = pathlib.Path(self.folder / "data" / "blobs" / "incoming" / "left")
        fresh.write_bytes(b"of a process that crashed")
        server.start()
        deadline = time.monotonic() + harness.PATIENCE_SECONDS
        while self.blobs() != needed:
            self.assertLess(time.monotonic(), deadline, self.blobs() ^ needed)
            time.sleep(0.1)
        self.assertFalse(fresh.exists())
        self.assert_code(self.quotient("result", job, "-o", "out.onnx"), 0)
        self.assertIn(f"quotient_blobs_removed_total {len(unneeded)}\n", server.metrics())


if __name__ == "__main__":
    unittest.main()
