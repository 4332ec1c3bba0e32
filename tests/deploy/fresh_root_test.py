"""The packages in roots of Debian in which nothing else is: the archive, and the image of the Debian package, used as a
container would be used (image_in_root.py).

    fresh_root_test.py PACKAGES

PACKAGES is the folder with the packages. Left out unless $QUOTIENT_FRESH_ROOT is set, since it needs root, debootstrap,
mounts, and Debian's mirror, from which it takes 150 MB.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import onnx

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests/e2e"))
import harness  # noqa: E402
import models  # noqa: E402

# Runs a program in a root, which needs /proc to find the libraries beside it. The mount ends with its namespace.
JAIL = ["unshare", "--mount", "sh", "-c", 'mount --rbind /proc "$1/proc" && exec chroot "$@"', "jail"]

# Downloads are at the mercy of the mirror.
PATIENCE_SECONDS = 10 * harness.PATIENCE_SECONDS


def why_not():
    """Why it is not tried here, or nothing."""
    if not os.environ.get("QUOTIENT_FRESH_ROOT"):
        return "QUOTIENT_FRESH_ROOT is not set"
    if os.geteuid() != 0:
        return "needs root"
    return None if shutil.which("debootstrap") else "needs debootstrap"


WHY_NOT = why_not()


@unittest.skipIf(WHY_NOT, WHY_NOT)
class FreshRootTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.bare = cls.folder / "bare"
        cls.run_to_end("debootstrap", "--variant=minbase", "bookworm", cls.bare)
        cls.model = cls.folder / "model.onnx"
        onnx.save(models.conv_bn_relu(2), cls.model)

    @staticmethod
    def run_to_end(*command):
        ran = subprocess.run([*map(str, command)], capture_output=True, text=True, check=False, timeout=PATIENCE_SECONDS)
        if ran.returncode != 0:
            raise AssertionError(f"{' '.join(map(str, command))}\n{ran.stdout}{ran.stderr}")
        return ran.stdout

    def copy_of_root(self, name):
        root = self.folder / name
        self.run_to_end("cp", "--archive", self.bare, root)
        return root

    def test_the_archive_optimizes_where_nothing_is_installed(self):
        root = self.copy_of_root("archive")
        (archive,) = (path for path in PACKAGES.glob("quotient-*.tar.gz") if "cuda" not in path.name)
        self.run_to_end("tar", "-xzf", archive, "-C", root / "opt")
        (prefix,) = (root / "opt").iterdir()
        shutil.copy(self.model, root / "opt/model.onnx")
        said = self.run_to_end(*JAIL, root, f"/opt/{prefix.name}/bin/quotient", "optimize", "/opt/model.onnx", "-o",
                               "/opt/out.onnx", "--local", "--device", "model:h200", "--simulations", "50")
        self.assertIn("model:h200", said)
        onnx.checker.check_model(onnx.load(root / "opt/out.onnx"))

    def test_the_image_of_the_debian_package_is_used(self):
        said = self.run_to_end("unshare", "--mount", sys.executable, pathlib.Path(__file__).with_name("image_in_root.py"),
                               self.copy_of_root("image"), PACKAGES, self.model)
        self.assertIn("the server ended with 0", said)


if __name__ == "__main__":
    PACKAGES = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main()
