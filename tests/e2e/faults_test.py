"""Servers and clients that die: nothing acknowledged is lost, and everybody learns what happened."""

import contextlib
import os
import pathlib
import resource
import signal
import socket
import subprocess
import unittest

import onnx

import harness
import models


# The one that the model is slow to time on.
DEVICE = ("--device", "cpu")


class FaultsTest(harness.TestCase):
    def setUp(self):
        super().setUp()
        # Takes seconds on any machine, so that there is always a running job to disturb.
        onnx.save(models.slow_to_time(), self.folder / "m.onnx")

    def submit(self, name="m.onnx", *options):
        result = self.quotient("submit", name, *DEVICE, *options)
        self.assert_code(result, 0)
        return result.out.strip()

    def test_a_job_survives_kill_and_its_watcher_sees_the_end(self):
        server = self.serve()
        job = self.submit("m.onnx")
        with self.running("watch", job, "--json") as watcher:
            harness.read_until(watcher.stdout, "progress")
            server.kill()
            server.start()
            harness.read_until(watcher.stdout, "lease_lost")
            harness.read_until(watcher.stdout, "JOB_STATE_SUCCEEDED")
            self.assertEqual(watcher.wait(harness.PATIENCE_SECONDS), 0)
        result = self.quotient("result", job, "-o", "out.onnx")
        self.assert_code(result, 0)
        onnx.checker.check_model(onnx.load(self.folder / "out.onnx"))

    def test_jobs_that_wait_survive_kill(self):
        server = self.serve()
        jobs = []
        for i, proto in enumerate(models.add_models(5)):
            onnx.save(proto, self.folder / f"a{i}.onnx")
            jobs.append(self.submit(f"a{i}.onnx", "--budget", "1s"))
        server.kill()
        server.start()
        for job in jobs:
            self.assert_code(self.quotient("watch", job), 0)

    def test_optimize_rides_through_a_restart(self):
        server = self.serve()
        with self.running("optimize", "m.onnx", *DEVICE, "-o", "out.onnx") as client:
            harness.read_until(client.stderr, "RUNNING")
            server.kill()
            server.start()
            self.assertEqual(client.wait(harness.PATIENCE_SECONDS), 0)
        self.assertTrue((self.folder / "out.onnx").exists())

    def test_a_server_that_stays_away_is_exit_4(self):
        server = self.serve()
        with self.running("optimize", "m.onnx", *DEVICE, "-o", "out.onnx", "--patience", "1s") as client:
            harness.read_until(client.stderr, "RUNNING")
            server.kill()
            self.assertEqual(client.wait(harness.PATIENCE_SECONDS), 4)
            self.assertIn(server.address, client.stderr.read())
        self.assertFalse((self.folder / "out.onnx").exists())

    def test_a_client_that_dies_leaves_its_job_running(self):
        self.serve()
        with self.running("optimize", "m.onnx", *DEVICE, "-o", "out.onnx") as client:
            job = harness.read_until(client.stderr, "jobs/").strip()
            client.kill()
        self.assert_code(self.quotient("watch", job), 0)

    def test_interrupting_optimize_cancels_the_job(self):
        self.serve()
        with self.running("optimize", "m.onnx", *DEVICE, "-o", "out.onnx") as client:
            job = harness.read_until(client.stderr, "jobs/").strip()
            harness.read_until(client.stderr, "RUNNING")
            client.send_signal(signal.SIGINT)
            self.assertEqual(client.wait(harness.PATIENCE_SECONDS), 5)
        self.assert_code(self.quotient("watch", job), 5, "CANCELLED")
        self.assertFalse((self.folder / "out.onnx").exists())

    def test_an_interrupt_that_arrives_twice_is_one(self):
        server = self.serve()
        with self.running("optimize", "m.onnx", *DEVICE, "-o", "out.onnx") as client:
            harness.read_until(client.stderr, "RUNNING")
            # Cancelling waits for it, so that the client is there for the second signal.
            os.kill(server.process.pid, signal.SIGSTOP)
            client.send_signal(signal.SIGINT)
            harness.wait_until_taken(client, signal.SIGINT)
            client.send_signal(signal.SIGINT)
            harness.wait_until_taken(client, signal.SIGINT)
            os.kill(server.process.pid, signal.SIGCONT)
            self.assertEqual(client.wait(harness.PATIENCE_SECONDS), 5)
            self.assertIn("quotient: CANCELLED: interrupted", client.stderr.read())
        self.assertEqual(list(self.folder.glob("out.onnx*")), [])

    def test_the_third_interrupt_kills(self):
        server = self.serve()
        with self.running("optimize", "m.onnx", *DEVICE, "-o", "out.onnx") as client:
            harness.read_until(client.stderr, "RUNNING")
            os.kill(server.process.pid, signal.SIGSTOP)
            for _ in range(3):
                client.send_signal(signal.SIGINT)
                harness.wait_until_taken(client, signal.SIGINT)
            self.assertEqual(client.wait(harness.PATIENCE_SECONDS), -signal.SIGINT)

    def test_interrupting_one_of_two_leaves_the_job_to_the_other(self):
        self.serve()
        with self.running("optimize", "m.onnx", *DEVICE, "-o", "a.onnx") as first:
            harness.read_until(first.stderr, "RUNNING")
            with self.running("optimize", "m.onnx", *DEVICE, "-o", "b.onnx") as second:
                harness.read_until(second.stderr, "jobs/")
                second.send_signal(signal.SIGINT)
                self.assertEqual(second.wait(harness.PATIENCE_SECONDS), 5)
            self.assertEqual(first.wait(harness.PATIENCE_SECONDS), 0)

    def test_interrupting_a_local_run(self):
        with self.running("optimize", "m.onnx", *DEVICE, "-o", "out.onnx", "--local") as client:
            harness.read_until(client.stderr, "search")
            client.send_signal(signal.SIGINT)
            self.assertEqual(client.wait(harness.PATIENCE_SECONDS), 5)
        self.assertFalse((self.folder / "out.onnx").exists())

    def test_sigterm_hands_the_job_to_the_next_server(self):
        server = self.serve()
        job = self.submit("m.onnx")
        with self.running("watch", job, "--json") as watcher:
            harness.read_until(watcher.stdout, "progress")
            self.assertEqual(server.stop(), 0)
            server.start()
            harness.read_until(watcher.stdout, "drained")
            harness.read_until(watcher.stdout, "claimed")
            # Handed over; what is left of it need not be waited for. On a slow machine it may end
            # before the cancellation arrives.
            self.assert_code(self.quotient("cancel", job), 0)
            self.assertIn(watcher.wait(harness.PATIENCE_SECONDS), (0, 5))

    def test_a_paused_server_goes_on(self):
        server = self.serve()
        job = self.submit("m.onnx")
        os.kill(server.process.pid, signal.SIGSTOP)
        with self.running("watch", job) as watcher:
            with self.assertRaises(subprocess.TimeoutExpired):
                watcher.wait(0.5)
            os.kill(server.process.pid, signal.SIGCONT)
            self.assertEqual(watcher.wait(harness.PATIENCE_SECONDS), 0)

    def test_a_job_that_an_ending_server_was_killed_with_has_lost_no_attempt(self):
        server = self.serve("--drain-seconds", "600")
        job = self.submit("m.onnx")
        with self.running("watch", job, "--json") as watcher:
            harness.read_until(watcher.stdout, "progress")
            os.kill(server.process.pid, signal.SIGTERM)
            harness.await_text(server.log, "draining")
            server.kill()
            server.start()
            # Either it was handed back in time, or the next server knows that it is not to blame.
            harness.read_until(watcher.stdout, "drained|interrupted")
            harness.read_until(watcher.stdout, "claimed")
            self.assertEqual(self.quotient("jobs", "--json").json()["attempt"], 1)
            self.assert_code(self.quotient("cancel", job), 0)

    def test_a_job_waits_until_the_disk_has_room(self):
        server = self.serve()
        onnx.save(models.conv_bn_relu(1), self.folder / "small.onnx")
        job = self.submit("small.onnx", "--budget", "1s")
        server.stop()
        # A disk that has no room for anything.
        server.flags = ("--min-free-bytes", str(2**60), "--metrics-listen", "127.0.0.1:0")
        server.start()
        with self.running("watch", job, "--json") as watcher:
            self.assertIn("quotient_storage_up 0\n", server.metrics())
            self.assertIn("quotient_ready 0\n", server.metrics())
            status, obstacles = server.page("/readyz")
            self.assertEqual(status, 503)
            self.assertRegex(obstacles, "^storage: the server's disk is nearly full: it has [0-9]+ bytes free")
            self.assertEqual(self.quotient("jobs", "--json").json()["state"], "JOB_STATE_QUEUED")
            server.stop()
            server.flags = ()
            server.start()
            harness.read_until(watcher.stdout, "JOB_STATE_SUCCEEDED")
            self.assertEqual(watcher.wait(harness.PATIENCE_SECONDS), 0)
        self.assert_code(self.quotient("result", job, "-o", "out.onnx"), 0)

    def test_what_the_disk_has_damaged_is_sent_and_made_anew(self):
        server = self.serve()
        onnx.save(models.conv_bn_relu(1), self.folder / "small.onnx")
        optimize = ("optimize", "small.onnx", *DEVICE, "--budget", "1s", "-o", "out.onnx")
        self.assert_code(self.quotient(*optimize), 0)
        server.stop()
        for path in (self.folder / "data" / "blobs").glob("??/??/*"):
            content = bytearray(path.read_bytes())
            content[len(content) // 2] ^= 1
            path.write_bytes(content)
        server.start()
        (job,) = (line.split()[0] for line in self.quotient("jobs").out.splitlines())
        for _ in range(2):  # Whoever finds a damaged file sets it aside.
            self.assert_code(self.quotient("result", job, "-o", "damaged.onnx"), 4, "BLOB_CORRUPT",
                             "the report of the result is damaged or gone", "submit the job again")
        # The model is sent again, and the result is not used.
        self.assert_code(self.quotient(*optimize), 0)
        self.assertEqual(len(self.quotient("jobs").out.splitlines()), 2)
        self.assertIn("set aside", server.log.read_text())
        onnx.checker.check_model(onnx.load(self.folder / "out.onnx"))

    def job_process(self, server):
        """The process of the job that runs."""
        (process,) = harness.descendants(server.process.pid, "quotient-job")
        return process

    def test_a_job_whose_process_dies_is_tried_again_by_the_same_server(self):
        server = self.serve()
        job = self.submit("m.onnx")
        with self.running("watch", job, "--json") as watcher:
            harness.read_until(watcher.stdout, '"search"')
            os.kill(self.job_process(server), signal.SIGKILL)
            harness.read_until(watcher.stdout, "process_died")
            harness.read_until(watcher.stdout, "JOB_STATE_SUCCEEDED")
            self.assertEqual(watcher.wait(harness.PATIENCE_SECONDS), 0)
        self.assertIsNone(server.process.poll())
        self.assertEqual(self.quotient("jobs", "--json").json()["attempt"], 2)

    def test_a_job_whose_process_dies_each_time_fails_and_the_server_goes_on(self):
        server = self.serve()
        job = self.submit("m.onnx")
        with self.running("watch", job, "--json") as watcher:
            for _ in range(3):
                harness.read_until(watcher.stdout, '"search"')
                os.kill(self.job_process(server), signal.SIGSEGV)
                harness.read_until(watcher.stdout, '"from":"JOB_STATE_RUNNING"')
            self.assertEqual(watcher.wait(harness.PATIENCE_SECONDS), 4)
        self.assert_code(self.quotient("watch", job), 4, "POISONED", "signal 11")
        onnx.save(models.conv_bn_relu(1), self.folder / "small.onnx")
        job = self.submit("small.onnx", "--budget", "1s")
        self.assert_code(self.quotient("watch", job), 0)
        self.assertIsNone(server.process.poll())

    def test_a_job_that_hangs_does_not_hold_its_worker(self):
        server = self.serve("--max-silent-seconds", "10")
        job = self.submit("m.onnx", "--budget", "5s")
        with self.running("watch", job, "--json") as watcher:
            harness.read_until(watcher.stdout, '"search"')
            os.kill(self.job_process(server), signal.SIGSTOP)
            harness.read_until(watcher.stdout, "process_died")
        self.assert_code(self.quotient("cancel", job), 0)
        self.assertIn("no progress for 15 s", server.log.read_text())

    def test_a_job_that_hangs_keeps_no_server_from_ending(self):
        server = self.serve()
        job = self.submit("m.onnx")
        with self.running("watch", job, "--json") as watcher:
            harness.read_until(watcher.stdout, '"search"')
            process = self.job_process(server)
            os.kill(process, signal.SIGSTOP)
            self.assertEqual(server.stop(), 0)
            self.assertFalse(pathlib.Path(f"/proc/{process}").exists())
            server.start()
            harness.read_until(watcher.stdout, "drained")
        self.assert_code(self.quotient("cancel", job), 0)

    def test_no_process_of_a_job_outlives_its_server(self):
        server = self.serve()
        job = self.submit("m.onnx")
        with self.running("watch", job, "--json") as watcher:
            harness.read_until(watcher.stdout, '"search"')
            process = self.job_process(server)
            server.kill()
            harness.await_end(process)

    def test_more_connections_than_a_shell_allows_files_leave_the_server_at_work(self):
        before = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, before[1]))
        try:
            server = self.serve()
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, before)
        host, port = server.address.split(":")
        with contextlib.ExitStack() as connections:
            for _ in range(100):
                connections.enter_context(socket.create_connection((host, int(port))))
            self.assert_code(self.quotient("jobs"), 0)

    def test_one_data_folder_has_one_server(self):
        server = self.serve()
        second = subprocess.run(
            [harness.BIN / "quotientd", "--listen", "127.0.0.1:0", "--data-dir",
             self.folder / "data"], capture_output=True, text=True, timeout=60, check=False)
        self.assertNotEqual(second.returncode, 0)
        self.assertIn("another process", second.stderr)
        self.assertIsNone(server.process.poll())


if __name__ == "__main__":
    unittest.main()
