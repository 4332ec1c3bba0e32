"""What clients do with a server that fails now and then, and how it ends nevertheless.

A story is a method of `Stories`: what clients do, what happens to the server meanwhile, and what everybody has in the
end. Whatever `disturb` does, a supervisor starts the server again when it has ended, and the clients notice nothing
but a delay.
"""

import contextlib
import hashlib
import os
import signal
import time

import onnx

import harness
import history
import models
from machine import Machine
from supervisor import Supervisor

QUICK = ("--device", "model:h200", "--simulations", "5")
# The search takes 0.4 of the budget.
SEARCHING = ("--device", "model:h200", "--max-nodes", "100", "--budget", "4s")
LONG = ("--device", "model:h200", "--max-nodes", "100", "--budget", "1h")
DAY_MS = 24 * 3600 * 1000


def identity(job):
    """Of a job's name."""
    return job.removeprefix("jobs/")


class Stories(harness.TestCase):
    def setUp(self):
        super().setUp()
        onnx.save(models.conv_bn_relu(1), self.folder / "m.onnx")
        onnx.save(models.chain(), self.folder / "chain.onnx")
        self.machine = Machine(self.folder / "machine", self.folder / "data")
        self.env.update(self.machine.variables)
        self.told = history.Told()
        self.damaged = set()

    def disturb(self, server):
        """Called while the server is down, before the start from which on it is to be disturbed."""
        raise NotImplementedError

    def tell(self, story):
        """Runs a story and checks what it leaves."""
        getattr(self, story)()
        self.assertFalse(self.supervisor.thread.is_alive())
        past = history.read(self.folder / "data")
        self.assertEqual(history.anomalies(past, self.told, self.damaged), [])
        self.assertEqual(history.unfinished(past), [])
        self.assertEqual(list((self.folder / "data" / "checkpoints").iterdir()), [])

    # What the stories are made of.

    def begin(self, *flags, disturbed=True):
        server = self.serve("--checkpoint-seconds", "1", *flags)
        if disturbed:
            server.stop()
            self.start_disturbed(server)
        self.supervisor = Supervisor(server)
        self.addCleanup(self.supervisor.dismissed.set)
        return server

    def start_disturbed(self, server):
        self.disturb(server)
        with contextlib.suppress(RuntimeError):  # It may end while it starts.
            server.start()

    def submit(self, model, *options):
        result = self.quotient("submit", model, *options)
        self.assert_code(result, 0)
        job = result.out.strip()
        self.told.accepted.add(identity(job))
        return job

    def await_search(self, job):
        with self.running("watch", job, "--json") as watcher:
            harness.read_until(watcher.stdout, "enodes")

    def take_result(self, job):
        self.assert_code(self.quotient("watch", job), 0)
        self.assert_code(self.quotient("result", job, "-o", "out.onnx"), 0)
        onnx.checker.check_model(onnx.load(self.folder / "out.onnx"))
        digest = hashlib.sha256((self.folder / "out.onnx").read_bytes()).hexdigest()
        self.told.results.setdefault(identity(job), []).append(digest)

    def end(self):
        self.assertEqual(self.supervisor.dismiss(), 0)

    # The stories.

    def a_model_is_optimized(self):
        self.begin()
        job = self.submit("m.onnx", *QUICK)
        self.take_result(job)
        self.take_result(job)
        self.assertEqual(self.submit("m.onnx", *QUICK), job)
        self.end()

    def a_search_leaves_checkpoints(self):
        self.begin()
        self.take_result(self.submit("chain.onnx", *SEARCHING))
        self.end()

    def a_job_is_cancelled(self):
        self.begin()
        job = self.submit("chain.onnx", *LONG)
        self.await_search(job)
        self.assert_code(self.quotient("cancel", job), 0)
        self.assert_code(self.quotient("watch", job), 5, "CANCELLED")
        self.end()

    def a_job_is_stopped(self):
        self.begin()
        job = self.submit("chain.onnx", *LONG)
        self.await_search(job)
        self.assert_code(self.quotient("stop", job), 0)
        self.take_result(job)
        self.end()

    def a_job_is_deleted(self):
        self.begin()
        job = self.submit("m.onnx", *QUICK)
        self.take_result(job)
        self.told.deleted.add(identity(job))
        self.assert_code(self.quotient("delete", job), 0)
        self.assert_code(self.quotient("result", job), 2, "JOB_NOT_FOUND")
        self.end()

    def a_job_loses_its_process(self):
        server = self.begin()
        job = self.submit("chain.onnx", *LONG)
        self.await_search(job)
        for process in harness.descendants(server.process.pid, "quotient-job"):
            os.kill(process, signal.SIGKILL)
        self.assert_code(self.quotient("stop", job), 0)
        self.take_result(job)
        self.end()

    def a_server_starts(self):
        """With a job that ran when the last one was killed."""
        server = self.begin(disturbed=False)
        job = self.submit("chain.onnx", *SEARCHING)
        self.await_search(job)
        self.disturb(server)
        server.process.kill()
        self.take_result(job)
        self.end()

    def a_server_ends(self):
        """With a job that runs."""
        server = self.begin()
        job = self.submit("chain.onnx", *SEARCHING)
        self.await_search(job)
        server.process.terminate()
        self.take_result(job)
        self.end()

    def a_result_is_damaged(self):
        self.begin()
        job = self.submit("m.onnx", *QUICK)
        self.take_result(job)
        self.damaged.add(identity(job))
        model = (self.folder / "m.onnx").read_bytes()
        for path in (self.folder / "data" / "blobs").glob("??/??/*"):
            content = path.read_bytes()
            if content != model:
                path.write_bytes(content[::-1])
        # What was read once in a process is not looked at again soon.
        self.supervisor.server.process.kill()
        again = self.submit("m.onnx", *QUICK)
        self.assertNotEqual(again, job)
        self.take_result(again)
        self.end()

    def nobody_needs_it_any_more(self):
        server = self.begin(disturbed=False)
        for model in ("m.onnx", "chain.onnx"):
            job = self.submit(model, *QUICK)
            self.take_result(job)
            self.told.deleted.add(identity(job))
        self.end()
        self.machine.set(clock_ms=60 * DAY_MS)
        self.start_disturbed(server)
        self.supervisor = Supervisor(server)
        self.addCleanup(self.supervisor.dismissed.set)
        deadline = time.monotonic() + harness.PATIENCE_SECONDS
        while self.jobs() or list((self.folder / "data" / "blobs").glob("??/??/*")):
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.1)
        self.end()

    def jobs(self):
        result = self.quotient("jobs", "--json")
        self.assert_code(result, 0)
        return result.out.splitlines()
