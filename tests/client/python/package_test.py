"""What the wheel and the source distribution have in them, and that the wheel's requirements fit what is tested."""

import importlib.metadata
import importlib.resources
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import zipfile

import google.rpc.error_details_pb2  # From googleapis-common-protos: both can be imported in one process.
import packaging.requirements
import quotient
from quotient.v1 import optimizer_pb2

REPOSITORY = pathlib.Path(__file__).resolve().parents[3]
CLIENT = REPOSITORY / "client" / "python"


def built(folder, source, kind):
    """The distribution that hatchling builds of a source tree."""
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", folder], cwd=source, check=True,
                   capture_output=True)
    [path] = pathlib.Path(folder).iterdir()
    return path


def names(wheel):
    return sorted(zipfile.ZipFile(wheel).namelist())


class PackageTest(unittest.TestCase):
    def test_what_is_tested_is_the_installed_wheel(self):
        self.assertTrue(pathlib.Path(quotient.__file__).is_relative_to(sys.prefix), quotient.__file__)

    def test_has_types_and_nothing_of_other_packages(self):
        files = [str(path) for path in importlib.metadata.files("quotient-client")]
        self.assertIn("quotient/py.typed", files)
        self.assertIn("quotient/LICENSE", files)
        self.assertIn("quotient/v1/optimizer_pb2.pyi", files)
        self.assertEqual({path.split("/")[0] for path in files if ".dist-info" not in path}, {"quotient"})

    def test_errors_of_jobs_are_those_of_googleapis(self):
        job = optimizer_pb2.Job()
        job.error.details.add().Pack(google.rpc.error_details_pb2.ErrorInfo(reason="POISONED"))
        self.assertTrue(job.error.details[0].Is(google.rpc.error_details_pb2.ErrorInfo.DESCRIPTOR))

    def test_the_version_is_that_of_the_project(self):
        project = (REPOSITORY / "CMakeLists.txt").read_text()
        self.assertEqual(importlib.metadata.version("quotient-client"),
                         re.search(r"project\(Quotient VERSION (\S+)", project).group(1))

    def test_what_the_wheel_requires_is_what_the_tests_have(self):
        for text in importlib.metadata.requires("quotient-client"):
            requirement = packaging.requirements.Requirement(text)
            if requirement.marker is None or requirement.marker.evaluate({"extra": "progress"}):
                version = importlib.metadata.version(requirement.name)
                self.assertTrue(requirement.specifier.contains(version), f"{text}: {version}")

    def test_a_source_distribution_gives_the_same_wheel(self):
        before = sorted(CLIENT.rglob("*"))
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            sdist = built(folder / "sdist", CLIENT, "sdist")
            subprocess.run(["tar", "-xf", sdist, "-C", folder], check=True)
            [source] = folder.glob("quotient_client-*")
            self.assertEqual(names(built(folder / "a", source, "wheel")), names(built(folder / "b", CLIENT, "wheel")))
        self.assertEqual(sorted(CLIENT.rglob("*")), before)  # Building leaves nothing in the tree.


if __name__ == "__main__":
    unittest.main()
