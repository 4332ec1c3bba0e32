"""Ctrl-C, and a server that is killed and started again in the middle of a job or of an upload."""

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
import unittest
from concurrent import futures
from unittest import mock

from client_harness import LONG, TestCase, harness

import quotient
from quotient import _blobs
from quotient._session import Session
from quotient._transport import Blocking, run

BLOCKING = "import quotient; quotient.optimize('m.onnx', **{options})"
IN_A_LOOP = "import asyncio, quotient; asyncio.run(quotient.aio.optimize('m.onnx', **{options}))"


class InterruptTest(TestCase):
    @contextlib.contextmanager
    def running(self, program):
        """A Python program in the background, whose standard error is a pipe."""
        process = subprocess.Popen([sys.executable, "-c", program], stderr=subprocess.PIPE, text=True, env=self.env,
                                   cwd=self.folder, preexec_fn=harness.die_with_parent)
        patience = threading.Timer(harness.PATIENCE_SECONDS, process.kill)
        patience.start()
        try:
            yield process
        finally:
            patience.cancel()
            process.kill()
            process.communicate()

    def await_job(self, client, count):
        """The newest of so many jobs, when its search has begun."""
        deadline = time.monotonic() + harness.PATIENCE_SECONDS
        while len(client.jobs()) < count:
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.02)
        job = client.jobs()[0]
        next(progress for progress in job.progress() if progress.enodes > 0)
        return job

    def interrupt(self, process, job):
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=harness.PATIENCE_SECONDS)
        self.assertIn("KeyboardInterrupt", errors)
        self.assertIn(f"{job.name} cancelled", errors)
        self.assertEqual(process.returncode, -signal.SIGINT)

    def test_ctrl_c_withdraws_the_request_which_ends_the_job(self):
        client = self.client()
        for seed, program in enumerate((BLOCKING, IN_A_LOOP)):
            with self.running(program.format(options={**LONG, "seed": seed})) as process:
                job = self.await_job(client, seed + 1)
                self.interrupt(process, job)
            self.assertEqual(job.wait().state, "CANCELLED")

    def test_the_job_of_another_client_goes_on(self):
        client = self.client("--metrics-listen", "127.0.0.1:0")
        ours = client.submit(self.model, **LONG)
        with self.running(BLOCKING.format(options=LONG)) as process:
            self.await_watcher()
            self.interrupt(process, ours)
        self.assertEqual(client.job(ours.name).state, "RUNNING")
        ours.cancel()
        self.assertEqual(ours.wait().state, "CANCELLED")

    def await_watcher(self):
        """Until a client watches a job, whose request was submitted then."""
        deadline = time.monotonic() + harness.PATIENCE_SECONDS
        while "\nquotient_watchers 1" not in self.server.metrics():
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.05)


class RestartTest(TestCase):
    """The client works in a thread: a server that a thread starts dies with it (harness.die_with_parent)."""

    def restart(self, server):
        server.kill()
        time.sleep(0.3)
        server.start()

    def test_a_watch_outlives_a_restart_of_the_server(self):
        server = self.serve("--checkpoint-seconds", "1")
        searching = threading.Event()

        def take(changes, progress):
            if progress.reason:
                changes.append(str(progress))
            if progress.enodes > 0:
                searching.set()

        def watch(name):
            with quotient.Client(server.address) as client:
                for progress in client.job(name).progress():
                    take(blocking, progress)

        async def watch_in_a_loop(name):
            async with quotient.aio.Client(server.address) as client:
                async for progress in (await client.job(name)).progress():
                    take(in_a_loop, progress)

        blocking, in_a_loop = [], []
        with quotient.Client(server.address) as client, futures.ThreadPoolExecutor() as threads:
            job = client.submit(self.model, **{**LONG, "budget": 8})
            watches = [threads.submit(watch, job.name), threads.submit(asyncio.run, watch_in_a_loop(job.name))]
            self.assertTrue(searching.wait(harness.PATIENCE_SECONDS))
            self.restart(server)
            for each in watches:
                each.result(harness.PATIENCE_SECONDS)
            self.assert_same(self.model, job.result().save(self.folder / "out.onnx"))
        for changes in (blocking, in_a_loop):
            claimed = ["QUEUED (submitted)", "RUNNING (claimed)"]
            self.assertEqual(changes[:2], claimed)
            self.assertEqual(changes[-2:], ["RUNNING (claimed)", "SUCCEEDED (finished)"])
            self.assertEqual([changes.count(each) for each in claimed], [1, 2], changes)

    def test_an_upload_goes_on_after_the_server_was_killed(self):
        server = self.serve()
        data = memoryview(os.urandom(1 << 20) * 80)
        digest = _blobs.digest_of(data)
        session = Session(Blocking(), server.address, 60)
        offsets = []
        send = _blobs._Upload._requests

        def recorded(upload, chunk_bytes):
            offsets.append(upload._offset)
            return send(upload, chunk_bytes)

        with mock.patch.object(_blobs._Upload, "_requests", recorded), futures.ThreadPoolExecutor() as threads:
            uploaded = threads.submit(lambda: run(_blobs.upload(session, [(digest, data)])))
            self.await_upload(server, 20 << 20)
            self.restart(server)
            uploaded.result(harness.PATIENCE_SECONDS)
        self.assertEqual(len(offsets), 2)
        self.assertGreater(offsets[1], 0)
        fetched = bytearray()
        run(_blobs.download(session, digest, fetched.extend))
        self.assertEqual(fetched, data)
        run(session.close())

    def await_upload(self, server, size):
        """Until the server has a part of an upload of that size."""
        deadline = time.monotonic() + harness.PATIENCE_SECONDS
        while not any(file.stat().st_size > size for file in (server.folder / "data" / "uploads").iterdir()):
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.002)


if __name__ == "__main__":
    unittest.main()
