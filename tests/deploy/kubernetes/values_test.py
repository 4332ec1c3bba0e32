"""The values of the chart: what is refused, what each becomes, and that the flags are those of the server."""

import json
import re
import subprocess
import unittest

import helm_python
import yaml

import charts
import pod
import policies
from charts import render

# Flags that the chart sets itself, or that no pod may have.
OF_THE_CHART = {"listen", "allow-remote", "data-dir", "metrics-listen"}
REFUSED = {"port-file", "metrics-page", "no-sandbox", "help", "version"}


class ValuesTest(unittest.TestCase):
    """values.schema.json and templates/_checks.tpl refuse what is wrong, and say where."""

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

    def test_what_a_schema_cannot_explain_is_refused_with_the_reason(self):
        for values, told in [
                ({"replicas": 2}, r"replicas is 2, and must be 1: .* SQLite on a volume that one process owns"),
                ({"replicas": 0}, r"replicas is 0, and must be 1: "),
                ({"image": {"tag": "latest"}}, r"image\.tag is latest, and must name a version: a restart .* update"),
                ({"gpu": {"count": 1}}, r"gpu\.count is 1, and must be 0 with the default image\.repository.* no CUDA"),
                ({"gpu": {"count": 17}}, r"/gpu/count': maximum: got 17, want 16"),
                ({"data": {"kind": "ephemeral", "storageClass": "ssd"}},
                 r"data\.storageClass is ssd, and must be empty with data\.kind ephemeral, which claims no volume")]:
            with self.subTest(values=values), self.assertRaises(helm_python.HelmError) as refused:
                render.objects(values)
            self.assertRegex(str(refused.exception), told)

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
        page = subprocess.run([pod.harness.BIN / "quotientd", "--help"],
                              capture_output=True, text=True, timeout=60, check=True).stdout
        flags = set(re.findall(r"^  --([a-z-]+)", page, re.MULTILINE))
        self.assertLess(OF_THE_CHART | REFUSED, flags)
        schema = json.loads((render.CHART / "values.schema.json").read_text())
        self.assertEqual(set(schema["properties"]["flags"]["properties"]), flags - OF_THE_CHART - REFUSED)

    def test_flags_become_arguments(self):
        arguments = charts.container({"flags": {
            "workers": 3, "max-blob-bytes": 17179869184, "no-precedence": True, "log-format": None,
            "onnxruntime": "/opt/ort/libonnxruntime.so"}})["args"]
        self.assertEqual(arguments[4:], [
            "--drain-seconds=20", "--endpoint-grace-seconds=15", "--max-blob-bytes=17179869184",
            "--no-precedence", "--onnxruntime=/opt/ort/libonnxruntime.so", "--workers=3"])
        self.assertNotIn("--no-precedence", charts.container({"flags": {"no-precedence": False}})["args"])

    def test_the_grace_period_follows_the_flags(self):
        def grace(**flags):
            found = charts.deployment({"flags": {key.replace("_", "-"): value for key, value in flags.items()}})
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
        self.assertEqual(charts.container({"resources": own})["resources"], own)
        with_gpu = charts.container({"resources": own, "gpu": {"count": 2}, "image": {"repository": "own"}})
        self.assertEqual(with_gpu["resources"]["limits"], {**own["limits"], "nvidia.com/gpu": "2"})

    def test_what_is_empty_is_left_out(self):
        spec = charts.deployment({})["spec"]["template"]["spec"]
        self.assertFalse({"nodeSelector", "tolerations", "affinity", "runtimeClassName", "imagePullSecrets",
                          "priorityClassName"} & spec.keys())
        full = charts.deployment({
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


if __name__ == "__main__":
    unittest.main()
