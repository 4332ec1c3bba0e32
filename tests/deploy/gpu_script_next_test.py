"""tests/gpu.sh over several calls: what runs first, that a call goes on where another one ended, and
what is kept of each unit."""

import os
import shutil
import subprocess
import tarfile
import unittest

import gpu_script


class GpuScriptNextTest(gpu_script.TestCase):
    def test_next_runs_what_tells_most_first_and_each_once(self):
        ran = self.run_script("next", self.out, "--minutes", 3)
        self.assertEqual(0, ran.returncode, ran.stderr)
        self.assertEqual(gpu_script.SUITES, self.suites_run())
        self.assertEqual("resnet50", self.networks_run()[0])
        order = list(self.units())
        for earlier, later in (("kernels-Types-GpuProductsOfTest", "kernels-GpuDnnTest"),
                               ("kernels-GpuDnnTest", "kernels-BackendGpuTest"),
                               ("kernels-BackendGpuTest", "networks-resnet50"),
                               ("networks-resnet50", "bert-float32"), ("bert-bfloat16", "snapshot-cuda"),
                               ("snapshot-cuda", "networks-bert"), ("networks-vgg19", "transformers-float32"),
                               ("transformers-bfloat16", "sanitizer-memcheck-pool"),
                               ("sanitizer-memcheck-pool", "kernels-GpuJournalDeathTest"),
                               ("kernels-GpuJournalDeathTest", "kernels-GpuHealthDeathTest")):
            self.assertLess(order.index(earlier), order.index(later))
        benches, suites = len(self.networks_run()), len(self.suites_run())
        self.assertEqual(0, self.run_script("next", self.out, "--minutes", 3).returncode)
        self.assertEqual((benches, suites), (len(self.networks_run()), len(self.suites_run())))

    def test_next_ends_when_time_is_up_and_goes_on_elsewhere(self):
        self.change_script("gpu/machine.sh", self.LEFT,
                           'if [ -s "$out/units.tsv" ]; then echo 1; else echo 100; fi')
        ran = self.run_script("next", self.out, "--minutes", 1)
        self.assertEqual(0, ran.returncode, ran.stderr)
        self.assertIn("time is up", ran.stdout)
        self.assertEqual(gpu_script.SUITES[:1], self.suites_run())
        # Another machine, where there is nothing but what came back.
        shutil.rmtree(self.out)
        self.script = gpu_script.SCRIPT
        self.out = self.root / "other"
        ran = self.run_script("next", self.out, "--minutes", 3)
        self.assertIn("goes on from", ran.stderr)
        self.assertEqual(gpu_script.SUITES, self.suites_run())

    def test_what_is_cut_off_by_the_end_has_not_run(self):
        self.do("kernels_cuda_gpu_test", f"case $1 in *filter*) {gpu_script.HANGS} ;; esac")
        self.change_script("gpu/machine.sh", self.LEFT, "echo 2")
        ran = self.run_script("next", self.out, QUOTIENT_GPU_LEAST_SECONDS="1")
        self.assertIn("time is up", ran.stdout, ran.stderr)
        self.assertEqual({}, self.units())
        self.assertEqual(gpu_script.SUITES[:1], self.suites_run())
        self.assertIn("was stopped after", self.kept("log/kernels-Types-GpuProductsOfTest.txt"))

    def test_what_failed_runs_again_when_all_others_have_run(self):
        self.do("kernels_cuda_gpu_test", "case $1 in *Dnn*) exit 7 ;; esac")
        self.assertEqual(7, self.run_script("next", self.out, "--minutes", 3).returncode)
        self.assertEqual([*gpu_script.SUITES, "GpuDnnTest"], self.suites_run())
        benches = len(self.networks_run())
        (self.bin / "kernels_cuda_gpu_test.do").unlink()
        self.assertEqual(0, self.run_script("next", self.out, "--minutes", 3).returncode)
        self.assertEqual([*gpu_script.SUITES, "GpuDnnTest", "GpuDnnTest"], self.suites_run())
        self.assertEqual(benches, len(self.networks_run()))

    def test_what_was_stopped_earlier_is_still_no_success(self):
        self.do("kernels_cuda_gpu_test", f"case $1 in *Dnn*) {gpu_script.HANGS} ;; esac")
        self.change_script("gpu.sh", "300 run_suite", "1 run_suite")
        for _ in range(2):
            self.assertEqual(124, self.run_script("next", self.out, "--minutes", 3).returncode)
        self.assertEqual(gpu_script.SUITES, self.suites_run())

    def test_other_programs_have_not_run(self):
        self.run_script("next", self.out, "--minutes", 3)
        self.program(self.bin / "libquotient_cuda.so", "another build")
        self.assertEqual(0, self.run_script("next", self.out, "--minutes", 3).returncode)
        self.assertEqual(gpu_script.SUITES * 2, self.suites_run())
        digest = self.kept("build.txt").split()[1]
        self.assertEqual({digest}, {line.split("\t")[3] for line in self.kept("units.tsv").splitlines()[-3:]})

    def test_no_list_of_suites_or_families_is_a_failure(self):
        self.do("kernels_cuda_gpu_test", "case $1 in *list*) exit 3 ;; esac")
        self.do("gpu_smoke", "case $1 in families) exit 3 ;; esac")
        for part in ("kernels", "smoke"):
            self.assertEqual(1, self.run_script(part, self.out).returncode)
        self.assertEqual(1, self.run_script("next", self.out, "--minutes", 3).returncode)
        self.assertIn("resnet50", self.networks_run())

    # --- what is kept

    # Sets $compiled in a stand-in of network_bench.
    COMPILED = 'compiled=$(echo "$*" | sed -n "s/.*--compiled \\([^ ]*\\).*/\\1/p"); '

    def test_all_that_came_out_is_packed_after_each_unit(self):
        self.do("network_bench", self.COMPILED + """
mkdir -p $compiled
head -c 900000 /dev/urandom >$compiled/old
touch -d 2020-01-01 $compiled/old
echo bad >$compiled/barred""")
        for most, has_old in (("15", True), ("0", False)):
            ran = self.run_script("networks", self.out, "bert", QUOTIENT_GPU_ARCHIVE_MIB=most)
            self.assertEqual(0, ran.returncode, ran.stderr)
            for name in ("timings", "networks.csv", "networks.txt", "fingerprints", "units.tsv",
                         "build.txt", "compiled/barred"):
                self.assertIsNotNone(self.kept(name), name)
            with tarfile.open(self.out / "results.tar.gz") as archive:
                self.assertEqual(has_old, "compiled/old" in archive.getnames())
                self.assertEqual(has_old, "log/networks-bert.txt" in archive.getnames())
            self.assertEqual((self.out / "results.tar.gz").read_bytes(),
                             (self.root / "results.tar.gz").read_bytes())
            self.assertLessEqual(len(list(self.out.iterdir())), 6)

    def test_long_logs_are_cut(self):
        self.do("kernels_cuda_gpu_test", """\
case $1 in *Dnn*) echo begins; head -c 3000000 /dev/zero | tr '\\0' x; echo; echo ends ;; esac""")
        self.assertEqual(0, self.run_script("kernels", self.out).returncode)
        log = self.kept("log/kernels-GpuDnnTest.txt")
        self.assertLess(len(log), 1 << 20)
        self.assertEqual(("begins", "ends"), (log.split()[0], log.split()[-1]))

    def test_what_a_unit_did_not_come_back_from_is_barred(self):
        for end, seconds_ago, is_barred in (("exit 9", 0, True), (gpu_script.HANGS, 0, False), (gpu_script.HANGS, 60, True)):
            with self.subTest(end=end, seconds_ago=seconds_ago):
                shutil.rmtree(self.out, ignore_errors=True)
                (self.root / "results.tar.gz").unlink(missing_ok=True)
                self.do("network_bench", self.COMPILED + f"""
echo 'a way' >$compiled/running-1-x
touch -d '{seconds_ago} seconds ago' $compiled/running-1-x
(exec flock $compiled/running-2-lives sleep 9) &
while flock -n $compiled/running-2-lives true; do :; done
{end}""")
                if self.script == gpu_script.SCRIPT:
                    self.change_script("gpu.sh", "240 bench networks", "2 bench networks")
                self.run_script("networks", self.out, "bert")
                self.assertEqual("a way\n" if is_barred else None, self.kept("compiled/barred"))

    def test_a_damaged_archive_is_left_aside(self):
        (self.root / "results.tar.gz").write_text("no archive")
        ran = self.run_script("kernels", self.out)
        self.assertEqual(0, ran.returncode, ran.stderr)
        self.assertIn("is damaged", ran.stderr)

    def test_a_relative_folder_is_one_of_the_caller(self):
        environment = {**os.environ, "QUOTIENT_GPU_BIN": str(self.bin),
                       "QUOTIENT_GPU_RESULTS": str(self.root / "results.tar.gz")}
        subprocess.run([gpu_script.SCRIPT, "kernels", "out"], cwd=self.root, env=environment, check=True,
                       capture_output=True, timeout=100)
        self.assertEqual(gpu_script.SUITES, [name.removeprefix("kernels-").replace("Types-", "Types/")
                                  for name in self.units()])


if __name__ == "__main__":
    unittest.main()
