#!/usr/bin/env python3
"""Checks the direction of #include lines against the order of folders below.

  include_order.py [ROOT]      ROOT defaults to this repository

A file may include from its own folder and from what stands before it in ORDER, and from the top
folders that USES names. Every edge that breaks this is printed as file:line, and the exit status is
then 1. The tables here are the one place where the order is written down; the add_subdirectory lines
of the CMakeLists.txt files have to follow it.
"""

import pathlib
import re
import sys

# What each folder has in it, lowest first. "." stands for the files that lie in the folder itself; it
# comes last where the list does not have it. The members of a tuple stand side by side: none of the
# folders among them may include from another.
ORDER = {
    "proto": ["wire"],
    "core": [
        "base", "os", "model", "ops", "onnx", "eval", "egraph", "domain", "rules", "prove", "generate", "kernels", "timing",
        "cost", "report", "explain", "extract", "search", "pricing", "journal", "verify", "optimize",
    ],
    "core/kernels": [".", "cpu", ("cuda", "onednn", "onnxruntime")],
    "core/kernels/onnxruntime": [".", "helper"],
    "core/kernels/cuda": ["interface", "plugin", "program", "source", "."],
    "server": ["config", "jobs", "store", "worker", "runner", "rpc", "ops", "pages", "."],
    "server/store": [("disk", "sqlite")],
    "client": ["cpp", "cli"],
}

# Tests have the order of what they test, with what they share before it.
ORDER |= {
    "tests": ["support", "proto", "core", "server", "client", "fuzz", "e2e", "judge", "deploy", "bench"],
    "tests/support": [".", ("cuda", "egraph", "networks")],
    "tests/proto": ORDER["proto"],
    "tests/core": ORDER["core"],
    "tests/core/kernels": ORDER["core/kernels"],
    "tests/core/kernels/cuda": ["fakes", ".", ("gpu", "plugin", "smoke")],
    "tests/server": ["support", *ORDER["server"]],
    "tests/client": [*ORDER["client"], "builds"],
    "tests/client/builds": ["client_project"],
    "tests/e2e": ["faults"],
    "tests/bench": [".", ("networks", "service")],
}

# Other top folders that one may include from.
USES = {
    "proto": {"core"},  # proto/wire translates between messages and core's types
    "core": set(),
    "server": {"core", "proto"},
    "client": {"core", "proto"},
    "tests": {"core", "proto", "server", "client"},
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
    (re.compile(r"(Cbc|Cgl|Clp|Coin|Osi)\w+\.hpp$"), ("core/extract/",),
     "the solvers of COIN-OR are known to core/extract only"),
    (re.compile(r"prometheus/"), ("server/ops/", "tests/"),
     "the Prometheus client is known to server/ops only"),
    (re.compile(r"seccomp\.h$"), ("server/runner/",),
     "system call filters are known to server/runner only"),
    (re.compile(r"microhttpd\.h$"), ("server/ops/",),
     "the HTTP server is known to server/ops only"),
]

SOURCES = {".h", ".cc", ".inc", ".cu"}
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]')
SUBDIRECTORY = re.compile(r"^\s*add_subdirectory\((\w+)\)", re.MULTILINE)


def place(folder, child):
    """Rank of a file or folder that lies in folder; None for a folder that has none."""
    listed = ORDER.get(folder, ["."])
    ranks = {}
    for rank, entry in enumerate(listed):
        for name in entry if isinstance(entry, tuple) else (entry,):
            ranks[name] = rank
    if child in ranks:
        return ranks[child]
    return ranks.get(".", len(listed)) if pathlib.PurePosixPath(child).suffix else None


def unplaced(path):
    """What is wrong with the place of a source file, or None."""
    parts = path.split("/")
    for depth in range(1, len(parts)):
        folder = "/".join(parts[:depth])
        if place(folder, parts[depth]) is None:
            return f"{parts[depth]} is not in the order of {folder}"
    return None


def why_not_upward(includer, included):
    """Why a file may not include another of its top folder, or None."""
    ours, theirs = includer.split("/"), included.split("/")
    depth = 0
    while depth < min(len(ours), len(theirs)) and ours[depth] == theirs[depth]:
        depth += 1
    if depth == min(len(ours), len(theirs)):
        return None  # the file itself
    folder, ours, theirs = "/".join(ours[:depth]), ours[depth], theirs[depth]
    mine, its = place(folder, ours), place(folder, theirs)
    if its is None:
        return f"{theirs} is not in the order of {folder}"
    if mine < its:
        return f"{folder}/{ours} comes before {folder}/{theirs}"
    are_files = all(pathlib.PurePosixPath(name).suffix for name in (ours, theirs))
    if mine == its and not are_files:
        return f"{folder}/{ours} and {folder}/{theirs} stand side by side"
    return None


def why_not(root, includer, included):
    """Why the edge is wrong, or None."""
    for pattern, allowed, reason in CONFINED:
        if pattern.match(included):
            return None if includer.startswith(allowed) else reason

    if included.startswith(("quotient/", "google/rpc/")):  # generated from proto/
        included = f"proto/wire/{pathlib.PurePosixPath(included).name}"
    from_top, to_top = includer.split("/")[0], included.split("/")[0]
    if to_top not in USES:
        if (root / includer).parent.joinpath(included).exists():
            return "written relative to the file; write it from the repository's root"
        return None  # another library's
    if to_top != from_top:
        return None if to_top in USES[from_top] else f"{from_top} may not include {to_top}"
    return why_not_upward(includer, included)


def broken_edges(root):
    """Yields one line of text for each wrong include under root."""
    for top in USES:
        for path in sorted((root / top).rglob("*")):
            if path.suffix not in SOURCES:
                continue
            includer = path.relative_to(root).as_posix()
            problem = unplaced(includer)
            if problem:
                yield f"{includer}:1: {problem}, see {__file__}"
                continue
            lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
            for number, line in enumerate(lines, start=1):
                match = INCLUDE.match(line)
                reason = match and why_not(root, includer, match[1])
                if reason:
                    yield f'{includer}:{number}: includes "{match[1]}": {reason}'


def misplaced_subdirectories(root):
    """Yields one line of text for each add_subdirectory that does not follow ORDER."""
    for folder in ORDER:
        path = root / folder / "CMakeLists.txt"
        names = SUBDIRECTORY.findall(path.read_text()) if path.exists() else []
        names = [name for name in names if place(folder, name) is not None]
        for before, after in zip(names, names[1:]):
            if place(folder, before) > place(folder, after):
                yield f"{folder}/CMakeLists.txt: {after} comes before {before} in ORDER, see {__file__}"


def main():
    here = pathlib.Path(__file__).resolve()
    root = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else here.parents[2]
    broken = [*broken_edges(root), *misplaced_subdirectories(root)]
    for line in broken:
        print(line)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
