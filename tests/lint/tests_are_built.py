#!/usr/bin/env python3
"""Checks that every test in the tree is built and run: a test that no CMakeLists.txt lists, or
lists in a comment, passes for ever.

  tests_are_built.py BUILD [ROOT]      ROOT defaults to this repository

C++ files count as built when they are in BUILD/compile_commands.json, or in a batch that is. A Python test counts when its
file name is in a CTest command. Prints the others; the exit status is then 1. What needs something that
BUILD does not have, by its CMakeCache.txt, is left out.
"""

import json
import pathlib
import re
import subprocess
import sys

CXX = ("*_test.cc", "*_bench.cc", "*_fuzz.cc")
PYTHON = ("*_test.py", "test_*.py")

# Folders that are built only with a certain line in CMakeCache.txt.
OPTIONAL = {
    "tests/core/kernels/cuda/gpu": "QUOTIENT_CUDA_FOUND:INTERNAL=ON",
    "tests/core/kernels/cuda/plugin": "QUOTIENT_CUDA_FOUND:INTERNAL=ON",
}
# Scripts that do not run with a certain line in it.
NOT_RUN = {"tests/client/builds/bazel_test.py": "QUOTIENT_BAZEL:FILEPATH=QUOTIENT_BAZEL-NOTFOUND"}


def find(root, patterns):
    return sorted(path for pattern in patterns for path in (root / "tests").rglob(pattern))


def compiled_files(build):
    """The sources, and those that are compiled as parts of a batch."""
    commands = json.loads((build / "compile_commands.json").read_text())
    files = {(pathlib.Path(c["directory"]) / c["file"]).resolve() for c in commands}
    batches = [file for file in files if file.parent.name == "Unity" and file.exists()]
    parts = {pathlib.Path(part).resolve() for file in batches
             for part in re.findall(r'^#include "(.*)"$', file.read_text(), re.MULTILINE)}
    return files | parts


def ctest_words(build):
    """File names of all words in all test commands."""
    listing = subprocess.run(["ctest", "--test-dir", build, "--show-only=json-v1"],
                             check=True, capture_output=True, text=True).stdout
    tests = json.loads(listing)["tests"]
    return {pathlib.PurePath(word).name for test in tests for word in test.get("command", [])}


def left_out(build):
    """The folders of OPTIONAL and the scripts of NOT_RUN that BUILD does without."""
    cache = (build / "CMakeCache.txt").read_text().splitlines()
    return ({folder for folder, line in OPTIONAL.items() if line not in cache} |
            {script for script, line in NOT_RUN.items() if line in cache})


def forgotten(root, compiled, commanded, without=()):
    """Yields a line of text for each test that is neither compiled nor commanded."""
    for path in find(root, CXX):
        if path.parent.relative_to(root).as_posix() in without:
            continue
        if path.resolve() not in compiled:
            yield f"{path.relative_to(root)}: no CMakeLists.txt builds this"
    for path in find(root, PYTHON):
        if path.relative_to(root).as_posix() not in without and path.name not in commanded:
            yield f"{path.relative_to(root)}: no CTest entry runs this"


def main():
    build = pathlib.Path(sys.argv[1])
    root = pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else pathlib.Path(__file__).parents[2])
    lost = list(forgotten(root.resolve(), compiled_files(build), ctest_words(build),
                          left_out(build)))
    for line in lost:
        print(line)
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
