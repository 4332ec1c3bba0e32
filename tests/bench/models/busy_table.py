#!/usr/bin/env python3
"""Optimizes a folder of ONNX models on a quiet machine and on a busy one, and compares what is chosen.

    busy_table.py MODELS [--device NAME] [--threads N] [--out DIR] [--csv FILE] [--only NAME]...
                  [--race-seconds S] [-- OPTION...]

MODELS and what follows "--" are as for model_table.py. Busy means that one process per core computes
without end, at the priority of Quotient's own. Both jobs of a model begin without timings of kernels.

For each model: the rewrites in both answers, by rule, and whether the same ones were chosen: either
they are equal, or ONNX Runtime makes the same kernels of both answers, because it does by itself what
one of them has and the other has not. Then the seconds and outcomes of both jobs, and how many times as
fast as the original both answers are in ONNX Runtime when the machine is quiet again. Exit status 1 if
an answer does not compute what the original does.
"""
import collections
import contextlib
import json
import os
import subprocess
import sys
import tempfile

import onnx

import answers
import judge
import model_table


# Computes as long as its parent is there, however that ends.
SPIN = """
import os, sys
while os.getppid() == int(sys.argv[1]):
    for _ in range(1_000_000): pass
"""


@contextlib.contextmanager
def spinning(processes):
    running = [subprocess.Popen([sys.executable, "-I", "-S", "-c", SPIN, str(os.getpid())])
               for _ in range(processes)]
    try:
        yield
    finally:
        for process in running:
            process.kill()
            process.wait()


@contextlib.contextmanager
def no_timings():
    """Gives the processes that are started meanwhile an empty folder for what they keep."""
    before = os.environ.get("XDG_CACHE_HOME")
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_CACHE_HOME"] = folder
        try:
            yield
        finally:
            del os.environ["XDG_CACHE_HOME"]
            if before is not None:
                os.environ["XDG_CACHE_HOME"] = before


def rewrites_in(report):
    """How often each rule is in the answer."""
    data = json.loads(report.read_text())
    if data["outcome"] != "improved":
        return collections.Counter()
    return collections.Counter(entry["rule"] for entry in data["journal"])


def answer(path, inputs, options, state, processes):
    out = options.out / f"{path.stem}.{state}.onnx"
    out.unlink(missing_ok=True)
    with no_timings(), spinning(processes):
        row = answers.by_quotient(options.quotient, path, out, options.device, inputs, options.extra)
    return row, out


def run_model(path, options):
    inputs = judge.load_inputs(path.with_suffix(".inputs"),
                               onnx.load(path, load_external_data=False).graph)
    row, files, rewrites = {"model": path.stem}, {}, {}
    for state, processes in (("quiet", 0), ("busy", os.cpu_count())):
        told, out = answer(path, inputs, options, state, processes)
        row.update({f"{state}_{key}": told.get(key) for key in ("error", "outcome", "seconds")})
        if "error" not in told:
            files[state] = out
            rewrites[state] = rewrites_in(out.with_suffix(".json"))
            row[f"{state}_rewrites"] = json.dumps(rewrites[state], sort_keys=True)
    row["same_rewrites"] = len(rewrites) == 2 and rewrites["quiet"] == rewrites["busy"]
    row["same_kernels"] = row["same_rewrites"] or len(files) == 2 and (
        judge.kernels_of(files["quiet"], options.threads) == judge.kernels_of(files["busy"], options.threads))
    _, verdicts = judge.judge(path, files, inputs, options.threads, options.race_seconds,
                              model_table.LEAST_ROUNDS)
    for state, verdict in verdicts.items():
        row.update({f"{state}_{key}": value for key, value in verdict.items()})
    row["same"] = len(files) == 2 and all(verdict["same"] for verdict in verdicts.values())
    return row


def line(row):
    same = "same rewrites" if row["same_rewrites"] else "same kernels" if row["same_kernels"] else "other kernels"
    text = f"{row['model']:20} {same:13}"
    for state in ("quiet", "busy"):
        if row.get(f"{state}_ratio") is None:
            text += f" | {state}: {row.get(f'{state}_error')}"
            continue
        text += (f" | {state}: {row[f'{state}_outcome']:14} {row[f'{state}_seconds']:5.1f} s "
                 f"{row[f'{state}_ratio']:.3f} ({row[f'{state}_ratio_low']:.3f} to "
                 f"{row[f'{state}_ratio_high']:.3f}) {row[f'{state}_rewrites']}")
    return text + ("" if row["same"] else " WRONG")


def parse(arguments):
    arguments, extra = model_table.split_extra(arguments)
    parser = model_table.parser_of(__doc__, "out/busy")
    parser.add_argument("--device", default="onnxruntime")
    options = parser.parse_args(arguments)
    options.extra = ["--local", "--threads", str(options.threads), *extra]
    return options


def main():
    options = parse(sys.argv[1:])
    options.out.mkdir(parents=True, exist_ok=True)
    rows = []
    for path in model_table.wanted_models(options):
        rows.append(run_model(path, options))
        print(line(rows[-1]), flush=True)
    print(f"{sum(row['same_kernels'] for row in rows)} of {len(rows)}: the same was chosen")
    if options.csv:
        model_table.write_csv(options.csv, rows)
    sys.exit(0 if rows and all(row["same"] for row in rows) else 1)


if __name__ == "__main__":
    main()
