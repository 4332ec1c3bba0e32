"""A graph under construction. Each node is run in ONNX Runtime as soon as it is added, at every
binding of the symbolic dims: shapes and values are then known without rules of their own, and a
node that ONNX Runtime refuses is noticed before anything depends on it."""

import dataclasses
import random

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper

BINDINGS = 5
# The element types of ONNX Runtime's Python interface; bfloat16 only lives between two Casts.
ELEMENT_TYPES = {
    np.dtype(name): getattr(onnx.TensorProto, name.upper())
    for name in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool",
                 "float16")
} | {np.dtype(np.float32): onnx.TensorProto.FLOAT, np.dtype(np.float64): onnx.TensorProto.DOUBLE}
MAX_ELEMENTS = 40_000


class Invalid(Exception):
    """The node cannot be added here: too old an opset, a shape that does not fit, no kernel."""


@dataclasses.dataclass
class Value:
    name: str
    arrays: list  # one per binding; the same array each time if is_constant
    is_constant: bool = False

    @property
    def dtype(self):
        return self.arrays[0].dtype

    @property
    def rank(self):
        return self.arrays[0].ndim

    def dim(self, axis):
        """The size of an axis; None if it depends on the binding."""
        sizes = {array.shape[axis] for array in self.arrays}
        return sizes.pop() if len(sizes) == 1 else None

    @property
    def is_float(self):
        return self.dtype.kind == "f"


@dataclasses.dataclass
class Input:
    """A graph input and what may be fed to it: `kind` as in feeds.py, `limit` for indices."""
    name: str
    dtype: np.dtype
    dims: list  # int, or the name of a symbol
    kind: str
    limit: int = 0


def quiet_options(optimize=False):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    if not optimize:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return options


def type_of(value):
    return helper.make_tensor_value_info(
        value.name, ELEMENT_TYPES[value.dtype], [None] * value.rank)


class Graph:
    """Nodes, inputs and constants of one model, and the values of all tensors."""

    def __init__(self, seed, opset):
        self.random = random.Random(seed)
        self.numpy = np.random.default_rng(seed)
        self.opset = opset
        self.symbols = {}  # name to sizes, one per binding
        self.inputs = []
        self.nodes = []
        self.values = {}
        self.constants_as_nodes = self.random.choice([0.0, 0.0, 0.3, 1.0])
        self.name_style = self.random.choice(["plain", "plain", "scoped", "odd"])
        self.has_rounding_trick = False
        self.low_precision = False
        self.counter = 0

    # --- Names ---

    def fresh(self, hint):
        self.counter += 1
        if self.name_style == "plain":
            return f"{hint.lower()}_{self.counter}"
        if self.name_style == "scoped":
            return f"/model/layers.{self.counter}/{hint}_output_0"
        return f"{hint} {self.counter}:{self.random.choice(['é', '<x>', '%', '..', '::b', '#'])}"

    # --- Chance ---

    def chance(self, probability):
        return self.random.random() < probability

    def pick(self, *options):
        return self.random.choice(options)

    def need(self, opset):
        if self.opset < opset:
            raise Invalid(f"opset {self.opset} < {opset}")

    # --- Values ---

    def symbol(self, hint, export, sizes):
        """A symbol that has `export` at the first binding and other sizes at the others."""
        name = f"{hint}{len(self.symbols)}"
        self.symbols[name] = [export, *sizes]
        return name

    def input(self, hint, dtype, dims, kind, limit=0, make=None):
        """`make(shape)` draws what it holds while the model is built."""
        name = self.fresh(hint)
        arrays = []
        for binding in range(BINDINGS):
            shape = [self.symbols[d][binding] if isinstance(d, str) else d for d in dims]
            array = make(shape) if make else self.numpy.standard_normal(shape)
            arrays.append(np.asarray(array).astype(dtype))
        self.inputs.append(Input(name, np.dtype(dtype), list(dims), kind, limit))
        self.values[name] = Value(name, arrays)
        return self.values[name]

    def constant(self, array, hint="const"):
        array = np.array(array, order="C")  # np.ascontiguousarray makes [1] of a scalar
        name = self.fresh(hint)
        self.values[name] = Value(name, [array] * BINDINGS, is_constant=True)
        if self.chance(self.constants_as_nodes):
            self.nodes.append(helper.make_node(
                "Constant", [], [name], value=numpy_helper.from_array(array)))
        return self.values[name]

    def ints(self, *numbers):
        return self.constant(np.array(numbers, np.int64), "shape")

    def scalar(self, number, like):
        """One element of the type of `like`, of rank 0 or 1."""
        shape = self.pick([], [], [1]) if like.rank > 0 else []
        return self.constant(np.full(shape, number, like.dtype))

    def weight(self, *shape, scale=1.0):
        return self.constant(
            (self.numpy.standard_normal(shape) * scale).astype(np.float32), "weight")

    # --- Nodes ---

    def op(self, kind, *inputs, outputs=1, captures=(), domain="", **attributes):
        """Adds a node and runs it. Inputs are Values or None; returns a Value or a list."""
        names = [self.fresh(kind) for _ in range(outputs)]
        node = helper.make_node(
            kind, [value.name if value else "" for value in inputs], names,
            name=self.fresh("node") if self.chance(0.8) else "", domain=domain, **attributes)
        self.add([node], names, [value for value in inputs if value] + list(captures))
        results = [self.values[name] for name in names]
        return results[0] if outputs == 1 else results

    def add(self, nodes, names, inputs):
        """Adds nodes that only run together, of which `names` is what others may use."""
        run = self._session(nodes, names, inputs)
        columns = []
        for binding in range(BINDINGS):
            try:
                columns.append(run(binding))
            except Exception as error:  # ONNX Runtime has no common base class
                raise Invalid(f"{nodes[-1].op_type}: {error}") from error
        for index, name in enumerate(names):
            arrays = [np.asarray(column[index]) for column in columns]
            if any(array.size > MAX_ELEMENTS for array in arrays):
                raise Invalid(f"{nodes[-1].op_type}: too large")
            if len({array.ndim for array in arrays}) > 1:
                raise Invalid(f"{nodes[-1].op_type}: the rank depends on the binding")
            self.values[name] = Value(name, arrays)
        self.nodes.extend(nodes)

    def _session(self, nodes, names, inputs):
        distinct = {value.name: value for value in inputs}.values()
        live = [value for value in distinct if not value.is_constant]
        constants = [numpy_helper.from_array(value.arrays[0], value.name)
                     for value in distinct if value.is_constant]
        graph = helper.make_graph(
            nodes, "step", [type_of(value) for value in live],
            [onnx.ValueInfoProto(name=name) for name in names], constants)
        model = helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=10)
        try:
            session = onnxruntime.InferenceSession(
                model.SerializeToString(), quiet_options(), providers=["CPUExecutionProvider"])
        except Exception as error:
            raise Invalid(f"{nodes[-1].op_type}: {error}") from error
        return lambda binding: session.run(
            names, {value.name: value.arrays[binding] for value in live})

    # --- Undoing ---

    def mark(self):
        return len(self.nodes), len(self.inputs), list(self.values), dict(self.symbols)

    def undo(self, mark):
        nodes, inputs, values, symbols = mark
        del self.nodes[nodes:]
        del self.inputs[inputs:]
        self.values = {name: self.values[name] for name in values}
        self.symbols = symbols
