#!/usr/bin/env python3
"""Whether predicted times put the graphs of a model in the order of the times that they take.

    rank_table.py MODELS [--device NAME] [--threads N] [--forms N] [--out DIR] [--csv FILE] [--only NAME]...

MODELS is as for model_table.py. Forms of a model are what `quotient optimize` makes of it for an analytic
model of a GPU, without a random half of the rules that it uses there: some of them are faster on the device
and some are slower. Only forms with different nodes count. `quotient profile` predicts and measures each of
them, all forms once in each of ROUNDS rounds; the median of each counts.

For each model: how many forms there are, how far apart their times are, by how much they are predicted too
long or too short; then, over all pairs of forms whose measured times differ by more than 5 percent, Kendall's
tau (pairs in the right order less pairs in the wrong one, by all) and Spearman's rank correlation of all forms.
"""
import itertools
import json
import pathlib
import random
import statistics
import subprocess
import sys

import onnx

import answers
import busy_table
import judge
import model_table

ROUNDS = 3
ATTEMPTS_PER_FORM = 4
LEAST_DIFFERENCE = 0.05


def make_form(path, out, options, inputs, without):
    """Writes the form without these rules. Returns the rules that it has, or None if there is no such form."""
    out.unlink(missing_ok=True)
    disabled = [word for rule in sorted(without) for word in ("--disable-rule", rule)]
    with busy_table.no_timings():  # Forms are no jobs of the user: his statistics of rules are not to count them.
        row = answers.by_quotient(options.quotient, path, out, options.shaped_for, inputs,
                                  ["--local", "--simulations", "64", *disabled])
    if "error" in row:
        return None
    return {entry["rule"] for entry in json.loads(out.with_suffix(".json").read_text())["journal"]}


def signature(path):
    """What tells forms apart: their operators with attributes and numbers of inputs, and the sizes of their weights."""
    graph = onnx.load(path, load_external_data=False).graph
    nodes = sorted((node.op_type, len(node.input), *(str(each) for each in node.attribute)) for node in graph.node)
    return tuple(nodes), tuple(sorted(tuple(tensor.dims) for tensor in graph.initializer))


def forms_of(path, options, inputs):
    """The original and files of its forms, all of which differ."""
    choose = random.Random(0)
    folder = options.out / path.stem
    folder.mkdir(parents=True, exist_ok=True)
    forms = {signature(path): path}
    rules, tried = set(), set()
    for attempt in range(ATTEMPTS_PER_FORM * options.forms):
        without = frozenset(rule for rule in sorted(rules) if choose.random() < 0.5)
        if len(forms) >= options.forms or (attempt > 0 and without in tried):
            continue
        tried.add(without)
        out = folder / f"{attempt}.onnx"
        rules |= make_form(path, out, options, inputs, without) or set()
        if out.exists():
            forms.setdefault(signature(out), out)
    return list(forms.values())


def profile(path, options, inputs):
    """What a form is predicted to take and what it takes, in milliseconds; None if it cannot be run."""
    ran = subprocess.run([options.quotient, "profile", str(path), "--device", options.device, "--threads",
                          str(options.threads), "--json", *answers.measure_shapes(path, inputs)],
                         capture_output=True, text=True, check=False)
    if ran.returncode != 0:
        return None
    told = json.loads(ran.stdout)
    return told["predicted_us"] / 1e3, told["measured_us"] / 1e3


def ranks(values):
    order = sorted(range(len(values)), key=values.__getitem__)
    return [order.index(i) for i in range(len(values))]


def correlation(predicted, measured):
    """(Kendall's tau over pairs that differ, how many these are, Spearman's correlation).

    A correlation is None where there is nothing to compare.
    """
    agree = pairs = 0
    for i, j in itertools.combinations(range(len(measured)), 2):
        if abs(measured[i] - measured[j]) <= LEAST_DIFFERENCE * min(measured[i], measured[j]):
            continue
        pairs += 1
        agree += 1 if (predicted[i] < predicted[j]) == (measured[i] < measured[j]) else -1
    spearman = statistics.correlation(ranks(predicted), ranks(measured)) if len(measured) > 1 else None
    return (agree / pairs if pairs else None), pairs, spearman


def run_model(path, options):
    inputs = judge.load_inputs(path.with_suffix(".inputs"), onnx.load(path, load_external_data=False).graph)
    forms = forms_of(path, options, inputs)
    told = [[profile(form, options, inputs) for form in forms] for _ in range(ROUNDS)]
    kept = [each for each in zip(*told, strict=True) if None not in each]
    predicted = [statistics.median(pair[0] for pair in each) for each in kept]
    measured = [statistics.median(pair[1] for pair in each) for each in kept]
    if not kept:
        return {"model": path.stem, "forms": 0, "error": "no form can be run"}
    tau, pairs, spearman = correlation(predicted, measured)
    return {"model": path.stem, "forms": len(kept), "fastest_ms": min(measured), "slowest_ms": max(measured),
            "off": statistics.median(abs(p / m - 1) for p, m in zip(predicted, measured, strict=True)),
            "pairs": pairs, "tau": tau, "spearman": spearman,
            "predicted_ms": json.dumps(predicted), "measured_ms": json.dumps(measured)}


def line(row):
    if "error" in row:
        return f"{row['model']:20} {row['error']}"
    return (f"{row['model']:20} {row['forms']:3} forms, {row['fastest_ms']:8.2f} to {row['slowest_ms']:8.2f} ms, "
            f"off by {100 * row['off']:4.1f} % | {row['pairs']:4} pairs, tau "
            f"{model_table.number(row, 'tau', '5.2f')}, Spearman {model_table.number(row, 'spearman', '5.2f')}")


def parse(arguments):
    parser = model_table.parser_of(__doc__, "out/rank")
    parser.add_argument("--device", default="onnxruntime")
    parser.add_argument("--forms", type=int, default=20, help="of each model, at most")
    parser.add_argument("--shaped-for", default="model:h200", help="the device that forms are made for")
    return parser.parse_args(arguments)


def main():
    options = parse(sys.argv[1:])
    rows = []
    for path in model_table.wanted_models(options):
        rows.append(run_model(path, options))
        print(line(rows[-1]), flush=True)
    if options.csv:
        model_table.write_csv(options.csv, rows)


if __name__ == "__main__":
    main()
