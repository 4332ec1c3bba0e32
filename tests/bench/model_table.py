#!/usr/bin/env python3
"""Optimizes a folder of ONNX models through a running quotientd and judges the results with ONNX Runtime.

    model_table.py MODELS --server HOST:PORT [--out DIR] [--quotient PATH] [--csv FILE] [--only NAME]...
                   [-- OPTION...]

MODELS holds NAME.onnx (with its external data) and optionally NAME.inputs/input_0.pb, ...: TensorProtos in
the order of the graph's inputs; their dims are what symbols are measured with. Everything after "--"
goes to `quotient optimize`.

For each model: outcome, our own measure before and after, the prediction, seconds, and in ONNX Runtime (all
optimizations on, as most users run models) the largest difference of any output relative to its largest
value, and the time of the same pair, ABBA. Exit status 1 if a result does not load, changes the
interface, or differs by more than the limit of its type.
"""
import argparse
import csv
import json
import pathlib
import statistics
import subprocess
import sys
import time

import numpy as np
import onnx
import onnxruntime as ort
from onnx import numpy_helper

LIMITS = {"float32": 1e-4, "float16": 1e-2, "quantized": 3e-2}


def session(path, threads):
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
    # Else DequantizeLinear + MatMul becomes an approximate kernel, 0.5 % off.
    options.add_session_config_entry("session.qdq_matmulnbits_accuracy_level", "1")
    # Else the idle session's threads spin and keep the other's from their cores.
    options.add_session_config_entry("session.force_spinning_stop", "1")
    options.log_severity_level = 3
    return ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def kind_of(model):
    operators = {node.op_type for node in model.graph.node}
    if "QuantizeLinear" in operators or "DequantizeLinear" in operators:
        return "quantized"
    types = {tensor.data_type for tensor in model.graph.initializer}
    return "float16" if onnx.TensorProto.FLOAT16 in types else "float32"


def interface(model):
    return ([value.SerializeToString() for value in model.graph.input],
            [value.SerializeToString() for value in model.graph.output])


def load_inputs(folder, graph):
    if not folder.is_dir():
        return None
    names = [value.name for value in graph.input]
    return {name: numpy_helper.to_array(onnx.load_tensor(folder / f"input_{i}.pb"))
            for i, name in enumerate(names)}


def random_like(inputs, rng):
    """Other inputs of the same types: floats uniform in [-1, 1), integers shuffled."""
    drawn = {}
    for name, value in inputs.items():
        if value.dtype.kind == "f":
            drawn[name] = rng.uniform(-1, 1, value.shape).astype(value.dtype)
        else:
            drawn[name] = rng.permutation(value.reshape(-1)).reshape(value.shape)
    return drawn


def random_inputs(graph, rng):
    types = {onnx.TensorProto.FLOAT: np.float32, onnx.TensorProto.FLOAT16: np.float16,
             onnx.TensorProto.DOUBLE: np.float64}
    drawn = {}
    for value in graph.input:
        dims = [dim.dim_value or 1 for dim in value.type.tensor_type.shape.dim]
        dtype = types.get(value.type.tensor_type.elem_type)
        drawn[value.name] = (rng.uniform(-1, 1, dims).astype(dtype) if dtype
                             else np.ones(dims, np.int64))
    return drawn


def largest_difference(expected, actual):
    worst = 0.0
    for want, got in zip(expected, actual, strict=True):
        if want.shape != got.shape or want.dtype != got.dtype:
            return float("inf")
        want, got = want.astype(np.float64), got.astype(np.float64)
        if not np.array_equal(np.isfinite(want), np.isfinite(got)):
            return float("inf")
        finite = np.isfinite(want)
        if finite.any():
            scale = np.abs(want[finite]).max() or 1.0
            worst = max(worst, float(np.abs(want[finite] - got[finite]).max() / scale))
    return worst


def time_pair(first, second, feeds, seconds):
    """Medians in milliseconds of two sessions, run in ABBA order."""
    times = ([], [])
    sessions = (first, second)
    end = time.monotonic() + seconds
    for item in sessions:
        item.run(None, feeds)
    while time.monotonic() < end or len(times[0]) < 4:
        for which in (0, 1, 1, 0):
            start = time.perf_counter()
            sessions[which].run(None, feeds)
            times[which].append((time.perf_counter() - start) * 1e3)
    return statistics.median(times[0]), statistics.median(times[1])


def optimize(quotient, server, path, out, inputs, extra):
    command = [quotient, "optimize", str(path), "-o", str(out), "--server", server,
               "--report", str(out.with_suffix(".json")), "--html", str(out.with_suffix(".html"))]
    model = onnx.load(path, load_external_data=False)
    for value in model.graph.input:
        dims = value.type.tensor_type.shape.dim
        if inputs and any(not dim.HasField("dim_value") for dim in dims):
            shape = ",".join(str(size) for size in inputs[value.name].shape)
            command += ["--measure-shape", f"{value.name}={shape}"]
    start = time.monotonic()
    done = subprocess.run(command + extra, capture_output=True, text=True)
    return done, time.monotonic() - start


def judge(path, out, inputs, threads, seconds):
    original, result = (onnx.load(p, load_external_data=False) for p in (path, out))
    row = {"kind": kind_of(original), "interface": interface(original) == interface(result)}
    feeds = inputs or random_inputs(original.graph, np.random.default_rng(0))
    first, second = session(path, threads), session(out, threads)
    rng = np.random.default_rng(1)
    differences = [largest_difference(first.run(None, f), second.run(None, f))
                   for f in (feeds, random_like(feeds, rng))]
    row["ort_difference"] = max(differences)
    row["ort_before_ms"], row["ort_after_ms"] = time_pair(first, second, feeds, seconds)
    return row


def passed(row):
    return row["interface"] and row["ort_difference"] <= LIMITS[row["kind"]]


def number(value):
    """Of a report; what was not measured is null there."""
    return float("nan") if value is None else value


def run_model(path, options):
    out = options.out / path.name
    inputs = load_inputs(path.with_suffix(".inputs"), onnx.load(path, load_external_data=False).graph)
    done, seconds = optimize(options.quotient, options.server, path, out, inputs, options.extra)
    row = {"model": path.stem, "seconds": seconds, "exit": done.returncode}
    if done.returncode != 0:
        row["error"] = done.stderr.strip().splitlines()[-1:] or ["no message"]
        return row
    report = json.loads(out.with_suffix(".json").read_text())
    row.update(outcome=report["outcome"],
               before_ms=number(report["original"]["measured_us"]["median"]) / 1e3,
               after_ms=number(report["optimized"]["measured_us"]["median"]) / 1e3,
               speedup=number(report["speedup_percent"]), predicted=report["predicted_speedup_percent"],
               search_s=report["search"]["seconds"], rewrites=len(report["journal"]))
    row.update(judge(path, out, inputs, options.threads, options.ort_seconds))
    return row


def line(row):
    if "ort_difference" not in row:
        return f"{row['model']:22} exit {row['exit']}: {row.get('error')}"
    ratio = (1 - row["ort_after_ms"] / row["ort_before_ms"]) * 100
    return (f"{row['model']:22} {row['outcome']:15} {row['before_ms']:9.2f} {row['after_ms']:9.2f} "
            f"{row['speedup']:7.1f} % {row['predicted']:7.1f} % {row['seconds']:6.1f} s "
            f"{row['ort_before_ms']:9.2f} {row['ort_after_ms']:9.2f} {ratio:6.1f} % "
            f"{row['ort_difference']:9.1e} {'ok' if passed(row) else 'WRONG'}")


def main():
    arguments, extra = sys.argv[1:], []
    if "--" in arguments:
        cut = arguments.index("--")
        arguments, extra = arguments[:cut], arguments[cut + 1:]
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", type=pathlib.Path)
    parser.add_argument("--server", required=True)
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("out/models"))
    parser.add_argument("--quotient", default="build/release/bin/quotient")
    parser.add_argument("--csv", type=pathlib.Path)
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--threads", type=int, default=2, help="of ONNX Runtime")
    parser.add_argument("--ort-seconds", type=float, default=4.0)
    options = parser.parse_args(arguments)
    options.extra = extra
    options.out.mkdir(parents=True, exist_ok=True)
    print(f"{'model':22} {'outcome':15} {'before ms':>9} {'after ms':>9} {'measured':>9} "
          f"{'predicted':>9} {'total':>8} {'ORT ms':>9} {'after':>9} {'gain':>8} {'differs':>9}")
    rows = []
    for path in sorted(options.models.glob("*.onnx")):
        if options.only and path.stem not in options.only:
            continue
        rows.append(run_model(path, options))
        print(line(rows[-1]), flush=True)
    if options.csv:
        fields = sorted({key for row in rows for key in row})
        with options.csv.open("w", newline="") as file:
            writer = csv.DictWriter(file, fields)
            writer.writeheader()
            writer.writerows(rows)
    sys.exit(0 if all("ort_difference" in row and passed(row) for row in rows) else 1)


if __name__ == "__main__":
    main()
