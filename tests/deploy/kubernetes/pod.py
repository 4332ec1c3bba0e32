"""Runs the container of a rendered Deployment as a process of this machine, in the order in which a kubelet
does things. What a container would keep apart is not: root file system, user, network."""

import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "e2e"))

import harness

# Scripts that the image has beside the programs, by their names there.
SCRIPTS = {"quotient-backup": "deploy/backup.sh", "quotient-restore": "deploy/restore.sh"}
ROOT = pathlib.Path(__file__).resolve().parents[3]


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Pod:
    """The pod of a Deployment. Volumes are folders in `folder`; claims outlive the pod, others do not. Its
    state is in files, so that another process can go on with it."""

    def __init__(self, deployment, folder, env=None):
        self.spec = deployment["spec"]["template"]["spec"]
        (self.container,) = self.spec["containers"]
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.env = {**os.environ, **(env or {})}
        self.log = self.folder / "pod.log"
        self.process = None
        volumes = {volume["name"]: volume for volume in self.spec["volumes"]}
        # Folders here, by where the container has them.
        self.mounts = {mount["mountPath"]: self.folder / mount["name"]
                       for mount in self.container["volumeMounts"]}
        self.emptied = [self.folder / name for name, volume in volumes.items() if "emptyDir" in volume]
        self.ports = self.known_ports()

    def known_ports(self):
        """Ports here, by those of the container; the same whenever a pod runs on these folders."""
        file = self.folder / "ports.json"
        if not file.exists():
            file.write_text(json.dumps({8980: free_port(), 9464: free_port()}))
        return {int(port): ours for port, ours in json.loads(file.read_text()).items()}

    @property
    def address(self):
        return f"127.0.0.1:{self.ports[8980]}"

    def translated(self, words):
        """Words of a command, as they have to be here."""
        mounts = rf"(?<![\w/])({'|'.join(self.mounts)})(?=/|$)"
        translated = []
        for word in words:
            word = re.sub(mounts, lambda found: str(self.mounts[found[1]]), word)
            word = re.sub(r"0\.0\.0\.0:(\d+)", lambda found: f"127.0.0.1:{self.ports[int(found[1])]}", word)
            translated.append(word)
        if translated[0] in SCRIPTS:
            translated[0] = str(ROOT / SCRIPTS[translated[0]])
        return translated

    def environment(self):
        own = {each["name"]: each["value"] for each in self.container.get("env", [])}
        path = f"{harness.BIN}:{self.env['PATH']}"
        return {**self.env, "TMPDIR": str(self.mounts["/tmp"]), "PATH": path, **own}

    def start(self, **settings):
        """A new pod: what it does not share with the last one is empty."""
        for folder in self.emptied:
            shutil.rmtree(folder, ignore_errors=True)
        for folder in self.mounts.values():
            folder.mkdir(exist_ok=True)
        # The image's entry point is quotientd.
        command = self.container.get("command") or ["quotientd"]
        words = self.translated([*command, *self.container.get("args", [])])
        self.log.write_text("")
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(words, stdout=log, stderr=log, env=self.environment(), **settings)

    def exec(self, words, **settings):
        """kubectl exec."""
        return subprocess.run(self.translated(words), env=self.environment(), check=False, **settings)

    def probe(self, kind):
        """Whether the container's probe of this kind (startup, liveness, readiness) succeeds, and what it
        was told."""
        get = self.container[f"{kind}Probe"]["httpGet"]
        (port,) = [each["containerPort"] for each in self.container["ports"] if each["name"] == get["port"]]
        url = f"http://127.0.0.1:{self.ports[port]}{get['path']}"
        try:
            with urllib.request.urlopen(url, timeout=30) as page:
                return 200 <= page.status < 400, page.read().decode().strip()
        except urllib.error.HTTPError as error:
            return False, error.read().decode().strip()
        except OSError as error:
            return False, type(error).__name__

    def await_probe(self, kind, wanted=True):
        """Until the probe's answer is this one. Returns what it was told."""
        deadline = time.monotonic() + harness.PATIENCE_SECONDS
        while True:
            found, told = self.probe(kind)
            if found == wanted:
                return told
            if self.process is not None and self.process.poll() is not None:
                raise AssertionError(f"the pod has ended:\n{self.log.read_text()}")
            if time.monotonic() > deadline:
                raise AssertionError(f"{kind}: {told}\n{self.log.read_text()}")
            time.sleep(0.02)

    def await_ready(self):
        """As a kubelet: no other probe is looked at before that of the start has succeeded."""
        if "startupProbe" not in self.container:
            return  # Without probes, a pod is ready when it runs.
        self.await_probe("startup")
        self.await_probe("readiness")

    def tell_to_end(self):
        """There is no preStop hook, so this is the first thing that the container notices."""
        self.process.send_signal(signal.SIGTERM)

    def await_end(self):
        """Returns the exit status, after the grace period that of a process that was killed."""
        try:
            return self.process.wait(self.spec["terminationGracePeriodSeconds"])
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()

    def kill(self):
        if self.process is not None:
            self.process.kill()
            self.process.wait()
