#!/usr/bin/env python3
"""Optimizes a folder of ONNX models and judges the results with ONNX Runtime, beside simplifiers.

    model_table.py MODELS [--devices onnxruntime,cpu] [--simplifiers onnxsim,onnxslim] [--threads N]
                   [--out DIR] [--csv FILE] [--only NAME]... [--race-seconds S] [-- OPTION...]

MODELS holds NAME.onnx and optionally NAME.inputs/input_0.pb, ...: TensorProtos in the order of the
graph's inputs; their dims are what symbols are measured with. What follows "--" goes to
`quotient optimize`, which works in its own process unless that has --server. Simplifiers must be
installed for the Python that runs this; "simplify" is Quotient's own.

For each model and answer: what Quotient says (the original, predicted of measured; the gain,
predicted and measured), seconds, the nodes of the result, the size of the model's file and the most memory of all processes, in MiB;
then, in ONNX Runtime with all optimizations, how many times as fast as the original it is
(median and quartiles over rounds in which all answers run forth and back, each run after an
untimed one) and how much outputs differ. Exit status 1 if a result does not load, changes the interface, or differs by more than the
limit of its type.
"""
import argparse
import csv
import pathlib
import statistics
import sys

import onnx

import answers
import judge

LEAST_ROUNDS = 5


def answers_to(path, inputs, options):
    """Rows of figures, and files of those that gave an answer, by name of the optimizer."""
    rows, files = {}, {}
    for name in [*options.devices, *options.simplifiers]:
        out = options.out / f"{path.stem}.{name.replace(':', '_')}.onnx"
        out.unlink(missing_ok=True)
        if name in options.simplifiers:
            rows[name] = answers.by_simplifier(name, options.quotient, path, out, options.threads)
        else:
            rows[name] = answers.by_quotient(options.quotient, path, out, name, inputs, options.extra)
        if "error" not in rows[name]:
            files[name] = out
            rows[name]["nodes"] = len(onnx.load(out, load_external_data=False).graph.node)
    return rows, files


def run_model(path, options):
    inputs = judge.load_inputs(path.with_suffix(".inputs"),
                               onnx.load(path, load_external_data=False).graph)
    rows, files = answers_to(path, inputs, options)
    before_ms, verdicts = judge.judge(path, files, inputs, options.threads, options.race_seconds,
                                      LEAST_ROUNDS)
    for name, verdict in verdicts.items():
        rows[name].update(verdict)
    shared = {"model": path.stem, "file_mib": path.stat().st_size / 2**20, "before_ms": before_ms}
    return [{**shared, "by": name, **row} for name, row in rows.items()]


def number(row, key, form, unit=""):
    value = row.get(key)
    return "-" if value is None else f"{value:{form}}{unit}"


HEAD = (f"{'model':20} {'by':12} {'outcome':15} {'pred/meas':>9} {'promised':>9} {'measured':>9} "
        f"{'time':>7} {'nodes':>6} {'file':>7} {'memory':>7} {'ORT ms':>8} {'times':>6} {'quartiles':>12} {'differs':>8}")


def line(row):
    if "error" in row:
        return f"{row['model']:20} {row['by']:12} {row['error']}"
    quartiles = f"{row['ratio_low']:.3f}..{row['ratio_high']:.3f}"
    return (f"{row['model']:20} {row['by']:12} {row.get('outcome', ''):15} "
            f"{number(row, 'predicted_of_measured', '9.2f'):>9} "
            f"{number(row, 'predicted_gain', '.1f', ' %'):>9} "
            f"{number(row, 'measured_gain', '.1f', ' %'):>9} {row['seconds']:5.1f} s "
            f"{row['nodes']:6} {row['file_mib']:7.0f} {row['peak_mib']:7.0f} {row['ms']:8.2f} "
            f"{row['ratio']:6.3f} {quartiles:>12} {row['differs']:8.1e} "
            f"{'ok' if row['same'] else 'WRONG'}")


def summary(rows, name):
    mine = [row for row in rows if row["by"] == name and "ratio" in row]
    if not mine:
        return f"{name}: no answers"
    ratio = [row["ratio"] for row in mine]
    text = (f"{name}: {len(mine)} models, in ONNX Runtime {statistics.median(ratio):.3f} times as fast at the "
            f"median, {min(ratio):.3f} to {max(ratio):.3f}")
    off = [abs(row["predicted_of_measured"] - 1) for row in mine if row.get("predicted_of_measured")]
    if off:
        told = [row for row in mine if row.get("predicted_gain") is not None and row.get("measured_gain") is not None]
        close = sum(abs(row["predicted_gain"] - row["measured_gain"]) <= 3 for row in told)
        text += (f"; originals predicted within {100 * statistics.median(off):.0f} % at the median, "
                 f"{100 * max(off):.0f} % at worst; gains within 3 points for {close} of {len(told)} that were "
                 "predicted and measured")
    return text


def split_extra(arguments):
    """What comes before "--", and what after it."""
    cut = arguments.index("--") if "--" in arguments else len(arguments)
    return arguments[:cut], arguments[cut + 1:]


def write_csv(path, rows):
    """One column per key of any row."""
    fields = list(dict.fromkeys(key for row in rows for key in row))
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, fields)
        writer.writeheader()
        writer.writerows(rows)


def parser_of(description, out):
    """A parser of the arguments that all tables of a folder of models have. `out`: where answers go."""
    parser = argparse.ArgumentParser(description=description,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", type=pathlib.Path)
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path(out))
    parser.add_argument("--quotient", default="build/release/bin/quotient")
    parser.add_argument("--csv", type=pathlib.Path)
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--threads", type=int, default=1, help="of Quotient and of ONNX Runtime")
    parser.add_argument("--race-seconds", type=float, default=6.0)
    return parser


def wanted_models(options):
    """The files of the folder, in order, or those that --only names."""
    return [path for path in sorted(options.models.glob("*.onnx"))
            if not options.only or path.stem in options.only]


def parse(arguments):
    arguments, extra = split_extra(arguments)
    parser = parser_of(__doc__, "out/models")
    names = lambda text: [name for name in text.split(",") if name]
    parser.add_argument("--devices", type=names, default=["onnxruntime"])
    parser.add_argument("--simplifiers", type=names, default=[])
    options = parser.parse_args(arguments)
    unknown = set(options.simplifiers) - set(answers.SIMPLIFIERS)
    if unknown:
        parser.error(f"no such simplifier: {', '.join(sorted(unknown))}")
    options.extra = ["--threads", str(options.threads), *extra]
    if "--server" not in extra:
        options.extra.append("--local")
    return options


def main():
    options = parse(sys.argv[1:])
    options.out.mkdir(parents=True, exist_ok=True)
    print(HEAD)
    rows = []
    for path in wanted_models(options):
        rows += run_model(path, options)
        for row in rows:
            if row["model"] == path.stem:
                print(line(row), flush=True)
    for name in [*options.devices, *options.simplifiers]:
        print(summary(rows, name))
    if options.csv:
        write_csv(options.csv, rows)
    sys.exit(0 if rows and all(row.get("same") or row["by"] in options.simplifiers
                               for row in rows) else 1)


if __name__ == "__main__":
    main()
