"""Draws a model from a seed."""

import dataclasses
import random

import numpy as np

import blocks
import elementwise_blocks  # noqa: F401: fills the table of blocks
import image_blocks  # noqa: F401
import sequence_blocks  # noqa: F401
import special_blocks  # noqa: F401
import tensor_blocks  # noqa: F401
import interface
from graph import Graph, Invalid

MAX_TRIES = 60
MAX_BLOCKS = 8


@dataclasses.dataclass
class Drawn:
    seed: int
    model: object  # onnx.ModelProto
    inputs: list
    symbols: dict
    overridable: list  # Values: initializers that are listed as inputs
    blocks: list
    has_rounding_trick: bool
    precision: str  # the lowest of the floats in it: half, single or double
    redrawn: int = 0  # how many blocks did not fit

    def sizes(self, binding):
        return {name: sizes[binding] for name, sizes in self.symbols.items()}


def batch(g):
    return 1 if g.chance(0.1) else g.symbol("N", 1, g.pick([2, 3, 1, 4], [3, 2, 5, 1]))


def length(g):
    if g.chance(0.15):
        return g.pick(1, 5, 8)
    return g.symbol("S", g.pick(4, 8, 7), g.pick([5, 1, 12, 9], [9, 13, 1, 6], [6, 10, 3, 16]))


def side(g):
    if g.chance(0.4):
        return g.pick(8, 11, 16)
    return g.symbol("H", g.pick(8, 16, 12), g.pick([12, 9, 16, 7], [10, 11, 20, 8]))


def add_image(g):
    dims = [batch(g), g.pick(1, 2, 3, 4, 4), side(g), side(g)]
    return g.input("image", np.float32, dims, "float")


def add_sequence(g):
    dims = [batch(g), length(g), g.pick(4, 6, 8, 8)]
    if g.chance(0.1):
        dims[:2] = dims[1::-1]
    return g.input("hidden", np.float32, dims, "float")


def add_matrix(g):
    return g.input("features", np.float32, [batch(g), g.pick(3, 4, 8)], "float")


def add_any(g):
    rank = g.random.randint(1, 5)
    dims = [g.pick(1, 2, 3, 4, 5) for _ in range(rank)]
    for axis in g.random.sample(range(rank), min(rank, g.pick(0, 1, 1, 2, 2))):
        dims[axis] = g.pick(batch, length)(g)
    dtype = g.pick(np.float32, np.float32, np.float32, np.float64, np.float16)
    return g.input("any", dtype, dims, "float")


def add_integers(g):
    dtype = g.pick(np.int64, np.int64, np.int32, np.int8, np.uint8)
    dims = [batch(g), length(g)][:g.pick(1, 2, 2)]
    return g.input("ids", dtype, dims, "integer",
                   make=lambda s: g.numpy.integers(0, 6, s))


def add_bools(g):
    return g.input("mask", np.bool_, [batch(g), length(g)], "bool",
                   make=lambda s: g.numpy.random(s) < 0.5)


def sibling_of(g, x):
    """Another input whose shape is that of one before."""
    entry = next(e for e in g.inputs if e.name == x.name)
    return g.input("other", entry.dtype, entry.dims, "float")


THEMES = {
    "image": (add_image,), "sequence": (add_sequence,), "matrix": (add_matrix,), "any": (add_any,),
    "integers": (add_integers,), "mixed": (add_image, add_matrix),
    "tokens": (add_sequence, add_integers), "bools": (add_bools, add_sequence),
    "pair": (add_any, add_any), "twins": (add_sequence, sibling_of), "planes": (add_image, sibling_of),
}
WEIGHTS = (5, 5, 2, 4, 2, 1, 1, 1, 1, 1, 1)


def is_sane(g, value):
    """Values whose differences still say something; few of the others are kept."""
    for array in value.arrays:
        if array.size == 0:
            return g.chance(0.02)
        if value.is_float and (np.isnan(array).any() or np.abs(array).max() > 6e4):
            return g.chance(0.05)
    return True


def joined(g, x, pool):
    """x combined with another value of its shape and type."""
    shapes = [array.shape for array in x.arrays]
    others = [y for y in pool if y.name != x.name and y.dtype == x.dtype and
              [array.shape for array in y.arrays] == shapes]
    blocks.require(others and x.is_float and x.rank)
    kind = g.pick("Add", "Add", "Mul", "Sub", "Concat")
    pair = [x, g.random.choice(others)]
    return g.op("Concat", *pair, axis=g.pick(0, x.rank - 1)) if kind == "Concat" \
        else g.op(kind, *pair)


def add_block(g, pool):
    """One block on a value of the pool; returns its name and results, or nothing."""
    x = pool[-1] if g.chance(0.7) else g.random.choice(pool)
    entries, weights = blocks.applicable(x)
    if not entries:
        return None
    mark = g.mark()
    try:
        if g.chance(0.1):
            name, made = "joined", joined(g, x, pool)
        else:
            entry = g.random.choices(entries, weights)[0]
            name, made = entry.name, entry.apply(g, x)
        made = made if isinstance(made, list) else [made]
        if all(is_sane(g, value) for value in made):
            return name, made
    except Invalid:
        pass
    g.undo(mark)
    return None


def choose_outputs(g, pool):
    """What nothing reads, some of what is read as well, now and then an input or a constant."""
    read = {name for node in g.nodes for name in interface.names_read(node)}
    inputs = {entry.name for entry in g.inputs}
    made = [value for value in pool if value.name not in inputs]
    outputs = [value for value in made if value.name not in read] or made[-1:]
    if len(outputs) > 3:
        outputs = g.random.sample(outputs, 3)
    for value in made:
        if value.name in read and g.chance(0.08):
            outputs.append(value)
    if g.chance(0.03):
        outputs.append(g.values[g.inputs[0].name])
    constants = [value for value in g.values.values() if value.is_constant]
    if constants and g.chance(0.03):
        outputs.append(g.random.choice(constants))
    distinct = {value.name: value for value in outputs}
    return list(distinct.values())


def precision_of(g):
    if g.low_precision or any(v.dtype == np.float16 for v in g.values.values()):
        return "half"
    single = any(v.dtype == np.float32 for v in g.values.values())
    return "single" if single else "double"


def draw(seed):
    """The model of a seed; raises Invalid if none came of it."""
    chance = random.Random(seed)
    opset = chance.choice([7, 8, 9, 10, 11, 11, 12, 12, 13, 13, 14, 15, 16, 17, 17, 18, 19, 20, 21,
                           22, 23])
    g = Graph(seed, opset)
    pool = []
    for add in THEMES[chance.choices(list(THEMES), WEIGHTS)[0]]:
        pool.append(add(g, pool[0]) if add is sibling_of else add(g))
    wanted, names, redrawn = chance.randint(2, MAX_BLOCKS), [], 0
    for _ in range(MAX_TRIES):
        if len(names) == wanted:
            break
        added = add_block(g, pool)
        if added is None:
            redrawn += 1
            continue
        names.append(added[0])
        pool.extend(value for value in added[1] if value.name not in {v.name for v in pool})
    if not names or all(v.name in {e.name for e in g.inputs} for v in pool):
        raise Invalid("no block fits")
    if g.chance(0.05):
        g.input("unused", np.float32, [g.pick(1, 3)], "float")
    model, listed = interface.assemble(g, choose_outputs(g, pool))
    return Drawn(seed, model, g.inputs, g.symbols, listed, names, g.has_rounding_trick,
                 precision_of(g), redrawn)
