"""What every object of the chart has to keep to. Returns findings and raises nothing, so that a test can
show that each rule finds what it is for."""

import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[3]

# What the chart may make. No roles, no secrets, nothing that belongs to the cluster.
KINDS = {"Deployment", "NetworkPolicy", "PersistentVolumeClaim", "Pod", "PrometheusRule", "Service",
         "ServiceAccount", "ServiceMonitor"}
SERVER = "quotientd"


def job_end_seconds():
    """How long a job's process gets to leave its checkpoint, by the source of the server."""
    source = (ROOT / "server" / "runner" / "process_settings.h").read_text()
    return int(re.search(r"double end_seconds = (\d+);", source)[1])


def flag_default(name):
    """The default of a flag that is a number, by the source of the server."""
    source = (ROOT / "server" / "config" / "flags.h").read_text()
    return int(re.search(rf"int64_t {name.replace('-', '_')} = (\d+);", source)[1])


def flag(container, name):
    """The value of a flag that is a number, as the container has it."""
    for argument in container.get("args", []):
        if argument.startswith(f"--{name}="):
            return int(argument.split("=")[1])
    return flag_default(name)


def pods(objects):
    """Names and specifications of pods, also of those that are made from templates."""
    for each in objects:
        if each["kind"] == "Pod":
            yield each["metadata"]["name"], each["spec"], each["metadata"]["labels"]
        elif "template" in each.get("spec", {}):
            template = each["spec"]["template"]
            yield each["metadata"]["name"], template["spec"], template["metadata"]["labels"]


def restricted(spec):
    """The restricted profile of the pod security standards, and a root file system that is not written."""
    security = spec.get("securityContext", {})
    if security.get("runAsNonRoot") is not True or not security.get("runAsUser"):
        yield "may run as root"
    if security.get("seccompProfile", {}).get("type") != "RuntimeDefault":
        yield "has no seccomp profile"
    for name in ("hostNetwork", "hostPID", "hostIPC"):
        if spec.get(name):
            yield f"has {name}"
    for volume in spec.get("volumes", []):
        if not {"emptyDir", "persistentVolumeClaim"} & volume.keys():
            yield f"has the volume {volume['name']}"
    for container in spec["containers"] + spec.get("initContainers", []):
        own = container.get("securityContext", {})
        if own.get("allowPrivilegeEscalation") is not False or own.get("privileged"):
            yield "may gain privileges"
        if own.get("readOnlyRootFilesystem") is not True:
            yield "may write its root file system"
        if own.get("capabilities") != {"drop": ["ALL"]}:
            yield "has capabilities"


def fenced_in(spec):
    """What a pod must not get from the cluster by default, and how much of the node it may take."""
    if spec.get("automountServiceAccountToken") is not False:
        yield "has a token of the cluster"
    if spec.get("enableServiceLinks") is not False:
        yield "has variables of services"
    for volume in spec.get("volumes", []):
        if "emptyDir" in volume and "sizeLimit" not in volume["emptyDir"]:
            yield f"has no limit for the volume {volume['name']}"
    for container in spec["containers"]:
        name, tag = re.fullmatch(r"(.+?)(?:[:@]([^/]+))?", container["image"]).groups()
        if not tag or tag == "latest" or not name:
            yield f"has the image {container['image']}, which is not one version"
        resources = container.get("resources", {})
        for part in ("requests", "limits"):
            if not {"cpu", "memory"} <= resources.get(part, {}).keys():
                yield f"has no {part} of cpu and memory"


def ends_in_time(spec, container):
    """A pod that is killed before it has ended costs no job, but calls that were promised their time."""
    needed = (flag(container, "endpoint-grace-seconds") + job_end_seconds() +
              flag(container, "drain-seconds"))
    if spec.get("terminationGracePeriodSeconds", 30) < needed + 10:
        yield f"is killed after {spec.get('terminationGracePeriodSeconds', 30)} s, and needs {needed} s"
    if "preStop" in container.get("lifecycle", {}):
        yield "has a preStop hook, which only delays that it is not ready"


def probed(container):
    paths = {name: container.get(f"{name}Probe", {}).get("httpGet", {}).get("path")
             for name in ("startup", "liveness", "readiness")}
    if paths != {"startup": "/livez", "liveness": "/livez", "readiness": "/readyz"}:
        yield f"has the probes {paths}"


def one_server(deployment):
    if deployment["spec"].get("replicas") != 1 or deployment["spec"].get("strategy") != {"type": "Recreate"}:
        yield "is not one replica that ends before the next one starts"
    spec = deployment["spec"]["template"]["spec"]
    if spec.get("shareProcessNamespace") is not True:
        yield "runs the server as the first process, which nobody clears up after"
    (container,) = spec["containers"]
    if "ephemeral-storage" not in container["resources"].get("limits", {}):
        yield "may fill the node's disk"
    if "command" in container:
        return  # Maintenance: no server runs.
    yield from ends_in_time(spec, container)
    yield from probed(container)
    if "--no-sandbox" in container["args"]:
        yield "runs models without a sandbox"


def matched(objects):
    """Selectors and ports that mean nothing are not noticed by Kubernetes."""
    labels = [found for name, spec, found in pods(objects) if spec["containers"][0]["name"] == SERVER]
    ports = {port["name"]: port["containerPort"] for _, spec, _ in pods(objects)
             for port in spec["containers"][0].get("ports", [])}
    for each in objects:
        spec = each.get("spec", {})
        if each["kind"] == "Service":
            wanted = spec["selector"]
            for port in spec["ports"]:
                if ports and port["targetPort"] not in ports:
                    yield f"Service: no port {port['targetPort']}"
        elif each["kind"] == "Deployment":
            wanted = spec["selector"]["matchLabels"]
        elif each["kind"] == "NetworkPolicy":
            wanted = spec["podSelector"]["matchLabels"]
            if spec.get("egress") != [] or set(spec["policyTypes"]) != {"Ingress", "Egress"}:
                yield "NetworkPolicy: the server may connect to others"
            for rule in spec.get("ingress") or []:
                if not rule.get("from"):
                    yield "NetworkPolicy: anybody may connect"
                for port in rule["ports"]:
                    if ports and port["port"] not in ports.values():
                        yield f"NetworkPolicy: no port {port['port']}"
        else:
            continue
        if not any(wanted.items() <= found.items() for found in labels):
            yield f"{each['kind']}: selects no server"


def violations(objects):
    found = []
    for each in objects:
        if each["kind"] not in KINDS:
            found.append(f"{each['kind']}: none of those that the chart may make")
        if each["kind"] == "Deployment":
            found += [f"Deployment: {what}" for what in one_server(each)]
        if each["kind"] == "Service" and each["spec"].get("type") != "ClusterIP":
            found.append("Service: can be reached from outside")
    for name, spec, _ in pods(objects):
        found += [f"{name}: {what}" for rule in (restricted, fenced_in) for what in rule(spec)]
    return found + list(matched(objects))
