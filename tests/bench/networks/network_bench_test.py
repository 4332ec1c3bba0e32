"""network_bench: its lines, its table and its picture say the same, and what is wrong is said."""

import csv
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

sys.path += [str(pathlib.Path(__file__).parents[2] / folder) for folder in ("e2e", "support")]
import models  # noqa: E402
import numpy as np  # noqa: E402
import onnx  # noqa: E402
from onnx import helper  # noqa: E402
from programs import BIN  # noqa: E402

BENCH = BIN / "network_bench"
COLUMNS = ["network", "device", "strategy", "seed", "cost_before_us", "cost_after_us",
           "measured_before_us", "measured_after_us", "error_norm", "seconds", "seconds_to_1_percent",
           "simulations", "enodes"]
SVG = "{http://www.w3.org/2000/svg}"


def bench(*arguments):
    return subprocess.run([BENCH, *map(str, arguments)], capture_output=True, text=True, timeout=300)


def strategies():
    """The strategies that there are, as the program lists them."""
    refused = bench("--strategies", "none").stderr
    return re.search(r"'none' is not one of: ([\w, -]+)", refused)[1].split(", ")


STRATEGIES = strategies()


class NetworkBenchTest(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.folder = pathlib.Path(directory.name)
        self.csv = self.folder / "runs.csv"
        self.curves = self.folder / "curves.csv"
        self.svg = self.folder / "runs.svg"

    def model(self):
        """Two products with one input: one kernel does for both."""
        weights = [models.tensor(name, np.full((64, 64), number, np.float32))
                   for name, number in (("v", 0.5), ("w", 0.25))]
        nodes = [helper.make_node("MatMul", ["x", "v"], ["a"], name="a"),
                 helper.make_node("MatMul", ["x", "w"], ["b"], name="b"),
                 helper.make_node("Concat", ["a", "b"], ["y"], name="y", axis=1)]
        path = self.folder / "twins.onnx"
        onnx.save(models.model(nodes, [models.value("x", [16, 64])],
                               [models.value("y", [16, 128])], weights), path)
        return path

    def runs(self, *arguments):
        """What the CSV file says, and the lines of the table."""
        ran = bench("--csv", self.csv, *arguments)
        self.assertEqual(0, ran.returncode, ran.stderr)
        for line in ran.stderr.splitlines():
            self.assertIn(": note: ", line)
        with self.csv.open(newline="") as file:
            rows = list(csv.DictReader(file))
            self.assertEqual(COLUMNS, list(rows[0]))
        lines = ran.stdout.splitlines()
        self.assertEqual([list(row.values()) for row in rows],
                         [line.split("\t") for line in lines[1:len(rows) + 1]])
        return rows, [line.split() for line in lines[len(rows) + 1:]]

    def check(self, row):
        self.assertGreater(float(row["cost_after_us"]), 0)
        if row["seconds_to_1_percent"]:
            self.assertLess(0, float(row["seconds_to_1_percent"]))
            self.assertLessEqual(float(row["seconds_to_1_percent"]), float(row["seconds"]))
        self.assertGreater(int(row["enodes"]), 0)

    def test_each_strategy_on_models_of_devices(self):
        devices = ["model:h200", "model:h200-strict32"]
        rows, table = self.runs("--devices", ",".join(devices), "--seeds", 2, "--budget", "1s",
                                "--max-nodes", 500, "--svg", self.svg, "--curves", self.curves, self.model())
        self.assertEqual({("twins", device, strategy, seed) for device in devices
                          for strategy in STRATEGIES for seed in "01"},
                         {tuple(list(row.values())[:4]) for row in rows})
        for row in rows:
            self.check(row)
            self.assertLess(float(row["cost_after_us"]), float(row["cost_before_us"]))
            self.assertNotEqual("", row["seconds_to_1_percent"])
            self.assertEqual(["", ""], [row["measured_before_us"], row["measured_after_us"]])
            self.assertEqual(row["strategy"] == "saturate", row["simulations"] == "0")
        summed_up = [line for line in table if line and line[0] == "twins"]
        self.assertEqual(2 * STRATEGIES, [line[1] for line in summed_up])
        for row, line in zip(rows[:4], summed_up):  # of the first device and seed
            self.assertAlmostEqual(float(row["cost_before_us"]), float(line[2]), delta=0.006)
        self.check_curves(rows)
        self.check_picture([f"twins, {device}" for device in devices])

    def check_curves(self, rows):
        """The curve of each run falls to what the run came to."""
        curves = {}
        with self.curves.open(newline="") as file:
            for point in csv.DictReader(file):
                curves.setdefault(tuple(point.values())[:4], []).append((float(point["at"]), float(point["cost_us"])))
        self.assertEqual([tuple(row.values())[:4] for row in rows], list(curves))
        for row, curve in zip(rows, curves.values()):
            self.assertEqual(sorted(curve), curve)
            self.assertEqual(sorted((cost for _, cost in curve), reverse=True), [cost for _, cost in curve])
            self.assertAlmostEqual(float(row["cost_after_us"]), curve[-1][1], delta=0.01 * curve[-1][1])

    def check_picture(self, names):
        root = xml.etree.ElementTree.parse(self.svg).getroot()
        panels = root.findall(f"{SVG}g")
        self.assertEqual(names, [panel.find(f"{SVG}text[@class='name']").text for panel in panels])
        for panel in panels:
            lines = panel.findall(f"{SVG}polyline")
            self.assertEqual(STRATEGIES,
                             [line.find(f"{SVG}title").text.split(":")[0] for line in lines])
            for line in lines:
                points = [tuple(map(float, point.split(","))) for point in line.get("points").split()]
                self.assertEqual(sorted(points), points)  # time runs on, and costs fall
                self.assertGreater(points[-1][1], points[0][1])

    def test_rules_that_are_left_out_gain_nothing(self):
        rows, _ = self.runs("--devices", "model:h200", "--strategies", "saturate", "--seeds", 1, "--budget", "1s",
                            "--without", "matmul-merge", self.model())
        self.assertEqual(rows[0]["cost_before_us"], rows[0]["cost_after_us"])
        self.assert_reached()
        refused = bench("--without", "matmul-merges", self.model())
        self.assertNotEqual(0, refused.returncode)
        self.assertIn("matmul-merges", refused.stderr)

    def assert_reached(self):
        """More rules come to a lower cost, and to that of fewer rules as well. The other way round they do not."""
        without, full = self.folder / "without.csv", self.folder / "full.csv"
        options = ("--devices", "model:h200", "--strategies", "mcts,saturate", "--seeds", 2, "--budget", "1s")
        self.runs(*options, "--without", "matmul-merge", "--curves", without, self.model())
        self.runs(*options, "--curves", full, self.model())
        tool = pathlib.Path(__file__).with_name("reached.py")
        for files, status in (((without, full), 0), ((full, without), 1)):
            told = subprocess.run([sys.executable, tool, *files], capture_output=True, text=True)
            self.assertEqual((status, ""), (told.returncode, told.stderr))
            rows = [line.strip("| ").split(" | ") for line in told.stdout.splitlines()]
            self.assertEqual([["twins", "model:h200", "mcts"], ["twins", "model:h200", "saturate"]],
                             [row[:3] for row in rows])
            for row in rows:
                self.assertEqual(status == 1, float(row[4]) < float(row[5]))
                self.assertEqual(status == 1, row[7] == "never")

    def test_who_finds_nothing_is_not_the_fastest(self):
        path = self.folder / "alone.onnx"
        weight = models.tensor("w", np.full((64, 64), 0.5, np.float32))
        node = helper.make_node("MatMul", ["x", "w"], ["y"], name="y")
        onnx.save(models.model([node], [models.value("x", [16, 64])],
                               [models.value("y", [16, 64])], [weight]), path)
        rows, table = self.runs("--devices", "model:h200", "--strategies", "mcts,saturate",
                                "--seeds", 2, "--budget", "1s", path, self.model())
        self.assertEqual(4 * ["alone"] + 4 * ["twins"], [row["network"] for row in rows])
        self.assertEqual(4 * [True] + 4 * [False],
                         [row["seconds_to_1_percent"] == "" for row in rows])
        to_1_percent = [line[7] for line in table[3:]]
        self.assertEqual(["-", "-"], to_1_percent[:2])
        self.assertNotIn("-", to_1_percent[2:])

    def test_networks_of_narrow_floats(self):
        rows, table = self.runs("--devices", "model:h200", "--strategies", "saturate", "--seeds", 1,
                                "--budget", "1s", "--max-nodes", 3000, "--networks", "nasrnn",
                                "--type", "float16")
        self.assertEqual(["nasrnn-float16"], [row["network"] for row in rows])
        self.assertIn("nasrnn-float16", [line[0] for line in table if line])
        ran = bench("--type", "half")
        self.assertEqual(2, ran.returncode)
        self.assertIn("--type: wants float32, float16 or bfloat16, not half", ran.stderr)

    def test_what_is_measured(self):
        timings = self.folder / "timings"
        for _ in range(2):  # the second time all kernels are known
            rows, table = self.runs("--devices", "cpu", "--strategies", "saturate", "--seeds", 1,
                                    "--budget", "2s", "--timings", timings, self.model())
            self.assertEqual(1, len(rows))
            self.check(rows[0])
            self.assertGreater(float(rows[0]["measured_before_us"]), 0)
            self.assertGreater(float(rows[0]["measured_after_us"]), 0)
            self.assertIn("measured", table[2])
            self.assertGreater(timings.stat().st_size, 0)

    def predicted(self, *rows):
        self.csv.write_text("\n".join([",".join(COLUMNS), *rows]) + "\n")
        predicted = pathlib.Path(__file__).with_name("predicted.py")
        return subprocess.run([sys.executable, predicted, self.csv], capture_output=True, text=True,
                              timeout=60)

    def test_how_well_costs_predict(self):
        ran = self.predicted("a,cuda,mcts,0,100,90,110,88,2e-6,1,1,5,7",
                             "b,cuda,mcts,0,50,50,50,50.5,,1,,5,7",
                             "c,model:h200,mcts,0,5,4,,,,1,1,5,7")
        self.assertEqual(1, ran.returncode, ran.stderr)
        lines = [line.split() for line in ran.stdout.splitlines()]
        self.assertIn(["a", "100.0", "110.0", "90.0", "88.0", "20.0%", "9.1%", "2.0e-06"], lines)
        self.assertIn("median of predictions off by 1.6%", ran.stdout)
        self.assertIn("measured at most 1.10 times predicted", ran.stdout)
        self.assertIn("slower: b on cuda", ran.stdout)
        self.assertNotIn("model:h200", ran.stdout)

    def test_networks_that_a_gpu_did_not_measure(self):
        ran = self.predicted("a,cuda,mcts,0,100,90,110,88,,1,1,5,7", "b,cuda,mcts,0,50,50,,,,1,,5,7")
        self.assertEqual(1, ran.returncode, ran.stderr)
        self.assertIn("not measured: b on cuda", ran.stdout)

    def test_graphs_that_are_predicted_to_take_no_time(self):
        ran = self.predicted("a,cuda,mcts,0,100,0,110,2,,1,1,5,7",
                             "b,cpu,mcts,0,0,0,3,,,1,,5,7")
        self.assertEqual(0, ran.returncode, ran.stderr)
        self.assertEqual(1, ran.stdout.count("measured at most"), ran.stdout)
        self.assertIn("measured at most 1.10 times predicted", ran.stdout)
        self.assertIn("median of predictions off by 100.0%", ran.stdout)

    def test_networks_of_the_papers_stand_beside_what_was_published(self):
        rows, table = self.runs("--networks", "nasrnn", "--devices", "model:h200", "--strategies",
                                "saturate", "--seeds", 1, "--budget", "5s")
        self.assertEqual("nasrnn", rows[0]["network"])
        self.assertIn("published", table[2])
        self.assertIn("18.9", table[3])

    def test_help(self):
        ran = bench("--help")
        self.assertEqual((0, ""), (ran.returncode, ran.stderr))
        for option in ("--networks", "--devices", "--strategies", "--seeds", "--budget", "--csv",
                       "--svg", "--timings", "--faithful"):
            self.assertIn(option, ran.stdout)

    def test_wrong_files_are_named_and_the_others_run(self):
        ran = bench("--devices", "model:h200", "--strategies", "saturate", "--seeds", 1, "--budget",
                    "1s", self.folder / "nowhere.onnx", self.model())
        self.assertEqual(1, ran.returncode)
        self.assertIn("nowhere.onnx", ran.stderr)
        self.assertIn("\ntwins\tmodel:h200\tsaturate\t0\t", ran.stdout)

    def test_wrong_arguments_are_named_before_anything_runs(self):
        for arguments, message in [
                (["--networks", "lenet"], "--networks: wants some of bert, nasrnn"),
                (["--devices", "gpu"], "'gpu' is not one of: auto, cpu, onnxruntime"),
                (["--strategies", "mcts,best"], "'best' is not one of: mcts, saturate"),
                (["--strategies", "mcts,,pact"], "--strategies: wants A,B, without gaps"),
                (["--strategies", "mcts,mcts"], "--strategies: mcts is there twice"),
                (["--seeds", 0], "--seeds: wants a number from 1 on, not 0"),
                (["--budget", "soon"], "soon"),
                (["--budget", "100000s"], "budget"),
                (["a/twins.onnx", "b/twins.onnx"], "there is another network twins"),
                (["--csv"], "--csv: wants a value")]:
            with self.subTest(arguments=arguments):
                ran = bench(*arguments)
                self.assertEqual((2, ""), (ran.returncode, ran.stdout))
                self.assertIn(message, ran.stderr)

    def test_a_device_that_is_not_there_is_named_once_before_anything_runs(self):
        ran = bench("--devices", "model:h200,cuda:99", "--csv", self.csv, self.model(),
                    self.folder / "another.onnx")
        self.assertEqual((1, ""), (ran.returncode, ran.stdout))
        self.assertRegex(ran.stderr, r"^network_bench: cuda:99: [^\n]+\n$")
        self.assertFalse(self.csv.exists())

    def test_files_that_cannot_be_written_are_named_before_anything_runs(self):
        for option in ("--csv", "--svg"):
            for path, message in ((self.folder / "no" / "file", "No such file or directory"),
                                  (self.folder, "")):
                ran = bench("--devices", "model:h200", option, path, self.model())
                self.assertEqual((1, ""), (ran.returncode, ran.stdout))
                self.assertRegex(ran.stderr, f"{path}[: ].*{message}")


if __name__ == "__main__":
    unittest.main()
