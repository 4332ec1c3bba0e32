""".ci/run and tests/run.sh: what they run, what comes last, and whose failure is theirs."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

REPO = pathlib.Path(__file__).resolve().parents[2]

# Says that it was called and ends with the status that the test asks for.
STAND_IN = """#!/bin/sh
echo "$(basename "$0") $*" >>"$CALLS"
case $(basename "$0") in
  ctest) echo '99% tests passed, 1 tests failed out of 100'; echo 'a list of failures'; exit "$CTEST_STATUS" ;;
  static.sh) exit "$STATIC_STATUS" ;;
  git) exit "$GIT_STATUS" ;;
esac
"""


class RunScriptTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.root = pathlib.Path(scratch.name)
        for name in (".ci/run", "tests/run.sh"):
            (self.root / name).parent.mkdir(parents=True)
            shutil.copy(REPO / name, self.root / name)
        for name in ("deploy/setup/install.sh", "deploy/dev/static.sh", "bin/cmake", "bin/ctest", "bin/git"):
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(STAND_IN)
            path.chmod(0o755)

    def run_script(self, script, ctest=0, static=0, git=0, **environment):
        calls = self.root / "calls"
        calls.write_text("")
        clean = {name: value for name, value in os.environ.items() if not name.startswith("QUOTIENT_")}
        done = subprocess.run(
            [str(self.root / script), "-R", "egraph"], capture_output=True, text=True, check=False,
            env={**clean, "PATH": f"{self.root / 'bin'}:{os.environ['PATH']}", "CALLS": str(calls),
                 "CTEST_STATUS": str(ctest), "STATIC_STATUS": str(static), "GIT_STATUS": str(git),
                 **environment})
        self.calls = calls.read_text()
        lines = done.stdout.splitlines()
        preset = {".ci/run": "batches", "tests/run.sh": "dev"}[script]
        self.assertEqual(f"{preset}: 99% tests passed, 1 tests failed out of 100", lines[-1])
        return done.returncode, lines[-2]

    def test_ci_samples_static_checks_before_the_tests(self):
        self.assertEqual((0, "static checks: ok"), self.run_script(".ci/run"))
        self.assertIn("install.sh --with-tests --with-dev\n", self.calls)
        self.assertLess(self.calls.index("static.sh --sample 120"), self.calls.index("ctest "))
        self.assertIn("-R egraph", self.calls)

    def test_either_failure_fails_the_run(self):
        self.assertEqual((8, "static checks: ok"), self.run_script(".ci/run", ctest=8))
        self.assertEqual((1, "static checks: FAILED"), self.run_script(".ci/run", static=1))
        self.assertEqual((8, "static checks: FAILED"), self.run_script(".ci/run", ctest=8, static=1))

    def test_without_git_the_static_checks_are_left_out(self):
        status, line = self.run_script(".ci/run", static=1, git=128)
        self.assertEqual(0, status)
        self.assertIn("left out", line)
        self.assertNotIn("static.sh", self.calls)

    def test_developers_get_the_tests_alone(self):
        self.assertEqual((0, ""), self.run_script("tests/run.sh"))
        self.assertNotIn("static.sh", self.calls)
        self.assertNotIn("--with-dev", self.calls)
        self.run_script("tests/run.sh", QUOTIENT_STATIC_SECONDS="30")
        self.assertIn("static.sh --sample 30", self.calls)


if __name__ == "__main__":
    unittest.main()
