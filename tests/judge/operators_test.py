"""ONNX Runtime and ONNX's reference evaluator judge what Quotient folds and infers, operator by
operator: each of the table, in each opset that changed it, on random nodes.

  operators_test.py [--draws N] [--show] [OPERATOR...]

Folding and inference are shared by both sides of Quotient's own checks, so that their errors cancel
out there. Here every node comes as a model of constants, which Quotient folds; and again with some
inputs unknown and dimensions that are symbols, of which it infers the type. A node that is written
anew from its canonical form has to compute in ONNX Runtime what the original does.

ONNX Runtime decides: what is folded is what it would have computed. Where it has no implementation
the reference evaluator does, but for what REFERENCE_ERRS says of it.
"""
import argparse
import collections
import sys

import numpy as np
from onnx import helper

import judges
import operator_draws  # noqa: F401, registers how each operator is drawn
import random_cases

# The reference evaluator of onnx 1.23 where it contradicts the text of the standard or rounds more
# than once. ONNX Runtime agrees with us on every one of these that it runs.
REFERENCE_ERRS = {
    "ArgMax": "casts uint64 to int64",
    "ArgMin": "casts uint64 to int64",
    "Attention": "the root of the scale in float32; float16 and bfloat16 throughout",
    "AveragePool": "counts padding in windows that ceil_mode adds",
    "BatchNormalization": "reads opset 9 as opset 7 with spatial statistics",
    "CastLike": "as Cast",
    "Cast": "numpy's conversions of NaN and of floats that are out of range",
    "Clip": "numpy.clip takes a bound that is NaN for the result",
    "ConvTranspose": "groups share the first bias; ignores output_padding beside auto_pad",
    "Einsum": "float16 throughout",
    "Erf": "an approximation with eight digits, in float64 too",
    "Gelu": "by its Erf",
    "GlobalAveragePool": "bfloat16 throughout",
    "GlobalMaxPool": "takes the wrong axes",
    "HardSwish": "1/6 in float32, in float64 graphs too",
    "InstanceNormalization": "float16 throughout",
    "GroupNormalization": "float16 throughout",
    "LayerNormalization": "float16 throughout",
    "RMSNormalization": "float16 throughout",
    "LogSoftmax": "knows the meaning of opset 13 alone",
    "Softmax": "knows the meaning of opset 13 alone",
    "MaxPool": "windows of ceil_mode and pads of opset 1; SAME_LOWER",
    "Mean": "float16 throughout",
    "Sum": "float16 throughout",
    "PRelu": "multiplies by infinity where the slope does not apply",
    "Pow": "converts NaN to integers",
    "ReduceL2": "sums integers in their own type and returns another",
    "ReduceLogSum": "float16 throughout",
    "ReduceLogSumExp": "float16 throughout",
    "ReduceMean": "sums integers in their own type",
    "ReduceProd": "float16 throughout",
    "ReduceSumSquare": "returns a wider integer",
    "QuantizeLinear": "quotients that int32 does not hold wrap",
    "Resize": "ties of integers, scales from sizes, and cubic weights",
    "Shape": "takes a negative end beyond the first dimension for the first",
    "Slice": "starts before the first element with a negative step, as numpy",
    "Unsqueeze": "inserts axes one by one, in the order in which they are given",
}
# Kept in a model although their inputs are constant; they are judged as they are written anew.
STAYS = {"DequantizeLinear"}
# Results of ONNX Runtime that lose digits: float32 to cancellation in its own formula; float64 to the
# root of a scale, which it takes in float32; float16 to rounding in between.
LOOSE = {("GroupNormalization", "float32"): 100, ("InstanceNormalization", "float32"): 100,
         ("Attention", "float64"): 300, ("Attention", "float16"): 3}


class Tally:
    def __init__(self):
        self.cases = collections.Counter()
        self.agreed = collections.Counter()  # by operator and opset: folded, and a judge agrees
        self.failures = []
        self.written = 0  # nodes that were written anew and run

    def fail(self, case, judge, message):
        inputs = [None if x is None else f"{x.dtype}{list(x.shape)}" +
                  (f"={x.tolist()}" if x.size <= 6 or i in case.parameters else "")
                  for i, x in enumerate(case.inputs)]
        self.failures.append(f"{case.name} {case.attributes} {inputs}\n    {judge}: {message}")


def cases_of(ops, draws, lowest_opset=7):
    """Each operator in each version that some opset from `lowest_opset` on still has."""
    for op in ops:
        versions = random_cases.schemas(op)
        for schema, following in zip(versions, versions[1:] + [None]):
            if following is not None and following.since_version <= lowest_opset:
                continue
            for index in range(draws):
                case = random_cases.draw(op, schema, index)
                if case is not None:
                    yield schema, case


def compare(actual, expected, types, case):
    """The first difference between lists of outputs, or None."""
    for i, (a, b) in enumerate(zip(actual, expected)):
        dtype = helper.tensor_dtype_to_np_dtype(types[i])
        found = judges.difference(a, b, dtype, LOOSE.get((case.op, dtype.name), 1))
        if found:
            return f"y{i}: {found}"
    return None


def answer(judge, model):
    try:
        return judge(model)
    except judges.Refused:
        return None


def judge_folding(case, types, said, runtime, reference, tally):
    """What was folded against both judges; a refusal of what ONNX Runtime runs is an error."""
    if "error" in said:
        if runtime is not None:
            tally.fail(case, "refused", said["error"])
        return "refused"
    folded = [said["constants"].get(f"y{i}") for i in range(case.outputs)]
    if any(value is None for value in folded):
        return "left"
    if runtime_errs_in_hidden_rows(case, runtime):
        runtime = None
    wrong = compare(folded, runtime, types, case) if runtime is not None else None
    if wrong:
        tally.fail(case, "ONNX Runtime", wrong)
    doubt = compare(folded, reference, types, case) if reference is not None else None
    if doubt and not wrong and case.op not in REFERENCE_ERRS:
        tally.fail(case, "reference evaluator", doubt)
    if (runtime is not None and not wrong) or (reference is not None and not doubt):
        tally.agreed[case.op, case.opset] += 1
    return "folded"


def runtime_reads_noise(case):
    """A product over an axis of no elements is whatever was in ONNX Runtime's memory."""
    return case.op == "MatMul" and case.inputs[0].size == 0


def runtime_errs_in_hidden_rows(case, runtime):
    """Where a mask hides all keys of a query, ONNX Runtime's Attention gives zeros, and NaN in float64."""
    return (case.op == "Attention" and case.inputs[0].dtype == np.float64 and runtime is not None
            and bool(np.isnan(runtime[0]).any()))


def runtime_errs_in_shape(case):
    """ONNX Runtime leaves negative axes as they are where a reduction has no elements, so that
    [3,1,0] reduced along -1 is [3,1,0]. Such a node is not folded; written anew its axes are positive."""
    return case.op.startswith("Reduce") and case.inputs[0].size == 0


def judge_writing(case, types, said, runtime, tally):
    """A node that is written from its canonical form computes the same."""
    written = said.get("written")
    if written is None or runtime is None or runtime_errs_in_shape(case):
        return
    try:
        again = judges.onnx_runtime(written)
    except judges.Refused as error:
        tally.fail(case, "written anew", str(error))
        return
    tally.written += 1
    wrong = compare(again, runtime, types, case)
    if wrong:
        tally.fail(case, "written anew", wrong)


def symbolic_dims(case, rng):
    """Some inputs as inputs of the graph: their dimensions numbers, symbols or unknown."""
    dims, symbols = {}, {}
    for i, value in enumerate(case.inputs):
        if value is None or rng.random() < (0.8 if i in case.parameters else 0.3):
            continue
        dims[i] = []
        for axis, size in enumerate(value.shape):
            kind = rng.integers(3)
            name = f"x{i}_{axis}"
            dims[i].append([size, name, None][kind])
            if kind == 1:
                symbols[name] = size
    return dims, symbols


def contradiction(inferred, actual, dtype, symbols):
    """What an inferred type says that is not so of the tensor; None if it holds."""
    kind, dims = inferred
    if kind is not None and kind != dtype:
        return f"element type {kind}, not {dtype}"
    if dims is None:
        return None
    if len(dims) != actual.ndim:
        return f"rank {len(dims)}, not {actual.ndim}"
    for said, size in zip(dims, actual.shape):
        known = symbols.get(said, said)
        if isinstance(known, int) and known != size:
            return f"shape {dims} of {list(actual.shape)} where {symbols}"
    return None


def judge_inference(case, types, said, symbols, outputs, tally):
    if "error" in said:
        tally.fail(case, "inference refused", said["error"])
        return
    if runtime_errs_in_shape(case):
        return
    for i, output in enumerate(outputs):
        dtype = helper.tensor_dtype_to_np_dtype(types[i])
        wrong = contradiction(said["types"][f"y{i}"], output, dtype, symbols)
        if wrong:
            tally.fail(case, "inference", f"y{i}: {wrong}")


def run(ops, draws):
    tally = Tally()
    batch = [(s, c, judges.output_types(c, s)) for s, c in cases_of(ops, draws)]
    models = [judges.model_of(case, types) for _, case, types in batch]
    folded = judges.quotient([m.SerializeToString() for m in models])
    rng = np.random.default_rng(18)
    unknowns = [symbolic_dims(case, rng) for _, case, _ in batch]
    typed = judges.quotient([judges.model_of(case, types, dims).SerializeToString()
                             for (_, case, types), (dims, _) in zip(batch, unknowns)])
    for (_, case, types), model, said, (_, symbols), inferred in zip(
            batch, models, folded, unknowns, typed):
        runtime = None if runtime_reads_noise(case) else answer(judges.onnx_runtime, model)
        reference = answer(judges.reference, model)
        outcome = judge_folding(case, types, said, runtime, reference, tally)
        judge_writing(case, types, said, runtime, tally)
        if runtime is not None:
            judge_inference(case, types, inferred, symbols, runtime, tally)
        tally.cases[outcome] += 1
    return tally, {(case.op, case.opset) for _, case, _ in batch}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--draws", type=int, default=24, help="cases per operator and opset")
    parser.add_argument("--show", type=int, default=20, help="failures to print")
    parser.add_argument("operators", nargs="*")
    arguments = parser.parse_args()
    table = judges.operators()
    missing = sorted(set(table) - set(random_cases.DRAWS))
    tally, versions = run(arguments.operators or table, arguments.draws)
    print(f"{sum(tally.cases.values())} cases of {len(versions)} versions of operators: "
          + ", ".join(f"{n} {outcome}" for outcome, n in tally.cases.most_common())
          + f", {tally.written} written anew")
    idle = sorted(v for v in versions - set(tally.agreed) if v[0] not in STAYS)
    for failure in tally.failures[:arguments.show]:
        print(failure)
    print(f"{len(tally.failures)} failures; operators that are not drawn: {missing}; "
          f"versions of which nothing was folded: {idle}")
    return 1 if tally.failures or missing or idle else 0


if __name__ == "__main__":
    sys.exit(main())
