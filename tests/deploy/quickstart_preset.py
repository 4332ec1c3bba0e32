"""The preset quickstart configures without tests of what it leaves out, and each of its batches
(deploy/cmake/batches.py) is valid C++.

    quickstart_preset.py BUILD      BUILD is a folder for the preset; it is kept for the next time

The batches are parsed and not compiled to object code, which takes a third of the time. That they mean the
same as their sources alone is what all other tests show where they run as the preset "batches", as in CI.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = ("quotientd", "quotient", "make_network")
# Libraries of headers that protoc makes.
GENERATED = ("quotient_proto", "quotient_ort_proto", "quotient_runner_proto")


def run(*command, **options):
    ran = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, text=True, check=False, **options)
    if ran.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{ran.stdout}")
    return ran.stdout


def check_syntax(build, command):
    """What the compiler says of the source of a compile command, if it is wrong."""
    words = shlex.split(command)
    compiler = next(i for i, word in enumerate(words) if word.endswith(("c++", "g++")))
    words = words[compiler:]
    for option in ("-o", "-MT", "-MF"):
        at = words.index(option)
        del words[at:at + 2]
    words.remove("-MD")
    ran = subprocess.run([*words, "-fsyntax-only"], cwd=build, capture_output=True, text=True, check=False)
    return ran.stderr if ran.returncode != 0 else ""


def check_tests(build):
    """The preset leaves out the GPU backend. Tests of what is left out would not link."""
    tests = json.loads(run("ctest", "--test-dir", build, "--show-only=json-v1"))["tests"]
    names = sorted(test["name"] for test in tests if test["name"].startswith("kernels_cuda_"))
    if names != ["kernels_cuda_fingerprint_test", "kernels_cuda_parse_device_test"]:
        sys.exit(f"without CUDA there are {names}")


def main(build):
    run("cmake", "--preset", "quickstart", "-B", build, cwd=ROOT)
    check_tests(build)
    commands = [line for line in run("ninja", "-C", build, "-t", "commands", *PROGRAMS).splitlines()
                if "/Unity/" in line and " -c " in line]
    if len(commands) < 20:
        sys.exit(f"only {len(commands)} batches")
    run("ninja", "-C", build, "quotient_pch",
        *(f"cmake_object_order_depends_target_{library}" for library in GENERATED))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        errors = [error for error in pool.map(lambda command: check_syntax(build, command), commands)
                  if error]
    print(f"{len(commands)} batches, {len(errors)} with errors")
    sys.exit("\n".join(errors) if errors else 0)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", metavar="BUILD", type=pathlib.Path)
    main(parser.parse_args().build.resolve())
