"""What users see: options, progress, reports and results."""

import datetime
import io
import json
import pathlib
import sys
import tempfile
import typing
import unittest
from unittest import mock

import quotient
from quotient import options, progress, result
from quotient.v1 import optimizer_pb2


class OptionsTest(unittest.TestCase):
    def test_are_those_of_the_api(self):
        names = typing.get_type_hints(quotient.Options)
        self.assertEqual(set(names), {*options.OPTIMIZE_FIELDS, *options.POLICY_FIELDS})
        self.assertIn("budget", names)

    def test_become_messages(self):
        optimize, policy = options.to_messages({
            "budget": datetime.timedelta(minutes=1), "search_budget": 2.5, "threads": 2, "device": "cpu",
            "shapes": {"x": (1, 3)}, "disabled_rules": ["a", "b"], "freeze_initializers": True,
            "priority": 3, "queue_deadline": 1.5, "run_deadline": datetime.timedelta(hours=1)})
        self.assertEqual((optimize.budget_seconds, optimize.search_budget_seconds), (60, 2.5))
        self.assertEqual(list(optimize.shapes["x"].dims), [1, 3])
        self.assertEqual(list(optimize.disabled_rules), ["a", "b"])
        self.assertTrue(optimize.freeze_initializers)
        self.assertFalse(optimize.HasField("seed"))
        self.assertEqual(policy.queue_deadline.ToTimedelta().total_seconds(), 1.5)
        self.assertEqual((policy.priority, policy.run_deadline.seconds), (3, 3600))

    def test_unknown_ones_name_the_nearest(self):
        for name, near in (("budgt", "budget"), ("budget_seconds", "budget"), ("thread", "threads"),
                           ("simulations", "max_simulations"), ("keep_values", "kept_values")):
            with self.assertRaisesRegex(TypeError, f"no option '{name}'; did you mean {near}"):
                options.to_messages({name: 1})
        with self.assertRaisesRegex(TypeError, "no option 'xyzzy'$"):
            options.to_messages({"xyzzy": 1})

    def test_values_of_other_types_name_the_option(self):
        for name, value in (("threads", "two"), ("device", 5), ("why_not", "rule@node"), ("shapes", [1, 2]),
                            ("shapes", {"x": "1,2"}), ("queue_deadline", "1s"), ("threads", 2**40)):
            with self.assertRaisesRegex(TypeError, f"the option {name} cannot be"):
                options.to_messages({name: value})


class ProgressTest(unittest.TestCase):
    def test_is_the_line_of_the_command_line(self):
        message = optimizer_pb2.Progress(phase="search", original_cost_us=200, best_share=0.75, enodes=77,
                                         detail="rule x")
        message.elapsed.FromMilliseconds(12340)
        self.assertEqual(str(progress.of_progress(message)),
                         "search     12.3 s   77 e-nodes   gain by e-nodes 25.0 %   rule x")
        self.assertEqual(str(progress.Progress("RUNNING", phase="read", elapsed=0.1)), "read        0.1 s")
        self.assertEqual(str(progress.Progress("FAILED", reason="\x1b[2J")), "FAILED (?[2J)")

    def test_the_bar_shows_phase_and_gain(self):
        out = io.StringIO()
        with mock.patch("sys.stderr", out):
            bar = progress.Bar("m.onnx", wanted=True)
            bar.show(progress.Progress("RUNNING", reason="claimed"))
            bar.show(progress.Progress("RUNNING", phase="search", fraction=0.5, best_share=0.75))
            bar.show(progress.Progress("RUNNING", phase="of a newer server"))
            bar.close(ended=True)
        for text in ("m.onnx", "running", "search", "gain by e-nodes 25.0 %", "done"):
            self.assertIn(text, out.getvalue())

    def test_without_tqdm_or_a_terminal_there_is_no_bar(self):
        out = io.StringIO()
        with mock.patch("sys.stderr", out):
            for wanted, modules in ((True, {"tqdm.auto": None}), (None, {}), (False, {})):
                with mock.patch.dict(sys.modules, modules):
                    bar = progress.Bar("m.onnx", wanted)
                    bar.show(progress.Progress("RUNNING", phase="search"))
                    bar.close(ended=False)
        self.assertEqual(out.getvalue(), "")


def graph(nodes, us, median=None):
    runs = 0 if median is None else 50
    return {"nodes": nodes, "predicted_us": us, "kernels": {"measured": nodes, "estimated": 0},
            "measured_us": {"median": median, "p10": None, "p90": None, "runs": runs, "disturbed": False}}


def report(**changes):
    data = {"outcome": "improved", "passed_through": None, "model": "m.onnx", "engine": "0.3.0", "measured": True,
            "device": {"name": "onnxruntime", "hardware": "AMD EPYC", "library": "ONNX Runtime 1.31.1",
                       "threads": 2, "recorded": None},
            "original": graph(10, 20_000.0, 21_000.0), "optimized": graph(5, 100.0, 110.5),
            "speedup_percent": 40.25, "speedup_interval_percent": {"low": 38.0, "high": 42.0},
            "predicted_speedup_percent": 50.0,
            "considered": [{"taken": False, "grounds": "not_sure"}, {"taken": True, "grounds": "measured_likely"}],
            "gains": {"by_rules": [
                {"rules": list("abcdef"), "saved_us": 15.0, "saved_percent": 7.5, "estimated": True,
                 "regions": [{"sites": ["a", "b"]}, {"sites": ["c"]}]},
                {"rules": [], "saved_us": 0.01, "saved_percent": 0.01, "estimated": False, "regions": []}]},
            "notes": ["one\nline", "\x1b[2J"], **changes}
    return quotient.Report(json.dumps(data), "<html>\"page\"</html>")


class ReportTest(unittest.TestCase):
    def test_as_text(self):
        self.assertEqual(str(report()).splitlines(), [
            "m.onnx: improved on onnxruntime (likely by the measurement, but not surely)",
            "Measured on: ONNX Runtime 1.31.1 on AMD EPYC, 2 threads, by Quotient 0.3.0",
            "",
            "                     original      optimized       gain",
            "  nodes                    10              5",
            "  predicted          20.00 ms       100.0 us     50.0 %",
            "  measured           21.00 ms       110.5 us     40.2 %",
            "    between*                                 38.0 to 42.0 %",
            "  * with 99 % confidence",
            "",
            "         saved   of all  predicted, by rules",
            "      ~15.0 us    7.5 %  a, b, c, d and 2 more: 3 places",
            "  note: one line",
            "  note: ?[2J",
        ])

    def test_what_was_not_run_or_not_optimized_says_so(self):
        text = str(report(original=graph(1, 1.0), optimized=graph(1, 1.0), speedup_interval_percent=None,
                          predicted_speedup_percent=None, measured=False))
        self.assertNotIn("Measured on", text)
        self.assertIn("unknown", text)
        self.assertIn("Nothing was measured: every cost comes from the analytic model onnxruntime.", text)
        text = str(report(passed_through="because", outcome="no_improvement"))
        self.assertEqual(text.splitlines()[0], "m.onnx: no improvement on onnxruntime")
        self.assertNotIn("nodes", text)

    def test_attributes(self):
        one = report()
        self.assertEqual((one.model_name, one.improved, one.device, one.engine_version),
                         ("m.onnx", True, "onnxruntime", "0.3.0"))
        self.assertEqual((one.nodes, one.predicted_us, one.measured_us), ((10, 5), (20_000, 100), (21_000, 110.5)))
        self.assertEqual((one.measured_gain_percent, one.measured_gain_interval, one.predicted_gain_percent),
                         (40.25, (38, 42), 50))
        self.assertIsNone(report(speedup_interval_percent=None).measured_gain_interval)

    def test_notebooks_show_the_page_in_a_frame_of_its_own(self):
        shown = report()._repr_html_()
        self.assertIn('<iframe sandbox=""', shown)
        self.assertIn("&lt;html&gt;&quot;page&quot;", shown)
        large = quotient.Report(report().json, "x" * 2**21)._repr_html_()
        self.assertLess(len(large), 10_000)
        self.assertIn("<pre>", large)

    def test_is_saved_as_json_or_as_a_page(self):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            self.assertEqual(report().save(folder / "r.html").read_text(), report().html)
            self.assertEqual(json.loads(report().save(folder / "r.json").read_text()), report().data)


class ResultTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def made(self, **files):
        """A result whose model and weights have this content."""
        files = {name.replace("__", "/").replace("_", "."): data for name, data in files.items()}
        one = quotient.Result("jobs/a", True, report(), list(files))
        one.path.write_bytes(b"model")
        for name, data in files.items():
            one.place_of(name).write_bytes(data)
        return one

    def files(self):
        return {str(path.relative_to(self.folder)): path.read_bytes() for path in self.folder.rglob("*")
                if path.is_file()}

    def test_is_saved_with_its_weights(self):
        out = self.made(w_data=b"weights", in__w_data=b"more").save(self.folder / "new" / "out.onnx")
        self.assertEqual(out, self.folder / "new" / "out.onnx")
        self.assertEqual(self.files(),
                         {"new/out.onnx": b"model", "new/w.data": b"weights", "new/in/w.data": b"more"})

    def test_weights_of_other_models_are_not_replaced_and_then_nothing_is_written(self):
        (self.folder / "w.data").write_bytes(b"weights of another model")
        with self.assertRaisesRegex(quotient.OptionError, "is there with other content"):
            self.made(a_data=b"first", w_data=b"weights").save(self.folder / "out.onnx")
        self.assertEqual(self.files(), {"w.data": b"weights of another model"})
        (self.folder / "w.data").write_bytes(b"weights")
        self.made(w_data=b"weights").save(self.folder / "out.onnx")

    def test_those_of_an_earlier_run_are(self):
        name = result.external_location_of("a/m.onnx")
        self.assertEqual(name, "m.optimized.onnx.data")
        for weights in (b"one", b"two"):
            self.made(m_optimized_onnx_data=weights).save(self.folder / "m.optimized.onnx")
            self.assertEqual(self.files()[name], weights)

    def test_nothing_is_written_out_of_the_folder_or_under_two_names(self):
        (self.folder / "out").mkdir()
        (self.folder / "out" / "in").symlink_to(self.folder)
        with self.assertRaisesRegex(quotient.OptionError, "leads out of the folder"):
            self.made(in__w_data=b"weights").save(self.folder / "out" / "m.onnx")
        with self.assertRaisesRegex(quotient.OptionError, "is what the model calls its weights"):
            self.made(w_data=b"weights").save(self.folder / "w.data")
        with self.assertRaises(quotient.ModelError):
            self.made().place_of("../w.data")
        self.assertEqual(self.files(), {})

    def test_the_temporary_folder_goes_with_the_result(self):
        one = self.made(in__w_data=b"weights")
        folder = one.path.parent
        self.assertTrue((folder / "in" / "w.data").exists())
        del one
        self.assertFalse(folder.exists())

    def test_the_model_has_a_name_of_its_own(self):
        self.assertEqual(self.made(model_onnx=b"weights").model, b"model")
        self.assertEqual(result.model_file_name(["model.onnx", "_model.onnx/a"]), "__model.onnx")


if __name__ == "__main__":
    unittest.main()
