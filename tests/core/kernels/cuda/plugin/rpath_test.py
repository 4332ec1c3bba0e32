"""Where the plug-in looks for libraries: where it is installed or packed, in its own folder alone.

    rpath_test.py BUILD CMAKE PLUGIN       BUILD has the plug-in's cmake_install.cmake
"""

import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[5]
BUILD, CMAKE, PLUGIN = "", "", ""


def folders(library):
    """What DT_RPATH says; DT_RUNPATH would not count for libraries that NVRTC opens."""
    lines = subprocess.run(["readelf", "-dW", library], capture_output=True, text=True, check=True).stdout
    paths = [line for line in lines.splitlines() if "(RPATH)" in line or "(RUNPATH)" in line]
    assert len(paths) == 1 and "(RPATH)" in paths[0], paths
    return paths[0].split("[")[1].rstrip("]").split(":")


class RpathTest(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.root = pathlib.Path(directory.name)

    def test_in_the_build_tree_toolkits_are_there_too(self):
        found = folders(PLUGIN)
        self.assertEqual("$ORIGIN", found[0])
        self.assertGreater(len(found), 1)
        self.assertNotIn("", found)  # it would be the current folder

    def test_installed(self):
        subprocess.run([CMAKE, f"-DCMAKE_INSTALL_PREFIX={self.root}", "-P", f"{BUILD}/cmake_install.cmake"],
                       check=True, stdout=subprocess.DEVNULL)
        self.assertEqual(["$ORIGIN"], folders(self.root / "lib/libquotient_cuda.so"))

    def test_packed(self):
        copy = self.root / "libquotient_cuda.so"
        shutil.copy(PLUGIN, copy)
        subprocess.run([CMAKE, f"-DFILE={copy}", "-P", ROOT / "tests/gpu/set_rpath.cmake"], check=True)
        self.assertEqual(["$ORIGIN"], folders(copy))


if __name__ == "__main__":
    BUILD, CMAKE, PLUGIN = sys.argv[1:4]
    unittest.main(argv=sys.argv[:1])
