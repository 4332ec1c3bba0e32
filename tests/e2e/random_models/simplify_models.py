"""Random models through `quotient simplify` and the simplifiers that people use beside it. See README.md."""

import argparse
import collections
import concurrent.futures
import dataclasses
import multiprocessing
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
import warnings

import onnx

import check
import run

SECONDS = 60  # An answer that takes longer is none.


@dataclasses.dataclass
class Answer:
    by: str
    seed: int
    error: str = ""
    seconds: float = 0
    nodes: tuple = (0, 0)  # Before and after.
    bytes: tuple = (0, 0)
    invalid: str = ""  # What ONNX's checker says, if it says nothing of the original.
    interface: str = ""  # How inputs or outputs differ.
    differences: list = dataclasses.field(default_factory=list)


def by_quotient(source, result):
    done = subprocess.run([check.BIN / "quotient", "simplify", source, result, "--threads", "1"],
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"exit {done.returncode}: {done.stderr.strip()[-300:]}")


def by_onnxsim(source, result):
    import onnxsim
    model, _ = onnxsim.simplify(onnx.load(source))
    onnx.save(model, result)


def by_onnxslim(source, result):
    import onnxslim
    onnxslim.slim(str(source), str(result))


SIMPLIFIERS = {"quotient": by_quotient, "onnxsim": by_onnxsim, "onnxslim": by_onnxslim}


def in_a_process(simplify, source, result):
    """Why there is no answer, or nothing. A simplifier that crashes takes a process with it that has loaded it."""
    def work():
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # Some of them print tables.
        try:
            simplify(source, result)
        except BaseException as error:
            (source.parent / "error").write_text(f"{type(error).__name__}: {str(error)[:200]}")
            raise SystemExit(1) from error
    child = multiprocessing.get_context("fork").Process(target=work)
    child.start()
    child.join(SECONDS)
    if child.is_alive():
        child.kill()
        child.join()
        return f"no end within {SECONDS} s"
    if child.exitcode == 0:
        return ""
    error = source.parent / "error"
    return error.read_text() if error.exists() else f"ended with {child.exitcode}"


def types_of(infos, constants=()):
    """Names with types; dims only where they are numbers."""
    return [(info.name, info.type.tensor_type.elem_type,
             [dim.dim_value if dim.HasField("dim_value") else None for dim in info.type.tensor_type.shape.dim])
            for info in infos if info.name not in constants]


def interface_difference(before, after):
    """In words, or nothing. Before IR version 4 weights are inputs, too, and need not stay."""
    constants = {tensor.name for tensor in before.graph.initializer} if before.ir_version < 4 else ()
    if types_of(before.graph.input, constants) != types_of(after.graph.input, constants):
        return "inputs"
    if [output.name for output in before.graph.output] != [output.name for output in after.graph.output]:
        return "outputs"
    return ""


def objection(model):
    try:
        onnx.checker.check_model(model)
        return ""
    except onnx.checker.ValidationError as error:
        return str(error).splitlines()[0]


def answer(name, drawn, seed):
    answered = Answer(name, seed)
    with tempfile.TemporaryDirectory() as folder:
        source, result = (pathlib.Path(folder) / file for file in ("in.onnx", "out.onnx"))
        onnx.save(drawn.model, source)
        start = time.monotonic()
        answered.error = in_a_process(SIMPLIFIERS[name], source, result)
        answered.seconds = time.monotonic() - start
        if answered.error:
            return answered
        answered.bytes = tuple(path.stat().st_size for path in (source, result))
        try:
            model = onnx.load(result)
        except Exception as error:
            answered.error = f"does not load: {error}"
            return answered
    answered.nodes = (len(drawn.model.graph.node), len(model.graph.node))
    answered.invalid = "" if objection(drawn.model) else objection(model)
    answered.interface = interface_difference(drawn.model, model)
    answered.differences = list(map(str, check.check(drawn, model).differences))
    return answered


def answers(seed, names):
    warnings.simplefilter("ignore")
    drawn, _ = run.draw_valid(seed)
    return [answer(name, drawn, seed) for name in names]


def answers_to(seeds, names, jobs):
    with concurrent.futures.ProcessPoolExecutor(jobs) as pool:
        for several in pool.map(answers, seeds, [names] * len(seeds), chunksize=4):
            yield from several


def tell(answered):
    for what in (answered.error, answered.invalid, answered.interface, *answered.differences[:2]):
        if what:
            print(f"seed {answered.seed}, {answered.by}: {what}", flush=True)


def row(name, mine):
    done = [each for each in mine if not each.error]
    wrong = collections.Counter()
    for each in mine:
        wrong["fails"] += bool(each.error)
        wrong["invalid"] += bool(each.invalid)
        wrong["interface"] += bool(each.interface)
        wrong["values"] += bool(each.differences)
        wrong["any"] += bool(each.error or each.invalid or each.interface or each.differences)
    nodes, sizes = ([sum(counts) for counts in zip(*(getattr(each, field) for each in done))]
                    for field in ("nodes", "bytes"))
    seconds = sorted(each.seconds for each in mine)
    return (f"| {name} | {len(mine)} | {wrong['any']} | {wrong['fails']} | {wrong['invalid']} | {wrong['interface']} | "
            f"{wrong['values']} | {nodes[1] / nodes[0]:.3f} | {sizes[1] / sizes[0]:.3f} | "
            f"{statistics.median(seconds):.2f} | {seconds[-1]:.2f} |")


HEAD = ("| by | models | wrong | no answer | invalid | other interface | other values | nodes | bytes | "
        "seconds, median | most |\n|" + " --- |" * 11)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--first-seed", type=int, default=1)
    parser.add_argument("--by", default="quotient", help=", ".join(SIMPLIFIERS))
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    names = options.by.split(",")
    of = collections.defaultdict(list)
    seeds = range(options.first_seed, options.first_seed + options.count)
    for each in answers_to(seeds, names, options.jobs):
        of[each.by].append(each)
        if each.by == "quotient":
            tell(each)
    print(HEAD)
    for name in names:
        print(row(name, of[name]))
    return any(each.error or each.invalid or each.interface or each.differences for each in of["quotient"])


if __name__ == "__main__":
    sys.exit(main())
