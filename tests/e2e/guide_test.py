"""The commands of the guide's ten tasks do what they say, in their order."""

import os
import pathlib
import re
import subprocess
import unittest

import onnx

import harness
import models

TASKS = pathlib.Path(__file__).resolve().parents[2] / "deploy" / "guide" / "TASKS.md"


class GuideTest(harness.TestCase):
    def test_ten_tasks(self):
        tasks = re.split(r"^## ", TASKS.read_text(), flags=re.MULTILINE)[1:]
        self.assertEqual(len(tasks), 10)
        onnx.save(models.conv_bn_relu(1), self.folder / "model.onnx")
        server = self.serve("--metrics-listen", "127.0.0.1:0")
        env = {**self.env, "PATH": f"{harness.BIN}{os.pathsep}{os.environ['PATH']}",
               "STATUS_PAGE": re.search(r"status page on (\S+)\n", server.log.read_text())[1]}
        script = "set -euo pipefail\n"
        for task in tasks:
            blocks = re.findall(r"^```sh\n(.*?)^```", task, re.MULTILINE | re.DOTALL)
            self.assertTrue(blocks, task)
            script += f"echo '== {task.splitlines()[0]}'\n" + "".join(blocks)
        done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, cwd=self.folder, env=env,
                              timeout=3 * harness.PATIENCE_SECONDS, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertRegex(done.stdout, "(?m)^== 10[.] ")
        self.assertIn("conv-batchnorm at bn0", done.stdout)
        self.assertIn("<html", (self.folder / "report.html").read_text())


if __name__ == "__main__":
    unittest.main()
