"""What the tests of deploy/backup.sh and deploy/restore.sh share: a model, both scripts, and jobs on a server."""

import os
import pathlib
import subprocess
import sys

import onnx

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests" / "e2e"))

import harness
import models

BACKUP = ROOT / "deploy" / "backup.sh"
RESTORE = ROOT / "deploy" / "restore.sh"


class BackupTestCase(harness.TestCase):
    def setUp(self):
        super().setUp()
        onnx.save(models.chain(), self.folder / "m.onnx")
        self.data = self.folder / "data"

    def with_programs(self, **programs):
        """An environment in which these texts are programs that come before others."""
        folder = self.folder / "programs"
        folder.mkdir(exist_ok=True)
        for name, text in programs.items():
            (folder / name).write_text(text)
            (folder / name).chmod(0o755)
        return {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}

    def backup(self, data=None, *more, env=None, wrapper=()):
        """The archive, or None and what was said."""
        done = subprocess.run([*wrapper, BACKUP, data or self.data, *more], capture_output=True, env=env, check=False,
                              timeout=harness.PATIENCE_SECONDS)
        self.assertEqual(list(self.data.glob(".backup.*")), [])
        return (done.stdout if done.returncode == 0 else None), done.stderr.decode()

    def restore(self, archive, name, *options, env=None, wrapper=()):
        """Exit status and what was said."""
        done = subprocess.run([*wrapper, RESTORE, *options, self.folder / name / "data"], input=archive, capture_output=True,
                              env=env, check=False, timeout=harness.PATIENCE_SECONDS)
        return done.returncode, done.stderr.decode()

    def submit(self, model, *options):
        result = self.quotient("submit", model, "--device", "model:h200", "--max-nodes", "100", *options)
        self.assert_code(result, 0)
        return result.out.strip()

    def finished(self, seed):
        job = self.submit("m.onnx", "--budget", "1s", "--seed", seed)
        self.assert_code(self.quotient("watch", job), 0)
        return job

    def result(self, job):
        self.assert_code(
            self.quotient("result", job, "-o", "out.onnx", "--report", "report.json"), 0)
        return (self.folder / "out.onnx").read_bytes()

    def serve_restored(self, name):
        server = harness.Server(self.folder / name, self.env)
        self.addCleanup(server.kill)
        self.env["QUOTIENT_SERVER"] = server.address
        return server
