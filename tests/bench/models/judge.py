"""ONNX Runtime as the judge of models that should compute the same: differences of outputs, and times."""
import collections
import pathlib
import statistics
import tempfile
import time

import numpy as np
import onnx
import onnxruntime as ort
from onnx import numpy_helper

# The largest difference of an output, relative to its largest value, by what a model computes with.
LIMITS = {"float32": 1e-4, "float16": 1e-2, "quantized": 3e-2}


def session(path, threads, dump=None):
    """With all optimizations, as most users run models. `dump`: where the graph that runs is written to."""
    options = ort.SessionOptions()
    if dump:
        options.optimized_model_filepath = str(dump)
    options.intra_op_num_threads = threads
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
    # Else DequantizeLinear + MatMul becomes an approximate kernel, 0.5 % off.
    options.add_session_config_entry("session.qdq_matmulnbits_accuracy_level", "1")
    # Else an idle session's threads spin and keep the others from their cores.
    options.add_session_config_entry("session.force_spinning_stop", "1")
    options.log_severity_level = 3
    return ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def kernels_of(path, threads):
    """How often each operator is in the graph that ONNX Runtime runs."""
    with tempfile.TemporaryDirectory() as folder:
        dump = pathlib.Path(folder) / "dump.onnx"
        session(path, threads, dump)
        nodes = onnx.load(dump, load_external_data=False).graph.node
    return collections.Counter((node.domain, node.op_type) for node in nodes)


def kind_of(model):
    operators = {node.op_type for node in model.graph.node}
    if "QuantizeLinear" in operators or "DequantizeLinear" in operators:
        return "quantized"
    types = {tensor.data_type for tensor in model.graph.initializer}
    return "float16" if onnx.TensorProto.FLOAT16 in types else "float32"


def load_inputs(folder, graph):
    """The tensors input_0.pb, ... in the order of the graph's inputs; None if there is no folder."""
    if not folder.is_dir():
        return None
    names = [value.name for value in graph.input]
    return {name: numpy_helper.to_array(onnx.load_tensor(folder / f"input_{i}.pb"))
            for i, name in enumerate(names)}


def random_inputs(graph, rng):
    """Floats uniform in [-1, 1), integers 1; symbolic dims are 1."""
    types = {onnx.TensorProto.FLOAT: np.float32, onnx.TensorProto.FLOAT16: np.float16,
             onnx.TensorProto.DOUBLE: np.float64}
    drawn = {}
    for value in graph.input:
        dims = [dim.dim_value or 1 for dim in value.type.tensor_type.shape.dim]
        dtype = types.get(value.type.tensor_type.elem_type)
        drawn[value.name] = (rng.uniform(-1, 1, dims).astype(dtype) if dtype
                             else np.ones(dims, np.int64))
    return drawn


def random_like(inputs, rng):
    """Other inputs of the same types: floats uniform in [-1, 1), integers shuffled."""
    drawn = {}
    for name, value in inputs.items():
        if value.dtype.kind == "f":
            drawn[name] = rng.uniform(-1, 1, value.shape).astype(value.dtype)
        else:
            drawn[name] = rng.permutation(value.reshape(-1)).reshape(value.shape)
    return drawn


def largest_difference(expected, actual):
    """Of any output, relative to its largest value; infinite if types, shapes or infinities differ."""
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


def race(sessions, feeds, seconds, least_rounds):
    """Runs all sessions forth and back (ABBA) until time is up and `least_rounds` are done.

    Before each run that is timed there is one that is not, and each round begins with another session. Else the
    caches would be warm for those that run twice in a row, and cold for those in between.

    Returns for each the list of its times, in milliseconds, one per round: the mean of the two runs.
    """
    times = [[] for _ in sessions]
    for item in sessions:
        item.run(None, feeds)
    end = time.monotonic() + seconds
    while time.monotonic() < end or len(times[0]) < least_rounds:
        spent = [0.0] * len(sessions)
        turn = len(times[0]) % len(sessions)
        order = [*range(turn, len(sessions)), *range(turn)]
        for which in [*order, *reversed(order)]:
            sessions[which].run(None, feeds)
            start = time.perf_counter()
            sessions[which].run(None, feeds)
            spent[which] += (time.perf_counter() - start) * 1e3 / 2
        for mine, spent_here in zip(times, spent, strict=True):
            mine.append(spent_here)
    return times


def ratios(base, other):
    """Quartiles of base / other over the rounds: above 1, `other` is faster."""
    each = [b / o for b, o in zip(base, other, strict=True)]
    return statistics.quantiles(each, n=4) if len(each) > 1 else each * 3


def judge(original, answers, inputs, threads, seconds, least_rounds):
    """Compares and times the files `answers` (name: path) beside the file `original`.

    Returns the original's milliseconds and, by name, a dictionary: same (the interface is the
    original's, and outputs agree within LIMITS), differs, ms, ratio, ratio_low, ratio_high.
    """
    model = onnx.load(original, load_external_data=False)
    feeds = inputs or random_inputs(model.graph, np.random.default_rng(0))
    others = random_like(feeds, np.random.default_rng(1))
    first = session(original, threads)
    expected = [first.run(None, each) for each in (feeds, others)]
    limit = LIMITS[kind_of(model)]
    verdicts, running = {}, {}
    for name, path in answers.items():
        try:
            running[name] = session(path, threads)
            actual = [running[name].run(None, each) for each in (feeds, others)]
        except Exception as error:  # Whatever a file does, the other ones are judged.
            running.pop(name, None)
            verdicts[name] = {"same": False, "error": str(error).splitlines()[0]}
            continue
        differs = max(largest_difference(*pair) for pair in zip(expected, actual, strict=True))
        same = interface_of(original) == interface_of(path) and differs <= limit
        verdicts[name] = {"same": same, "differs": differs}
    times = race([first, *running.values()], feeds, seconds, least_rounds)
    for name, mine in zip(running, times[1:], strict=True):
        low, middle, high = ratios(times[0], mine)
        verdicts[name].update(ms=statistics.median(mine), ratio=middle, ratio_low=low,
                              ratio_high=high)
    return statistics.median(times[0]), verdicts


def interface_of(path):
    graph = onnx.load(path, load_external_data=False).graph
    return ([(value.name, value.type.SerializeToString()) for value in graph.input],
            [(value.name, value.type.SerializeToString()) for value in graph.output])
