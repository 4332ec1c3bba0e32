"""The chart: what it renders, what that keeps to, and that it is for what the tree makes."""

import copy
import json
import os
import pathlib
import re
import subprocess
import unittest

import helm_python
import jsonschema
import kubernetes_validate
import yaml

import charts
import policies
from charts import render

VALUES = sorted((charts.FOLDER / "values").glob("*.yaml"))

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
        wrong = charts.deployment({})
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
        self.assertEqual(charts.container(files["gpu"])["resources"]["limits"]["nvidia.com/gpu"], "1")
        self.assertNotIn("nvidia.com/gpu", charts.container(files["cpu"])["resources"]["limits"])
        monitored = {each["kind"]: each for each in render.objects(files["monitored"])}
        for kind in OF_THE_OPERATOR:
            self.assertEqual(monitored[kind]["metadata"]["labels"]["release"], "kube-prometheus-stack")
        exact = charts.container(files["exact-timing"])["resources"]
        self.assertEqual(exact["requests"], exact["limits"])  # Guaranteed, with whole cores.
        self.assertRegex(exact["limits"]["cpu"], r"^\d+$")
        many = charts.deployment(files["many-clients"])["spec"]["template"]["spec"]
        self.assertRegex(many["containers"][0]["image"], r"^registry\.example:5000/tools/quotient@sha256:")
        self.assertIn("--max-stored-bytes=429496729600", many["containers"][0]["args"])
        self.assertIn({"name": "data", "persistentVolumeClaim": {"claimName": "quotient-data"}},
                      many["volumes"])
        waiting = charts.container(files["maintenance"])
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


class VersionTest(unittest.TestCase):
    def test_the_chart_is_for_the_version_of_the_tree(self):
        project = re.search(r"project\(Quotient VERSION ([0-9.]+)", (policies.ROOT / "CMakeLists.txt").read_text())[1]
        chart = yaml.safe_load((render.CHART / "Chart.yaml").read_text())
        self.assertEqual(chart["appVersion"], project)

    def test_the_chart_has_what_the_image_has(self):
        """User, ports and folder of the Dockerfile."""
        dockerfile = (policies.ROOT / "Dockerfile").read_text()
        spec = charts.deployment({})["spec"]["template"]["spec"]
        self.assertEqual(f"USER {spec['securityContext']['runAsUser']}",
                         re.search(r"^USER .*$", dockerfile, re.MULTILINE)[0])
        ports = [str(port["containerPort"]) for port in spec["containers"][0]["ports"]]
        self.assertEqual(ports, re.search(r"^EXPOSE (.*)$", dockerfile, re.MULTILINE)[1].split())
        mounts = [mount["mountPath"] for mount in spec["containers"][0]["volumeMounts"]]
        self.assertIn(re.search(r"^VOLUME (.*)$", dockerfile, re.MULTILINE)[1], mounts)

    def test_the_page_has_the_sizes(self):
        sizes = yaml.safe_load((render.CHART / "sizes.yaml").read_text())
        page = (charts.FOLDER / "README.md").read_text()
        for name, row in sizes.items():
            self.assertRegex(page, rf"\| `{name}` \| {row['cpu']} \| {row['memoryGiB']} GiB \| "
                                   rf"{row['temporaryGiB']} GiB \| {row['dataGiB']} GiB \|")


if __name__ == "__main__":
    unittest.main()
