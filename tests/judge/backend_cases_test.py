"""ONNX's own backend cases through the whole of Quotient: each model that ONNX Runtime runs has to be
accepted, and what comes back has to compute the same.

  backend_cases_test.py [--every N] [--data FOLDER]... [--only TEXT] [--jobs N]
                         [--refusals FILE] [--table]

The cases are those that the installed package onnx generates and brings along. FOLDERs hold those of
others: unpacked wheels of onnx 1.2 to 1.17 have the node cases of their time in
onnx/backend/test/data, which is every opset since 7.

Each model is run as it is; and frozen, with all inputs but the last constant, so that operators
meet constants. Optimizations of ONNX Runtime are off on both sides.
"""
import argparse
import collections
import concurrent.futures
import hashlib
import os
import pathlib
import subprocess
import sys
import tempfile
import zlib

import numpy as np
import onnx
import onnxruntime
from onnx import numpy_helper
from onnx.backend.test.loader import load_model_tests

import judges

# What a job of one node needs.
EFFORT = ["--local", "--device", "model:h200", "--threads", "1", "--simulations", "20", "--budget", "20s"]
# Operators that draw random numbers: their models are only to be accepted.
RANDOM = {"Bernoulli", "Dropout", "RandomNormal", "RandomNormalLike", "RandomUniform",
          "RandomUniformLike", "Multinomial"}


class Case:
    def __init__(self, name, model, inputs):
        self.name, self.model, self.inputs = name, model, inputs

    def ops(self):
        return {node.op_type for node in self.model.graph.node}


def generated_cases():
    """Of the installed package: nodes as they are generated, the others from its folders."""
    for case in load_model_tests(kind="node"):
        if case.model is not None and case.data_sets:
            names = [i.name for i in case.model.graph.input]
            yield Case(case.name, case.model, dict(zip(names, case.data_sets[0][0])))
    data = pathlib.Path(onnx.__file__).parent / "backend/test/data"
    for kind in ("simple", "pytorch-converted", "pytorch-operator"):
        yield from stored_cases(data / kind)


def stored_cases(folder):
    for path in sorted(pathlib.Path(folder).rglob("model.onnx")):
        model = onnx.load(path)
        sets = sorted(path.parent.glob("test_data_set_*"))
        if not sets:
            continue
        try:
            yield Case(path.parent.name, model, dict(stored_inputs(model.graph, sets[0])))
        except (TypeError, ValueError) as error:
            # Some releases stored an optional's element in the place of the optional, or strings
            # that are not UTF-8.
            print(f"{path}: its inputs cannot be read: {error}", file=sys.stderr)


def stored_inputs(graph, folder):
    for i, value in enumerate(graph.input):
        path = folder / f"input_{i}.pb"
        if path.exists():
            stored = read_value(value.type, path.read_bytes())
            as_array(stored)
            yield value.name, stored


def read_value(kind, data):
    if kind.HasField("sequence_type"):
        return numpy_helper.to_list(onnx.SequenceProto.FromString(data))
    if kind.HasField("optional_type"):
        return numpy_helper.to_optional(onnx.OptionalProto.FromString(data))
    return onnx.TensorProto.FromString(data)


def as_array(value):
    return numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else value


def distinct(cases):
    """Releases of onnx repeat each other's cases: graphs with their opset count once."""
    seen = set()
    for case in cases:
        opsets = sorted((o.domain, o.version) for o in case.model.opset_import)
        graph = case.model.graph.SerializeToString(deterministic=True)
        digest = hashlib.sha256(graph + repr(opsets).encode()).digest()
        if digest not in seen:
            seen.add(digest)
            yield case


def frozen(case):
    """The case with all tensors but the last input as initializers; None if that is the same."""
    names = [i.name for i in case.model.graph.input if i.name in case.inputs]
    tensors = [n for n in names[:-1] or names
               if isinstance(as_array(case.inputs[n]), (np.ndarray, np.generic))]
    if not tensors:
        return None
    model = onnx.ModelProto()
    model.CopyFrom(case.model)
    kept = [i for i in model.graph.input if i.name not in tensors]
    del model.graph.input[:]
    model.graph.input.extend(kept)
    present = {i.name for i in model.graph.initializer}
    for name in tensors:
        value = case.inputs[name]
        if name not in present:
            tensor = onnx.TensorProto()
            tensor.CopyFrom(value if isinstance(value, onnx.TensorProto)
                            else numpy_helper.from_array(np.asarray(value)))
            tensor.name = name
            model.graph.initializer.append(tensor)
    model.ir_version = max(model.ir_version, 4)
    return Case(case.name + " frozen", model,
                {n: v for n, v in case.inputs.items() if n not in tensors})


# --- Running ---

def session_of(model):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def run(session, feeds):
    """Outputs, or None if the runtime cannot."""
    names = {i.name for i in session.get_inputs()}
    try:
        return session.run(None, {n: as_array(v) for n, v in feeds.items() if n in names})
    except Exception:  # a class per status, or TypeError for what it cannot be fed
        return None


def redraw(rng, value):
    """Other numbers of the same kind: floats anew, integers from those that are there."""
    array = as_array(value)
    if not isinstance(array, np.ndarray) or array.dtype.kind not in "fiub" or array.size == 0:
        return value
    if array.dtype.kind == "f":
        return (rng.standard_normal(array.shape) * 2).astype(array.dtype)
    return rng.choice(array.reshape(-1), array.shape)


def same(a, b):
    """None, or what differs between two outputs of ONNX Runtime."""
    if isinstance(a, (list, tuple)):
        if len(a) != len(b):
            return f"{len(b)} elements, not {len(a)}"
        return next((d for d in map(same, a, b) if d), None)
    if isinstance(a, dict) or a is None:
        return None if a == b else "not the same"
    a, b = np.asarray(a), np.asarray(b)
    if a.dtype.kind in "OUS":
        return None if np.array_equal(a, b) else "other strings"
    if a.dtype != b.dtype:
        return f"element type {b.dtype}, not {a.dtype}"
    return judges.difference(b, a, a.dtype, looseness=3)


def optimize(case, folder):
    """(bytes, None) of the model that comes back, or (None, message)."""
    source = folder / f"{os.getpid()}-{zlib.crc32(case.name.encode())}-{id(case)}.onnx"
    target = source.with_suffix(".out.onnx")
    source.write_bytes(case.model.SerializeToString())
    done = subprocess.run([judges.BIN / "quotient", "optimize", source, "-o", target, *EFFORT],
                          capture_output=True, text=True, check=False, timeout=300,
                          env={**os.environ, "XDG_CACHE_HOME": str(folder)})
    source.unlink()
    if done.returncode != 0:
        return None, f"exit {done.returncode}: {done.stderr.strip().splitlines()[-1:]}"
    data = target.read_bytes()
    target.unlink()
    return data, None


def judge(case, folder):
    """(outcome, message)."""
    original = case.model.SerializeToString()
    try:
        before = session_of(original)
    except Exception:
        return "not run", None
    expected = run(before, case.inputs)
    if expected is None:
        return "not run", None
    result, message = optimize(case, folder)
    if result is None:
        return "refused", message
    if result == original:
        return "untouched", None
    try:
        after = session_of(result)
    except Exception as error:
        return "wrong", f"ONNX Runtime does not load what came back: {error}"
    if case.ops() & RANDOM:
        return "changed", None
    rng = np.random.default_rng(18)
    feeds = case.inputs
    for draw in range(3):
        wanted = run(before, feeds)
        if wanted is not None:
            got = run(after, feeds)
            found = "it fails" if got is None else same(wanted, got)
            if found:
                return "wrong", f"draw {draw}: {found}"
        feeds = {n: redraw(rng, v) for n, v in case.inputs.items()}
    return "changed", None


# --- The whole ---

def all_cases(arguments):
    cases = list(generated_cases())
    for folder in arguments.data:
        cases += stored_cases(folder)
    chosen = [c for c in distinct(cases) if arguments.only in c.name]
    for case in chosen[::arguments.every]:
        yield case
        other = frozen(case)
        if other is not None:
            yield other


def print_table(outcomes):
    kinds = ["changed", "untouched", "refused", "wrong", "not run"]
    rows = collections.defaultdict(collections.Counter)
    for case, outcome, _ in outcomes:
        rows[" + ".join(sorted(case.ops())[:3])][outcome] += 1
    print(f"{'operators':44}" + "".join(f"{k:>11}" for k in kinds))
    for ops, counts in sorted(rows.items()):
        print(f"{ops:44}" + "".join(f"{counts[k] or '':>11}" for k in kinds))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--every", type=int, default=1, help="take each N-th case")
    parser.add_argument("--data", action="append", default=[])
    parser.add_argument("--only", default="", help="cases whose name has this text")
    parser.add_argument("--refusals", help="a file for lines of model and message")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="models at a time")
    parser.add_argument("--table", action="store_true", help="outcomes per operator")
    arguments = parser.parse_args()
    cases = list(all_cases(arguments))
    with tempfile.TemporaryDirectory() as folder, \
            concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        results = pool.map(lambda case: judge(case, pathlib.Path(folder)), cases)
        outcomes = [(case, *result) for case, result in zip(cases, results)]
    if arguments.table:
        print_table(outcomes)
    failures = [(c.name, o, m) for c, o, m in outcomes if o in ("refused", "wrong")]
    for name, outcome, message in failures:
        print(f"{name}: {outcome}: {message}")
    if arguments.refusals:
        pathlib.Path(arguments.refusals).write_text(
            "".join(f"{n}: {m}\n" for n, o, m in failures if o == "refused"))
    counts = collections.Counter(o for _, o, _ in outcomes)
    print(f"{len(outcomes)} models: " + ", ".join(f"{n} {o}" for o, n in counts.most_common()))
    if not counts["changed"] + counts["untouched"]:
        print("nothing was compared")
        return 1
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
