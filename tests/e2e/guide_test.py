"""The commands of the guide's pages do what they say, in their order."""

import os
import re
import subprocess
import unittest

import onnx

import harness
import models
from prometheus import REPO, free_port

GUIDE = REPO / "deploy" / "guide"
BLOCK = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)


class GuideTest(harness.TestCase):
    def setUp(self):
        super().setUp()
        onnx.save(models.conv_bn_relu(1), self.folder / "model.onnx")
        # Scripts have other names where they are installed.
        self.programs = self.folder / "programs"
        self.programs.mkdir()
        for name in ("backup", "restore"):
            (self.programs / f"quotient-{name}").symlink_to(REPO / "deploy" / f"{name}.sh")

    def run_page(self, page, env=(), ports=()):
        """Runs the commands of a page as one script, with other ports in place of some, and returns what it said."""
        # What still runs in the background when a command fails ends with the script.
        script = "set -euo pipefail\ntrap 'kill -KILL $(jobs -p) 2>/dev/null || true' EXIT\n"
        for part in re.split(r"^## ", (GUIDE / page).read_text(), flags=re.MULTILINE)[1:]:
            script += f"echo '== {part.splitlines()[0]}'\n" + "".join(BLOCK.findall(part))
        for port, ours in dict(ports).items():
            script = re.sub(rf"\b{port}\b", str(ours), script)
        path = os.pathsep.join(map(str, [self.programs, harness.BIN, os.environ["PATH"]]))
        done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, cwd=self.folder,
                              env={**self.env, "PATH": path, **dict(env)}, timeout=3 * harness.PATIENCE_SECONDS,
                              check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def test_ten_tasks(self):
        tasks = re.split(r"^## ", (GUIDE / "TASKS.md").read_text(), flags=re.MULTILINE)[1:]
        self.assertEqual(len(tasks), 10)
        for task in tasks:
            self.assertTrue(BLOCK.search(task), task)
        server = self.serve("--metrics-listen", "127.0.0.1:0")
        page = re.search(r"status page on (\S+)\n", server.log.read_text())[1]
        said = self.run_page("TASKS.md", {"STATUS_PAGE": page})
        self.assertRegex(said, "(?m)^== 10[.] ")
        self.assertIn("conv-batchnorm at bn0", said)
        self.assertIn("<html", (self.folder / "report.html").read_text())

    def test_a_server_from_start_to_stop(self):
        ports = {7070: free_port(), 9464: free_port()}
        said = self.run_page("OPERATORS.md", {"QUOTIENT_SERVER": f"127.0.0.1:{ports[7070]}"}, ports)
        self.assertIn("\nready\n", said)
        self.assertIn('state="succeeded"} 1\n', said)
        onnx.checker.check_model(onnx.load(self.folder / "again.onnx"))
        self.assertEqual([path.name for path in self.folder.glob("re*")], ["restored"])


if __name__ == "__main__":
    unittest.main()
