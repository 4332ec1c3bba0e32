"""The server with what the chart leaves a container: another user, no capabilities, no way to gain any, a root
file system that cannot be written, and processes of its own. Needs root, who alone can take these away."""

import json
import os
import pathlib
import shutil
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

# The folder that becomes the root, then where what is mounted lies, then the command. Mount points are made
# in a file system in memory, since nothing can be written afterwards.
JAIL = """
set -eu
root=$1 data=$2 temporary=$3 user=$4
shift 4
mount --make-rprivate /
mount --rbind / "$root"
awk '{print $5}' /proc/self/mountinfo | grep "^$root" | while read -r each; do
  mount -o remount,bind,ro "$each" 2>/dev/null || true
done
mount -t tmpfs none "$root/var/lib"
mkdir "$root/var/lib/quotient"
mount -o remount,ro "$root/var/lib"
mount --bind "$data" "$root/var/lib/quotient"
mount --bind "$temporary" "$root/tmp"
mount -t proc none "$root/proc"
exec chroot "$root" setpriv --reuid "$user" --regid "$user" --groups "$user" --inh-caps=-all \
  --ambient-caps=-all --bounding-set=-all --no-new-privs "$@"
"""
# The first process of a pod: it waits for all that nobody else waits for.
FIRST = """
import os, sys
child = os.spawnvp(os.P_NOWAIT, sys.argv[1], sys.argv[1:])
while True:
    ended, status = os.wait()
    if ended == child:
        os._exit(os.waitstatus_to_exitcode(status) & 255)
"""


def why_not():
    """Why it cannot be tried here, or nothing."""
    if os.geteuid() != 0:
        return "needs root"
    if harness.BIN.resolve().is_relative_to("/tmp"):
        return "/tmp is the pod's own, and the programs are there"
    tried = subprocess.run(["unshare", "--mount", "--pid", "--fork", "mount", "-t", "tmpfs", "none", "/var/lib"],
                           capture_output=True, check=False)
    if tried.returncode != 0:
        return "no namespaces can be made"
    user = subprocess.run(["setpriv", "--reuid", "10001", "--clear-groups", "test", "-x",
                           harness.BIN.resolve() / "quotientd"], check=False)
    return "the programs cannot be reached by other users" if user.returncode != 0 else None


WHY_NOT = why_not()


class RestrictedPod(pod.Pod):
    def environment(self):
        # The container's own /tmp.
        return {**super().environment(), "TMPDIR": "/tmp"}

    def translated(self, words):
        words = super().translated(words)
        mounted = {str(ours): mount for mount, ours in self.mounts.items()}
        for ours, mount in mounted.items():
            words = [word.replace(ours, mount) for word in words]
        words[0] = shutil.which(words[0], path=f"{harness.BIN.resolve()}:{os.environ['PATH']}")
        user = str(self.spec["securityContext"]["runAsUser"])
        root = self.folder / "root"
        root.mkdir(exist_ok=True)
        group = self.spec["securityContext"]["fsGroup"]
        for folder in self.mounts.values():  # As a kubelet leaves a volume, by fsGroup.
            os.chown(folder, 0, group)
            folder.chmod(0o2775)
        return ["unshare", "--mount", "--pid", "--fork", "--kill-child", sys.executable, "-c", FIRST,
                "bash", "-c", JAIL, "jail", str(root), str(self.mounts["/var/lib/quotient"]),
                str(self.mounts["/tmp"]), user, *words]

    def tell_to_end(self):
        # The server executes itself once more when it starts (/proc/self/exe), and is called that.
        (server,) = harness.descendants(self.process.pid, "exe")
        os.kill(server, 15)


@unittest.skipIf(WHY_NOT, WHY_NOT)
class RestrictedTest(harness.TestCase):
    def setUp(self):
        super().setUp()
        onnx.save(models.conv_bn_relu(2), self.folder / "m.onnx")
        (deployment,) = [each for each in render.objects({}) if each["kind"] == "Deployment"]
        self.pod = RestrictedPod(deployment, self.folder / "pod", self.env)
        self.addCleanup(self.pod.kill)
        self.env["QUOTIENT_SERVER"] = self.pod.address

    def warnings(self, log):
        lines = [json.loads(line) for line in log.read_text().splitlines()]
        return {line["message"] for line in lines if line["level"] not in ("debug", "info")}

    def optimize(self, device):
        result = self.quotient("optimize", "m.onnx", "-o", f"{device}.onnx", "--device", device, "--budget", "1s")
        self.assert_code(result, 0)
        onnx.checker.check_model(onnx.load(self.folder / f"{device}.onnx"))

    def test_the_jail_is_one(self):
        for folder in self.pod.mounts.values():
            folder.mkdir()
        script = ("id -u; touch /etc/x; touch /var/lib/x; touch /usr/x; touch /tmp/ok && echo tmp; "
                  "touch /var/lib/quotient/ok && echo data; grep -E 'CapEff|CapBnd|NoNewPrivs' /proc/self/status; "
                  "test -e /proc/1 && ls -d /proc/[0-9]* | wc -l")
        seen = self.pod.exec(["sh", "-c", script], capture_output=True, text=True).stdout.split()
        self.assertEqual(seen[:3], ["10001", "tmp", "data"])
        self.assertEqual(seen[3:9], ["CapEff:", "0" * 16, "CapBnd:", "0" * 16, "NoNewPrivs:", "1"])
        self.assertLess(int(seen[9]), 10)

    def test_jobs_run_in_their_sandbox_there_as_they_do_elsewhere(self):
        self.pod.start(preexec_fn=harness.die_with_parent)
        self.pod.await_ready()
        self.optimize("cpu")
        self.optimize("onnxruntime")
        self.pod.tell_to_end()
        self.assertEqual(self.pod.await_end(), 0, self.pod.log.read_text())
        # Whatever this machine's kernel lacks, nothing more is missing in the pod.
        elsewhere = self.serve("--log-format", "json")
        self.optimize("cpu")
        self.assertLessEqual(self.warnings(self.pod.log), self.warnings(elsewhere.log))


if __name__ == "__main__":
    unittest.main()
