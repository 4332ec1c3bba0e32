"""The lint of forgotten tests finds them."""

import json
import pathlib
import tempfile
import unittest

import tests_are_built


class TestsAreBuiltTest(unittest.TestCase):
    def test_names_what_is_not_listed(self):
        with tempfile.TemporaryDirectory() as directory:
            root = pathlib.Path(directory).resolve()
            folder = root / "tests" / "core"
            folder.mkdir(parents=True)
            for name in ("built_test.cc", "lost_test.cc", "lost_fuzz.cc", "helper.cc", "run_test.py",
                         "lost_test.py"):
                (folder / name).touch()
            lost = list(tests_are_built.forgotten(root, {folder / "built_test.cc"}, {"run_test.py"}))
        self.assertEqual(["tests/core/lost_fuzz.cc: no CMakeLists.txt builds this",
                          "tests/core/lost_test.cc: no CMakeLists.txt builds this",
                          "tests/core/lost_test.py: no CTest entry runs this"], lost)

    def test_parts_of_batches_are_compiled(self):
        with tempfile.TemporaryDirectory() as directory:
            build = pathlib.Path(directory).resolve()
            batch = build / "Unity/unity_0_cxx.cxx"
            batch.parent.mkdir()
            batch.write_text('/* generated */\n#include "/repo/tests/a_test.cc"\n')
            (build / "compile_commands.json").write_text(json.dumps(
                [{"directory": str(build), "file": file} for file in ("/repo/tests/b_test.cc", str(batch))]))
            self.assertLessEqual({pathlib.Path("/repo/tests/a_test.cc"), pathlib.Path("/repo/tests/b_test.cc")},
                                 tests_are_built.compiled_files(build))

    def test_leaves_out_what_cannot_be_built(self):
        with tempfile.TemporaryDirectory() as directory:
            root = pathlib.Path(directory).resolve()
            folder = root / "tests/core/kernels/cuda/gpu"
            folder.mkdir(parents=True)
            (folder / "gpu_test.cc").touch()
            cache = root / "CMakeCache.txt"
            lost = {}
            for found in ("OFF", "ON"):
                cache.write_text(f"A:STRING=b\nQUOTIENT_CUDA_FOUND:INTERNAL={found}\n")
                without = tests_are_built.left_out(root)
                lost[found] = list(tests_are_built.forgotten(root, set(), set(), without))
        self.assertEqual([], lost["OFF"])
        self.assertEqual(["tests/core/kernels/cuda/gpu/gpu_test.cc: no CMakeLists.txt builds this"],
                         lost["ON"])


if __name__ == "__main__":
    unittest.main()
