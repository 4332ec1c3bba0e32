#!/usr/bin/env python3
"""Writes what a package is made of besides our own code.

    bill.py --name PACKAGE --version V --prefix DEPS --output DIR [--bundled LIST | --loaded LIST]

DIR gets a bill of materials in CycloneDX's format (share/quotient/PACKAGE.cdx.json), the texts of the licences
(share/quotient/licenses) and a summary (share/doc/PACKAGE/copyright). Small images leave out all of share/doc but
the summaries. What is compiled in, and what comes from PyPI, is known from the pins of deploy/setup, as is its digest. LIST has
the libraries of Debian that programs load, as bundle.sh writes it: --bundled if the package has them,
--loaded if it depends on the packages that do. The PACKAGE nvidia-libraries is no package, but what
install.sh --with-cuda installs.
"""

import argparse
import collections
import datetime
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import uuid

SETUP = pathlib.Path(__file__).resolve().parents[1] / "setup"
PIN = re.compile(r"^([\w-]+)==(\S+) \\\n +--hash=sha256:([0-9a-f]+)", re.MULTILINE)

# A part of a package. `use` says how it is used; `texts` are files with its licence and notices.
Part = collections.namedtuple("Part", "name version purl use license texts sha256 files", defaults=((), None, ()))


def pinned(requirements, name):
    """The version and the digest of a package from PyPI."""
    for found, version, sha256 in PIN.findall((SETUP / requirements).read_text()):
        if found == name:
            return version, sha256
    raise SystemExit(f"bill.py: {requirements} does not pin {name}")


def from_pypi(requirements, name, use, license_id, texts=()):
    version, sha256 = pinned(requirements, name)
    return Part(name, version, f"pkg:pypi/{name}@{version}", use, license_id, texts, sha256)


def debian_field(package, field):
    return subprocess.run(["dpkg-query", "--show", "--showformat", f"${{{field}}}", package],
                          capture_output=True, text=True, check=True).stdout


def from_debian(package, use, files=()):
    name = package.partition(":")[0]
    version = debian_field(package, "Version")
    quoted = name.replace("+", "%2B"), version.replace("+", "%2B").replace(":", "%3A")
    architecture = debian_field(package, "Architecture")
    purl = "pkg:deb/debian/{}@{}?arch={}&distro=debian-12".format(*quoted, architecture)
    return Part(name, version, purl, use, None, (pathlib.Path(f"/usr/share/doc/{name}/copyright"),), None, tuple(files))


def packages_of(files):
    """The Debian packages that libraries belong to, by file. dpkg knows some by their path before /usr was merged."""
    paths = {path: file for file in files
             for path in (os.path.realpath(file), os.path.realpath(file).removeprefix("/usr"))}
    found = subprocess.run(["dpkg-query", "--search", *paths], capture_output=True, text=True, check=False).stdout
    owners = {}
    for line in found.splitlines():
        package, _, path = line.partition(": ")
        if path in paths:
            owners[paths[path]] = package.partition(",")[0]
    if missing := set(files) - set(owners):
        raise SystemExit(f"bill.py: of no Debian package: {' '.join(sorted(missing))}")
    return owners


def debian_libraries(listed, use):
    libraries = [line.split(" ", 1) for line in listed.read_text().splitlines()]
    owners = packages_of([file for _, file in libraries])
    packages = collections.defaultdict(list)
    for name, file in libraries:
        digest = hashlib.sha256(pathlib.Path(file).read_bytes()).hexdigest()
        packages[owners[file]].append((name, digest))
    return [from_debian(package, use, sorted(files) if use == "bundled" else ())
            for package, files in sorted(packages.items())]


def cuda_runtime(include):
    text = (include / "cuda_runtime_api.h").read_text(errors="replace")
    number = int(re.search(r"#define CUDART_VERSION +(\d+)", text)[1])
    version = f"{number // 1000}.{number % 1000 // 10}"
    return Part("cuda-runtime", version, f"pkg:generic/cuda-runtime@{version}", "static",
                "LicenseRef-NVIDIA-CUDA-Toolkit-EULA")


def nvidia_libraries(cuda):
    """Those that programs load."""
    parts = []
    for name, libraries, terms in (("nvidia-cublas", "libcublas*", "CUDA-Toolkit-EULA"),
                                   ("nvidia-cuda-nvrtc", "libnvrtc*", "CUDA-Toolkit-EULA"),
                                   ("nvidia-cudnn-cu13", "libcudnn*", "cuDNN-SLA")):
        part = from_pypi("requirements-cuda-libraries.txt", name, "bundled", f"LicenseRef-NVIDIA-{terms}",
                         (cuda / "licenses" / name / "License.txt",))
        files = [(path.name, hashlib.sha256(path.read_bytes()).hexdigest())
                 for path in sorted((cuda / "lib").glob(f"{libraries}.so.*"))]
        parts.append(part._replace(files=files))
    return parts


def parts_of(arguments):
    deps = arguments.prefix.parent
    if arguments.name == "nvidia-libraries":
        return nvidia_libraries(deps / "cuda")
    if arguments.name == "quotient-cuda":
        return [from_pypi("requirements-cuda.txt", "nvidia-cudnn-frontend", "headers", "Apache-2.0"),
                cuda_runtime(arguments.cuda_include)]
    if arguments.name == "libquotient-dev":
        return []
    onednn, onnxruntime = arguments.prefix / "share/doc/onednn", deps / "onnxruntime"
    parts = [
        from_pypi("requirements-onnx.txt", "onnx", "static", "Apache-2.0"),
        from_pypi("requirements.txt", "onednn-cpu-gomp", "bundled", "Apache-2.0",
                  (onednn / "LICENSE", onednn / "THIRD-PARTY-PROGRAMS")),
        from_pypi("requirements-onnxruntime.txt", "onnxruntime", "bundled", "MIT",
                  (onnxruntime / "LICENSE", onnxruntime / "ThirdPartyNotices.txt")),
        from_debian("nlohmann-json3-dev", "headers"),
    ]
    if arguments.bundled:
        parts += debian_libraries(arguments.bundled, "bundled")
    if arguments.loaded:
        parts += debian_libraries(arguments.loaded, "loaded")
    return parts


def component(part):
    entry = {"type": "library", "bom-ref": part.purl, "name": part.name, "version": part.version, "purl": part.purl,
             "properties": [{"name": "quotient:use", "value": part.use}]}
    if part.license and part.license.startswith("LicenseRef-"):
        entry["licenses"] = [{"license": {"name": part.license}}]
    elif part.license:
        entry["licenses"] = [{"license": {"id": part.license}}]
    elif part.use != "loaded":
        entry["licenses"] = [{"license": {"name": f"share/quotient/licenses/{part.name}/copyright"}}]
    if part.sha256:
        entry["hashes"] = [{"alg": "SHA-256", "content": part.sha256}]
    if part.files:
        entry["components"] = [
            {"type": "file", "name": name, "hashes": [{"alg": "SHA-256", "content": sha256}]}
            for name, sha256 in part.files]
    return entry


def is_ours(name):
    return name != "nvidia-libraries"


def bill_of(arguments, parts):
    moment = datetime.datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), datetime.timezone.utc)
    subject = {"type": "application", "bom-ref": arguments.name, "name": arguments.name, "version": arguments.version}
    if is_ours(arguments.name):
        subject["licenses"] = [{"license": {"id": "Apache-2.0"}}]
    bill = {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1,
        "metadata": {"timestamp": moment.strftime("%Y-%m-%dT%H:%M:%SZ"), "component": subject},
        "components": [component(part) for part in parts],
        "dependencies": [{"ref": arguments.name, "dependsOn": [part.purl for part in parts]}],
    }
    # The same bill has the same number.
    number = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(bill, sort_keys=True))
    return {**bill, "serialNumber": f"urn:uuid:{number}"}


USES = {"static": "is linked into the programs", "headers": "is compiled into the programs",
        "bundled": "is in this package", "loaded": "is loaded by the programs, and a package of its own"}


def copyright_of(name, parts):
    lines = []
    if is_ours(name):
        lines += [f"{name} is Quotient, copyright by its authors, under the Apache License, Version 2.0: see",
                  "share/quotient/licenses/quotient/LICENSE, or on Debian /usr/share/common-licenses/Apache-2.0.", ""]
    if parts:
        lines += ["Others have written:", ""]
    for part in parts:
        where = f"share/quotient/licenses/{part.name}" if part.texts and part.use != "loaded" else None
        terms = ": ".join(filter(None, [part.license, where])) or f"/usr/share/doc/{part.name}/copyright"
        lines.append(f"{part.name} {part.version} {USES[part.use]} ({terms})")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for option in ("--name", "--version"):
        parser.add_argument(option, required=True)
    for option in ("--prefix", "--output"):
        parser.add_argument(option, required=True, type=pathlib.Path)
    for option in ("--cuda-include", "--bundled", "--loaded"):
        parser.add_argument(option, type=pathlib.Path)
    arguments = parser.parse_args()
    parts = parts_of(arguments)
    documents, shared = arguments.output / "share/doc" / arguments.name, arguments.output / "share/quotient"
    for folder in (documents, shared):
        folder.mkdir(parents=True, exist_ok=True)
    (documents / "copyright").write_text(copyright_of(arguments.name, parts))
    (shared / f"{arguments.name}.cdx.json").write_text(json.dumps(bill_of(arguments, parts), indent=1) + "\n")
    for part in parts:
        if part.use == "loaded":
            continue
        for text in part.texts:
            (shared / "licenses" / part.name).mkdir(parents=True, exist_ok=True)
            shutil.copyfile(text, shared / "licenses" / part.name / text.name)


if __name__ == "__main__":
    main()
