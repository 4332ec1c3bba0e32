"""All commands of deploy/kubernetes/README.md, one block after the other, with the real server and with stand-ins
for what only a cluster has."""

import os
import pathlib
import re
import subprocess
import unittest

import onnx

import policies
import stand_ins

import harness
import models

PAGE = policies.ROOT / "deploy" / "kubernetes" / "README.md"
BLOCK = re.compile(r"^```bash\n(.*?)^```", re.MULTILINE | re.DOTALL)


class ReadmeTest(harness.TestCase):
    def setUp(self):
        super().setUp()
        # Where the page's paths lead: the root of the tree.
        for name in ("deploy", "Dockerfile"):
            (self.folder / name).symlink_to(policies.ROOT / name)
        (self.folder / "packages").mkdir()
        (self.folder / "packages/quotient_0.3.0_amd64.deb").touch()
        onnx.save(models.conv_bn_relu(2), self.folder / "model.onnx")
        self.cluster = stand_ins.Cluster(self.folder / "cluster-of-one", self.env)
        self.addCleanup(self.cluster.close)
        self.ports = stand_ins.pod.Pod(*self.deployment(), self.folder / "cluster-of-one" / "pod").ports
        self.env["QUOTIENT_SERVER"] = f"127.0.0.1:{self.ports[8980]}"

    def deployment(self):
        return [each for each in stand_ins.render.objects({}) if each["kind"] == "Deployment"]

    def run_block(self, block):
        for port, ours in self.ports.items():
            block = re.sub(rf"\b{port}\b", str(ours), block)
        env = {**self.env, "PATH": f"{self.cluster.programs}:{harness.BIN}:{os.environ['PATH']}"}
        # What goes on in the background, such as port-forward, must not keep the pipe open.
        with open(self.folder / "output", "w+b") as output:
            done = subprocess.run(["bash", "-euo", "pipefail", "-c", block], cwd=self.folder, env=env,
                                  stdin=subprocess.DEVNULL, stdout=output, stderr=output, check=False,
                                  timeout=harness.PATIENCE_SECONDS)
            output.seek(0)
            said = output.read().decode()
        self.assertEqual(done.returncode, 0, f"{block}\n{said}")
        return said

    def test_from_nothing_to_a_restored_backup(self):
        seen = set()
        job = before = None
        for block in BLOCK.findall(PAGE.read_text()):
            said = self.run_block(block)
            seen.update(re.findall(r"helm \w+|quotient-\w+|port-forward|kubectl kustomize|docker \w+", block))
            if "optimize" in block:
                onnx.checker.check_model(onnx.load(self.folder / "faster.onnx"))
                self.assertIn("<html", (self.folder / "report.html").read_text())
            if "readyz" in block:
                self.assertIn("ready\n", said)
            if "values/cpu.yaml" in block:
                # Something to lose, on the volume that is kept.
                job = self.quotient("submit", "model.onnx", "--budget", "1s", "--device", "cpu").out.strip()
                before = self.result(job)
            if "helm rollback" in block:
                self.assertEqual(self.result(job), before)
            if "quotient-backup" in block:
                # After the backup all is lost.
                self.assert_code(self.quotient("delete", job), 0)
                self.assert_code(self.quotient("result", job, "-o", "out.onnx"), 2)
        self.assertEqual(self.result(job), before)
        volume = self.folder / "cluster-of-one" / "pod" / "data"
        self.assertEqual([path.name for path in volume.iterdir()], ["data"])
        self.assertEqual(seen, {"docker build", "docker push", "helm install", "helm test", "helm uninstall",
                                "helm upgrade", "helm rollback", "port-forward", "kubectl kustomize",
                                "quotient-backup", "quotient-restore"})

    def result(self, job):
        self.assert_code(self.quotient("watch", job), 0)
        self.assert_code(self.quotient("result", job, "-o", "out.onnx"), 0)
        return (self.folder / "out.onnx").read_bytes()

    def test_the_stand_ins_refuse_what_they_do_not_know(self):
        for block, said in [("helm install quotient deploy/kubernetes/chart --namespace a --atomic --wait",
                             "unrecognized arguments: --atomic"),
                            ("helm upgrade quotient deploy/kubernetes/chart --namespace a --wait", "no release"),
                            ("helm install quotient deploy/kubernetes/chart --namespace a --create-namespace "
                             "--set replicas=2 --wait", "replicas"),
                            ("helm install quotient deploy/kubernetes/chart --namespace a --create-namespace --wait",
                             "nobody has pushed quotient:"),
                            ("kubectl --namespace a exec deployment/quotient -- true", "nothing runs"),
                            ("docker run x", "what is"),
                            ("docker build -t quotient deploy", "no "),
                            ("docker build -t quotient --file Dockerfile deploy", "no package in deploy")]:
            with self.subTest(block), self.assertRaises(AssertionError) as refused:
                self.cluster.revisions, self.cluster.namespace = [], None
                self.run_block(block)
            self.assertIn(said, str(refused.exception))


if __name__ == "__main__":
    unittest.main()
