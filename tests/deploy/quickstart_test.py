"""deploy/quickstart.sh with stand-ins for everything that it calls: what it passes on, what it says,
what it returns, and that it leaves no server behind."""

import json
import os
import pathlib
import sys
import shutil
import signal
import subprocess
import tempfile
import textwrap
import unittest

DEPLOY = pathlib.Path(__file__).resolve().parents[2] / "deploy"
sys.path.insert(0, str(DEPLOY))
from headline import headline

REPORT = {
    "model": "net.onnx", "outcome": "improved", "passed_through": None,
    "device": {"name": "onnxruntime", "library": "ONNX Runtime 1.31.1", "hardware": "AMD EPYC"},
    "original": {"nodes": 646, "measured_us": {"median": 40246.0}},
    "optimized": {"nodes": 89, "measured_us": {"median": 998.4}},
    "speedup_percent": 97.52,
    "speedup_interval_percent": {"low": 96.6, "high": 98.2},
}

# Notes its process id, announces an address, and ends on SIGTERM, as quotientd does.
SERVER = """\
    import os, pathlib, signal, sys
    root = pathlib.Path(__file__).parents[3]
    (root / "server.pid").write_text(str(os.getpid()))
    if (root / "server-dies").exists():
        sys.exit("cannot open the data directory")
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
    port_file = pathlib.Path(sys.argv[sys.argv.index("--port-file") + 1])
    port_file.with_suffix(".new").write_text("127.0.0.1:4242\\n")
    port_file.with_suffix(".new").rename(port_file)
    signal.sigwait([signal.SIGTERM])
"""

# Notes its arguments, writes a report and says that it runs; waits for a signal, or ends with a given
# status.
CLIENT = """\
    import pathlib, signal, sys
    root = pathlib.Path(__file__).parents[3]
    (root / "client.args").write_text("\\n".join(sys.argv[1:]))
    report = pathlib.Path(sys.argv[sys.argv.index("--report") + 1])
    report.write_text((root / "report.json").read_text())
    print("cost report", flush=True)
    print("client runs", file=sys.stderr, flush=True)
    if (root / "client-waits").exists():
        signal.sigwait([signal.SIGINT])
        sys.exit(5)
    status = root / "client-status"
    sys.exit(int(status.read_text()) if status.exists() else 0)
"""

GENERATOR = """\
    import pathlib, sys
    assert sys.argv[1:3] == ["mobileone", "-o"], sys.argv
    pathlib.Path(sys.argv[3]).touch()
"""


class QuickstartTest(unittest.TestCase):
    def setUp(self):
        self.root = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.root)
        (self.root / "deploy").mkdir()
        for name in ("quickstart.sh", "headline.py"):
            shutil.copy(DEPLOY / name, self.root / "deploy")
        (self.root / "report.json").write_text(json.dumps(REPORT))
        self.program("build/quickstart/bin/quotientd", SERVER)
        self.program("build/quickstart/bin/quotient", CLIENT)
        self.program("build/quickstart/bin/make_network", GENERATOR)
        self.program("deploy/setup/install.sh", "")
        self.program("path/cmake", "")

    def program(self, path, source):
        path = self.root / path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("#!/usr/bin/python3\n" + textwrap.dedent(source))
        path.chmod(0o755)

    def start(self, *arguments):
        """In a session of its own, so that signals reach it as they do from a terminal."""
        (self.root / "tmp").mkdir(exist_ok=True)
        environment = {**os.environ, "PATH": f"{self.root}/path:{os.environ['PATH']}",
                       "TMPDIR": str(self.root / "tmp")}
        return subprocess.Popen([self.root / "deploy/quickstart.sh", *arguments], env=environment,
                                cwd=self.root, start_new_session=True, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def run_script(self, *arguments):
        process = self.start(*arguments)
        out, err = process.communicate(timeout=60)
        return process.returncode, out, err

    def assert_nothing_left(self):
        with self.assertRaises(ProcessLookupError):
            os.kill(int((self.root / "server.pid").read_text()), 0)
        self.assertEqual([], os.listdir(self.root / "tmp"))

    def test_generates_a_model_and_names_the_results(self):
        status, out, err = self.run_script()
        self.assertEqual(0, status, err)
        out_folder = self.root / "out"
        self.assertEqual(
            ["optimize", f"{out_folder}/mobileone.onnx", "-o", f"{out_folder}/mobileone.optimized.onnx",
             "--server", "127.0.0.1:4242", "--report", f"{out_folder}/report.json",
             "--html", f"{out_folder}/report.html"],
            (self.root / "client.args").read_text().split("\n"))
        self.assertEqual([headline(REPORT), "cost report"], out.split("\n")[:2])
        for name in ("mobileone.optimized.onnx", "report.html", "report.json"):
            self.assertIn(f"{out_folder}/{name}", out)
        self.assert_nothing_left()

    def test_a_gain_that_noise_hides_is_no_number(self):
        for median, low, high in ((-0.4, -2, 1), (4.2, -8.1, 15.3), (0.3, 0, 0.7)):
            line = headline({**REPORT, "speedup_percent": median,
                             "speedup_interval_percent": {"low": low, "high": high}})
            self.assertNotIn("%", line)
            self.assertNotIn("surely", line)
            self.assertIn("of 646 nodes 89 are left", line)
            self.assertIn("the measurement does not tell whether that is faster", line)

    def test_takes_the_users_model(self):
        model = self.root / "a model.onnx"
        model.touch()
        status, out, err = self.run_script("a model.onnx")
        self.assertEqual(0, status, err)
        self.assertIn(f"{self.root}/out/a model.optimized.onnx", out)
        self.assertIn(str(model), (self.root / "client.args").read_text().split("\n"))

    def test_returns_the_clients_status(self):
        (self.root / "client-status").write_text("3")
        status, out, err = self.run_script()
        self.assertEqual(3, status, err)
        self.assertEqual("cost report\n", out)
        self.assert_nothing_left()

    def test_shows_why_the_server_did_not_start(self):
        (self.root / "server-dies").touch()
        status, _, err = self.run_script()
        self.assertEqual(4, status)
        self.assertIn("cannot open the data directory", err)
        self.assert_nothing_left()

    def test_interrupt_stops_client_and_server(self):
        (self.root / "client-waits").touch()
        process = self.start()
        self.assertIn("client runs\n", iter(process.stderr.readline, ""))
        os.killpg(process.pid, signal.SIGINT)
        process.communicate(timeout=60)
        self.assertNotEqual(0, process.returncode)
        self.assert_nothing_left()

    def test_refuses_what_it_does_not_know(self):
        self.assertEqual(2, self.run_script("--frobnicate")[0])
        self.assertEqual(2, self.run_script("missing.onnx")[0])


class HeadlineTest(unittest.TestCase):
    def test_says_what_was_gained(self):
        self.assertEqual("net.onnx takes 98 % less time in ONNX Runtime 1.31.1 on AMD EPYC (surely 97 % to 98 %):"
                         " 40.2 ms before, 0.998 ms after. Of 646 nodes 89 are left, and the results are"
                         " equal.", headline(REPORT))
        self.assertIn("on AMD EPYC: 40.2 ms", headline({**REPORT, "speedup_interval_percent": None}))
        self.assertIn("0.6 % less time in ONNX Runtime 1.31.1 on AMD EPYC (surely 0.2 % to 1 %)", headline(
            {**REPORT, "speedup_percent": 0.6, "speedup_interval_percent": {"low": 0.2, "high": 1.1}}))
        busy = {**REPORT, "optimized": {**REPORT["optimized"], "measured_us": {"median": None}}}
        self.assertIn("on AMD EPYC (surely 97 % to 98 %). Of 646", headline(busy))
        busy["considered"] = [{"taken": False, "grounds": "not_sure", "cpu_time_percent": None},
                              {"taken": True, "grounds": "cpu_time", "cpu_time_percent": {"low": 96.6, "high": 98.2}}]
        self.assertIn("takes 98 % less CPU time on one thread in ONNX Runtime", headline(busy))
        self.assertIn("(surely 97 % to 98 %)", headline(busy))
        few = {**REPORT, "considered": [{"taken": True, "grounds": "measured_likely", "cpu_time_percent": None}]}
        self.assertIn("98 % less time in ONNX Runtime 1.31.1 on AMD EPYC (likely 97 % to 98 %)", headline(few))
        self.assertIn("does not tell", headline({**busy, "speedup_percent": None, "speedup_interval_percent": None}))
        self.assertIn("less time on AMD EPYC (", headline({**REPORT, "device": {
            "name": "x", "library": None, "hardware": "AMD EPYC"}}))

    def test_says_that_nothing_was_gained(self):
        report = {**REPORT, "outcome": "no_improvement"}
        self.assertEqual("net.onnx: nothing faster was found; the result is the model as it was.",
                         headline(report))
        self.assertIn("found (model unsupported);", headline({**report, "passed_through": "MODEL_UNSUPPORTED"}))


if __name__ == "__main__":
    unittest.main()
