#!/usr/bin/env python3
"""What each family of rules is worth: a folder of ONNX models is optimized with it and without it.

    family_table.py MODELS [--device NAME] [--threads N] [--out DIR] [--csv FILE] [--only NAME]...
                    [--race-seconds S] [-- OPTION...]

MODELS and what follows "--" are as for model_table.py. A family is a file of core/rules; `quotient rules --json`
names that of each rule. The model is optimized with all rules, and then once without each family that has a rewrite
in that answer: without any other, the search would make the same answer.

For each model and family: the predicted time of the original, of the answer without the family and of that with
it, in ms, and the seconds of both jobs. With --judge also how many times as fast as the original both are in ONNX
Runtime. Reports stay in DIR; answers are removed once nothing needs them. Exit status 1 if an answer that was judged
does not compute what the original does.
"""
import json
import subprocess
import sys

import onnx

import answers
import judge
import model_table


def families_of_rules(quotient):
    told = subprocess.run([quotient, "rules", "--json"], capture_output=True, text=True, check=True)
    return {rule["name"]: rule["family"] for rule in json.loads(told.stdout)}


def families_in(report, family_of):
    """The families whose rules made the answer, the steps between included, in order."""
    if report["outcome"] != "improved":
        return []
    rules = {rule for entry in report["journal"] for rule in (entry["rule"], *entry.get("steps", ()))}
    return sorted({family_of[rule] for rule in rules if rule in family_of})


def answer(path, inputs, options, without):
    """The figures of an answer without a family (None: with all), its file, and its report."""
    out = options.out / f"{path.stem}.{without or 'all'}.onnx"
    out.unlink(missing_ok=True)
    disabled = [word for rule, family in sorted(options.family_of.items()) if family == without
                for word in ("--disable-rule", rule)]
    row = answers.by_quotient(options.quotient, path, out, options.device, inputs, [*options.extra, *disabled])
    return row, out, None if "error" in row else json.loads(out.with_suffix(".json").read_text())


def forget(out):
    """Removes an answer, with its external data: those of large models fill a disk. Its report stays."""
    for file in (out, out.with_name(out.name + ".data")):
        file.unlink(missing_ok=True)


def predicted_ms(report):
    return report["optimized"]["predicted_us"] / 1e3


def run_model(path, options):
    inputs = judge.load_inputs(path.with_suffix(".inputs"), onnx.load(path, load_external_data=False).graph)
    figures, out, report = answer(path, inputs, options, None)
    if report is None:
        return [{"model": path.stem, "error": figures["error"]}]
    rows, files = [], {"with": out}
    if not options.judge:
        forget(out)
    for family in families_in(report, options.family_of):
        row = {"model": path.stem, "family": family, "before_predicted_ms": figures["predicted_ms"],
               "with_predicted_ms": predicted_ms(report), "with_seconds": figures["seconds"]}
        without, out, told = answer(path, inputs, options, family)
        if told is None:
            row["error"] = without["error"]
        else:
            row |= {"without_predicted_ms": predicted_ms(told), "without_seconds": without["seconds"]}
            files[family] = out
        if not options.judge:
            forget(out)
        rows.append(row)
    if not rows:
        forget(out)
        return [{"model": path.stem, "before_predicted_ms": figures["predicted_ms"],
                 "with_predicted_ms": predicted_ms(report)}]
    if options.judge:
        _, verdicts = judge.judge(path, files, inputs, options.threads, options.race_seconds,
                                  model_table.LEAST_ROUNDS)
        for row in rows:
            for state, name in (("with", "with"), ("without", row["family"])):
                row |= {f"{state}_{key}": value for key, value in verdicts.get(name, {}).items()}
        for out in files.values():
            forget(out)
    return rows


def times(row, state):
    if row.get(f"{state}_ratio") is None:
        return ""
    return (f" | {state} {row[f'{state}_ratio']:.3f} ({row[f'{state}_ratio_low']:.3f} to "
            f"{row[f'{state}_ratio_high']:.3f}){'' if row[f'{state}_same'] else ' WRONG'}")


def line(row):
    text = f"{row['model']:22} {row.get('family', 'no rewrites'):18}"
    if "error" in row:
        return f"{text} {row['error']}"
    text += (f" {row['before_predicted_ms']:9.4f} {model_table.number(row, 'without_predicted_ms', '9.4f')}"
             f" {row['with_predicted_ms']:9.4f} ms")
    if "family" in row:
        text += f" | {row['without_seconds']:5.1f} and {row['with_seconds']:5.1f} s"
    return text + times(row, "without") + times(row, "with")


def parse(arguments):
    arguments, extra = model_table.split_extra(arguments)
    parser = model_table.parser_of(__doc__, "out/families")
    parser.add_argument("--device", default="onnxruntime")
    parser.add_argument("--judge", action="store_true", help="compare and time the answers in ONNX Runtime")
    options = parser.parse_args(arguments)
    options.extra = ["--local", "--threads", str(options.threads), *extra]
    options.family_of = families_of_rules(options.quotient)
    return options


def main():
    options = parse(sys.argv[1:])
    options.out.mkdir(parents=True, exist_ok=True)
    rows = []
    for path in model_table.wanted_models(options):
        for row in run_model(path, options):
            print(line(row), flush=True)
            rows.append(row)
    if options.csv:
        model_table.write_csv(options.csv, rows)
    sys.exit(1 if any(row.get(f"{state}_same") is False for row in rows for state in ("with", "without")) else 0)


if __name__ == "__main__":
    main()
