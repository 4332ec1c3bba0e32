"""The device onnxruntime, which is the usual one: what leaves was measured in ONNX Runtime, what goes wrong there costs
no job, and what one library said is never told of another."""

import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import time
import unittest
import unittest.mock

import onnx
import onnx.parser

import harness
import models
import optimize_test

BUDGET = ("--budget", "2s", "--threads", "1")


class OnnxRuntimeTest(harness.TestCase):
    def setUp(self):
        super().setUp()
        self.model = self.folder / "m.onnx"
        onnx.save(models.conv_bn_relu(), self.model)

    def optimize(self, *arguments):
        return self.quotient("optimize", "m.onnx", "-o", "out.onnx", "--report", "r.json",
                             "--device", "onnxruntime", *BUDGET, *arguments)

    def check_report(self, result):
        self.assert_code(result, 0)
        optimize_test.run_both(self, self.model, self.folder / "out.onnx")
        report = json.loads((self.folder / "r.json").read_text())
        self.assertEqual(report["device"]["name"], "onnxruntime")
        self.assertIn("ONNX Runtime 1.", report["device"]["fingerprint"])
        self.assertGreater(report["original"]["measured_us"]["runs"], 0)

    def usual(self, *arguments):
        """On the device that is taken if none is named."""
        return self.quotient("optimize", "m.onnx", "-o", "out.onnx", "--report", "r.json", "--html",
                             "r.html", *BUDGET, *arguments)

    def other_build(self):
        """The same code in another file: what is appended to a library is never read."""
        library = harness.BIN.parent / "lib" / "libonnxruntime.so"
        other = self.folder / "libonnxruntime.so"
        shutil.copy(library, other)
        with open(other, "ab") as file:
            file.write(b"another build")
        return other

    def test_in_process(self):
        self.check_report(self.optimize("--local"))

    def test_a_value_that_is_kept_is_no_output(self):
        self.serve()
        for arguments in (("--local",), ()):
            self.check_report(self.optimize("--keep", "c0", *arguments))
            graph = onnx.load(self.folder / "out.onnx").graph
            self.assertIn("c0", {name for node in graph.node for name in node.output})
            self.assertNotIn("c0", {output.name for output in graph.output})

    def test_it_is_the_usual_device_and_is_named_everywhere(self):
        place = r"ONNX Runtime 1\.[0-9.]+ on .+, 1 thread"
        self.serve()
        for result in (self.usual("--local"), self.usual()):
            self.check_report(result)
            self.assertRegex(result.out, rf"on onnxruntime( \(.*\))?\nMeasured on: {place}, by Quotient 0\.")
            self.assertRegex((self.folder / "r.html").read_text(), place)
            report = json.loads((self.folder / "r.json").read_text())
            self.assertRegex(report["device"]["library"], r"^ONNX Runtime 1\.")
            self.assertIn(report["device"]["hardware"], report["device"]["fingerprint"])
        self.assertRegex(self.quotient("jobs").out, rf"m\.onnx +onnxruntime: {place}\n")
        (job,) = [json.loads(line) for line in self.quotient("jobs", "--json").out.splitlines()]
        self.assertEqual(job["options"]["device"], "onnxruntime")
        self.assertEqual(job["device_fingerprint"], report["device"]["fingerprint"])
        self.assertIn("result of an equal job", self.optimize().err)

    def test_where_the_library_is_missing_the_built_in_executor_is_the_usual_device(self):
        self.assert_code(self.usual("--local", "--onnxruntime", "/nowhere.so"), 4,
                         "there is no ONNX Runtime at /nowhere.so")
        self.env["QUOTIENT_ONNXRUNTIME"] = "/nowhere.so"
        result = self.usual("--local")
        self.assert_code(result, 0, "taking cpu, because", "there is no ONNX Runtime at /nowhere.so")
        self.assertRegex(result.out, r"on cpu( \(.*\))?\nMeasured on: oneDNN [0-9.]+ on ")
        with unittest.mock.patch.dict(os.environ, QUOTIENT_ONNXRUNTIME="/nowhere.so"):
            self.serve()
        self.assert_code(self.usual(), 0)
        self.assertEqual(json.loads((self.folder / "r.json").read_text())["device"]["name"], "cpu")
        self.assert_code(self.optimize(), 4, "DEVICE_NOT_PRESENT", "there is no ONNX Runtime at /nowhere.so")
        self.assertEqual(len(self.quotient("jobs").out.splitlines()), 1, "what cannot run is not queued")

    def test_a_server_does_not_start_without_the_library_that_it_is_given(self):
        (self.folder / "text.so").write_text("no library")
        for path, message in (("/nowhere.so", "there is no ONNX Runtime at /nowhere.so"),
                              (self.folder / "text.so", "cannot be loaded"), (self.folder, "is a folder")):
            refused = subprocess.run(
                [harness.BIN / "quotientd", "--listen", "127.0.0.1:0", "--data-dir", self.folder / "data",
                 "--onnxruntime", path], capture_output=True, text=True, timeout=harness.PATIENCE_SECONDS, check=False)
            self.assertEqual(refused.returncode, 1, refused)
            self.assertIn("--onnxruntime: ", refused.stderr)
            self.assertIn(message, refused.stderr)

    def test_servers_with_other_libraries_do_not_share_results(self):
        server = self.serve()
        self.check_report(self.optimize())
        fingerprints = [json.loads((self.folder / "r.json").read_text())["device"]["fingerprint"]]
        server.stop()
        other = self.serve("--onnxruntime", self.other_build())  # On the same data.
        result = self.optimize()
        self.check_report(result)
        self.assertNotIn("equal job", result.err)
        fingerprints.append(json.loads((self.folder / "r.json").read_text())["device"]["fingerprint"])
        self.assertNotEqual(*fingerprints)
        other.stop()
        self.serve()
        result = self.optimize()
        self.assertIn("result of an equal job", result.err)
        self.assertEqual(json.loads((self.folder / "r.json").read_text())["device"]["fingerprint"],
                         fingerprints[0])

    def test_a_job_that_waited_is_found_by_the_library_that_it_ran_with(self):
        server = self.serve()
        onnx.save(models.slow_to_time(), self.folder / "slow.onnx")
        slow = self.quotient("submit", "slow.onnx", "--device", "cpu").out.strip()
        waiting = self.quotient("submit", "m.onnx", "--device", "onnxruntime", *BUDGET).out.strip()
        server.stop()
        self.serve("--onnxruntime", self.other_build())
        self.assert_code(self.quotient("cancel", slow), 0)
        self.assert_code(self.quotient("watch", waiting), 0)
        self.assertIn("result of an equal job", self.optimize().err)

    def test_the_cuda_provider_is_known_and_refused(self):
        for mode in ((), ("--local",)):
            if not mode:
                self.serve()
            result = self.quotient("optimize", "m.onnx", "-o", "out.onnx", "--device", "onnxruntime:cuda", *mode)
            self.assert_code(result, 4, "DEVICE_NOT_PRESENT", "has no CUDAExecutionProvider, only ")

    def test_through_a_server(self):
        self.serve()
        self.check_report(self.optimize())

    def test_a_model_with_external_data(self):
        models.with_external_data(models.conv_bn_relu(), self.model, "weights.bin")
        self.check_report(self.optimize("--local"))

    def test_a_model_whose_outputs_come_from_what_is_not_understood(self):
        body = "{{ z = {op}(r, r) }}"
        onnx.save(onnx.parser.parse_model(f'''<ir_version: 8, opset_import: ["" : 17]>
            g (float[64,64] x, bool c) => (float[64,64] y) {{
              t = Transpose <perm = [1, 0]> (x)
              u = Transpose <perm = [1, 0]> (t)
              r = Relu(u)
              y = If (c) <then_branch = a () => (float[64,64] z) {body.format(op="Add")},
                          else_branch = b () => (float[64,64] z) {body.format(op="Mul")}>
            }}'''), self.model)
        result = self.optimize("--local")
        self.assert_code(result, 0)
        report = json.loads((self.folder / "r.json").read_text())
        self.assertGreater(report["original"]["measured_us"]["runs"], 0)
        # The file was run with the If in it.
        self.assertEqual((report["cut_nodes"], report["cut_nodes_run"]), (1, True))
        self.assertIn("what it takes is measured, but in no prediction", result.out)
        self.assertIn("no prediction holds what it takes", result.out)

    def test_of_a_model_that_is_refused_nothing_is_called_measured(self):
        onnx.save(models.with_unknown_operator(), self.model)
        result = self.usual("--local")
        self.assert_code(result, 0)
        self.assertIn("Frobnicate", result.out)
        self.assertIn("note: --device cpu measures without", result.out)
        for text in (result.out, (self.folder / "r.html").read_text()):
            self.assertNotIn("Measured on", text)
            self.assertNotIn("is measured, but in no prediction", text)

    def test_the_servers_own_helper_may_be_killed(self):
        server = self.serve()
        self.check_report(self.optimize())
        for helper in harness.descendants(server.process.pid, "quotient-ort"):
            os.kill(helper, signal.SIGKILL)
        self.check_report(self.optimize("--no-cache"))

    def submit_endless(self):
        onnx.save(models.endless(), self.folder / "endless.onnx")
        submitted = self.quotient("submit", "endless.onnx", "--device", "onnxruntime", *BUDGET)
        self.assert_code(submitted, 0)
        return submitted.out.strip()

    def state_of(self, job):
        jobs = [json.loads(line) for line in self.quotient("jobs", "--json").out.splitlines()]
        return next(each["state"].removeprefix("JOB_STATE_") for each in jobs if each["name"] == job)

    def test_what_failures_made_worse_is_not_given_to_equal_jobs(self):
        server = self.serve()
        self.check_report(self.optimize())
        job = self.submit_endless()
        while self.state_of(job) in ("QUEUED", "RUNNING"):
            for helper in harness.descendants(server.process.pid, "quotient-ort"):
                os.kill(helper, signal.SIGKILL)
        self.assertEqual(self.state_of(job), "SUCCEEDED")
        self.assertNotEqual(self.submit_endless(), job)

    def test_a_job_that_hangs_can_be_cancelled(self):
        self.serve()
        job = self.submit_endless()
        with self.running("watch", job) as watching:
            harness.read_until(watching.stderr, "baseline")
        self.assert_code(self.quotient("cancel", job), 0)
        begun = time.monotonic()
        self.quotient("watch", job)
        self.assertEqual(self.state_of(job), "CANCELLED")
        # Nobody waits until a minute is over, which is the most that a run may take.
        self.assertLess(time.monotonic() - begun, 45)

    def test_helpers_end_with_the_server_and_leave_nothing(self):
        temporary = self.folder / "tmp"
        temporary.mkdir()
        self.env["TMPDIR"] = str(temporary)
        server = self.serve()
        job = self.submit_endless()
        with self.running("watch", job) as watching:
            harness.read_until(watching.stderr, "baseline")
        helpers = harness.descendants(server.process.pid, "quotient-ort")
        self.assertGreaterEqual(len(helpers), 2)  # The server's own, and the job's.
        self.assertGreaterEqual(len(list(temporary.iterdir())), 2)
        for helper in helpers:
            os.kill(helper, signal.SIGSTOP)
        server.kill()
        for helper in helpers:
            # That of a job goes on by itself: its group has lost its parent.
            with contextlib.suppress(ProcessLookupError):
                os.kill(helper, signal.SIGCONT)
            harness.await_end(helper)
        # Helpers remove their folders. Those of jobs, in which they were, go when the next server starts.
        left = set(temporary.iterdir())
        self.assertEqual([path for path in temporary.rglob("*") if path.is_file()], [])
        server.start()
        self.assertEqual(left & set(temporary.iterdir()), set())

    def test_a_server_whose_library_was_replaced_ends_and_the_next_one_does_its_job(self):
        library = self.folder / "library.so"
        shutil.copy(harness.BIN.parent / "lib" / "libonnxruntime.so", library)
        server = self.serve("--onnxruntime", str(library))
        self.check_report(self.optimize())
        self.other_build().rename(library)
        submitted = self.quotient("submit", self.model, "--device", "onnxruntime", "--no-cache",
                                  *BUDGET)
        self.assert_code(submitted, 0)
        self.assertEqual(server.process.wait(harness.PATIENCE_SECONDS), 1)
        self.assertIn("when the server was started", server.log.read_text())
        server.start()
        self.assert_code(self.quotient("watch", submitted.out.strip()), 0)

    def test_a_library_that_is_missing_is_named(self):
        result = self.optimize("--local", "--onnxruntime", "/nowhere.so")
        self.assert_code(result, 4, "there is no ONNX Runtime at /nowhere.so")
        self.env["QUOTIENT_ONNXRUNTIME"] = "/nowhere/either.so"
        result = self.optimize("--local")
        self.assert_code(result, 4, "there is no ONNX Runtime at /nowhere/either.so")


if __name__ == "__main__":
    unittest.main()
