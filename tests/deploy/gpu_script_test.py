"""tests/gpu.sh with stand-ins for the programs that it runs: that what fails does not keep the rest
from being run, and what it returns."""

import os
import pathlib
import subprocess
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[1] / "gpu.sh"

# Each notes its name and arguments, and runs what the test has left for it to do first.
PROGRAM = """\
#!/bin/sh
here=$(dirname "$0")
echo "$(basename "$0") $*" >>"$here/calls"
if [ -e "$0.do" ]; then . "$0.do"; fi
"""
BENCH = PROGRAM + """\
while [ $# -gt 0 ]; do
  case $1 in
    --csv) csv=$2 ;;
    --timings) touch "$2" ;;
  esac
  shift
done
echo 'network,device,cost_before_us,cost_after_us,measured_before_us,measured_after_us' >"$csv"
echo "bert,cuda,10,8,11,${after:-9}" >>"$csv"
"""
QUOTIENT = PROGRAM + """\
while [ "$1" != -o ]; do shift; done
printf 'kernel 1.0 1.0\\nkernel 1.0 1.2\\nkernel unsupported\\n' >"$2"
"""
SKIPPED = """\
for test in 1 2; do printf 'gpu_under_test.cc:34: Skipped\\nno driver\\n'; done
printf '[  PASSED  ] 0 tests.\\n[  SKIPPED ] 2 tests.\\n'
"""
NO_GPU = "echo 'network_bench: cuda: no driver' >&2; exit 1"
TYPES = ["float32", "float16", "bfloat16"]


class GpuScriptTest(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.bin = pathlib.Path(directory.name) / "bin"
        self.out = pathlib.Path(directory.name) / "out"
        self.bin.mkdir()
        for name, text in (("kernels_cuda_gpu_test", PROGRAM), ("network_bench", BENCH),
                           ("quotient", QUOTIENT)):
            (self.bin / name).write_text(text)
            (self.bin / name).chmod(0o755)

    def do(self, program, text):
        (self.bin / f"{program}.do").write_text(text)

    def run_script(self, *arguments):
        environment = {**os.environ, "QUOTIENT_GPU_BIN": str(self.bin)}
        return subprocess.run([SCRIPT, *map(str, arguments)], env=environment, capture_output=True,
                              text=True, timeout=60)

    def calls(self):
        """The programs in the order they ran, with the types that benches were asked for."""
        try:
            lines = (self.bin / "calls").read_text().splitlines()
        except FileNotFoundError:
            return []
        return [" ".join([line.split()[0], *(word for word in line.split() if word in TYPES)])
                for line in lines]

    ALL = ["kernels_cuda_gpu_test", "network_bench", *(f"network_bench {t}" for t in TYPES),
           "quotient", "quotient"]

    def test_all_runs_each_part(self):
        ran = self.run_script("all", self.out)
        self.assertEqual((0, ""), (ran.returncode, ran.stderr))
        self.assertEqual(self.ALL, self.calls())
        for name in ("kernels.txt", "networks.csv", "networks.txt", "cuda-strict32.snapshot",
                     *(f"transformers-{t}.txt" for t in TYPES)):
            self.assertTrue((self.out / name).exists(), name)
        self.assertIn("cuda: 2 kernels with times, of 1 the quarter lies", ran.stdout)
        self.assertIn("measured at most", (self.out / "networks.txt").read_text())

    def test_what_comes_out_slower_is_told_and_the_rest_runs(self):
        self.do("network_bench", "after=12")
        ran = self.run_script("all", self.out)
        self.assertEqual(1, ran.returncode, ran.stderr)
        self.assertEqual(self.ALL, self.calls())
        self.assertEqual(4, ran.stdout.count("slower: bert on cuda"))

    def test_the_first_failure_is_what_is_returned(self):
        self.do("kernels_cuda_gpu_test", "exit 7")
        self.do("network_bench", "after=12")
        self.do("quotient", "exit 5")
        self.assertEqual(7, self.run_script("all", self.out).returncode)
        self.assertEqual(self.ALL, self.calls())
        self.do("kernels_cuda_gpu_test", "")
        self.assertEqual(1, self.run_script("all", self.out).returncode)
        self.assertEqual(5, self.run_script("snapshot", self.out).returncode)

    def test_a_bench_that_fails_on_its_way_is_looked_at_all_the_same(self):
        self.do("network_bench", "trap 'exit 9' EXIT")
        ran = self.run_script("networks", self.out)
        self.assertEqual(9, ran.returncode)
        self.assertIn("measured at most", ran.stdout)

    def test_without_a_gpu_that_is_said_once(self):
        self.do("kernels_cuda_gpu_test", SKIPPED)
        ran = self.run_script("all", self.out)
        self.assertEqual((4, "[  PASSED  ] 0 tests.\n[  SKIPPED ] 2 tests.\n",
                          "gpu.sh: there is no GPU to use here: no driver\n"),
                         (ran.returncode, ran.stdout, ran.stderr))
        self.assertEqual(["kernels_cuda_gpu_test"], self.calls())
        self.assertEqual(2, (self.out / "kernels.txt").read_text().count("no driver"))

    def test_without_a_gpu_each_part_returns_the_same_and_leaves_no_tables(self):
        self.do("kernels_cuda_gpu_test", SKIPPED)
        self.do("network_bench", NO_GPU)
        self.do("quotient", "echo 'quotient: DEVICE_NOT_PRESENT: no driver' >&2; exit 4")
        for arguments in (["kernels"], ["networks"], ["transformers", "float16"],
                          ["models", "a.onnx"], ["snapshot"]):
            with self.subTest(arguments=arguments):
                ran = self.run_script(arguments[0], self.out, *arguments[1:])
                self.assertEqual((4, 1), (ran.returncode, ran.stderr.count("no driver")))
        self.assertEqual(["kernels.txt"], [path.name for path in self.out.glob("*.txt")])

    def test_a_bench_that_cannot_begin_for_another_reason_is_not_without_a_gpu(self):
        self.do("network_bench", "echo 'network_bench: out/timings: damaged' >&2; exit 1")
        ran = self.run_script("networks", self.out)
        self.assertEqual((1, "network_bench: out/timings: damaged\n"), (ran.returncode, ran.stderr))
        self.assertEqual([], list(self.out.glob("*.txt")))

    def test_runs_of_before_are_not_looked_at_where_nothing_ran(self):
        self.assertEqual(0, self.run_script("networks", self.out).returncode)
        self.do("network_bench", NO_GPU)
        ran = self.run_script("networks", self.out)
        self.assertEqual((4, "", "network_bench: cuda: no driver\n"),
                         (ran.returncode, ran.stdout, ran.stderr))

    def test_transformers_are_of_one_type(self):
        self.assertEqual(0, self.run_script("transformers", self.out, "float16").returncode)
        self.assertEqual(["network_bench float16"], self.calls())

    def test_snapshots_want_timings(self):
        self.do("quotient", "echo 'quotient: no kernel has been measured' >&2; exit 2")
        ran = self.run_script("snapshot", self.out)
        self.assertEqual(2, ran.returncode)
        self.assertIn("run networks, transformers or models into", ran.stderr)
        self.assertEqual(["quotient"], self.calls())

    def test_programs_that_a_part_needs_are_asked_for_before_anything_is_made(self):
        for program, parts in (("kernels_cuda_gpu_test", ["kernels", "all"]),
                               ("network_bench", ["networks", "transformers", "models", "all"]),
                               ("quotient", ["snapshot", "all"])):
            (self.bin / program).rename(self.bin / "away")
            for part in parts:
                with self.subTest(program=program, part=part):
                    argument = {"transformers": ["float32"], "models": ["a.onnx"]}.get(part, [])
                    ran = self.run_script(part, self.out, *argument)
                    self.assertEqual(2, ran.returncode)
                    self.assertIn(f"cmake --build --preset release --target {program} ", ran.stderr)
            (self.bin / "away").rename(self.bin / program)
        self.assertEqual(([], False), (self.calls(), self.out.exists()))

    def test_programs_that_a_part_does_not_need_may_be_missing(self):
        (self.bin / "quotient").unlink()
        (self.bin / "network_bench").unlink()
        self.assertEqual(0, self.run_script("kernels", self.out).returncode)

    def test_wrong_calls(self):
        for arguments, message in [
                ((), "What only a GPU can show"), (("some",), "no part 'some'"),
                (("kernels",), "OUT is missing"),
                (("kernels", self.out, "extra"), "'extra' is one argument too many"),
                (("networks", self.out, "extra"), "'extra' is one argument too many"),
                (("models", self.out), "FILE.onnx is missing"),
                (("transformers", self.out), "one TYPE is wanted"),
                (("transformers", self.out, "float99"), "no TYPE 'float99'")]:
            with self.subTest(arguments=arguments):
                ran = self.run_script(*arguments)
                self.assertEqual(2, ran.returncode)
                self.assertIn(message, ran.stderr)
        self.assertEqual(([], False), (self.calls(), self.out.exists()))


if __name__ == "__main__":
    unittest.main()
