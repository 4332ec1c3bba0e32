"""Builds the wheel of the Python client and installs it into a new virtual environment, for the tests that use it.

  build_client.py DIR      DIR/dist has the wheel then, and DIR/venv the environment

Nothing is downloaded: what the wheel depends on, and what builds it, are the pinned packages of the environment that
runs this (deploy/setup/requirements-tests.txt), which the new one sees by a path file.
"""

import pathlib
import shutil
import subprocess
import sys
import sysconfig
import venv

CLIENT = pathlib.Path(__file__).resolve().parents[3] / "client" / "python"


def pip(*arguments):
    subprocess.run([sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", *arguments], check=True)


def main(folder):
    shutil.rmtree(folder, ignore_errors=True)
    dist, environment = folder / "dist", folder / "venv"
    pip("wheel", "--no-build-isolation", "--no-deps", "--no-index", "--wheel-dir", str(dist), str(CLIENT))
    [wheel] = dist.iterdir()
    venv.create(environment, with_pip=False, symlinks=True)
    pip("--python", str(environment / "bin" / "python3"), "install", "--no-deps", "--no-index", str(wheel))
    [packages] = environment.glob("lib/python*/site-packages")
    (packages / "tests.pth").write_text(sysconfig.get_path("purelib") + "\n")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
