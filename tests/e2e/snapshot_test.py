"""Optimizing for a device by a snapshot of it: recorded, then used here and on a server."""

import hashlib
import json
import re
import unittest

import onnx

import harness
import models


# What is recorded.
DEVICE = ("--device", "cpu")


class SnapshotTest(harness.TestCase):
    def setUp(self):
        super().setUp()
        onnx.save(models.conv_bn_relu(), self.folder / "m.onnx")

    def record(self, name="box.snapshot", *more):
        """What --local measures of this machine, at one thread."""
        measured = self.quotient("optimize", "m.onnx", "-o", "live.onnx", "--local", *DEVICE,
                                 "--threads", "1", "--budget", "2s")
        self.assert_code(measured, 0)
        recorded = self.quotient("snapshot", "-o", name, *DEVICE, "--threads", "1", *more)
        self.assert_code(recorded, 0)
        self.assertRegex(recorded.out,
                         rf"^{name}: [0-9]+ kernels? of cpu \([^;]+, 1 thread\): [0-9]+ measured, "
                         r"[0-9]+ of them noisy; [0-9]+ not supported there\n$")
        return self.folder / name

    def optimize(self, *more, snapshot="box.snapshot", output="out.onnx"):
        result = self.quotient("optimize", "m.onnx", "-o", output, "--device-snapshot", snapshot,
                               "--report", "r.json", *more)
        self.assert_code(result, 0)
        report = json.loads((self.folder / "r.json").read_text())
        self.assertFalse(report["measured"])
        self.assertEqual(report["device"]["recorded"]["device"], "cpu")
        self.assertEqual(report["device"]["threads"], 1)
        self.assertIsNone(report["original"]["measured_us"]["median"])
        # Null: the original came back, and nothing was compared.
        came_back = report["outcome"] == "no_improvement"
        self.assertIn(report["verification"]["passed"], (True, None) if came_back else (True,))
        self.assertIn("Nothing was measured now: costs were recorded on cpu", result.out)
        self.assertNotIn("\nmeasure ", result.err)
        return (self.folder / output).read_bytes(), report, result

    def test_the_same_bytes_here_and_on_a_server_however_many_work(self):
        snapshot = self.record()
        self.assertEqual(snapshot.read_text().splitlines()[0], "quotient-snapshot 2")
        first, report, _ = self.optimize("--local", "--threads", "1")
        kernels = report["original"]["kernels"]
        self.assertGreater(kernels["measured"], 0)
        self.assertEqual(kernels["estimated"], 0)
        self.assertEqual(self.optimize("--local", "--threads", "2")[0], first)
        # Without what was measured: all that is known is in the file.
        self.env["XDG_CACHE_HOME"] = str(self.folder / "elsewhere")
        self.assertEqual(self.optimize("--local", "--threads", "1")[0], first)

        server = self.serve()
        for threads in ("1", "2"):
            remote, remote_report, _ = self.optimize("--threads", threads)
            self.assertEqual(remote, first)
            self.assertEqual(remote_report["device"], report["device"])
        again = self.optimize("--threads", "1")[2]
        self.assertIn("result of an equal job", again.err)
        # A server that begins anew finds it among its blobs.
        server.kill()
        server.start()
        self.assertEqual(self.optimize("--threads", "1", "--no-cache")[0], first)

    def test_a_snapshot_of_other_kernels_is_told(self):
        self.record()
        onnx.save(models.chain(3), self.folder / "m.onnx")
        result = self.quotient("optimize", "m.onnx", "-o", "out.onnx", "--device-snapshot",
                               "box.snapshot", "--local", "--budget", "2s")
        self.assert_code(result, 0)
        self.assertIn(": all are estimated.", result.out)
        self.assertIn("note: the snapshot has none of the ", result.out)

    def test_another_snapshot_is_another_job(self):
        self.record()
        self.serve()
        self.optimize("--threads", "1")
        content = (self.folder / "box.snapshot").read_text().partition("sha256 ")[0]
        other = re.sub(r"(?m)^recorded .*$", "recorded 2026-03-14T09:26:53Z", content)
        digest = hashlib.sha256(other.encode()).hexdigest()
        (self.folder / "other.snapshot").write_text(f"{other}sha256 {digest}\n")
        result = self.optimize("--threads", "1", snapshot="other.snapshot")[2]
        self.assertNotIn("equal job", result.err)

    def test_a_servers_timings_are_recorded_too(self):
        self.serve()
        self.assert_code(self.quotient("optimize", "m.onnx", "-o", "live.onnx", *DEVICE,
                                       "--threads", "1", "--budget", "2s"), 0)
        timings = self.folder / "data" / "timings.db"
        result = self.quotient("snapshot", "-o", "box.snapshot", *DEVICE, "--threads", "1",
                               "--timings", timings)
        self.assert_code(result, 0)
        _, report, _ = self.optimize("--local")
        self.assertGreater(report["original"]["kernels"]["measured"], 0)

    def test_what_is_recorded_is_counted_for_programs_too(self):
        snapshot = self.record()
        states = [line.split(" ")[5] for line in snapshot.read_text().splitlines()
                  if line.startswith("kernel ") and not line.startswith("kernel unsupported ")]
        result = self.quotient("snapshot", "-o", "box.snapshot", *DEVICE, "--threads", "1",
                               "--json")
        self.assert_code(result, 0)
        summary = result.json()
        self.assertEqual(summary["file"], "box.snapshot")
        self.assertEqual((summary["device"], summary["threads"]), ("cpu", 1))
        self.assertEqual(summary["kernels"]["ok"], states.count("ok"))
        self.assertEqual(summary["kernels"]["noisy"], states.count("noisy"))
        self.assertIn(f"\nfingerprint {summary['fingerprint']}\n", snapshot.read_text())

    def test_nothing_measured_nothing_recorded(self):
        (self.folder / "note.txt").write_text("not a timing file")
        for arguments, words in (
                (DEVICE, "the timings that --local keeps: no kernel has been measured on cpu ("),
                ((), "the timings that --local keeps: no kernel has been measured on onnxruntime ("),
                (("--timings", "none.db"), "none.db"),
                (("--timings", "note.txt"), "note.txt: is not a timing file"),
                (("--device", "model:h200"), "OPTION_INVALID: device: 'model:h200' is not")):
            result = self.quotient("snapshot", "-o", "box.snapshot", *arguments)
            self.assert_code(result, 2, "OPTION_INVALID", words)
            self.assertNotIn("flags", result.err)
            self.assertFalse((self.folder / "box.snapshot").exists())
        self.assertFalse((self.folder / "none.db").exists())
        self.assertEqual((self.folder / "note.txt").read_text(), "not a timing file")

    def test_what_one_thread_took_is_recorded_where_nothing_else_was_measured(self):
        self.record()
        self.assert_code(self.quotient("snapshot", "-o", "usual.snapshot", *DEVICE), 0)
        self.assertIn("\nthreads 1\n", (self.folder / "usual.snapshot").read_text())
        # A number that was asked for is not replaced.
        self.assert_code(self.quotient("snapshot", "-o", "two.snapshot", *DEVICE, "--threads", "2"),
                         2, "OPTION_INVALID", "2 threads)")

    def test_a_file_that_is_no_snapshot_is_named(self):
        snapshot = self.record()
        whole = snapshot.read_bytes()
        optimize = ("optimize", "m.onnx", "-o", "out.onnx", "--local", "--device-snapshot")
        for damaged, words in (
                (b"", "line 1: quotient-snapshot"), (whole[:200], "is missing"),
                (whole.replace(b" ok ", b" good ", 1), "state: neither ok nor noisy"),
                (whole[:-100] + b"~" + whole[-99:], "sha256: is not that of the content")):
            snapshot.write_bytes(damaged)
            self.assert_code(self.quotient(*optimize, snapshot), 2, "box.snapshot: line ", words)
        self.assert_code(self.quotient(*optimize, "none.snapshot"), 2, "none.snapshot")
        self.assertFalse((self.folder / "out.onnx").exists())

    def test_a_digest_that_nobody_has_is_named(self):
        name = "a" * 64 + "/5"
        arguments = ("optimize", "m.onnx", "-o", "out.onnx", "--device", "snapshot:" + name)
        self.assert_code(self.quotient(*arguments, "--local"), 2, name, "--device-snapshot FILE")
        self.serve()
        self.assert_code(self.quotient(*arguments), 4, "BLOB_MISSING", name,
                         "the device's snapshot is missing: --device-snapshot FILE")


if __name__ == "__main__":
    unittest.main()
