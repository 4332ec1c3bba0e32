"""Random nodes of every operator that Quotient's table has, in every opset that changed it.

An operator has one function that draws inputs, parameters and attributes; what depends on the opset
(a parameter that is an attribute or an input, attributes and element types that came later) follows
from ONNX's schemas. What cannot be said in an opset is drawn again.
"""
import dataclasses
import zlib

import ml_dtypes
import numpy as np
import onnx
from onnx import helper, numpy_helper

DTYPES = {
    "tensor(float)": np.dtype(np.float32), "tensor(double)": np.dtype(np.float64),
    "tensor(float16)": np.dtype(np.float16), "tensor(bfloat16)": np.dtype(ml_dtypes.bfloat16),
    "tensor(int8)": np.dtype(np.int8), "tensor(int16)": np.dtype(np.int16),
    "tensor(int32)": np.dtype(np.int32), "tensor(int64)": np.dtype(np.int64),
    "tensor(uint8)": np.dtype(np.uint8), "tensor(uint16)": np.dtype(np.uint16),
    "tensor(uint32)": np.dtype(np.uint32), "tensor(uint64)": np.dtype(np.uint64),
    "tensor(bool)": np.dtype(np.bool_),
}
FLOATS = tuple(DTYPES[f"tensor({name})"] for name in ("float", "double", "float16", "bfloat16"))
SPECIAL_FLOATS = (0.0, -0.0, 0.5, -0.5, 1.5, 2.5, -2.5, 1.0, -1.0, 3.0, 100.0, -1e3, 1e-3, 3e38, -1e10,
                  65504.0, 1e-40, np.inf, -np.inf, np.nan)
DRAWS = {}  # operator -> the function that draws it


class CannotBeSaid(Exception):
    """The draw needs what the schema of this opset does not have."""


@dataclasses.dataclass
class Case:
    name: str
    op: str
    opset: int
    inputs: list        # arrays; None: left out
    attributes: dict
    outputs: int
    parameters: set     # positions of inputs that say what to do, not on what

    def node(self):
        inputs = [f"x{i}" if x is not None else "" for i, x in enumerate(self.inputs)]
        attributes = {k: numpy_helper.from_array(v) if isinstance(v, np.ndarray) else v
                      for k, v in self.attributes.items()}
        return helper.make_node(self.op, inputs, [f"y{i}" for i in range(self.outputs)], **attributes)


@dataclasses.dataclass
class Drawn:
    inputs: list
    parameters: dict = dataclasses.field(default_factory=dict)
    attributes: dict = dataclasses.field(default_factory=dict)
    outputs: int = 1


def is_float(dtype):
    return dtype in FLOATS


class Source:
    """Randomness, and what the schema allows."""

    def __init__(self, schema, seed):
        self.schema = schema
        self.rng = np.random.default_rng(seed)
        self.is_special = self.chance(0.25)   # values on edges: infinities, limits of integers

    def chance(self, probability):
        return self.rng.random() < probability

    def pick(self, options):
        return options[int(self.rng.integers(len(options)))]

    def int(self, low, high):
        """Both are possible."""
        return int(self.rng.integers(low, high + 1))

    def allowed(self, type_string):
        for constraint in self.schema.type_constraints:
            if constraint.type_param_str == type_string:
                return [DTYPES[t] for t in constraint.allowed_type_strs if t in DTYPES]
        return [DTYPES[type_string]] if type_string in DTYPES else []

    def dtype(self, index=0):
        """An element type of an input; float32 in every second draw that may have it."""
        allowed = self.allowed(self.schema.inputs[index].type_str)
        if not allowed:
            raise CannotBeSaid
        float32 = DTYPES["tensor(float)"]
        return float32 if float32 in allowed and self.chance(0.4) else self.pick(allowed)

    def dim(self, empty=0.04):
        return 0 if self.chance(empty) else self.int(1, 5)

    def shape(self, low=0, high=4, empty=0.04):
        return [self.dim(empty) for _ in range(self.int(low, high))]

    def values(self, dtype, shape, low=-6, high=6):
        """Numbers of a range, on a grid that hits integers and halves every now and then."""
        if dtype == np.bool_:
            return self.rng.random(shape) < 0.5
        if not is_float(dtype):
            return self.integers(dtype, shape, low, high)
        values = self.rng.uniform(low, high, shape)
        values = np.where(self.rng.random(shape) < 0.3, np.round(values * 2) / 2, values)
        if self.is_special:
            special = self.rng.choice(SPECIAL_FLOATS, shape)
            values = np.where(self.rng.random(shape) < 0.4, special, values)
        with np.errstate(over="ignore"):
            return np.asarray(values).astype(dtype)

    def integers(self, dtype, shape, low, high):
        limits = np.iinfo(dtype)
        values = self.rng.integers(max(low, limits.min), high + 1, shape).astype(dtype)
        if self.is_special:
            edges = np.array([limits.min, limits.max, limits.max - 1, limits.min + 1, 0, 1], dtype)
            values = np.where(self.rng.random(shape) < 0.3, self.rng.choice(edges, shape), values)
        return np.asarray(values).astype(dtype)

    def broadcast_pair(self, rank=4):
        """Two shapes that can be broadcast, both ways."""
        full = self.shape(0, rank)
        shapes = []
        for _ in range(2):
            shape = [1 if self.chance(0.25) else d for d in full]
            shapes.append(shape[self.int(0, len(shape)) if self.chance(0.3) else 0:])
        return shapes

    def axis(self, rank):
        return self.int(-rank, rank - 1)

    def axes(self, rank, least=0):
        count = self.int(least, rank)
        axes = [int(a) for a in self.rng.permutation(rank)[:count]]
        return [a - rank if self.chance(0.3) else a for a in axes]


def draws(*ops):
    def register(function):
        for op in ops:
            DRAWS[op] = function
        return function
    return register


def ints(values):
    return np.array(values, np.int64).reshape(np.shape(values))


def place_parameters(schema, drawn):
    """Parameters as the inputs or attributes that this opset has; and the positions of inputs."""
    inputs, positions, left = [], set(), dict(drawn.parameters)
    tensors = list(drawn.inputs)
    for i, formal in enumerate(schema.inputs):
        if formal.name in left:
            positions.add(i)
            inputs.append(left.pop(formal.name))
        else:
            inputs.append(tensors.pop(0) if tensors else None)
        if formal.option == onnx.defs.OpSchema.FormalParameterOption.Variadic:
            inputs += tensors
            tensors = []
    if tensors:
        raise CannotBeSaid
    attributes = dict(drawn.attributes)
    for name, value in left.items():
        attributes[name] = None if value is None else value.tolist()
    attributes = {k: v for k, v in attributes.items() if v is not None}
    if set(attributes) - set(schema.attributes):
        raise CannotBeSaid
    while inputs and inputs[-1] is None:
        inputs.pop()
    return inputs, attributes, positions


def check_types(schema, inputs):
    """Element types have to be those of the opset, and one type variable has one type."""
    variables = {}
    source = Source(schema, 0)
    for i, value in enumerate(inputs):
        formal = schema.inputs[min(i, len(schema.inputs) - 1)]
        if value is None:
            if formal.option != onnx.defs.OpSchema.FormalParameterOption.Optional:
                raise CannotBeSaid
            continue
        if value.dtype not in source.allowed(formal.type_str):
            raise CannotBeSaid
        variadic = formal.option == onnx.defs.OpSchema.FormalParameterOption.Variadic
        if formal.is_homogeneous or not variadic:
            if variables.setdefault(formal.type_str, value.dtype) != value.dtype:
                raise CannotBeSaid
    if len(inputs) < schema.min_input:
        raise CannotBeSaid


def draw(op, schema, index, attempts=40):
    """The case of that number; None if no draw can be said in the schema's opset."""
    for attempt in range(attempts):
        seed = zlib.crc32(f"{op}:{schema.since_version}:{index}:{attempt}".encode())
        source = Source(schema, seed)
        try:
            drawn = DRAWS[op](source)
            inputs, attributes, positions = place_parameters(schema, drawn)
            check_types(schema, inputs)
        except CannotBeSaid:
            continue
        name = f"{op}-{schema.since_version}#{index}.{attempt}"
        return Case(name, op, schema.since_version, inputs, attributes, drawn.outputs, positions)
    return None


def schemas(op, lowest=1):
    """The versions of an operator of ONNX's own domain."""
    return sorted((s for s in onnx.defs.get_all_schemas_with_history()
                   if s.name == op and s.domain == "" and s.since_version >= lowest
                   and not s.deprecated), key=lambda s: s.since_version)
