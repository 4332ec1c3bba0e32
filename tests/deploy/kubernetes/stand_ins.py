"""Stand-ins for docker, helm and kubectl, which know the commands of deploy/kubernetes/README.md and no others.

The programs that a script finds in `Cluster.programs` pass what they are told, and their streams, to the cluster.
That is this process: it renders the chart with Helm as a library, and runs the pod of its Deployment (pod.py).
"""

import argparse
import json
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import threading

import helm_python
import yaml

import pod
import policies

sys.path.append(str(policies.ROOT / "deploy" / "kubernetes"))

import harness
import render

PROGRAM = """#!{python}
import json, os, socket, sys
with socket.socket(socket.AF_UNIX) as cluster:
    cluster.connect({address!r})
    told = json.dumps([os.path.basename(sys.argv[0]), os.getcwd(), *sys.argv[1:]])
    socket.send_fds(cluster, [told.encode()], [0, 1, 2])
    sys.exit(int(cluster.recv(16) or 1))
"""


class Refused(Exception):
    pass


class Parser(argparse.ArgumentParser):
    def error(self, message):
        raise Refused(message)


def docker_parser():
    parser = Parser(prog="docker build", allow_abbrev=False)
    parser.add_argument("-t", required=True)
    parser.add_argument("--file", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    return parser


def helm_parser():
    parser = Parser(prog="helm", allow_abbrev=False)
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("install", "upgrade", "rollback", "test", "uninstall"):
        command = commands.add_parser(name, allow_abbrev=False)
        command.add_argument("release")
        command.add_argument("--namespace", required=True)
        if name in ("install", "upgrade"):
            command.add_argument("chart")
            command.add_argument("--values", action="append", default=[])
            command.add_argument("--set", action="append", default=[])
        if name in ("install", "upgrade", "rollback"):
            command.add_argument("--wait", action="store_true", required=True)
        command.add_argument("--create-namespace" if name == "install" else "--reset-then-reuse-values",
                             action="store_true", dest="flag")
    return parser


def kubectl_parser():
    parser = Parser(prog="kubectl", allow_abbrev=False)
    parser.add_argument("--namespace", default="default")
    commands = parser.add_subparsers(dest="command", required=True)
    forward = commands.add_parser("port-forward", allow_abbrev=False)
    forward.add_argument("object")
    forward.add_argument("port", type=int)
    run = commands.add_parser("exec", allow_abbrev=False)
    run.add_argument("--stdin", action="store_true")
    run.add_argument("object")
    return parser


class Cluster:
    """A namespace with one release at most."""

    def __init__(self, folder, env):
        self.folder = pathlib.Path(folder)
        self.programs = self.folder / "programs"
        self.env = env
        self.namespace = None
        self.revisions = []  # The values of each.
        self.pod = None
        self.images = set()  # What docker has pushed.
        self.forwarded = []  # Connections of port-forward, which end with the cluster.
        self.make_programs()

    def make_programs(self):
        self.programs.mkdir(parents=True)
        address = str(self.folder / "cluster")
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(address)
        self.listener.listen()
        for name in ("docker", "helm", "kubectl"):
            program = self.programs / name
            program.write_text(PROGRAM.format(python=sys.executable, address=address))
            program.chmod(0o755)
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        """One after the other, in a thread that lives as long as the cluster: a pod dies with that which
        started it."""
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            self.answer(connection)

    def close(self):
        # A thread that waits for a connection would keep the address.
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        for connection in self.forwarded:
            connection.close()
        if self.pod is not None:
            self.pod.kill()

    def answer(self, connection):
        told, streams, _, _ = socket.recv_fds(connection, 65536, 3)
        files = [open(stream, mode, buffering=0) for stream, mode in zip(streams, ("rb", "wb", "wb"))]
        name, here, *words = json.loads(told)
        try:
            code = getattr(self, name)(pathlib.Path(here), words, files, connection)
        except (Refused, helm_python.HelmError, OSError, AssertionError) as error:
            files[2].write(f"{name}: {error}\n".encode())
            code = 1
        for file in files:
            file.close()
        if code is not None:
            connection.send(str(code).encode())
            connection.close()

    def docker(self, here, words, _, __):
        if words[0] == "build":
            return self.build(here, docker_parser().parse_args(words[1:]))
        if words[0] == "push":
            self.images.add(words[1])
            return 0
        raise Refused(f"what is {words}?")

    def build(self, here, told):
        """An image of the sources, or, if a Dockerfile is named, of the Debian package in a folder."""
        dockerfile = here / (told.file or told.folder / "Dockerfile")
        if not dockerfile.exists():
            raise Refused(f"no {dockerfile}")
        if told.file and not any((here / told.folder).glob("quotient_*_amd64.deb")):
            raise Refused(f"no package in {told.folder}")
        return 0

    def helm(self, here, words, files, _):
        told = helm_parser().parse_args(words)
        if told.release != render.RELEASE or (self.namespace or told.namespace) != told.namespace:
            raise Refused(f"there is no release {told.release} in {told.namespace}")
        if bool(self.revisions) == (told.command == "install"):
            raise Refused(f"{told.command}: there {'is' if self.revisions else 'is no'} release")
        if told.command == "install" and self.namespace is None and not told.flag:
            raise Refused(f"there is no namespace {told.namespace}")
        self.namespace = told.namespace
        if told.command == "uninstall":
            self.end_pod()
            self.revisions = []
        elif told.command == "rollback":
            self.install(self.revisions[-2])
        elif told.command == "test":
            return self.run_tests(files)
        else:
            if (here / told.chart).resolve() != render.CHART:
                raise Refused(f"{told.chart} is not the chart")
            below = self.revisions[-1] if told.command == "upgrade" and told.flag else {}
            values = render.merged(below, render.values_of([here / file for file in told.values]))
            for text in told.set:
                values = render.merged(values, helm_python.parse_set_string(text))
            self.install(values)
        return 0

    def objects(self):
        return render.objects(self.revisions[-1], namespace=self.namespace)

    def install(self, values):
        """A changed Deployment with the strategy Recreate: the old pod ends first, then the new one starts."""
        self.revisions.append(values)
        broken = policies.violations(self.objects())
        if broken:
            raise Refused(broken)
        (deployment,) = [each for each in self.objects() if each["kind"] == "Deployment"]
        new = pod.Pod(deployment, self.folder / "pod", self.env)
        image = new.container["image"]
        if image not in self.images:
            raise Refused(f"nobody has pushed {image}")
        # Nobody is routed to this pod, so there is nothing to wait for.
        new.container["args"] = [re.sub(r"(--endpoint-grace-seconds=)\d+", r"\g<1>0", word)
                                 for word in new.container.get("args", [])]
        self.end_pod()
        self.pod = new
        self.pod.start(preexec_fn=harness.die_with_parent)
        self.pod.await_ready()

    def end_pod(self):
        if self.pod is None:
            return
        self.pod.tell_to_end()
        status = self.pod.await_end()
        if status != 0:
            raise Refused(f"the pod ended with {status}:\n{self.pod.log.read_text()}")
        for folder in self.pod.emptied:
            shutil.rmtree(folder)
        self.pod = None

    def run_tests(self, files):
        for each in filter(render.is_hook, self.objects()):
            (policy,) = [other["spec"] for other in self.objects() if other["kind"] == "NetworkPolicy"]
            peers = [peer["podSelector"]["matchLabels"] for peer in policy["ingress"][0]["from"]]
            if not any(peer.items() <= each["metadata"]["labels"].items() for peer in peers):
                raise Refused("the test may not call the server")
            words = [re.sub(r"^quotient:8980$", self.pod.address, word)
                     for word in each["spec"]["containers"][0]["command"]]
            if self.pod.exec(words, stdout=files[1], stderr=files[2]).returncode != 0:
                return 1
        return 0

    def kubectl(self, here, words, files, connection):
        if words[0] == "kustomize":
            real = shutil.which("kubectl")
            if real is None:
                return 0  # Not tried here; chart_test.py compares what the bases say.
            return subprocess.run([real, *words], cwd=here, stdout=files[1], stderr=files[2],
                                  check=False).returncode
        ours, command = words, []
        if "--" in words:
            ours, command = words[:words.index("--")], words[words.index("--") + 1:]
        told = kubectl_parser().parse_args(ours)
        if told.namespace != self.namespace or self.pod is None:
            raise Refused(f"nothing runs in {told.namespace}")
        kind, name = told.object.split("/")
        (found,) = [each for each in self.objects()
                    if each["kind"].lower() == kind and each["metadata"]["name"] == name]
        if told.command == "exec":
            return self.pod.exec(command, stdin=files[0] if told.stdin else subprocess.DEVNULL,
                                 stdout=files[1], stderr=files[2]).returncode
        # The pod listens at the port of this machine already. The page has that instead of the service's.
        ports = {self.pod.ports[port["port"]] for port in found["spec"]["ports"]}
        if told.port not in ports:
            raise Refused(f"the service has no port {told.port}")
        self.forwarded.append(connection)
        return None
