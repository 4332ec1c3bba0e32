"""Disks that fail, are full, cannot be written or are slow, and clocks that jump: jobs wait, and nothing is lost.

By default each of the first operations on the disk fails once, which are those of a server that starts, and each seventh
of the others, in a run of its own; QUOTIENT_EACH_OPERATION=1 tries all.
"""

import errno
import os
import pathlib
import re
import sys
import threading
import unittest

sys.path.append(str(pathlib.Path(__file__).parents[1]))

import harness
from stories import QUICK, SEARCHING, Stories

STRIDE = 1 if os.environ.get("QUOTIENT_EACH_OPERATION") == "1" else 7
FIRST = 14
HOUR_MS = 3600 * 1000
# So long is a disk out of order. It has no influence on what has to come out.
OUTAGE_SECONDS = 2


class DiskTest(Stories):
    def disturb(self, server):
        self.start_disturbance()

    def tell_while(self, start_disturbance, story="a_model_is_optimized"):
        self.start_disturbance = start_disturbance
        self.tell(story)

    def tell_during_an_outage(self, start_outage, story):
        """The disk works again a while after the server was started."""
        def start():
            start_outage()
            heal = threading.Timer(OUTAGE_SECONDS, self.machine.heal)
            heal.start()
            self.addCleanup(heal.cancel)
        self.tell_while(start, story)
        self.assertGreater(self.machine.get("failed"), 0)

    def count_operations(self):
        self.tell_while(lambda: self.machine.set(operations=0))
        return self.machine.get("operations")

    def test_each_operation_may_fail_once(self):
        count = self.count_operations()
        print(f"{count} operations on the disk")
        self.assertGreater(count, 50)
        failed = 0
        operations = [*range(FIRST), *range(FIRST, count, STRIDE)]
        for passes in operations:
            with self.subTest(operation=passes):
                self.doCleanups()
                self.setUp()
                self.tell_while(lambda passes=passes: self.machine.fail(errno.EIO, passes, failures=1))
                failed += self.machine.get("failed")
        # Not each run has as many operations as the first one.
        self.assertGreater(failed, 0.8 * len(operations))

    def test_a_disk_that_fails(self):
        self.tell_during_an_outage(lambda: self.machine.fail(errno.EIO), "a_model_is_optimized")

    def test_a_disk_that_is_full(self):
        for story in ("a_model_is_optimized", "a_search_leaves_checkpoints"):
            with self.subTest(story=story):
                self.doCleanups()
                self.setUp()
                self.tell_during_an_outage(lambda: self.machine.fail(errno.ENOSPC), story)

    def test_a_server_starts_on_a_full_disk(self):
        server = self.serve("--checkpoint-seconds", "1", "--metrics-listen", "127.0.0.1:0")
        done = self.submit("m.onnx", *QUICK)
        self.take_result(done)
        job = self.submit("chain.onnx", *SEARCHING)
        self.await_search(job)
        server.kill()
        self.machine.set(is_full=1, room=0)
        server.start()
        status, obstacles = server.page("/readyz")
        self.assertEqual(status, 503)
        self.assertRegex(obstacles, "^storage: .+")
        jobs = self.quotient("jobs")
        self.assert_code(jobs, 0)
        self.assertIn(job, jobs.out)
        self.assert_code(self.quotient("result", done, "-o", "out.onnx"), 0)
        self.assert_code(self.quotient("submit", "m.onnx", *QUICK, "--seed", "3"), 4, "STORAGE_DOWN")
        self.assert_code(self.quotient("delete", done), 0)
        self.machine.heal()
        self.take_result(job)
        self.assertEqual(server.page("/readyz"), (200, "ready\n"))

    def test_a_job_is_deleted_at_once_when_the_disk_is_full(self):
        server = self.serve("--metrics-listen", "127.0.0.1:0")
        done = self.submit("m.onnx", *QUICK)
        self.take_result(done)
        self.machine.set(is_full=1, room=0)
        self.assert_code(self.quotient("delete", done), 0)
        answers = re.findall(r'grpc_server_handled_total{.*grpc_code="(\w+)".*grpc_method="DeleteJob".*} [1-9]', server.metrics())
        self.assertEqual(answers, ["OK"])
        self.machine.heal()

    def test_a_disk_that_cannot_be_written(self):
        self.tell_during_an_outage(lambda: self.machine.fail(errno.EROFS), "a_model_is_optimized")

    def test_a_disk_that_is_slow(self):
        self.tell_while(lambda: self.machine.set(sleep_us=20_000))

    def test_writes_that_are_short(self):
        self.tell_while(lambda: self.machine.set(is_short=1))

    def test_a_clock_that_jumps(self):
        ended = threading.Event()

        def jump():
            ahead = HOUR_MS
            while not ended.wait(0.05):
                ahead = -ahead
                self.machine.set(clock_ms=ahead)

        jumper = threading.Thread(target=jump, daemon=True)
        self.addCleanup(jumper.join, harness.PATIENCE_SECONDS)
        self.addCleanup(ended.set)
        self.tell_while(jumper.start, "a_search_leaves_checkpoints")


if __name__ == "__main__":
    unittest.main()
