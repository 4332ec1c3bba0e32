"""A Bazel workspace that optimizes its models by the rules of client/builds/bazel, with a real server."""

import shutil
import unittest

import onnx

import outside

RULES = outside.HERE.parents[2] / "client/builds/bazel"


class BazelTest(outside.BuildTest):
    def setUp(self):
        super().setUp()
        self.set_up_project(outside.HERE / "bazel_project", "model.onnx")
        self.single = self.source / "single.onnx"
        self.save_single()
        self.server = self.serve()
        workspace = self.source / "WORKSPACE"
        text = workspace.read_text().replace("@RULES@", str(RULES)).replace("@PROGRAM@", str(self.program))
        workspace.write_text(text.replace("@SERVER@", self.server.address))
        self.addCleanup(self.bazel, "shutdown")

    def save_single(self):
        onnx.save(onnx.load(self.model), self.single)

    def bazel(self, command, *arguments):
        offline = [f"--override_repository={rules}={outside.HERE}/stand_ins/{rules}"
                   for rules in ("rules_cc", "rules_java")]
        return self.run_tool("bazel", f"--output_user_root={self.folder}/bazel", command, *offline, *arguments,
                             cwd=self.source)

    def build(self, *targets):
        # The program that counts its runs writes there.
        return self.bazel("build", f"--disk_cache={self.folder}/disk_cache",
                          f"--sandbox_writable_path={self.folder}", *targets)

    def test_all(self):
        self.assert_fails(self.build("//:single"), "missing input file '//:single.onnx.lock'")
        for target in ("fast", "single"):
            self.assert_builds(self.bazel("run", f"//:{target}_update_lock"), "improved on model:h200")
        self.assertIn("result location = fast.onnx.data", (self.source / "model.onnx.lock").read_text())
        self.assertEqual(self.runs(), 2)
        self.assert_builds(self.build("//:fast", "//:packed"))
        outputs = self.source / "bazel-bin"
        self.assertEqual(sorted(path.name for path in (outputs / "fast").iterdir()), ["fast.onnx", "fast.onnx.data"])
        packed = (outputs / "packed.onnx").read_bytes()
        self.assertEqual(self.runs(), 2)
        self.assert_builds(self.build("//:fast", "//:packed"))
        self.assertEqual(self.runs(), 0)
        self.assert_fails(self.build("//:gated"), "IMPROVEMENT_TOO_SMALL", "99 % are required", "Exit 6")
        # Without a server Bazel's cache has the answer.
        self.server.kill()
        self.bazel("clean")
        self.runs()
        self.assert_builds(self.build("//:packed"))
        self.assertEqual(self.runs(), 0)
        self.assertEqual((outputs / "packed.onnx").read_bytes(), packed)
        shutil.rmtree(self.folder / "disk_cache")
        self.bazel("clean")
        self.assert_fails(self.build("//:packed"), "UNAVAILABLE", "has no result for single.onnx.lock", "Exit 4")

        self.server.start()
        outside.change_weights(self.model)
        self.save_single()
        self.assert_fails(self.build("//:single"), "LOCK_DIFFERS: single.onnx.lock: model is ", "Exit 7")


if __name__ == "__main__":
    unittest.main()
