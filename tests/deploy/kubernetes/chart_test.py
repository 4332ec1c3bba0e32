"""The chart, and the bases that are written from it: what they render, what they refuse, what they keep to."""

import copy
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

import helm_python
import jsonschema
import kubernetes_validate
import yaml

import policies

ROOT = policies.ROOT
FOLDER = ROOT / "deploy" / "kubernetes"
sys.path.append(str(FOLDER))

import render

VALUES = sorted((FOLDER / "values").glob("*.yaml"))
# Flags that the chart sets itself, or that no pod may have.
OF_THE_CHART = {"listen", "allow-remote", "data-dir", "metrics-listen"}
REFUSED = {"port-file", "metrics-page", "no-sandbox", "help", "version"}

# What objects of the Prometheus operator may have of what we use, by its documentation: Kubernetes' own
# schemas do not have them.
DURATION = {"type": "string", "pattern": "^([0-9]+(ms|s|m|h))+$"}
TEXT = {"type": "string", "minLength": 1}


def strict(required, **properties):
    return {"type": "object", "additionalProperties": False, "required": required, "properties": properties}


OF_THE_OPERATOR = {
    "ServiceMonitor": strict(
        ["endpoints", "selector"], selector=strict(["matchLabels"], matchLabels={"type": "object"}),
        endpoints={"type": "array", "minItems": 1,
                   "items": strict(["port"], port=TEXT, path=TEXT, interval=DURATION)}),
    "PrometheusRule": strict(
        ["groups"], groups={"type": "array", "minItems": 1, "items": strict(
            ["name", "rules"], name=TEXT, interval=DURATION,
            rules={"type": "array", "minItems": 1, "items": strict(
                ["expr"], alert=TEXT, record=TEXT, expr=TEXT, annotations={"type": "object"},
                labels={"type": "object"}, **{"for": DURATION, "keep_firing_for": DURATION})})})}


def deployment(values):
    (found,) = [each for each in render.objects(values) if each["kind"] == "Deployment"]
    return found


def container(values):
    return deployment(values)["spec"]["template"]["spec"]["containers"][0]


class RenderTest(unittest.TestCase):
    """Each file of values, and none."""

    def for_each(self, check):
        for file in [None, *VALUES]:
            values = render.values_of([file] if file else [])
            with self.subTest(file.name if file else "none"):
                check(values, render.objects(values))

    def test_there_are_six_files_at_least(self):
        self.assertGreaterEqual(len(VALUES), 6)

    def test_helm_finds_nothing_to_complain_about(self):
        def check(values, _):
            report = helm_python.lint(render.CHART, values, strict=True)
            # An icon is only recommended.
            told = [message for message in report["messages"] if "icon is recommended" not in message["error"]]
            self.assertEqual((told, report["errors"]), ([], []))
        self.for_each(check)

    def test_helm_finds_what_is_wrong(self):
        report = helm_python.lint(render.CHART, {"size": "huge"}, strict=True)
        self.assertNotEqual(report["errors"], [])

    def test_kubernetes_knows_all_fields(self):
        least = re.search(r">=(\d+\.\d+)", (render.CHART / "Chart.yaml").read_text())[1]
        versions = [least, kubernetes_validate.latest_version()]
        self.assertNotEqual(*versions)

        def check(_, objects):
            for each in objects:
                if each["kind"] in OF_THE_OPERATOR:
                    self.assertEqual(each["apiVersion"], "monitoring.coreos.com/v1")
                    jsonschema.validate(each["spec"], OF_THE_OPERATOR[each["kind"]])
                    continue
                for version in versions:
                    kubernetes_validate.validate(each, version, strict=True)
        self.for_each(check)

    def test_kubernetes_refuses_a_field_that_it_does_not_know(self):
        wrong = deployment({})
        wrong["spec"]["template"]["spec"]["terminationGraceSeconds"] = 70
        with self.assertRaises(kubernetes_validate.ValidationError):
            kubernetes_validate.validate(wrong, kubernetes_validate.latest_version(), strict=True)

    def test_policies_hold(self):
        self.for_each(lambda _, objects: self.assertEqual(policies.violations(objects), []))

    def test_prometheus_accepts_the_rules(self):
        (rules,) = [each["spec"] for each in render.objects({"prometheusRule": {"enabled": True}})
                    if each["kind"] == "PrometheusRule"]
        promtool = pathlib.Path(os.environ["QUOTIENT_PYTHON"]).parent / "promtool"
        checked = subprocess.run([promtool, "check", "rules", "/dev/stdin"], input=json.dumps(rules), text=True,
                                 capture_output=True, timeout=60, check=False)
        self.assertEqual(checked.returncode, 0, checked.stdout + checked.stderr)
        names = [rule.get("alert") for group in rules["groups"] for rule in group["rules"]]
        self.assertIn("QuotientNoReadyServer", names)

    def test_names_follow_the_release_and_labels_are_the_same_everywhere(self):
        for release, name in (("quotient", "quotient"), ("team-a", "team-a-quotient"),
                              ("my-quotient-2", "my-quotient-2")):
            for each in render.objects({}, release=release):
                self.assertIn(each["metadata"]["name"], (name, name + "-answers"))
                self.assertEqual(each["metadata"]["labels"]["app.kubernetes.io/instance"], release)

    def test_notes_say_loudly_what_an_admin_has_to_know(self):
        def notes(**values):
            return render.rendered(values)["NOTES.txt"]
        self.assertIn("ONE server in ONE pod", notes())
        self.assertNotIn("LOST", notes())
        self.assertIn("ALL DATA IS LOST", notes(data={"kind": "ephemeral"}))
        self.assertIn("MAINTENANCE", notes(maintenance=True))
        self.assertIn("WHOEVER REACHES", notes(networkPolicy={"enabled": False}))

    def test_what_each_file_is_for_is_there(self):
        files = {file.stem: render.values_of([file]) for file in VALUES}
        ephemeral = render.objects(files["first-look"])
        self.assertNotIn("PersistentVolumeClaim", [each["kind"] for each in ephemeral])
        self.assertEqual(container(files["gpu"])["resources"]["limits"]["nvidia.com/gpu"], "1")
        self.assertNotIn("nvidia.com/gpu", container(files["cpu"])["resources"]["limits"])
        monitored = {each["kind"]: each for each in render.objects(files["monitored"])}
        for kind in OF_THE_OPERATOR:
            self.assertEqual(monitored[kind]["metadata"]["labels"]["release"], "kube-prometheus-stack")
        exact = container(files["exact-timing"])["resources"]
        self.assertEqual(exact["requests"], exact["limits"])  # Guaranteed, with whole cores.
        self.assertRegex(exact["limits"]["cpu"], r"^\d+$")
        many = deployment(files["many-clients"])["spec"]["template"]["spec"]
        self.assertRegex(many["containers"][0]["image"], r"^registry\.example:5000/tools/quotient@sha256:")
        self.assertIn("--max-stored-bytes=429496729600", many["containers"][0]["args"])
        self.assertIn({"name": "data", "persistentVolumeClaim": {"claimName": "quotient-data"}},
                      many["volumes"])
        waiting = container(files["maintenance"])
        self.assertIn("sleep", waiting["command"][-1])
        self.assertFalse({"args", "startupProbe", "livenessProbe", "readinessProbe"} & waiting.keys())


class PoliciesTest(unittest.TestCase):
    """Each policy finds what breaks it."""

    # Where in the Deployment's pod, what is put there, and what is said then.
    BROKEN = [
        ("securityContext.runAsNonRoot", False, "may run as root"),
        ("securityContext.runAsUser", 0, "may run as root"),
        ("securityContext.seccompProfile", None, "no seccomp"),
        ("hostNetwork", True, "hostNetwork"),
        ("volumes.0", {"name": "data", "hostPath": {"path": "/"}}, "the volume data"),
        ("volumes.1.emptyDir", {}, "no limit for the volume temporary"),
        ("automountServiceAccountToken", None, "token"),
        ("enableServiceLinks", None, "variables"),
        ("shareProcessNamespace", None, "first process"),
        ("terminationGracePeriodSeconds", 30, "killed after 30 s"),
        ("terminationGracePeriodSeconds", None, "killed after 30 s"),
        ("containers.0.securityContext.allowPrivilegeEscalation", None, "gain privileges"),
        ("containers.0.securityContext.readOnlyRootFilesystem", False, "root file system"),
        ("containers.0.securityContext.capabilities", {"drop": ["ALL"], "add": ["SYS_NICE"]}, "capabilities"),
        ("containers.0.image", "quotient", "not one version"),
        ("containers.0.image", "registry:5000/quotient", "not one version"),
        ("containers.0.image", "quotient:latest", "not one version"),
        ("containers.0.resources.limits.memory", None, "no limits"),
        ("containers.0.resources.limits.ephemeral-storage", None, "fill the node's disk"),
        ("containers.0.readinessProbe", None, "probes"),
        ("containers.0.readinessProbe.httpGet.path", "/livez", "probes"),
        ("containers.0.livenessProbe.httpGet.path", "/readyz", "probes"),
        ("containers.0.startupProbe", None, "probes"),
        ("containers.0.lifecycle", {"preStop": {"sleep": {"seconds": 5}}}, "preStop"),
        ("containers.0.args.4", "--drain-seconds=600", "needs 635 s"),
        ("containers.0.args.4", "--no-sandbox", "sandbox"),
        ("containers.0.ports.0.name", "http", "no port grpc"),
        ("containers.0.ports.1.containerPort", 9000, "no port 9464"),
    ]

    def setUp(self):
        self.objects = render.objects({})

    def put(self, start, path, value):
        place = start
        *way, last = [int(part) if part.isdigit() else part for part in path.split(".")]
        for part in way:
            place = place[part]
        if value is None:
            del place[last]
        else:
            place[last] = value

    def of_kind(self, objects, kind):
        return next(each for each in objects if each["kind"] == kind)

    def test_each_finds_what_it_is_for(self):
        for path, value, said in self.BROKEN:
            with self.subTest(path=path, value=value):
                objects = copy.deepcopy(self.objects)
                spec = self.of_kind(objects, "Deployment")["spec"]["template"]["spec"]
                self.put(spec, path, value)
                self.assertIn(said, "\n".join(policies.violations(objects)))

    def test_so_do_those_of_other_objects(self):
        for kind, path, value, said in [
                ("Deployment", "spec.replicas", 2, "one replica"),
                ("Deployment", "spec.strategy.type", "RollingUpdate", "one replica"),
                ("Service", "spec.type", "LoadBalancer", "from outside"),
                ("Service", "spec.selector", {"app": "x"}, "selects no server"),
                ("NetworkPolicy", "spec.podSelector.matchLabels", {"app": "x"}, "selects no server"),
                ("NetworkPolicy", "spec.egress", None, "may connect to others"),
                ("NetworkPolicy", "spec.policyTypes", ["Ingress"], "may connect to others"),
                ("NetworkPolicy", "spec.ingress.0.from", None, "anybody"),
                ("ServiceAccount", "kind", "ClusterRoleBinding", "none of those")]:
            with self.subTest(kind=kind, path=path):
                objects = copy.deepcopy(self.objects)
                self.put(self.of_kind(objects, kind), path, value)
                self.assertIn(said, "\n".join(policies.violations(objects)))


class ValuesTest(unittest.TestCase):
    """values.schema.json refuses what is wrong, and says where."""

    # Values, and what the message names.
    WRONG = [
        ({"replicas": 2}, "replicas"),
        ({"replicaCount": 1}, "replicaCount"),
        ({"image": {"tag": "latest"}}, "tag"),
        ({"image": {"tag": "no spaces"}}, "tag"),
        ({"image": {"repository": "quotient:latest"}}, "repository"),
        ({"image": {"repository": ""}}, "repository"),
        ({"image": {"digest": "sha256:abc"}}, "digest"),
        ({"image": {"pullPolicy": "Sometimes"}}, "pullPolicy"),
        ({"image": {"pullSecrets": [""]}}, "pullSecrets"),
        ({"image": {"name": "x"}}, "name"),
        ({"size": "huge"}, "size"),
        ({"resources": {"limit": {}}}, "limit"),
        ({"resources": {"limits": {"cpu": True}}}, "cpu"),
        ({"flags": {"no-sandbox": True}}, "no-sandbox"),
        ({"flags": {"listen": "0.0.0.0:1"}}, "listen"),
        ({"flags": {"worker": 2}}, "worker"),
        ({"flags": {"workers": 0}}, "workers"),
        ({"flags": {"workers": 65}}, "workers"),
        ({"flags": {"workers": "2"}}, "workers"),
        ({"flags": {"drain-seconds": -1}}, "drain-seconds"),
        ({"flags": {"endpoint-grace-seconds": 1.5}}, "endpoint-grace-seconds"),
        ({"flags": {"log-level": "verbose"}}, "log-level"),
        ({"flags": {"onnxruntime": "libonnxruntime.so"}}, "onnxruntime"),
        ({"data": {"kind": "nfs"}}, "kind"),
        ({"data": {"size": "20G"}}, "size"),
        ({"data": {"accessMode": "ReadWriteMany"}}, "accessMode"),
        ({"data": {"kind": "ephemeral", "existingClaim": "mine"}}, "existingClaim"),
        ({"data": {"kind": "ephemeral", "size": "5Gi"}}, "size"),
        ({"data": {"storageClass": "Fast SSD"}}, "storageClass"),
        ({"gpu": {"count": -1}}, "count"),
        ({"gpu": {"count": 0.5}}, "count"),
        ({"gpu": {"count": 1}}, "repository"),  # The default image has no CUDA.
        ({"gpu": {"resourceName": "gpu"}}, "resourceName"),
        ({"nodeSelector": {"a": True}}, "nodeSelector"),
        ({"tolerations": ["x"]}, "tolerations"),
        ({"priorityClassName": "Very High"}, "priorityClassName"),
        ({"podLabels": {"app.kubernetes.io/name": "mine"}}, "app.kubernetes.io/name"),
        ({"podAnnotations": {"a": 1}}, "podAnnotations"),
        ({"service": {"type": "LoadBalancer"}}, "type"),
        ({"service": {"port": 0}}, "port"),
        ({"service": {"appProtocol": ""}}, "appProtocol"),
        ({"networkPolicy": {"enabled": "no"}}, "enabled"),
        ({"networkPolicy": {"clients": ["x"]}}, "clients"),
        ({"serviceMonitor": {"interval": "soon"}}, "interval"),
        ({"serviceMonitor": {"labels": {"a": 1}}}, "labels"),
        ({"prometheusRule": {"labels": {"a": 1}}}, "labels"),
        ({"probes": {"startupSeconds": 0}}, "startupSeconds"),
        ({"probes": {"livenessSeconds": 5}}, "livenessSeconds"),
        ({"maintenance": "yes"}, "maintenance"),
        ({"ingress": {"enabled": True}}, "ingress"),
    ]

    def test_each_wrong_value_is_refused_by_name(self):
        for values, named in self.WRONG:
            with self.subTest(values=values):
                with self.assertRaises(helm_python.HelmError) as refused:
                    render.objects(values)
                self.assertIn(named, str(refused.exception))

    def test_each_property_has_a_wrong_value(self):
        """A property that nothing is wrong for would be none of the schema's business."""
        schema = json.loads((render.CHART / "values.schema.json").read_text())
        tried = {(key, inner) if isinstance(value, dict) else (key,)
                 for values, _ in self.WRONG for key, value in values.items()
                 for inner in (value if isinstance(value, dict) else [None])}
        anything = {("affinity",), ("global",), ("gpu", "runtimeClassName"), ("gpu", "tolerations"),
                    ("networkPolicy", "monitoring"), ("serviceMonitor", "enabled"), ("prometheusRule", "enabled"),
                    ("service", "annotations"), ("resources", "requests")}
        for key, rule in schema["properties"].items():
            if key == "flags":
                continue
            for inner in rule.get("properties", {None: {}}):
                name = (key, inner) if inner else (key,)
                used = {each for each in tried if each[0] == key} if not inner else {name} & tried
                self.assertTrue(used or name in anything, name)

    def test_the_schema_has_each_value_with_its_default(self):
        schema = json.loads((render.CHART / "values.schema.json").read_text())
        defaults = yaml.safe_load((render.CHART / "values.yaml").read_text())
        self.assertEqual(set(schema["properties"]) - {"global"}, set(defaults))
        for key, value in defaults.items():
            rules = schema["properties"][key].get("properties")
            if isinstance(value, dict) and rules and key not in ("flags", "resources"):
                self.assertEqual(set(rules), set(value), key)

    def test_the_schema_has_the_flags_of_the_server(self):
        page = subprocess.run([pathlib.Path(os.environ["QUOTIENT_BIN_DIR"]) / "quotientd", "--help"],
                              capture_output=True, text=True, timeout=60, check=True).stdout
        flags = set(re.findall(r"^  --([a-z-]+)", page, re.MULTILINE))
        self.assertLess(OF_THE_CHART | REFUSED, flags)
        schema = json.loads((render.CHART / "values.schema.json").read_text())
        self.assertEqual(set(schema["properties"]["flags"]["properties"]), flags - OF_THE_CHART - REFUSED)

    def test_flags_become_arguments(self):
        arguments = container({"flags": {
            "workers": 3, "max-blob-bytes": 17179869184, "no-precedence": True, "log-format": None,
            "onnxruntime": "/opt/ort/libonnxruntime.so"}})["args"]
        self.assertEqual(arguments[4:], [
            "--drain-seconds=20", "--endpoint-grace-seconds=15", "--max-blob-bytes=17179869184",
            "--no-precedence", "--onnxruntime=/opt/ort/libonnxruntime.so", "--workers=3"])
        self.assertNotIn("--no-precedence", container({"flags": {"no-precedence": False}})["args"])

    def test_the_grace_period_follows_the_flags(self):
        def grace(**flags):
            found = deployment({"flags": {key.replace("_", "-"): value for key, value in flags.items()}})
            return found["spec"]["template"]["spec"]["terminationGracePeriodSeconds"]
        between = 15
        self.assertEqual(grace(), 15 + policies.job_end_seconds() + 20 + between)
        self.assertEqual(grace(endpoint_grace_seconds=60, drain_seconds=0),
                         60 + policies.job_end_seconds() + between)
        # What is not given is the server's own default.
        self.assertEqual(grace(endpoint_grace_seconds=None, drain_seconds=None),
                         policies.flag_default("endpoint-grace-seconds") + policies.job_end_seconds() +
                         policies.flag_default("drain-seconds") + between)

    def test_sizes_can_be_replaced(self):
        own = {"requests": {"cpu": "500m", "memory": "1Gi"}, "limits": {"cpu": 1, "memory": "2Gi"}}
        self.assertEqual(container({"resources": own})["resources"], own)
        with_gpu = container({"resources": own, "gpu": {"count": 2}, "image": {"repository": "own"}})
        self.assertEqual(with_gpu["resources"]["limits"], {**own["limits"], "nvidia.com/gpu": "2"})

    def test_what_is_empty_is_left_out(self):
        spec = deployment({})["spec"]["template"]["spec"]
        self.assertFalse({"nodeSelector", "tolerations", "affinity", "runtimeClassName", "imagePullSecrets",
                          "priorityClassName"} & spec.keys())
        full = deployment({
            "nodeSelector": {"a": "b"}, "affinity": {"nodeAffinity": {}}, "priorityClassName": "high",
            "image": {"pullSecrets": ["s"], "repository": "own"}, "podAnnotations": {"c": "d"},
            "podLabels": {"e": "f"}, "gpu": {"count": 1, "runtimeClassName": "nvidia"},
            "tolerations": [{"key": "x", "operator": "Exists"}]})["spec"]["template"]
        self.assertEqual(full["metadata"]["annotations"], {"c": "d"})
        self.assertEqual(full["metadata"]["labels"]["e"], "f")
        self.assertEqual((full["spec"]["nodeSelector"], full["spec"]["runtimeClassName"],
                          full["spec"]["imagePullSecrets"], full["spec"]["priorityClassName"]),
                         ({"a": "b"}, "nvidia", [{"name": "s"}], "high"))
        self.assertEqual([each["key"] for each in full["spec"]["tolerations"]], ["x", "nvidia.com/gpu"])


class BaseTest(unittest.TestCase):
    """The Kustomize bases say what the chart says."""

    def test_they_are_what_the_chart_renders(self):
        self.assertEqual(render.present(), render.written())

    def test_a_base_that_was_edited_is_found(self):
        name = "base/cpu/service.yaml"
        self.assertNotEqual({**render.present(), name: render.present()[name] + "#"}, render.written())

    def test_they_have_all_objects_and_nothing_of_helm(self):
        for name, file in render.BASES.items():
            wanted = [render.without_helm(each) for each in
                      render.objects(render.values_of([FOLDER / "values" / file])) if not render.is_hook(each)]
            folder = FOLDER / "base" / name
            listed = yaml.safe_load((folder / "kustomization.yaml").read_text())["resources"]
            found = [yaml.safe_load((folder / each).read_text()) for each in listed]
            by_kind = lambda each: each["kind"]
            self.assertEqual(sorted(found, key=by_kind), sorted(wanted, key=by_kind))
            self.assertNotIn("helm", yaml.safe_dump(found).lower())
            self.assertEqual(policies.violations(found), [])

    def test_maintenance_is_the_same_for_both(self):
        """The component for Kustomize makes of a base what `maintenance` makes of the chart."""
        component = yaml.safe_load((FOLDER / "maintenance" / "kustomization.yaml").read_text())
        self.assertEqual(component["kind"], "Component")
        (patch,) = component["patches"]
        self.assertEqual(patch["target"], {"kind": "Deployment", "name": "quotient"})
        changed = render.without_helm(deployment(render.values_of([FOLDER / "values" / "cpu.yaml"])))
        for step in yaml.safe_load(patch["patch"]):
            *way, last = step["path"].strip("/").split("/")
            place = changed
            for part in way:
                place = place[int(part) if part.isdigit() else part]
            if step["op"] == "remove":
                del place[last]
            else:
                self.assertEqual(step["op"], "add")
                place[last] = step["value"]
        files = [FOLDER / "values" / name for name in ("cpu.yaml", "maintenance.yaml")]
        self.assertEqual(changed, render.without_helm(deployment(render.values_of(files))))

    @unittest.skipUnless(shutil.which("kubectl"), "kubectl is not installed")
    def test_kubectl_builds_them(self):
        for name, file in render.BASES.items():
            built = subprocess.run(["kubectl", "kustomize", FOLDER / "base" / name], capture_output=True,
                                   text=True, timeout=120, check=True).stdout
            wanted = [render.without_helm(each) for each in
                      render.objects(render.values_of([FOLDER / "values" / file])) if not render.is_hook(each)]
            by_kind = lambda each: each["kind"]
            self.assertEqual(sorted(yaml.safe_load_all(built), key=by_kind), sorted(wanted, key=by_kind))


class VersionTest(unittest.TestCase):
    def test_the_chart_is_for_the_version_of_the_tree(self):
        project = re.search(r"project\(Quotient VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text())[1]
        chart = yaml.safe_load((render.CHART / "Chart.yaml").read_text())
        self.assertEqual(chart["appVersion"], project)

    def test_the_chart_has_what_the_image_has(self):
        """User, ports and folder of the Dockerfile."""
        dockerfile = (ROOT / "Dockerfile").read_text()
        spec = deployment({})["spec"]["template"]["spec"]
        self.assertEqual(f"USER {spec['securityContext']['runAsUser']}",
                         re.search(r"^USER .*$", dockerfile, re.MULTILINE)[0])
        ports = [str(port["containerPort"]) for port in spec["containers"][0]["ports"]]
        self.assertEqual(ports, re.search(r"^EXPOSE (.*)$", dockerfile, re.MULTILINE)[1].split())
        mounts = [mount["mountPath"] for mount in spec["containers"][0]["volumeMounts"]]
        self.assertIn(re.search(r"^VOLUME (.*)$", dockerfile, re.MULTILINE)[1], mounts)

    def test_the_page_has_the_sizes(self):
        sizes = yaml.safe_load((render.CHART / "sizes.yaml").read_text())
        page = (FOLDER / "README.md").read_text()
        for name, row in sizes.items():
            self.assertRegex(page, rf"\| `{name}` \| {row['cpu']} \| {row['memoryGiB']} GiB \| "
                                   rf"{row['temporaryGiB']} GiB \| {row['dataGiB']} GiB \|")


if __name__ == "__main__":
    unittest.main()
