"""What the tests of tests/gpu.sh share: stand-ins for the programs that it runs, and what they note."""

import os
import pathlib
import shutil
import subprocess
import tarfile
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
SMOKE = PROGRAM + """\
case $1 in
  device) printf 'smoke\\tdevice\\tsome GPU\\n'; echo 'a device' >"$2/fingerprints" ;;
  families) printf 'product\\npool\\n' ;;
  *) printf 'smoke\\t%s\\tdone\\n' "$1 ${2:-}" ;;
esac
"""
TESTS = PROGRAM + """\
case $1 in
  --gtest_list_tests)
    printf 'Running main() from gtest_main.cc\\nGpuHealthDeathTest.\\n  Dies\\nGpuJournalDeathTest.\\n  Bars\\nBackendGpuTest.\\n'
    printf '  Graphs\\nTypes/GpuProductsOfTest.\\n  Odd/f32  # GetParam() = f32\\nGpuDnnTest.\\n  Tf32\\n' ;;
esac
"""
BENCH = PROGRAM + """\
name=$(echo "$*" | sed -n 's/.*--networks \\([a-z0-9_]*\\).*/\\1/p')
while [ $# -gt 0 ]; do
  case $1 in
    --csv) csv=$2 ;;
    --timings) touch "$2" ;;
  esac
  shift
done
echo 'network,device,cost_before_us,cost_after_us,measured_before_us,measured_after_us' >"$csv"
echo "${name:-a},cuda,10,8,11,${after:-9}" >>"$csv"
"""
QUOTIENT = PROGRAM + """\
while [ "$1" != -o ]; do shift; done
printf 'kernel 1.0 1.0\\nkernel 1.0 1.2\\nkernel unsupported\\n' >"$2"
"""
NO_DRIVER = "if [ $1 = device ]; then echo 'gpu_smoke: no driver' >&2; exit 4; fi"
HANGS = "exec sleep 1000"
SUITES = ["Types/GpuProductsOfTest", "GpuDnnTest", "BackendGpuTest", "GpuJournalDeathTest", "GpuHealthDeathTest"]


class TestCase(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.root = pathlib.Path(directory.name)
        self.bin = self.root / "bin"
        self.out = self.root / "out"
        self.script = SCRIPT
        self.bin.mkdir()
        for name, text in (("kernels_cuda_gpu_test", TESTS), ("network_bench", BENCH),
                           ("gpu_smoke", SMOKE), ("quotient", QUOTIENT)):
            self.program(self.bin / name, text)

    @staticmethod
    def program(path, text):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)

    def change_script(self, file, old, new):
        """Runs a copy of the script from now on, for what would take minutes."""
        tests = self.root / "copy/tests"
        shutil.copytree(SCRIPT.parent / "gpu", tests / "gpu")
        shutil.copy(SCRIPT, tests)
        (tests / "bench/networks").mkdir(parents=True)
        shutil.copy(SCRIPT.parent / "bench/networks/predicted.py", tests / "bench/networks")
        text = (tests / file).read_text()
        self.assertIn(old, text)
        (tests / file).write_text(text.replace(old, new))
        self.script = tests / "gpu.sh"

    # Of machine.sh: how many seconds are left.
    LEFT = "echo $((deadline - SECONDS))"

    def do(self, program, text):
        (self.bin / f"{program}.do").write_text(text)

    def run_script(self, *arguments, **environment):
        environment = {**os.environ, "QUOTIENT_GPU_BIN": str(self.bin),
                       "QUOTIENT_GPU_RESULTS": str(self.root / "results.tar.gz"), **environment}
        return subprocess.run([self.script, *map(str, arguments)], env=environment, capture_output=True,
                              text=True, timeout=100)

    def calls(self, program=None):
        """What ran, in order; of one program its arguments."""
        try:
            lines = (self.bin / "calls").read_text().splitlines()
        except FileNotFoundError:
            return []
        if program is None:
            return [line.split()[0] for line in lines]
        return [line.split()[1:] for line in lines if line.split()[0] == program]

    def kept(self, name):
        """A file of what was packed; nothing if it has none of that name."""
        with tarfile.open(self.out / "results.tar.gz") as archive:
            return archive.extractfile(name).read().decode() if name in archive.getnames() else None

    def units(self):
        lines = self.kept("units.tsv").splitlines()
        return {line.split("\t")[0]: int(line.split("\t")[1]) for line in lines}

    def suites_run(self):
        return [call[0].removeprefix("--gtest_filter=").removesuffix(".*")
                for call in self.calls("kernels_cuda_gpu_test") if "filter" in call[0]]

    def networks_run(self):
        return [call[call.index("--networks") + 1] for call in self.calls("network_bench")]
