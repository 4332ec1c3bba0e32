"""tests/gpu.sh with stand-ins for the programs that it runs: where it looks for libraries and what it
says of those that are missing; that what fails, or does not come back, does not keep the rest from
being run; and what it returns."""

import os
import subprocess
import unittest

import gpu_script


class GpuScriptTest(gpu_script.TestCase):
    # --- libraries and devices

    def hide_libraries(self):
        """An environment in which the dynamic linker has nothing, and one Python has packages."""
        self.program(self.root / "path/ldconfig", "#!/bin/sh\n")
        packages = self.root / "packages"
        self.program(self.root / "path/python3", f"#!/bin/sh\necho {packages}\n")
        for folder, name in (("cudnn", "libcudnn.so.9"), ("cu13", "libcublasLt.so.13"),
                             ("cu13", "libnvrtc.so.13")):
            (packages / "nvidia" / folder / "lib").mkdir(parents=True, exist_ok=True)
            (packages / "nvidia" / folder / "lib" / name).write_text("")
        return packages, {"PATH": f"{self.root / 'path'}:{os.environ['PATH']}"}

    def test_libraries_of_pythons_packages_are_found(self):
        packages, environment = self.hide_libraries()
        toolkit = self.root / "toolkit"  # one that comes before all others, and has cuBLASLt
        (toolkit / "lib64").mkdir(parents=True)
        (toolkit / "lib64/libcublasLt.so.13").write_text("")
        self.do("gpu_smoke", 'echo "$LD_LIBRARY_PATH" >>"$here/paths"')
        functions = gpu_script.SCRIPT.parent / "gpu/machine.sh"
        # Without this machine's own toolkits, which the script has the names of.
        text = functions.read_text().replace("/usr/local/cuda", "/nowhere").replace("/usr/lib", "/nowhere")
        (self.root / "machine.sh").write_text(text)
        ran = subprocess.run(
            ["bash", "-euc", f'. {self.root}/machine.sh; bin={self.bin}; deadline=99; find_libraries; limited 9 gpu_smoke x'],
            env={**os.environ, **environment, "CUDA_HOME": str(toolkit)}, capture_output=True, text=True,
            timeout=60)
        self.assertEqual(0, ran.returncode, ran.stderr)
        path = (self.bin / "paths").read_text().strip().split(":")
        self.assertEqual([str(packages / "nvidia/cudnn/lib"), str(toolkit / "lib64"),
                          str(packages / "nvidia/cu13/lib")], path[:3])
        self.assertIn(f"libcudnn.so.9: {packages}/nvidia/cudnn/lib/libcudnn.so.9", ran.stderr)
        self.assertIn("libcuda.so.1: nowhere", ran.stderr)

    def test_what_is_missing_is_told_apart(self):
        for status, why in ((4, "there is no GPU"), (5, "a library is missing"),
                            (6, "another version"), (1, "does not answer")):
            self.do("gpu_smoke", f"echo 'gpu_smoke: because' >&2; exit {status}")
            ran = self.run_script("all", self.out)
            self.assertEqual(status, ran.returncode)
            self.assertIn(why, ran.stderr)
            self.assertIn("because", ran.stderr)
            self.assertEqual({"gpu_smoke"}, set(self.calls()))

    def test_without_a_gpu_each_part_says_so_and_leaves_no_tables(self):
        self.do("gpu_smoke", gpu_script.NO_DRIVER)
        for arguments in (["smoke"], ["next"], ["kernels"], ["networks"], ["transformers", "float16"],
                          ["models", "a.onnx"], ["snapshot"], ["sanitizer"]):
            with self.subTest(arguments=arguments):
                ran = self.run_script(arguments[0], self.out, *arguments[1:])
                self.assertEqual((4, 1), (ran.returncode, ran.stderr.count("no driver")), ran.stderr)
        self.assertEqual([], list(self.out.glob("*.txt")))

    # --- parts

    def test_suites_run_in_processes_of_their_own_the_deadly_one_last(self):
        ran = self.run_script("kernels", self.out)
        self.assertEqual(0, ran.returncode, ran.stderr)
        self.assertEqual(gpu_script.SUITES, self.suites_run())

    def test_only_the_suites_that_are_named(self):
        self.assertEqual(0, self.run_script("kernels", self.out, "BackendGpuTest").returncode)
        self.assertEqual(["BackendGpuTest"], self.suites_run())
        ran = self.run_script("kernels", self.out, "ExtraTest")
        self.assertEqual(2, ran.returncode)
        self.assertIn("there is no suite 'ExtraTest'", ran.stderr)

    def test_a_suite_that_fails_or_hangs_does_not_hide_the_others(self):
        self.do("kernels_cuda_gpu_test", f"""\
case $1 in
  *Dnn*) echo 'an illegal address'; exit 7 ;;
  *Products*) echo 'product number 3'; {gpu_script.HANGS} ;;
esac""")
        self.change_script("gpu.sh", "300 run_suite", "2 run_suite")
        ran = self.run_script("kernels", self.out)
        self.assertEqual(124, ran.returncode, ran.stderr)
        self.assertEqual(gpu_script.SUITES, self.suites_run())
        self.assertEqual({"kernels-Types-GpuProductsOfTest": 124, "kernels-GpuDnnTest": 7,
                          "kernels-BackendGpuTest": 0, "kernels-GpuJournalDeathTest": 0,
                          "kernels-GpuHealthDeathTest": 0}, self.units())
        log = self.kept("log/kernels-Types-GpuProductsOfTest.txt")
        self.assertIn("product number 3", log)
        self.assertIn("was stopped after 2 s", log)

    def test_networks_run_twice_on_the_same_timings(self):
        ran = self.run_script("networks", self.out, "bert", "vgg19")
        self.assertEqual(0, ran.returncode, ran.stderr)
        self.assertEqual(["bert", "bert", "vgg19", "vgg19"], self.networks_run())
        for option in ("--timings", "--compiled"):
            calls = self.calls("network_bench")
            self.assertEqual(1, len({call[call.index(option) + 1] for call in calls}))
        self.assertEqual(["network", "bert", "vgg19"],
                         [line.split(",")[0] for line in self.kept("networks.csv").splitlines()])
        for table in (self.kept("networks.txt"), (self.out / "tables.txt").read_text()):
            self.assertIn("measured at most", table)

    def test_a_second_run_that_is_stopped_leaves_the_rows_of_the_first(self):
        self.do("network_bench", f"""\
if [ -e "$here/again" ]; then
  while [ "$1" != --csv ]; do shift; done
  echo network,device >"$2"
  {gpu_script.HANGS}
fi
touch $here/again""")
        self.change_script("gpu.sh", "240 bench networks", "3 bench networks")
        ran = self.run_script("networks", self.out, "bert")
        self.assertEqual(124, ran.returncode, ran.stderr)
        self.assertIn("bert,cuda,10,8,11,9", self.kept("networks.csv"))
        self.assertIn("measured at most", (self.out / "tables.txt").read_text())

    def test_the_second_run_of_a_network_counts(self):
        self.do("network_bench", 'if [ ! -e "$here/again" ]; then touch "$here/again"; exit 9; fi')
        self.assertEqual(0, self.run_script("networks", self.out, "bert").returncode)

    def test_a_contraction_on_the_host_fails_the_part_of_its_network_alone(self):
        self.do("network_bench", "case $* in *bert*) echo 'bert cuda: ways: 1 host; on the host: MatMul' >&2;"
                " trap 'exit 1' EXIT ;; esac")
        ran = self.run_script("networks", self.out, "bert", "vgg19")
        self.assertEqual(1, ran.returncode)
        self.assertEqual({"networks-bert": 1, "networks-vgg19": 0}, self.units())
        self.assertIn("on the host: MatMul", self.kept("log/networks-bert.txt"))

    def test_trouble_of_a_library_fails_the_part(self):
        warning = "warning trouble of a library: k1 MatMul{}: CUBLAS_STATUS_INTERNAL_ERROR"
        self.do("network_bench", f"case $* in *bert*) echo '{warning}' >&2 ;; esac")
        ran = self.run_script("networks", self.out, "bert", "vgg19")
        self.assertEqual(1, ran.returncode)
        self.assertEqual({"networks-bert": 1, "networks-vgg19": 0}, self.units())
        self.assertIn("networks-bert: 2 times trouble of a library:", ran.stdout)
        self.assertIn("2 k1 MatMul{}: CUBLAS_STATUS_INTERNAL_ERROR", self.kept("log/networks-bert.txt"))
        self.assertRegex((self.out / "units.txt").read_text(), "networks-bert +FAILED 1")

    def test_what_comes_out_slower_is_told_and_the_rest_runs(self):
        self.do("network_bench", "after=12")
        ran = self.run_script("all", self.out)
        self.assertEqual(1, ran.returncode, ran.stderr)
        self.assertEqual(gpu_script.SUITES, self.suites_run())
        self.assertIn("slower: bert on cuda", ran.stdout)
        self.assertEqual(2, len(self.calls("quotient")))

    def test_the_first_failure_is_what_is_returned(self):
        self.do("kernels_cuda_gpu_test", "case $1 in *filter*) exit 7 ;; esac")
        self.do("network_bench", "after=12")
        self.do("quotient", "exit 5")
        self.assertEqual(7, self.run_script("all", self.out).returncode)
        self.assertEqual(5, self.run_script("snapshot", self.out).returncode)

    def test_a_bench_that_fails_on_its_way_is_looked_at_all_the_same(self):
        self.do("network_bench", "trap 'exit 9' EXIT")
        ran = self.run_script("networks", self.out, "bert")
        self.assertEqual(9, ran.returncode)
        self.assertIn("measured at most", ran.stdout)

    def test_transformers_are_of_one_type(self):
        self.assertEqual(0, self.run_script("transformers", self.out, "float16").returncode)
        for call in self.calls("network_bench"):
            self.assertEqual("float16", call[call.index("--type") + 1])
        self.assertIsNotNone(self.kept("transformers-float16.csv"))

    def test_snapshots_want_timings(self):
        ran = self.run_script("snapshot", self.out)
        self.assertEqual(2, ran.returncode)
        self.assertIn("run networks, transformers or models into", ran.stderr)
        self.assertEqual([], self.calls("quotient"))

    # --- smoke

    def test_smoke_ends_with_its_table(self):
        self.do("gpu_smoke", "if [ \"$1 ${2:-}\" = 'kernels pool' ]; then exit 1; fi")
        ran = self.run_script("smoke", self.out)
        self.assertEqual(1, ran.returncode, ran.stderr)
        table = (self.out / "smoke.txt").read_text()
        self.assertTrue(ran.stdout.endswith(table))
        self.assertEqual(table, self.kept("smoke.txt"))
        for line in ("device", "replays", "rates", "kernels product", "network squeezenet"):
            self.assertIn(line, table)
        self.assertRegex(table, "smoke-pool +FAILED, status 1")
        self.assertEqual(["network", "squeezenet"], self.calls("gpu_smoke")[-1][:2])

    def test_smoke_tells_of_this_call_alone(self):
        self.do("gpu_smoke", """\
if [ "$1 ${2:-}" = 'kernels pool' ]; then printf 'smoke\\tgone\\tx\\nsmoke\\tsame\\tfirst\\n'; exit 1; fi""")
        self.assertEqual(1, self.run_script("smoke", self.out).returncode)
        self.do("gpu_smoke", "if [ \"$1 ${2:-}\" = 'kernels pool' ]; then "
                "printf 'smoke\\tsame\\tfirst\\nsmoke\\tsame\\tsecond\\n'; fi")
        ran = self.run_script("smoke", self.out)
        self.assertEqual(0, ran.returncode, ran.stderr)
        table = (self.out / "smoke.txt").read_text()
        self.assertRegex(table, "same +second")
        for line in ("gone", "first", "FAILED"):
            self.assertNotIn(line, table)

    def test_smoke_that_is_cut_says_where_and_fails(self):
        self.do("gpu_smoke", f"if [ \"$1 ${{2:-}}\" = 'kernels pool' ]; then {gpu_script.HANGS}; fi")
        self.change_script("gpu/machine.sh", self.LEFT, "if [ -e $out/log/smoke-pool.txt ]; then echo 0; else echo 2; fi")
        ran = self.run_script("smoke", self.out, QUOTIENT_GPU_LEAST_SECONDS="1")
        self.assertEqual(124, ran.returncode, ran.stderr)
        self.assertIn("time is up: smoke-pool was stopped", (self.out / "smoke.txt").read_text())

    # --- how it is called

    def test_programs_that_a_part_needs_are_asked_for_before_anything_is_made(self):
        for program, parts in (("kernels_cuda_gpu_test", ["kernels", "next", "all"]),
                               ("network_bench", ["networks", "transformers", "models", "all"]),
                               ("quotient", ["snapshot", "all"]), ("gpu_smoke", ["smoke", "kernels"])):
            (self.bin / program).rename(self.bin / "away")
            for part in parts:
                with self.subTest(program=program, part=part):
                    argument = {"transformers": ["float32"], "models": ["a.onnx"]}.get(part, [])
                    ran = self.run_script(part, self.out, *argument)
                    self.assertEqual(2, ran.returncode)
                    self.assertIn(f"cmake --build --preset release --target {program} ", ran.stderr)
            (self.bin / "away").rename(self.bin / program)
        self.assertEqual(([], False), (self.calls(), self.out.exists()))

    def test_wrong_calls(self):
        for arguments, message in [
                ((), "What only a GPU can show"), (("some",), "no part 'some'"),
                (("kernels",), "OUT is missing"),
                (("snapshot", self.out, "extra"), "'extra' is one argument too many"),
                (("networks", self.out, "lenet"), "there is no network 'lenet'"),
                (("models", self.out), "FILE.onnx is missing"),
                (("next", self.out, "--minutes", "0"), "--minutes wants a number"),
                (("next", self.out, "9"), "'9' is one argument too many"),
                (("transformers", self.out), "one TYPE is wanted"),
                (("transformers", self.out, "float99"), "no TYPE 'float99'")]:
            with self.subTest(arguments=arguments):
                ran = self.run_script(*arguments)
                self.assertEqual(2, ran.returncode)
                self.assertIn(message, ran.stderr)
        self.assertEqual(([], False), (self.calls(), self.out.exists()))


if __name__ == "__main__":
    unittest.main()
