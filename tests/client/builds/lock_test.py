"""`quotient optimize --lock`, with the real programs: what is pinned, what is refused, and what needs no server."""

import shutil
import signal
import unittest

import outside

JOB = ("--device", "model:h200", "--simulations", "50")


class LockTest(outside.BuildTest):
    def setUp(self):
        super().setUp()
        self.model = self.folder / "model.onnx"
        self.lock = self.folder / "model.onnx.lock"
        outside.save_model(self.model)
        self.env["QUOTIENT_SERVER"] = "127.0.0.1:1"

    def optimize(self, *options, job=JOB):
        return self.quotient("optimize", "model.onnx", "-o", "out.onnx", "--lock", "model.onnx.lock", *job, *options)

    def test_equal_jobs_have_equal_lock_files(self):
        self.assert_code(self.optimize("--local", "--update-lock"), 0)
        local = self.lock.read_text()
        result = (self.folder / "out.onnx").read_bytes()
        lines = local.splitlines()
        self.assertEqual(lines[1:], sorted(lines[1:]))
        self.serve()
        self.lock.unlink()
        self.assert_code(self.optimize("--update-lock", "--cache", "other", "--no-cache"), 0)
        # The server may be of another build.
        self.assertEqual(lines[2:], self.lock.read_text().splitlines()[2:])
        self.assertEqual(result, (self.folder / "out.onnx").read_bytes())
        # Made once more, and compared with what is pinned.
        self.assert_code(self.optimize("--no-cache"), 0)

    def test_a_result_of_other_bytes_is_refused(self):
        self.serve()
        self.assert_code(self.optimize("--update-lock"), 0)
        text = self.lock.read_text()
        pinned = next(line for line in text.splitlines() if line.startswith("result model = "))
        self.lock.write_text(text.replace(pinned, "result model = " + "0" * 64 + "/1"))
        (self.folder / "out.onnx").unlink()
        self.assert_code(self.optimize(), 7, "LOCK_DIFFERS", "result model is ", "and not 00000000")
        self.assertFalse((self.folder / "out.onnx").exists())
        self.lock.write_text(text.replace("out.onnx.data", "other.data"))
        self.assert_code(self.optimize(), 7, "LOCK_DIFFERS",
                         "the weights would be called out.onnx.data and not other.data")

    def test_a_file_that_is_no_lock_file_is_refused(self):
        for text, words in (("", "line 1: is not 'quotient-lock 1'"),
                            ("quotient-lock 1\n<<<<<<< HEAD\n", "line 2: is not NAME = VALUE: '<<<<<<< HEAD'"),
                            ("quotient-lock 1\nengine = \x1b[31m\n", "line 2: has other characters")):
            self.lock.write_text(text)
            self.assert_code(self.optimize(), 2, "LOCK_INVALID: model.onnx.lock: ", words)
        self.assert_code(self.optimize("--update-lock", "--local"), 0)
        self.assert_code(self.optimize(), 0)

    def test_the_cache_is_checked_and_may_go(self):
        self.assert_code(self.optimize("--local", "--update-lock", "--cache", "results"), 0)
        kept = next((self.folder / "results").iterdir())
        (kept / "model").write_text("damaged")
        result = self.optimize("--cache", "results", "--patience", "0s")
        self.assert_code(result, 4, "model is damaged", "UNAVAILABLE: the cache results has no result for")
        self.assert_code(self.optimize("--cache", "results", "--local"), 0)
        shutil.rmtree(self.folder / "results")
        self.serve()
        result = self.optimize("--cache", "results", "--only-cached")
        self.assert_code(result, 5, "RESULT_NOT_FOUND: the cache results has no result for")

    def test_a_snapshot_is_pinned_by_its_content(self):
        snapshot = self.folder / "box.snapshot"
        shutil.copy(outside.SNAPSHOTS / "h200.snapshot", snapshot)
        job = ("--device-snapshot", "box.snapshot", "--simulations", "50", "--threads", "1")
        self.assert_code(self.optimize("--local", "--update-lock", job=job), 0)
        result = self.optimize("--depfile", "out.d", job=job)
        self.assert_code(result, 0)
        self.assertIn("box.snapshot", (self.folder / "out.d").read_text())
        shutil.copy(outside.SNAPSHOTS / "h200-strict32.snapshot", snapshot)
        self.assert_code(self.optimize(job=job), 7, "LOCK_DIFFERS", "option device is snapshot:")

    def test_a_command_ends_in_time(self):
        server = self.serve()
        server.process.send_signal(signal.SIGSTOP)
        result = self.optimize("--update-lock", "--max-seconds", "1")
        self.assert_code(result, 5, "RUN_BUDGET: there is no result after 1 s (--max-seconds)")
        self.assertFalse(self.lock.exists() or (self.folder / "out.onnx").exists())


if __name__ == "__main__":
    unittest.main()
