"""The stories of deploy/guide/stories, each run from an unpacked archive of this build as a newcomer would run it.

    story_test.py PACKAGES [TEST]...

PACKAGES is the folder with the archive. What a story needs besides is from the machine, but for programs of PyPI and
for helm, which the library of Helm stands for (helm.py).
"""

import pathlib
import re
import subprocess
import sys
import unittest

import onnx

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests/e2e"))
import harness  # noqa: E402
import models  # noqa: E402

TOOLS = pathlib.Path(sys.executable).parent
# More than the slowest machine needs; what a story took is printed.
PATIENCE_SECONDS = 3 * harness.PATIENCE_SECONDS


class StoryTest(harness.TestCase):
    def setUp(self):
        super().setUp()
        # Folders of users have such names.
        place = self.folder / "any folder"
        place.mkdir()
        (archive,) = (path for path in PACKAGES.glob("quotient-*.tar.gz") if "cuda" not in path.name)
        subprocess.run(["tar", "-xzf", archive, "-C", place], check=True)
        (self.prefix,) = place.iterdir()
        self.model = place / "a model.onnx"
        onnx.save(models.conv_bn_relu(2), self.model)
        self.programs = self.folder / "programs"
        self.programs.mkdir()
        for program in ("kubernetes-validate", "prometheus", "promtool"):
            (self.programs / program).symlink_to(TOOLS / program)
        helm = self.programs / "helm"
        helm.write_text(f'#!/bin/sh\nexec {TOOLS}/python3 {ROOT}/tests/deploy/helm.py "$@"\n')
        helm.chmod(0o755)

    def tell(self, story, *arguments, path=()):
        """Runs a story to its end in an environment of its own."""
        command = [self.prefix / "share/quotient/deploy/guide/stories" / story, *arguments]
        env = {"PATH": ":".join(map(str, [*path, "/usr/bin", "/bin"])), "HOME": str(self.folder), "LANG": "C.UTF-8"}
        return harness.Result(subprocess.run(
            [*map(str, command)], capture_output=True, text=True, env=env, cwd=self.folder, check=False,
            timeout=PATIENCE_SECONDS, preexec_fn=harness.die_with_parent))

    def assert_is_told(self, story, name, *words):
        files = {path for path in self.prefix.rglob("*")}
        result = self.tell(story, self.model, path=[self.programs])
        self.assert_code(result, 0)
        for word in words:
            self.assertIn(word, result.out, result)
        told = re.search(rf"^== {name}: done in (\d+) s; .*$", result.out, re.MULTILINE)
        self.assertTrue(told, result)
        print(told[0])
        # It leaves what it made in its folder, and the installation as it was.
        self.assertEqual(files, {path for path in self.prefix.rglob("*")})
        return self.folder / f"quotient-{name}"

    def test_build_engineer(self):
        made = self.assert_is_told("build_engineer.sh", "builds", "LOCK_MISSING", "UNAVAILABLE", "IMPROVEMENT_TOO_SMALL")
        onnx.checker.check_model(onnx.load(made / "build/fast.onnx"))

    def test_cluster_admin(self):
        made = self.assert_is_told("cluster_admin.sh", "cluster", "replicas is 2, and must be 1: ", "\ndraining\n")
        self.assertEqual(len(list((ROOT / "deploy/kubernetes/values").glob("*.yaml"))), len(list(made.glob("*.yaml"))))
        onnx.checker.check_model(onnx.load(made / "again/fast.onnx"))

    def test_dashboard_owner(self):
        made = self.assert_is_told("dashboard_owner.sh", "dashboards", 'alertname="QuotientDown"')
        boards = {path.stem for path in (ROOT / "deploy/dashboards/grafana").glob("*.json")}
        self.assertEqual(boards, {path.stem for path in (made / "pictures").iterdir()})
        # A few panels wait for failures. All would be empty if it were the wrong server.
        self.assertLess((made / "pictures/service.svg").read_text().count(">no data<"), 4)

    def test_what_is_missing_is_named(self):
        for story in ("build_engineer.sh", "cluster_admin.sh", "dashboard_owner.sh"):
            with self.subTest(story):
                self.assert_code(self.tell(story), 2, f"{story} MODEL.onnx [FOLDER]", "Needs an installation of Quotient")
                self.assert_code(self.tell(story, "none.onnx"), 1, "no such file: none.onnx")
                self.assert_code(self.tell(story, self.model, self.folder), 1, "is there already")
        self.assert_code(self.tell("cluster_admin.sh", self.model), 1, "this story needs helm")
        (self.prefix / "bin/quotientd").unlink()
        self.assert_code(self.tell("build_engineer.sh", self.model), 1, "let QUOTIENT_PREFIX name one")


if __name__ == "__main__":
    PACKAGES = pathlib.Path(sys.argv.pop(1))
    unittest.main()
