"""A CMake project that optimizes its models with an installed Quotient and a real server, by Ninja and by Make."""

import os
import shutil
import sys
import unittest

import outside

CMAKE = shutil.which("cmake")


class CMakeTest:
    GENERATOR = ""

    def setUp(self):
        super().setUp()
        self.set_up_project(outside.HERE / "project", "app/model.onnx")
        self.lock = self.source / "app/model.onnx.lock"
        self.cache = self.folder / "results"
        self.build_folder = self.folder / "build"
        self.fast = self.build_folder / "app/fast.onnx"
        prefix = self.folder / "prefix"
        installed = self.run_tool(CMAKE, "--install", TREE, "--component", "builds", "--prefix", prefix)
        self.assertEqual(installed.code, 0, installed)
        self.configure(f"-DCMAKE_PREFIX_PATH={prefix}", f"-DQUOTIENT_EXECUTABLE={self.program}",
                       f"-DQUOTIENT_RESULT_CACHE={self.cache}", "-DOUTSIDE_GATE=5")

    def configure(self, *arguments):
        result = self.run_tool(CMAKE, "-S", self.source, "-B", self.build_folder, "-G", self.GENERATOR, *arguments)
        self.assertEqual(result.code, 0, result)

    def build(self, *targets):
        arguments = ["--target", *targets] if targets else []
        return self.run_tool(CMAKE, "--build", self.build_folder, *arguments)

    def packed(self):
        """How often something was made of the result."""
        return (self.build_folder / "app/packed.log").read_text().count("packed")

    def made_once(self):
        """Everything is there, made by a server."""
        server = self.serve()
        self.assert_builds(self.build("fast_update_lock"))
        self.assert_builds(self.build())
        self.assertEqual(self.packed(), 1)
        self.runs()
        return server

    def test_what_did_not_change_is_no_work(self):
        self.serve()
        self.assert_fails(self.build("fast"), "LOCK_MISSING", "fast_update_lock")
        self.assert_builds(self.build("quotient_update_locks"))
        self.assertIn("result data = ", self.lock.read_text())
        self.assertEqual(self.runs(), 2)
        self.assert_builds(self.build(), "improved on model:h200")
        self.assertEqual((self.runs(), self.packed()), (1, 1))
        times = self.fast.stat().st_mtime_ns, self.fast.with_name("fast.onnx.data").stat().st_mtime_ns
        second = self.build()
        self.assert_builds(second, *self.NO_WORK)
        self.assertEqual((self.runs(), self.packed()), (0, 1))
        # The model is newer, but the same: what is made of the result is not made again.
        os.utime(self.model)
        self.assert_builds(self.build())
        self.assertEqual((self.runs(), self.packed()), (1, 1))
        self.assertEqual(
            times, (self.fast.stat().st_mtime_ns, self.fast.with_name("fast.onnx.data").stat().st_mtime_ns))
        self.assert_builds(self.build(), *self.NO_WORK)
        self.assertEqual((self.runs(), self.packed()), (0, 1))

    def test_a_changed_model_asks_for_another_lock_file(self):
        self.made_once()
        before = self.lock.read_text()
        outside.change_weights(self.model)
        self.assert_fails(self.build(), "LOCK_DIFFERS", "external weights.bin", "--update-lock", "fast_update_lock")
        self.assert_fails(self.build(), "LOCK_DIFFERS")
        self.assert_builds(self.build("fast_update_lock"))
        self.assertNotEqual(before, self.lock.read_text())
        self.assert_builds(self.build())
        self.assertEqual(self.packed(), 2)
        self.runs()
        self.assert_builds(self.build(), *self.NO_WORK)
        self.assertEqual(self.runs(), 0)

    def test_without_a_server_the_cache_has_the_answer(self):
        server = self.made_once()
        server.kill()
        result = self.fast.read_bytes()
        shutil.rmtree(self.build_folder / "app")
        self.configure()
        self.assert_builds(self.build())
        self.assertEqual(result, self.fast.read_bytes())
        # Only the result is gone.
        self.fast.unlink()
        self.assert_builds(self.build())
        self.assertEqual(result, self.fast.read_bytes())
        shutil.rmtree(self.cache)
        self.fast.unlink()
        self.assert_fails(self.build(), "UNAVAILABLE", f"the cache {self.cache} has no result for", server.address)
        server.start()
        self.assert_builds(self.build())
        self.assertEqual(result, self.fast.read_bytes())

    def test_wrong_servers(self):
        self.made_once()
        self.lock.write_text(self.lock.read_text().replace("engine = ", "engine = 9.9.9+"))
        self.assert_fails(self.build(), "LOCK_DIFFERS", "engine is ", "9.9.9+")
        self.env["QUOTIENT_SERVER"] = "127.0.0.1:1"
        self.assert_fails(self.build("free"), "UNAVAILABLE", "server 127.0.0.1:1", *self.STATUS_OF_NO_SERVER)
        self.configure("-DQUOTIENT_SERVER=127.0.0.1:2")
        self.assert_fails(self.build("free"), "UNAVAILABLE", "server 127.0.0.1:2")

    def test_the_gate(self):
        self.serve()
        free = self.build_folder / "app/free/free.onnx"
        self.assert_builds(self.build("free"), "improved on")
        self.assertTrue(free.exists())
        outside.save_model(self.model, improvable=False)
        free.unlink()
        self.assert_fails(self.build("free"), "IMPROVEMENT_TOO_SMALL", "model.onnx is not improved, and 5 %",
                          *self.STATUS_OF_THE_GATE)
        self.assertFalse(free.exists())
        self.assertIn("no_improvement", (free.parent / "free.json").read_text())
        # Without a gate that is a result like any other: the original.
        self.assert_builds(self.build("fast_update_lock"))
        self.assert_builds(self.build("fast"), "no improvement on")
        self.assertEqual(self.fast.read_bytes(), self.model.read_bytes())

    def test_the_build_itself_optimizes(self):
        snapshot = self.source / "app/box.snapshot"
        shutil.copy(outside.SNAPSHOTS / "h200.snapshot", snapshot)
        self.assert_builds(self.build("recorded", "modelled"), "improved on model:h200")
        outputs = [self.build_folder / "app" / name for name in ("of a box.onnx", "modelled.onnx", "modelled.journal")]
        self.assertEqual([path.exists() for path in outputs], [True, True, True])
        self.assertEqual(self.runs(), 2)
        self.assert_builds(self.build("recorded", "modelled"))
        self.assertEqual(self.runs(), 0)
        shutil.copy(outside.SNAPSHOTS / "h200-strict32.snapshot", snapshot)
        self.assert_builds(self.build("recorded", "modelled"))
        self.assertEqual(self.runs(), 1)

    def test_calls_that_make_no_sense(self):
        call = "quotient_optimize(bad MODEL app/model.onnx OUTPUT bad.onnx "
        for arguments, message in (("LOCAL SERVER here:1", "SERVER and LOCAL exclude each other"),
                                   ("CACHE there", "CACHE is for results of a LOCK"),
                                   ("FASTER", "unknown arguments: FASTER"),
                                   ("LOCK", "no value for: LOCK")):
            text = (outside.HERE / "project/CMakeLists.txt").read_text() + call + arguments + ")\n"
            (self.source / "CMakeLists.txt").write_text(text)
            result = self.run_tool(CMAKE, self.build_folder)
            self.assertEqual(result.code, 1, result)
            self.assertIn(message, " ".join(result.err.split()))


class NinjaTest(CMakeTest, outside.BuildTest):
    GENERATOR = "Ninja"
    NO_WORK = ("ninja: no work to do.",)
    STATUS_OF_NO_SERVER = STATUS_OF_THE_GATE = ()  # Ninja 1.11 does not tell.


class MakeTest(CMakeTest, outside.BuildTest):
    GENERATOR = "Unix Makefiles"
    NO_WORK = ()
    STATUS_OF_NO_SERVER = ("Error 4",)
    STATUS_OF_THE_GATE = ("Error 6",)


if __name__ == "__main__":
    TREE = sys.argv.pop(1)
    unittest.main()
