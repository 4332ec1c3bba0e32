"""model_table: the answers of Quotient and of simplifiers are judged by what they compute and how fast."""

import csv
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, os.path.dirname(__file__))
sys.path.append(str(pathlib.Path(__file__).parents[2] / "support"))
import answers  # noqa: E402
import judge  # noqa: E402
import rank_table  # noqa: E402
from programs import BIN  # noqa: E402

TABLE = pathlib.Path(__file__).with_name("model_table.py")
QUOTIENT = BIN / "quotient"


def model_of(weight, operators):
    """x [1, 64] times a weight, then unary operators."""
    nodes = [helper.make_node("MatMul", ["x", "w"], ["t0"])]
    for i, operator in enumerate(operators):
        nodes.append(helper.make_node(operator, [f"t{i}"], [f"t{i + 1}"]))
    value = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 64])
             for name in ("x", f"t{len(operators)}")]
    graph = helper.make_graph(nodes, "g", value[:1], value[1:], [numpy_helper.from_array(weight, "w")])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


class ModelTableTest(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.folder = pathlib.Path(directory.name)
        self.weight = np.random.default_rng(1).standard_normal((64, 64), np.float32)

    def save(self, name, model):
        path = self.folder / name
        onnx.save(model, path)
        return path

    def judged(self, original, answer):
        _, verdicts = judge.judge(original, {"answer": answer}, None, 1, 0, 5)
        return verdicts["answer"]

    def test_pairs_that_take_the_same_time_say_nothing_of_the_order(self):
        measured = [10.0, 10.1, 20.0, 30.0]
        self.assertEqual((1.0, 5), rank_table.correlation([2, 1, 3, 4], measured)[:2])
        self.assertEqual((0.6, 5), rank_table.correlation([1, 2, 4, 3], measured)[:2])
        self.assertEqual((None, 0), rank_table.correlation([1, 2], [10.0, 10.1])[:2])

    def test_of_a_single_form_no_order_can_be_told(self):
        tau, pairs, spearman = rank_table.correlation([1.0], [2.0])
        line = rank_table.line({"model": "m", "forms": 1, "fastest_ms": 2, "slowest_ms": 2, "off": 0.5, "pairs": pairs,
                                "tau": tau, "spearman": spearman})
        self.assertTrue(line.endswith("0 pairs, tau -, Spearman -"), line)

    def test_of_disturbed_runs_no_time_is_told(self):
        report = {"outcome": "improved", "device": {"name": "cpu"}, "predicted_speedup_percent": None,
                  "speedup_percent": 35.2, "phase_seconds": {}, "journal": []}
        for graph in ("original", "optimized"):
            report[graph] = {"predicted_us": 100, "kernels": {"estimated": 0},
                             "measured_us": {"median": None, "runs": 2, "disturbed": True}}
        row = answers.of_report(report)
        self.assertEqual((None, None, None), tuple(row[key] for key in (
            "measured_ms", "predicted_of_measured", "result_predicted_of_measured")))
        self.assertEqual(35.2, row["measured_gain"])

    def test_forms_are_told_apart_by_operators_and_weights(self):
        wide = np.ones((64, 128), np.float32)
        paths = [self.save(f"{i}.onnx", model) for i, model in enumerate((
            model_of(self.weight, ["Relu"]), model_of(self.weight + 1, ["Relu"]), model_of(self.weight, ["Neg"]),
            model_of(wide, ["Relu"])))]
        first, equal, *others = map(rank_table.signature, paths)
        self.assertEqual(first, equal)
        self.assertTrue(all(other != first for other in others))

    def test_table_of_a_folder(self):
        models = self.folder / "models"
        models.mkdir()
        self.save("models/chain.onnx", model_of(self.weight, ["Relu", "Relu"]))
        figures = self.folder / "figures.csv"
        ran = subprocess.run(
            [sys.executable, TABLE, models, "--quotient", QUOTIENT, "--devices", "cpu", "--out",
             self.folder / "out", "--csv", figures, "--race-seconds", "0", "--", "--budget", "1s"],
            capture_output=True, text=True)
        self.assertEqual((0, ""), (ran.returncode, ran.stderr), ran.stdout)
        with figures.open() as file:
            (row,) = csv.DictReader(file)
        self.assertEqual(("chain", "cpu", "True"), (row["model"], row["by"], row["same"]))
        self.assertGreater(float(row["peak_mib"]), 1)
        self.assertGreater(float(row["ratio"]), 0)
        self.assertIn("cpu: 1 models", ran.stdout)

    def test_busy_table_of_a_folder(self):
        models = self.folder / "models"
        models.mkdir()
        self.save("models/chain.onnx", model_of(self.weight, ["Relu", "Relu"]))
        figures = self.folder / "figures.csv"
        ran = subprocess.run(
            [sys.executable, TABLE.with_name("busy_table.py"), models, "--quotient", QUOTIENT, "--device", "cpu",
             "--out", self.folder / "out", "--csv", figures, "--race-seconds", "0", "--", "--budget", "1s"],
            capture_output=True, text=True)
        self.assertEqual((0, ""), (ran.returncode, ran.stderr), ran.stdout)
        with figures.open() as file:
            (row,) = csv.DictReader(file)
        self.assertEqual(("chain", "True"), (row["model"], row["same"]))
        self.assertIn(row["same_kernels"], ("True", "False"))
        self.assertRegex(ran.stdout, "[01] of 1: the same was chosen")

    def test_models_that_run_the_same_kernels(self):
        one = self.save("a.onnx", model_of(self.weight, ["Relu"]))
        same = self.save("b.onnx", model_of(self.weight * 2, ["Identity", "Relu"]))
        other = self.save("c.onnx", model_of(self.weight, ["Tanh"]))
        self.assertEqual(judge.kernels_of(one, 1), judge.kernels_of(same, 1))
        self.assertNotEqual(judge.kernels_of(one, 1), judge.kernels_of(other, 1))

    def test_unknown_simplifier(self):
        ran = subprocess.run([sys.executable, TABLE, self.folder, "--simplifiers", "magic"],
                             capture_output=True, text=True)
        self.assertEqual(2, ran.returncode)
        self.assertIn("no such simplifier: magic", ran.stderr)

    def test_other_values_are_not_the_same(self):
        original = self.save("a.onnx", model_of(self.weight, ["Relu"]))
        self.assertTrue(self.judged(original, original)["same"])
        other = self.save("b.onnx", model_of(self.weight * 1.01, ["Relu"]))
        self.assertFalse(self.judged(original, other)["same"])

    def test_another_interface_is_not_the_same(self):
        original = self.save("a.onnx", model_of(self.weight, ["Relu"]))
        renamed = self.save("b.onnx", model_of(self.weight, ["Relu", "Identity"]))
        self.assertFalse(self.judged(original, renamed)["same"])

    def test_an_answer_that_does_not_load(self):
        original = self.save("a.onnx", model_of(self.weight, ["Relu"]))
        broken = self.folder / "b.onnx"
        broken.write_bytes(b"no model")
        verdict = self.judged(original, broken)
        self.assertFalse(verdict["same"])
        self.assertIn("error", verdict)

    def test_ratio_above_one_is_faster(self):
        self.assertEqual([2, 2, 2], judge.ratios([4.0, 4.0, 4.0], [2.0, 2.0, 2.0]))

    def test_processes_below_are_counted(self):
        child = "x = bytearray(200 << 20)"
        parent = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}])"
        status, _, _, peak = answers.run_watched([sys.executable, "-c", parent])
        self.assertEqual(0, status)
        self.assertGreater(peak, 200 << 20)

    def test_every_timed_run_follows_one_of_the_same_session_and_rounds_begin_with_each(self):
        log = []

        class Session:
            def run(self, _, feeds):
                log.append((self, feeds))

        sessions = [Session() for _ in range(3)]
        times = judge.race(sessions, "feeds", seconds=0, least_rounds=2)
        self.assertEqual([2, 2, 2], [len(mine) for mine in times])
        order = [sessions.index(item) for item, _ in log[len(sessions):]]
        self.assertEqual([0, 0, 1, 1, 2, 2, 2, 2, 1, 1, 0, 0,
                          1, 1, 2, 2, 0, 0, 0, 0, 2, 2, 1, 1], order)

    def test_the_memory_of_the_table_itself_does_not_count(self):
        own = bytearray(300 << 20)
        own[::4096] = b"1" * len(own[::4096])
        status, errors, _, peak = answers.run_watched([sys.executable, "-c", "import sys; sys.exit('late')"])
        self.assertEqual((1, "late\n"), (status, errors))
        self.assertLess(peak, 100 << 20)

    def test_a_program_that_is_not_there_is_told(self):
        status, errors, _, _ = answers.run_watched(["/no/such/program"])
        self.assertNotEqual(0, status)
        self.assertIn("/no/such/program", errors)

    def test_a_family_is_worth_what_the_answer_without_it_lacks(self):
        model = model_of(self.weight, ["Relu"])
        model.graph.initializer.append(numpy_helper.from_array(self.weight + 1, "v"))
        model.graph.node.insert(1, helper.make_node("MatMul", ["x", "v"], ["t"]))
        model.graph.node.insert(2, helper.make_node("Add", ["t0", "t"], ["sum"]))
        model.graph.node[3].input[0] = "sum"
        self.save("m.onnx", model)
        folder = self.folder / "families"
        ran = subprocess.run([sys.executable, TABLE.with_name("family_table.py"), self.folder, "--device", "model:h200",
                              "--quotient", QUOTIENT, "--out", folder, "--csv", self.folder / "t.csv",
                              "--judge", "--race-seconds", "0.1"],
                             capture_output=True, text=True, check=False)
        self.assertEqual(0, ran.returncode, ran.stdout + ran.stderr)
        with open(self.folder / "t.csv", newline="") as file:
            rows = {row["family"]: row for row in csv.DictReader(file)}
        row = rows["matmul"]
        self.assertLess(float(row["with_predicted_ms"]), float(row["without_predicted_ms"]))
        self.assertLessEqual(float(row["without_predicted_ms"]), float(row["before_predicted_ms"]))
        self.assertEqual(("True", "True"), (row["with_same"], row["without_same"]))
        self.assertEqual([], list(folder.glob("*.onnx*")), "answers are large")
        self.assertTrue((folder / "m.matmul.json").exists())

if __name__ == "__main__":
    unittest.main()
