"""What operators see: metrics that Prometheus accepts, addresses, start and stop."""

import contextlib
import json
import pathlib
import re
import resource
import shutil
import signal
import socket
import subprocess
import time
import unittest
import unittest.mock

import onnx

import harness
import models
from prometheus import TOOLS, Prometheus, metrics_address

class OperationsTest(harness.TestCase):
    def promtool_accepts(self, page):
        check = subprocess.run([TOOLS / "promtool", "check", "metrics"], input=page, text=True,
                               capture_output=True, timeout=60, check=False)
        self.assertEqual((check.returncode, check.stdout + check.stderr), (0, ""))

    def test_a_fresh_server_has_all_metrics_at_zero(self):
        page = self.serve("--metrics-listen", "127.0.0.1:0").metrics()
        self.promtool_accepts(page)
        for line in ('quotient_jobs_submitted_total{disposition="new"} 0',
                     'quotient_jobs_finished_total{reason="POISONED",state="failed"} 0',
                     'quotient_job_run_seconds_bucket{phase="search",le="3600"} 0',
                     'quotient_timing_measurements_total{outcome="noisy"} 0',
                     'quotient_checkpoints_total{outcome="failed"} 0',
                     'grpc_server_handled_total{grpc_code="Canceled",grpc_method="WatchJob",'
                     'grpc_service="quotient.v1.OptimizerService",grpc_type="server_stream"} 0',
                     "quotient_queue_oldest_age_seconds 0",
                     "quotient_leases 0"):
            self.assertIn("\n" + line + "\n", page)
        self.assertRegex(page, r"\nquotient_disk_free_bytes [1-9]")
        # All that the page in the documentation lists is there, but for what only a job brings.
        described = (pathlib.Path(__file__).parents[2] / "deploy" / "METRICS.md").read_text()
        names = set(re.findall(r"^\| `(\w+)` \|", described, re.MULTILINE))
        served = set(re.findall(r"^# TYPE (\w+) ", page, re.MULTILINE))
        self.assertLessEqual(served, names)
        absent = {name for name in names - served if not name.startswith("quotient_gpu_")}
        self.assertLessEqual(absent, {"quotient_job_result_total", "quotient_device_up",
                                      "quotient_blob_bytes", "quotient_blob_excess_bytes"})

    def test_logs_can_be_json(self):
        server = self.serve("--log-format", "json")
        onnx.save(models.conv_bn_relu(1), self.folder / "m\x1b[31m.onnx")
        job = self.quotient("submit", "m\x1b[31m.onnx", "--device", "model:h200").out.strip()
        self.assert_code(self.quotient("watch", job), 0)
        self.assertEqual(server.stop(), 0)
        lines = [json.loads(line) for line in server.log.read_text().splitlines()]
        self.assertTrue(all({"time", "level", "message"} <= set(line) for line in lines), lines)
        messages = [line["message"] for line in lines if line.get("job") == job[len("jobs/"):]]
        self.assertTrue(any("attempt 1" in message for message in messages), lines)
        self.assertTrue(any("phase search" in message for message in messages), lines)
        self.assertNotIn("\x1b", server.log.read_text())

    def test_metrics_are_well_formed_and_count(self):
        server = self.serve("--metrics-listen", "127.0.0.1:0")
        onnx.save(models.conv_bn_relu(1), self.folder / "m.onnx")
        self.assert_code(self.quotient("optimize", "m.onnx", "-o", "o.onnx", "--budget", "1s"), 0)
        page = server.metrics()
        self.promtool_accepts(page)
        for line in ('quotient_jobs_submitted_total{disposition="new"} 1',
                     'quotient_jobs{state="succeeded"} 1',
                     'quotient_uploads_total{outcome="committed"} 1',
                     "quotient_job_gain_ratio_count 1",
                     'quotient_device_up{device="onnxruntime"} 1',
                     "quotient_ready 1"):
            self.assertIn(line + "\n", page)
        self.assertRegex(page, r'quotient_job_result_total\{device="onnxruntime",library="ONNX Runtime 1\.'
                               r'[0-9.]+",outcome="[a-z_]+"\} 1\n')
        self.assertRegex(page, r'grpc_server_handled_total\{grpc_code="OK",[^}]*SubmitJob')
        self.assertRegex(page, r'quotient_job_run_seconds_count\{phase="search"\} 1')
        self.assertRegex(page, r"process_resident_memory_bytes \d")
        self.assertRegex(page, r'quotient_job_processes_total\{end="ok"\} [1-9]')
        self.assertRegex(page, r"\nquotient_job_process_memory_bytes_count [1-9]")
        self.assertRegex(page, r"\nquotient_search_enodes_total [1-9]")

    def test_a_server_that_serves_is_live_and_ready(self):
        server = self.serve("--metrics-listen", "127.0.0.1:0")
        self.assertEqual(server.page("/livez"), (200, "live\n"))
        self.assertEqual(server.page("/readyz"), (200, "ready\n"))
        self.assertEqual(server.page("/other")[0], 404)

    def test_the_page_of_metrics_is_printed(self):
        printed = subprocess.run([harness.BIN / "quotientd", "--metrics-page"], capture_output=True,
                                 text=True, timeout=60, check=True)
        self.assertIn("| `quotient_leases` | gauge |", printed.stdout)

    def test_prometheus_scrapes_it(self):
        server = self.serve("--metrics-listen", "127.0.0.1:0")
        prometheus = Prometheus(self, {"quotient": [metrics_address(server)]})
        labels, value = prometheus.wait_for("quotient_ready")[0]
        self.assertEqual((labels["job"], value), ("quotient", 1))

    def test_the_port_file_comes_and_goes(self):
        server = self.serve()
        self.assertRegex(server.address, r"^127\.0\.0\.1:\d+$")
        self.assertEqual(server.stop(), 0)
        self.assertFalse((self.folder / "address").exists())

    def test_other_machines_are_not_let_in_by_accident(self):
        refused = subprocess.run(
            [harness.BIN / "quotientd", "--listen", "0.0.0.0:0", "--data-dir",
             self.folder / "data"], capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(refused.returncode, 1)
        self.assertIn("--allow-remote", refused.stderr)

    def test_the_image_starts_with_its_own_command_line(self):
        dockerfile = (pathlib.Path(__file__).parents[2] / "Dockerfile").read_text()
        command = re.search(r"^CMD (\[[^]]*\])$", dockerfile, re.MULTILINE)[1]
        flags = json.loads(command.replace("\\\n", ""))
        # Any free ports, and a folder of ours; all else as in the image.
        flags = [re.sub(r":\d+$", ":0", flag) for flag in flags]
        flags[flags.index("--data-dir") + 1] = str(self.folder / "data")
        server = self.serve(*flags)
        self.assertIn("quotient_ready 1\n", server.metrics())
        self.assertEqual(server.stop(), 0)

    def test_a_server_that_is_told_to_end_answers_until_nobody_is_sent_to_it(self):
        server = self.serve("--allow-remote", "--endpoint-grace-seconds", "600",
                            "--metrics-listen", "127.0.0.1:0")
        server.process.send_signal(signal.SIGTERM)
        harness.await_text(server.log, "draining")
        deadline = time.monotonic() + harness.PATIENCE_SECONDS
        while "quotient_ready 0\n" not in server.metrics():
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.02)
        self.assertIn("quotient_draining 1\n", server.metrics())
        self.assertEqual(server.page("/readyz"), (503, "draining\n"))
        self.assertEqual(server.page("/livez"), (200, "live\n"))
        self.assert_code(self.quotient("jobs"), 0)
        # A second signal does not wait.
        self.assertEqual(server.stop(), -signal.SIGTERM)

    def test_flags_that_are_not_understood_exit_2(self):
        for flags in (["--lisen", "x"], ["--workers", "0"]):
            refused = subprocess.run([harness.BIN / "quotientd", *flags], capture_output=True,
                                     text=True, timeout=60, check=False)
            self.assertEqual(refused.returncode, 2)
            self.assertIn(flags[0], refused.stderr)

    def test_whoever_has_most_connections_gives_way(self):
        few = 200

        def limit():
            resource.setrlimit(resource.RLIMIT_NOFILE, (few, few))

        server = self.serve("--workers", "1", preexec=limit)
        host, port = server.address.rsplit(":", 1)
        with contextlib.ExitStack() as connections:
            held = [connections.enter_context(
                socket.create_connection((host, int(port)), timeout=harness.PATIENCE_SECONDS,
                                         source_address=("127.0.0.2", 0))) for _ in range(4 * few)]
            self.assert_code(self.quotient("jobs"), 0)
            while held[0].recv(1024):
                pass  # Until the server has ended it.
        self.assertIsNone(server.process.poll())

    def test_a_server_whose_files_were_replaced_ends_and_the_next_one_does_its_job(self):
        own = self.folder / "bin"
        own.mkdir()
        for program in ("quotientd", "quotient-job", "quotient"):
            shutil.copy(harness.BIN / program, own)
        (self.folder / "lib").symlink_to(harness.BIN.parent / "lib")
        self.enterContext(unittest.mock.patch.object(harness, "BIN", own))
        job_program = own / "quotient-job"
        version = subprocess.run([own / "quotientd", "--version"], capture_output=True, text=True,
                                 check=True, timeout=60).stdout
        digest = re.search(r"\+([0-9a-f]{8,})", version).group(1).encode()
        code = job_program.read_bytes()
        self.assertIn(digest, code)
        (own / "other").write_bytes(code.replace(digest, digest[::-1]))
        (own / "other").chmod(0o755)
        onnx.save(models.conv_bn_relu(), self.folder / "m.onnx")
        server = self.serve()
        job_program.rename(own / "first")
        (own / "other").rename(job_program)
        job = self.quotient("submit", "m.onnx", "--device", "model:h200").out.strip()
        self.assertEqual(server.process.wait(harness.PATIENCE_SECONDS), 1)
        self.assertIn("quotient-job is of another build", server.log.read_text())
        with self.assertRaisesRegex(RuntimeError, "PROGRAM_REPLACED|another build"):
            server.start()
        replaced = own / "replaced"
        job_program.rename(replaced)
        shutil.copy(own / "first", job_program)
        server.start()
        self.assert_code(self.quotient("watch", job), 0)
        self.assertEqual(self.quotient("jobs", "--json").json()["attempt"], 1)
        # A question finds it, too.
        replaced.rename(job_program)
        self.quotient("inspect", "m.onnx", "--patience", "1s")
        self.assertEqual(server.process.wait(harness.PATIENCE_SECONDS), 1)


if __name__ == "__main__":
    unittest.main()
