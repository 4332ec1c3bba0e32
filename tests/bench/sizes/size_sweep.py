#!/usr/bin/env python3
"""Shows how the work of `quotient optimize` grows with the size of a model, for models of many shapes.

    size_sweep.py [--quotient PATH] [--sizes N,N,...] [--limit SECONDS] [--only SHAPE,...] [--phases] [--csv FILE]
                  [--keep DIR] [-- OPTION...]

A line per shape: the processor time of the whole process at each size, in seconds, the exponent of the last step
(log of the ratio of times over log of the ratio of sizes; 1 is linear, n log n is below 1.1, 2 is quadratic), the
memory at the largest size, and how it came out. Larger sizes of a shape are left out once one took more than half
of the limit. --phases adds the seconds of each phase, by the clock, and notes of the report; --keep leaves the models
in DIR. What follows "--" goes to `quotient optimize`; the default is an analytic device, one thread, and a search that
ends after a second. Exit status 1 if a model is refused or not done within the limit.
"""
import argparse
import csv
import json
import math
import os
import pathlib
import resource
import subprocess
import sys
import tempfile

from shapes import SHAPES

DEFAULTS = ["--device", "model:h200", "--budget", "1s", "--threads", "1"]


def run(quotient, folder, path, options, limit):
    report = folder / "report.json"
    report.unlink(missing_ok=True)
    command = [quotient, "optimize", "--local", str(path), "-o", str(folder / "out.onnx"), "--report", str(report),
               "--html", str(folder / "report.html"), *options]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                               preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 5)))
    errors = process.stderr.read().decode(errors="replace")
    _, status, usage = os.wait4(process.pid, 0)
    row = {"seconds": usage.ru_utime + usage.ru_stime, "mebibytes": usage.ru_maxrss / 1024}
    if os.WIFSIGNALED(status):
        row["outcome"] = "over the limit" if os.WTERMSIG(status) in (9, 24) else f"signal {os.WTERMSIG(status)}"
    elif os.WEXITSTATUS(status) != 0:
        row["outcome"] = f"exit {os.WEXITSTATUS(status)}: {errors.strip().splitlines()[-1][:120]}"
    else:
        told = json.loads(report.read_text())
        row["outcome"] = told["outcome"].lower()
        row["notes"] = told.get("notes", [])
        row["phases"] = told.get("phase_seconds", {})
    return row


def exponent(rows):
    if len(rows) < 2:
        return math.nan
    (small, a), (large, b) = rows[-2:]
    return math.log(max(b["seconds"], 1e-3) / max(a["seconds"], 1e-3)) / math.log(large / small)


def sweep(name, arguments, folder):
    rows = []
    for size in arguments.sizes:
        path = folder / f"{name}_{size}.onnx"
        path.write_bytes(SHAPES[name](size).SerializeToString())
        rows.append((size, run(arguments.quotient, folder, path, arguments.options or DEFAULTS, arguments.limit)))
        if not arguments.keep:
            path.unlink()
        if rows[-1][1]["seconds"] > arguments.limit / 2:
            break
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quotient", default="build/release/bin/quotient")
    parser.add_argument("--sizes", default="1000,3000,10000,30000,100000")
    parser.add_argument("--limit", type=int, default=120)
    parser.add_argument("--only")
    parser.add_argument("--csv")
    parser.add_argument("--keep", type=pathlib.Path)
    parser.add_argument("--phases", action="store_true")
    parser.add_argument("options", nargs="*")
    arguments = parser.parse_args()
    arguments.sizes = [int(size) for size in arguments.sizes.split(",")]
    failed = False
    table = csv.writer(open(arguments.csv, "w", newline="")) if arguments.csv else None
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.keep or pathlib.Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for name in arguments.only.split(",") if arguments.only else SHAPES:
            rows = sweep(name, arguments, folder)
            last = rows[-1][1]
            failed |= "phases" not in last
            times = " ".join(f"{row['seconds']:8.2f}" for _, row in rows)
            print(f"{name:24} {times}  exponent {exponent(rows):4.1f}  {last['mebibytes']:6.0f} MiB  {last['outcome']}",
                  flush=True)
            if arguments.phases:
                print("   ", {k: round(v, 2) for k, v in last.get("phases", {}).items()}, last.get("notes", [])[:3])
            if table:
                table.writerows([name, size, row["seconds"], row["mebibytes"], row["outcome"]] for size, row in rows)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
