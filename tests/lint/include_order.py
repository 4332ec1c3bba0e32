#!/usr/bin/env python3
"""Checks the direction of #include lines against the order of folders below.

  include_order.py [ROOT]      ROOT defaults to this repository

A file may include from its own folder and from those before it in the list of its top folder, and
from the top folders that USES names. Every edge that breaks this is printed as file:line, and the
exit status is then 1. The lists here are the one place where the order is written down.
"""

import pathlib
import re
import sys

# Folders of each top folder, lowest first. Files directly in a top folder come after all of them.
ORDER = {
    "proto": ["wire"],
    "core": [
        "base", "os", "model", "ops", "onnx", "eval", "egraph", "domain", "rules", "kernels", "timing",
        "cost", "extract", "search", "verify", "optimize",
    ],
    "server": ["config", "jobs", "store", "worker", "rpc", "ops"],
    "client": ["cpp", "cli"],
}

# Other top folders that one may include from. Tests may include everything.
USES = {
    "proto": {"core"},  # proto/wire translates between messages and core's types
    "core": set(),
    "server": {"core", "proto"},
    "client": {"core", "proto"},
}

# Libraries that are confined: what the include looks like, who may, and why.
CONFINED = [
    (re.compile(r"(oneapi/dnnl/|dnnl[._])"), ("core/kernels/onednn/",),
     "oneDNN is known to core/kernels/onednn only"),
    (re.compile(r"(cuda|cublasLt|cudnn|driver_types|nvrtc)[\w.]*\.h(pp)?$"),
     ("core/kernels/cuda/plugin/",),
     "CUDA's libraries are known to core/kernels/cuda/plugin only"),
    (re.compile(r"onnx/"), ("core/onnx/", "tests/"),
     "the ONNX library is known to core/onnx only"),
    (re.compile(r"(grpc|grpcpp|grpc\+\+)/"), ("server/", "client/", "tests/", "proto/"),
     "core knows no gRPC"),
    (re.compile(r"sqlite3\.h"), ("server/store/", "tests/"),
     "SQLite is known to server/store only"),
]

SOURCES = {".h", ".cc", ".inc", ".cu"}
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]')


def folder_of(path):
    """(top folder, folder in it or None) of a path relative to the root."""
    parts = pathlib.PurePosixPath(path).parts
    if parts[:2] in (("quotient", "v1"), ("google", "rpc")):  # generated from proto/
        return "proto", "wire"
    return parts[0], parts[1] if len(parts) > 2 else None


def rank(top, folder):
    """Place in the order of its top folder; None for a folder that is not listed."""
    if folder is None:
        return len(ORDER[top])
    return ORDER[top].index(folder) if folder in ORDER[top] else None


def why_not(root, includer, included):
    """Why the edge is wrong, or None."""
    for pattern, allowed, reason in CONFINED:
        if pattern.match(included):
            return None if includer.startswith(allowed) else reason

    to_top, to_folder = folder_of(included)
    if to_top not in ORDER and to_top != "tests":
        if (root / includer).parent.joinpath(included).exists():
            return "written relative to the file; write it from the repository's root"
        return None  # another library's

    from_top, from_folder = folder_of(includer)
    if from_top == "tests":
        return None
    if to_top != from_top:
        return None if to_top in USES[from_top] else f"{from_top} may not include {to_top}"
    if to_folder == from_folder:
        return None
    if rank(to_top, to_folder) is None:
        return f"{to_top}/{to_folder} is not in the order of {to_top}"
    if rank(from_top, from_folder) < rank(to_top, to_folder):
        return f"{from_top}/{from_folder} comes before {to_top}/{to_folder or ''}".rstrip("/")
    return None


def broken_edges(root):
    """Yields one line of text for each wrong include under root."""
    for top in [*ORDER, "tests"]:
        for path in sorted((root / top).rglob("*")):
            if path.suffix not in SOURCES:
                continue
            includer = path.relative_to(root).as_posix()
            if top != "tests" and rank(*folder_of(includer)) is None:
                yield f"{includer}:1: folder is not in the order of {top}, see {__file__}"
                continue
            lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
            for number, line in enumerate(lines, start=1):
                match = INCLUDE.match(line)
                reason = match and why_not(root, includer, match[1])
                if reason:
                    yield f'{includer}:{number}: includes "{match[1]}": {reason}'


def main():
    here = pathlib.Path(__file__).resolve()
    root = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else here.parents[2]
    broken = list(broken_edges(root))
    for edge in broken:
        print(edge)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
