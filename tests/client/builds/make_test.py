"""The Makefile of client/builds/make, with a real server."""

import os
import shutil
import unittest

import outside

MAKEFILE = outside.HERE.parents[2] / "client/builds/make"
OPTIONS = "QUOTIENT_OPTIONS=--device model:h200 --simulations 50 --patience 1s"


class MakefileTest(outside.BuildTest):
    def setUp(self):
        super().setUp()
        self.set_up_project(MAKEFILE, "model.onnx")
        with open(self.source / "Makefile", "a", encoding="utf-8") as makefile:
            makefile.write("packed: build/model.onnx\n\techo packed >>packed.log\n\ttouch $@\n")
        self.result = self.source / "build/model.onnx"

    def make(self, *arguments, options=OPTIONS):
        return self.run_tool("make", *arguments, options, f"QUOTIENT={self.program}",
                             f"XDG_CACHE_HOME={self.folder}/cache", cwd=self.source)

    def packed(self):
        return (self.source / "packed.log").read_text().count("packed")

    def test_what_did_not_change_is_no_work(self):
        server = self.serve()
        self.assert_fails(self.make(), "LOCK_MISSING", "Error 7")
        self.assert_builds(self.make("update-locks"))
        self.assert_builds(self.make("packed"), "improved on model:h200")
        self.assertEqual((self.runs(), self.packed()), (3, 1))
        self.assert_builds(self.make("all", "packed"))
        self.assertEqual((self.runs(), self.packed()), (0, 1))
        os.utime(self.model)
        self.assert_builds(self.make("packed"))
        self.assertEqual((self.runs(), self.packed()), (1, 1))
        self.assert_builds(self.make("packed"))
        self.assertEqual((self.runs(), self.packed()), (0, 1))
        # The result and the server are gone, and the result is still in the cache.
        server.kill()
        before = self.result.read_bytes()
        self.result.unlink()
        self.assert_builds(self.make("packed"))
        self.assertEqual((self.result.read_bytes(), self.packed()), (before, 2))
        shutil.rmtree(self.folder / "cache")
        self.result.unlink()
        self.assert_fails(self.make(), "UNAVAILABLE", "has no result for model.onnx.lock", "Error 4")

    def test_a_changed_model_asks_for_another_lock_file(self):
        self.serve()
        self.assert_builds(self.make("update-locks"))
        self.assert_builds(self.make("packed"))
        outside.change_weights(self.model)
        self.assert_fails(self.make("packed"), "LOCK_DIFFERS: model.onnx.lock: external weights.bin is ", "Error 7")
        self.assert_builds(self.make("update-locks"))
        self.assert_builds(self.make("packed"))
        self.assertEqual(self.packed(), 2)
        # A file that the model does not need any more may go.
        outside.onnx.save(outside.onnx.load(self.model), self.model)
        (self.source / "weights.bin").unlink()
        self.assert_builds(self.make("update-locks"))
        self.assert_builds(self.make("packed"))

    def test_the_gate(self):
        self.serve()
        self.assert_builds(self.make("update-locks"))
        high = self.make(options=OPTIONS + " --require-improvement 99")
        self.assert_fails(high, "IMPROVEMENT_TOO_SMALL: model.onnx gains ", "and 99 % are required", "Error 6")
        self.assertFalse(self.result.exists())
        self.assert_builds(self.make(options=OPTIONS + " --require-improvement 5"))
        self.assertTrue(self.result.exists())


if __name__ == "__main__":
    unittest.main()
