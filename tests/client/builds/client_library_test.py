"""A CMake project in C++ that uses the installed client library, with a real server.

    client_library_test.py BUILD
"""

import shutil
import sys
import unittest

import onnx
import outside

CMAKE = shutil.which("cmake")


class ClientLibraryTest(outside.BuildTest):
    def install(self, *components):
        prefix = self.folder / "prefix"
        for component in components:
            installed = self.run_tool(CMAKE, "--install", TREE, "--component", component, "--prefix", prefix)
            self.assertEqual(installed.code, 0, installed)
        return prefix

    def configure(self, prefix):
        return self.run_tool(CMAKE, "-S", self.source, "-B", self.folder / "build", "-G", "Ninja",
                             f"-DCMAKE_PREFIX_PATH={prefix}", f"-DQUOTIENT_EXECUTABLE={self.program}")

    def test_a_program_submits_a_job(self):
        self.set_up_project(outside.HERE / "client_project", "unused.onnx")
        prefix = self.install("builds", "client")
        # The package may be moved after it was installed.
        moved = prefix.rename(self.folder / "moved here")
        self.assert_builds(self.configure(moved))
        self.assert_builds(self.run_tool(CMAKE, "--build", self.folder / "build"))
        submits, out = self.folder / "build/submits", self.folder / "out.onnx"
        onnx.save(onnx.load(self.model), self.model)  # One file, with its weights.
        refused = self.run_tool(submits, "127.0.0.1:1", self.model, out)
        self.assertEqual(refused.code, 1, refused)
        self.assertIn("UNAVAILABLE", refused.err)
        server = self.serve()
        self.assert_builds(self.run_tool(submits, server.address, self.model, out))
        self.assertEqual(["MatMul"], [node.op_type for node in onnx.load(out).graph.node])

    def test_who_does_not_have_the_library_is_told(self):
        self.set_up_project(outside.HERE / "client_project", "unused.onnx")
        result = self.configure(self.install("builds"))
        self.assert_fails(result, "a component is not", "missing: client")


if __name__ == "__main__":
    TREE = sys.argv.pop(1)
    unittest.main()
