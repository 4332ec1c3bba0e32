"""Probes and the end of a pod, with the real server, in the order that Kubernetes uses."""

import json
import pathlib
import subprocess
import sys
import time
import unittest

import onnx

import pod
import policies

sys.path.append(str(policies.ROOT / "deploy" / "kubernetes"))

import harness
import models
import render


def deployment(**values):
    (found,) = [each for each in render.objects(values) if each["kind"] == "Deployment"]
    return found


class PodTest(harness.TestCase):
    def setUp(self):
        super().setUp()
        onnx.save(models.chain(), self.folder / "m.onnx")

    def pod(self, env=None, **values):
        made = pod.Pod(deployment(**values), self.folder / "pod", {**self.env, **(env or {})})
        self.addCleanup(made.kill)
        self.env["QUOTIENT_SERVER"] = made.address
        return made

    def start(self, made):
        made.start(preexec_fn=harness.die_with_parent)

    def submit(self, *options):
        result = self.quotient("submit", "m.onnx", "--device", "model:h200", "--max-nodes", "100", *options)
        self.assert_code(result, 0)
        return result.out.strip()

    def await_search(self, job):
        with self.running("watch", job, "--json") as watcher:
            harness.read_until(watcher.stdout, "enodes")

    def checkpoints(self):
        folder = self.folder / "pod" / "data" / "data" / "checkpoints"
        return [path.name for path in folder.iterdir() if not path.suffix]

    def report(self, job):
        self.assert_code(self.quotient("watch", job), 0)
        self.assert_code(self.quotient("result", job, "-o", "out.onnx", "--report", "report.json"), 0)
        onnx.checker.check_model(onnx.load(self.folder / "out.onnx"))
        return json.loads((self.folder / "report.json").read_text())

    def test_a_start_is_first_live_and_then_ready(self):
        # The server waits where everything listens, before it says that it is ready.
        made = self.pod({"QUOTIENT_FAULT": f"start.listening:sleep=5000:{self.folder}/fault"})
        self.assertFalse(made.probe("startup")[0])
        self.start(made)
        made.await_probe("startup")
        self.assertEqual(made.probe("readiness"), (False, "starting"))
        self.assertEqual(made.probe("liveness"), (True, "live"))
        self.assertEqual(made.await_probe("readiness"), "ready")
        self.assert_code(self.quotient("jobs"), 0)

    def test_an_update_costs_no_job_and_no_call(self):
        made = self.pod()
        self.start(made)
        made.await_ready()
        # Longer than the pod has to end.
        running = self.submit("--budget", "600s")
        self.await_search(running)
        # The pod is deleted: it learns so at once, and endpoints lose it a while later.
        made.tell_to_end()
        self.assertEqual(made.await_probe("readiness", wanted=False), "draining")
        self.assertEqual(made.probe("liveness"), (True, "live"))
        # Clients that are still routed to it get what they want.
        self.assert_code(self.quotient("jobs"), 0)
        late = self.submit("--budget", "1s", "--seed", "7")
        self.assertEqual(made.await_end(), 0, made.log.read_text())
        self.assertEqual(self.checkpoints(), [running.removeprefix("jobs/")])
        # Only now comes the next one: it has the volume, and nothing else of the last one.
        after = self.pod()
        self.start(after)
        after.await_ready()
        self.await_search(running)
        self.assert_code(self.quotient("stop", running), 0)
        self.assertEqual(self.report(running)["search"]["resumed"]["times"], 1)
        self.report(late)
        self.assertEqual(self.checkpoints(), [])
        after.tell_to_end()
        self.assertEqual(after.await_end(), 0)

    def test_two_pods_never_share_a_volume(self):
        made = self.pod()
        self.start(made)
        made.await_ready()
        second = self.pod()
        second.ports = {8980: 0, 9464: 0}
        second.log = self.folder / "second.log"
        self.start(second)
        self.assertEqual(second.process.wait(harness.PATIENCE_SECONDS), 1)
        self.assertIn("another process uses the data folder", second.log.read_text())

    def test_a_rollback_over_a_newer_database_is_refused(self):
        made = self.pod()
        self.start(made)
        made.await_ready()
        made.kill()
        database = self.folder / "pod" / "data" / "data" / "quotient.db"
        version = subprocess.run(["sqlite3", database, "PRAGMA user_version"], capture_output=True, text=True,
                                 check=True).stdout
        subprocess.run(["sqlite3", database, f"PRAGMA user_version = {int(version) + 1}"], check=True)
        self.start(made)
        self.assertEqual(made.process.wait(harness.PATIENCE_SECONDS), 1)
        self.assertRegex(made.log.read_text(), r"the database has version \d+, this program knows up to \d+")

    def test_a_pod_for_maintenance_waits_and_ends_when_it_is_told_to(self):
        made = self.pod(maintenance=True)
        self.start(made)
        made.await_ready()
        self.assertEqual(made.exec(["ls", "-A", "/var/lib/quotient"], capture_output=True).returncode, 0)
        deadline = time.monotonic() + harness.PATIENCE_SECONDS
        while not harness.descendants(made.process.pid, "sleep"):  # By then the shell listens to signals.
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.02)
        made.tell_to_end()
        self.assertEqual(made.await_end(), 0)


if __name__ == "__main__":
    unittest.main()
