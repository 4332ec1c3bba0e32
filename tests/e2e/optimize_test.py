"""The whole path with real binaries: what goes in, what comes out, and the exit codes."""

import json
import os
import resource
import shutil
import subprocess
import unittest

import numpy as np
import onnx
import onnxruntime

import harness
import models

BUDGET = ("--budget", "2s", "--threads", "1")


def run_both(test, original, optimized):
    """Runs both models in ONNX Runtime on random inputs and compares."""
    random = np.random.default_rng(1)
    feeds, results = {}, []
    for path in (original, optimized):
        session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
        for node in session.get_inputs():
            feeds.setdefault(node.name, random.standard_normal(node.shape).astype(np.float32))
        results.append(session.run(None, feeds))
    for a, b in zip(*results):
        limit = 1e-4 * max(1e-6, np.abs(a).max())
        test.assertLessEqual(np.abs(a - b).max(), limit)


class OptimizeTest(harness.TestCase):
    def setUp(self):
        super().setUp()
        self.model = self.folder / "m.onnx"
        onnx.save(models.conv_bn_relu(), self.model)

    def check_outputs(self, result):
        self.assert_code(result, 0)
        run_both(self, self.model, self.folder / "out.onnx")
        report = json.loads((self.folder / "r.json").read_text())
        for key in ("outcome", "original", "optimized", "speedup_percent",
                    "predicted_speedup_percent", "verification", "search", "device", "journal",
                    "nodes"):
            self.assertIn(key, report)
        # Null: the original came back, and nothing was compared.
        came_back = report["outcome"] == "no_improvement"
        self.assertIn(report["verification"]["passed"], (True, None) if came_back else (True,))
        self.assertIn("<html", (self.folder / "r.html").read_text())
        leftovers = [p.name for p in self.folder.iterdir() if p.name.endswith(".tmp")]
        self.assertEqual(leftovers, [])
        return report

    def outputs(self):
        return ("-o", "out.onnx", "--report", "r.json", "--html", "r.html", *BUDGET)

    def test_through_a_server(self):
        self.serve()
        result = self.quotient("optimize", "m.onnx", *self.outputs())
        self.check_outputs(result)
        self.assertEqual(result.err.count("SUCCEEDED"), 1, result)

    def test_a_model_that_stays_takes_its_external_data_along(self):
        proto = next(models.add_models(1))
        models.with_external_data(proto, self.model, "weights.bin")
        (self.folder / "sub").mkdir()
        result = self.quotient("optimize", "m.onnx", "--local", "-o", "sub/out.onnx", *BUDGET)
        self.assert_code(result, 0)
        self.assertIn("m.onnx: no improvement on ", result.out)
        self.assertEqual((self.folder / "sub/out.onnx").read_bytes(), self.model.read_bytes())
        run_both(self, self.model, self.folder / "sub/out.onnx")

    def test_in_process(self):
        result = self.quotient("optimize", "m.onnx", "--local", *self.outputs())
        self.check_outputs(result)
        self.assertTrue((self.folder / "cache/quotient/timings.db").exists())

    def test_against_an_analytic_device_the_result_is_the_same_each_time(self):
        arguments = ("optimize", "m.onnx", "--local", "--device", "model:h200", *self.outputs())
        report = self.check_outputs(self.quotient(*arguments))
        first = (self.folder / "out.onnx").read_bytes()
        self.check_outputs(self.quotient(*arguments))
        self.assertEqual(first, (self.folder / "out.onnx").read_bytes())
        self.assertFalse(report["measured"])

    def test_the_report_leads_with_what_gained(self):
        onnx.save(models.branches(blocks=5), self.model)
        arguments = ("optimize", "m.onnx", "--local", "--device", "model:h200", *self.outputs())
        result = self.quotient(*arguments)
        report = self.check_outputs(result)
        gains = report["gains"]
        saved = gains["others_us"] + sum(gain["saved_us"] for gain in gains["by_rules"])
        predicted = report["original"]["predicted_us"] - report["optimized"]["predicted_us"]
        self.assertGreater(predicted, 0)
        self.assertAlmostEqual(saved, predicted, delta=1e-6 * predicted)
        first = gains["by_rules"][0]
        self.assertIn("conv-merge", first["rules"])
        self.assertAlmostEqual(first["saved_percent"],
                               100 * first["saved_us"] / report["original"]["predicted_us"])
        # The blocks are alike, so they are told once.
        self.assertEqual(len(first["regions"]), 1, first)
        self.assertEqual(first["regions"][0]["count"], 5)
        self.assertEqual(len(first["regions"][0]["sites"]), 5)
        self.assertIn("x 5  4 x Conv", result.out)
        self.assertLess(result.out.index("by rules"), result.out.index("\n  node "))
        self.assertIn("What gained", (self.folder / "r.html").read_text())
        again = self.quotient(*arguments, "--json").json()
        self.assertEqual(again["gains"], gains)

    def test_json_is_the_report(self):
        result = self.quotient("optimize", "m.onnx", "--local", "--json", *self.outputs())
        self.assertEqual(result.json(), json.loads((self.folder / "r.json").read_text()))

    def test_equal_jobs_share_a_result_unless_told_otherwise(self):
        self.serve()
        self.quotient("optimize", "m.onnx", "-o", "a.onnx", *BUDGET)
        again = self.quotient("optimize", "m.onnx", "-o", "b.onnx", *BUDGET)
        self.assert_code(again, 0, "result of an equal job")
        self.assertEqual((self.folder / "a.onnx").read_bytes(),
                         (self.folder / "b.onnx").read_bytes())
        fresh = self.quotient("optimize", "m.onnx", "-o", "c.onnx", "--no-cache", *BUDGET)
        self.assertNotIn("equal job", fresh.err)

    def test_external_data_goes_in_and_comes_out(self):
        models.with_external_data(models.conv_bn_relu(), self.folder / "e.onnx", "weights.bin")
        self.model = self.folder / "e.onnx"
        self.serve()
        for mode in ((), ("--local",)):
            result = self.quotient("optimize", "e.onnx", *mode, *self.outputs())
            self.check_outputs(result)
            (self.folder / "out.onnx").unlink()

    def test_the_commands_of_a_job(self):
        self.serve()
        job = self.quotient("submit", "m.onnx", *BUDGET).out.strip()
        self.assertRegex(job, r"^jobs/[0-9a-f]{20}$")
        watch = self.quotient("watch", job, "--json")
        self.assert_code(watch, 0)
        events = [json.loads(line) for line in watch.out.splitlines()]
        self.assertIn("snapshot", events[0])
        self.assertEqual(events[-1]["snapshot"]["state"], "JOB_STATE_SUCCEEDED")
        result = self.quotient("result", job, "-o", "out.onnx", "--report", "r.json", "--html",
                               "r.html")
        self.check_outputs(result)
        listed = self.quotient("jobs", "--state", "succeeded")
        self.assertIn(job, listed.out)
        self.assert_code(self.quotient("cancel", job), 0)  # too late, and harmless
        self.assertIn(job, self.quotient("jobs", "--json").out)

    def test_inspect(self):
        self.serve()
        remote, local = (self.quotient("inspect", "m.onnx", *mode) for mode in ((), ("--local",)))
        for result in (remote, local):
            self.assert_code(result, 0)
        self.assertEqual(remote.out, local.out)
        summary = local.json()
        self.assertEqual(summary["model"], "m.onnx")
        self.assertIn("BatchNormalization", json.dumps(summary))


class CommandLineTest(harness.TestCase):
    def test_help_version_completion(self):
        self.assertIn("optimize", self.quotient("--help").out)
        for command in ("optimize", "submit", "watch", "result", "cancel", "jobs", "inspect",
                        "snapshot", "bisect", "rules", "version", "completion"):
            text = self.quotient(command, "--help")
            self.assert_code(text, 0)
            self.assertIn("Examples:", text.out)
        self.assertIn("quotient", self.quotient("version").out)
        self.assertIn("engine", self.quotient("version", "--json").json())
        self.assertIn("complete", self.quotient("completion", "bash").out)

    def test_rules_have_equations_and_certificates(self):
        self.assertRegex(self.quotient("rules").out, r"(?m)^conv-sum +exact +\d+ +\d+ +\d+/6  Conv\(x, a\) \+ Conv\(x, b\) = ")
        for rule in self.quotient("rules", "--json").json():
            self.assertIn(rule["certificate"]["tier"], ("exact", "exact for any function", "numeric"), rule["name"])
            self.assertTrue(rule["family"], rule["name"])
            self.assertNotIn("=>", rule["equation"])
            # Not the last line of an explanation alone.
            self.assertRegex(rule["equation"], r"=| is ", rule["name"])

    def test_one_rule_is_shown_whole(self):
        shown = self.quotient("rules", "max-of-negs")
        self.assert_code(shown, 0)
        for part in ("max-of-negs, of the family algebra\n", "\n  max-of-negs: Max(Neg(?x), Neg(?y)) => Neg(Min(?x, ?y)) if float(?x)\n",
                     "\nguards:\n  float(?x)\n", "\ncertificate: numeric\n", "\nstatistics: it has had no match in the jobs so far\n"):
            self.assertIn(part, shown.out)
        rule = self.quotient("rules", "max-of-negs", "--json").json()
        self.assertEqual(("max-of-negs", "algebra", ["float(?x)"], []),
                         (rule["name"], rule["family"], rule["guards"], rule["statistics"]["devices"]))
        missing = self.quotient("rules", "max-rel")
        self.assert_code(missing, 2)
        self.assertIn("no rule is called 'max-rel'; near it: max-relu", missing.err)
        self.assertIn("'quotient rules' lists them all", self.quotient("rules", "zebra").err)

    def test_mistakes_exit_2(self):
        onnx.save(models.conv_bn_relu(1), self.folder / "m.onnx")
        for arguments in ((), ("dance",), ("optimize", "m.onnx"), ("optimize", "m.onnx", "-o"),
                          ("optimize", "no.onnx", "-o", "o.onnx", "--local"),
                          ("optimize", "m.onnx", "-o", "no/o.onnx", "--local"),
                          ("optimize", "m.onnx", "-o", "o.onnx", "--device", "abacus"),
                          ("completion", "tcsh")):
            self.assert_code(self.quotient(*arguments), 2)

    def test_a_fifo_is_no_model_and_nobody_waits_for_it(self):
        os.mkfifo(self.folder / "fifo")
        onnx.save(models.conv_bn_relu(1), self.folder / "m.onnx")
        for arguments in (("inspect", "fifo", "--local"), ("submit", "fifo"),
                          ("optimize", "fifo", "-o", "o.onnx", "--local"),
                          ("optimize", "m.onnx", "-o", "o.onnx", "--device-snapshot", "fifo")):
            self.assert_code(self.quotient(*arguments), 2, "fifo: not a regular file")

    def test_no_output_replaces_an_input(self):
        models.with_external_data(models.conv_bn_relu(), self.folder / "m.onnx", "weights.bin")
        (self.folder / "link").symlink_to("weights.bin")
        before = {path: path.read_bytes() for path in self.folder.iterdir()}
        for output in ("m.onnx", "weights.bin", "link"):
            for option in ("-o", "--report", "--html"):
                if (output, option) == ("m.onnx", "-o"):
                    continue  # A model may be optimized in its place.
                outputs = ("-o", "out.onnx") if option != "-o" else ()
                result = self.quotient("optimize", "m.onnx", "--local", *outputs, option, output)
                self.assert_code(result, 2, output)
        self.assertEqual({path: path.read_bytes() for path in self.folder.iterdir()}, before)

    def test_a_model_is_optimized_in_its_place(self):
        models.with_external_data(models.branches(), self.folder / "m.onnx", "weights.bin")
        original = self.folder / "original"
        original.mkdir()
        for name in ("m.onnx", "weights.bin"):
            shutil.copy(self.folder / name, original)
        result = self.quotient("optimize", "m.onnx", "-o", "m.onnx", "--local", "--device",
                               "model:h200")
        self.assert_code(result, 0)
        self.assertIn("improved on", result.out)
        run_both(self, original / "m.onnx", self.folder / "m.onnx")
        self.assertEqual((self.folder / "weights.bin").read_bytes(),
                         (original / "weights.bin").read_bytes())

    def test_a_file_beyond_the_limit_of_the_system_is_told(self):
        def limit_files():
            resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
        onnx.save(models.conv_bn_relu(), self.folder / "m.onnx")
        result = subprocess.run(
            [harness.BIN / "quotient", "optimize", "m.onnx", "-o", "o.onnx", "--local", "--device",
             "model:h200"], capture_output=True, text=True, env=self.env, cwd=self.folder,
            timeout=harness.PATIENCE_SECONDS, check=False, preexec_fn=limit_files)
        self.assertEqual(result.returncode, 4, result)
        self.assertIn("o.onnx: File too large", result.stderr)
        self.assertFalse((self.folder / "o.onnx").exists())

    def test_no_server_exits_4(self):
        onnx.save(models.conv_bn_relu(1), self.folder / "m.onnx")
        result = self.quotient("optimize", "m.onnx", "-o", "o.onnx", "--server", "127.0.0.1:9")
        self.assert_code(result, 4, "127.0.0.1:9")
        self.assertFalse((self.folder / "o.onnx").exists())

    def test_an_unknown_job_exits_2_and_an_unfinished_one_5(self):
        self.serve()
        self.assert_code(self.quotient("result", "jobs/none"), 2, "JOB_NOT_FOUND")
        onnx.save(models.slow_to_time(), self.folder / "m.onnx")
        job = self.quotient("submit", "m.onnx").out.strip()
        self.assert_code(self.quotient("result", job), 5, "JOB_NOT_FINISHED")


if __name__ == "__main__":
    unittest.main()
