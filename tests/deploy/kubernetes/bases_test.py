"""The Kustomize bases that are written from the chart, and the component for maintenance."""

import shutil
import subprocess
import unittest

import yaml

import charts
import policies
from charts import render


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
                      render.objects(render.values_of([charts.FOLDER / "values" / file])) if not render.is_hook(each)]
            folder = charts.FOLDER / "base" / name
            listed = yaml.safe_load((folder / "kustomization.yaml").read_text())["resources"]
            found = [yaml.safe_load((folder / each).read_text()) for each in listed]
            by_kind = lambda each: each["kind"]
            self.assertEqual(sorted(found, key=by_kind), sorted(wanted, key=by_kind))
            self.assertNotIn("helm", yaml.safe_dump(found).lower())
            self.assertEqual(policies.violations(found), [])

    def test_maintenance_is_the_same_for_both(self):
        """The component for Kustomize makes of a base what `maintenance` makes of the chart."""
        component = yaml.safe_load((charts.FOLDER / "maintenance" / "kustomization.yaml").read_text())
        self.assertEqual(component["kind"], "Component")
        (patch,) = component["patches"]
        self.assertEqual(patch["target"], {"kind": "Deployment", "name": "quotient"})
        changed = render.without_helm(charts.deployment(render.values_of([charts.FOLDER / "values" / "cpu.yaml"])))
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
        files = [charts.FOLDER / "values" / name for name in ("cpu.yaml", "maintenance.yaml")]
        self.assertEqual(changed, render.without_helm(charts.deployment(render.values_of(files))))

    @unittest.skipUnless(shutil.which("kubectl"), "kubectl is not installed")
    def test_kubectl_builds_them(self):
        for name, file in render.BASES.items():
            built = subprocess.run(["kubectl", "kustomize", charts.FOLDER / "base" / name], capture_output=True,
                                   text=True, timeout=120, check=True).stdout
            wanted = [render.without_helm(each) for each in
                      render.objects(render.values_of([charts.FOLDER / "values" / file])) if not render.is_hook(each)]
            by_kind = lambda each: each["kind"]
            self.assertEqual(sorted(yaml.safe_load_all(built), key=by_kind), sorted(wanted, key=by_kind))


if __name__ == "__main__":
    unittest.main()
