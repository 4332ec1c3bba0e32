#!/usr/bin/env python3
"""egglog (the PyPI package) on the files of `egraph_bench --steps`, in the same columns.

    egglog_math.py [--rules FILE] [--expressions FILE] [--steps N]

All expressions in one e-graph; each step applies all rules once. Variables of rules are ?x. Times
are those of the runs alone, without reading the files.
"""

import argparse
import pathlib
import re
import resource
import sys
import time

try:
    from egglog.bindings import EGraph
except ImportError:
    EGraph = None  # Help can be had without it.

DATA = pathlib.Path(__file__).resolve().parents[1] / "data" / "rewriting" / "math"

# The workload's operators: egglog's constructors have words as names and a fixed arity.
OPERATORS = {
    "+": ("Add", 2), "-": ("Sub", 2), "*": ("Mul", 2), "/": ("Div", 2), "pow": ("Pow", 2),
    "d": ("Diff", 2), "i": ("Integral", 2), "ln": ("Ln", 1), "sqrt": ("Sqrt", 1),
    "sin": ("Sin", 1), "cos": ("Cos", 1),
}


def to_egglog(text):
    """An s-expression in egglog's syntax: numbers and symbols are wrapped, variables lose their ?."""
    def leaf(word):
        if word.startswith("?"):
            return word[1:]
        return f"(Num {word})" if re.fullmatch(r"-?\d+", word) else f'(Var "{word}")'

    words = []
    for word in re.findall(r"[()]|[^\s()]+", text):
        if word == ")":
            words.append(word)
        elif words and words[-1] == "(":
            words[-1] = f"({OPERATORS[word][0]}"
        else:
            words.append(word if word == "(" else leaf(word))
    return " ".join(words)


def program(rules, expressions):
    constructors = " ".join(f"({name} {' '.join(['M'] * arity)})"
                            for name, arity in OPERATORS.values())
    lines = [f"(datatype M (Num i64) (Var String) {constructors})"]
    for rule in rules:
        left, right = rule.split("=>")
        lines.append(f"(rewrite {to_egglog(left)} {to_egglog(right)})")
    return "\n".join(lines + [to_egglog(expression) for expression in expressions])


def lines_of(path):
    lines = [line.strip() for line in path.read_text().splitlines()]
    return [line for line in lines if line and not line.startswith("#")]


def run(egraph, text):
    return egraph.run_program(*egraph.parse_program(text))


def count_enodes(egraph):
    """Rows of all constructors: what (print-size) says of each."""
    return sum(int(size) for size in re.findall(r"\('\w+', (\d+)\)", str(run(egraph, "(print-size)"))))


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rules", type=pathlib.Path, default=DATA / "rules.txt")
    parser.add_argument("--expressions", type=pathlib.Path, default=DATA / "expressions.txt")
    parser.add_argument("--steps", type=int, default=9)
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    if EGraph is None:
        print("egglog_math.py: there is no egglog here; try `pip install egglog`", file=sys.stderr)
        return 2
    egraph = EGraph()
    run(egraph, program(lines_of(arguments.rules), lines_of(arguments.expressions)))
    print("step    e-nodes    seconds   ns/e-node   peak MB")
    seconds = 0.0
    for step in range(arguments.steps + 1):
        if step > 0:
            start = time.perf_counter()
            run(egraph, "(run 1)")
            seconds += time.perf_counter() - start
        nodes = count_enodes(egraph)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f"{step:4} {nodes:10} {seconds:10.4f} {seconds / nodes * 1e9:11.1f} {peak:9.1f}",
              flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
