"""Operators that move elements: views, copies, gathers."""
import numpy as np

from random_cases import CannotBeSaid, Drawn, draws, ints


# --- Views ---


@draws("Reshape")
def reshape(r):
    shape = r.shape(0, 4)
    count = int(np.prod(shape, dtype=np.int64))
    target = [int(d) for d in r.rng.permutation(shape)]
    if r.chance(0.3):
        target.insert(r.int(0, len(target)), 1)
    if r.chance(0.3) and len(shape) > 1:
        target = [shape[0], -1 if count else count // max(shape[0], 1)]
    if r.chance(0.3) and count:
        target = [-1 if i == 0 else d for i, d in enumerate(target)]
    if r.chance(0.3) and count:
        target = [0 if i < len(shape) and shape[i] == d else d for i, d in enumerate(target)]
    zero = {"allowzero": r.pick([None, 0, 1]) if count else 1}
    if "allowzero" not in r.schema.attributes:
        zero = {}
        if not count:
            raise CannotBeSaid
    if zero.get("allowzero") and count and 0 in target:
        raise CannotBeSaid
    return Drawn([r.values(r.dtype(), shape)], {"shape": ints(target)}, zero)


@draws("Flatten")
def flatten(r):
    shape = r.shape(1, 4)
    low = -len(shape) if r.schema.since_version >= 11 else 0
    return Drawn([r.values(r.dtype(), shape)], {},
                 {"axis": r.int(low, len(shape)) if r.chance(0.8) else None})


@draws("Squeeze")
def squeeze(r):
    shape = [1 if r.chance(0.5) else r.dim() for _ in range(r.int(0, 5))]
    ones = [i for i, d in enumerate(shape) if d == 1]
    parameters = {}
    if ones and r.chance(0.7):
        low = r.schema.since_version >= 11
        axes = [i - len(shape) if low and r.chance(0.3) else i for i in ones if r.chance(0.7)]
        parameters["axes"] = ints(axes or ones)
    return Drawn([r.values(r.dtype(), shape)], parameters)


@draws("Unsqueeze")
def unsqueeze(r):
    shape = r.shape(0, 3)
    rank = len(shape) + r.int(1, 2)
    axes = [int(a) for a in r.rng.permutation(rank)[:rank - len(shape)]]
    if r.schema.since_version >= 11:
        axes = [a - rank if r.chance(0.3) else a for a in axes]
    else:
        axes.sort()
    return Drawn([r.values(r.dtype(), shape)], {"axes": ints(axes)})


@draws("Shape")
def shape_of(r):
    attributes = {}
    if "start" in r.schema.attributes:
        attributes = {n: r.int(-6, 6) for n in ("start", "end") if r.chance(0.5)}
    return Drawn([r.values(r.dtype(), r.shape(0, 5))], {}, attributes)


@draws("Size")
def size_of(r):
    return Drawn([r.values(r.dtype(), r.shape(0, 5))])


# --- Moves ---


@draws("Transpose")
def transpose(r):
    shape = r.shape(0, 5)
    perm = [int(a) for a in r.rng.permutation(len(shape))]
    return Drawn([r.values(r.dtype(), shape)], {},
                 {"perm": perm if perm and r.chance(0.8) else None})


@draws("Concat")
def concat(r):
    dtype = r.dtype()
    shape = r.shape(1, 4)
    axis = r.axis(len(shape)) if r.schema.since_version >= 11 else r.int(0, len(shape) - 1)
    parts = []
    for _ in range(r.int(1, 4)):
        part = list(shape)
        part[axis] = r.dim(0.1)
        parts.append(r.values(dtype, part))
    return Drawn(parts, {}, {"axis": axis})


@draws("Split")
def split(r):
    shape = r.shape(1, 4, 0)
    axis = r.axis(len(shape)) if r.schema.since_version >= 11 else r.int(0, len(shape) - 1)
    outputs = r.int(1, 3)
    attributes = {"axis": axis if axis or r.chance(0.5) else None}
    parameters = {}
    if r.chance(0.6):
        sizes = [r.int(0 if r.chance(0.2) else 1, 3) for _ in range(outputs)]
        shape[axis] = sum(sizes)
        parameters["split"] = ints(sizes)
    elif "num_outputs" in r.schema.attributes:
        attributes["num_outputs"] = outputs
    else:
        shape[axis] = outputs * r.int(1, 2)
    return Drawn([r.values(r.dtype(), shape)], parameters, attributes, outputs)


@draws("Slice")
def slices(r):
    shape = r.shape(1, 4)
    extremes = [2**63 - 1, -2**63, -2**63 + 1, 2**31 - 1, -2**31]
    axes = r.axes(len(shape), least=1) if r.chance(0.8) else list(range(r.int(1, len(shape))))
    if r.schema.since_version < 10:
        axes = [a % len(shape) for a in axes]
    named = axes != list(range(len(axes))) or r.chance(0.5)
    numbers = {}
    for name in ("starts", "ends"):
        numbers[name] = ints([r.pick(extremes) if r.chance(0.15) else r.int(-7, 7) for _ in axes])
    if named:
        numbers["axes"] = ints(axes)
    if r.schema.since_version >= 10 and r.chance(0.6):
        steps = [1, 1, 2, 3, -1, -1, -2, -3, 100, -100, 2**63 - 1, -2**63, -2**63 + 1]
        numbers["steps"] = ints([r.pick(steps) for _ in axes])
    if r.schema.since_version >= 10 and r.chance(0.2):
        fits = all(abs(int(v)) < 2**31 for values in numbers.values() for v in values)
        numbers = {k: v.astype(np.int32) for k, v in numbers.items()} if fits else numbers
    return Drawn([r.values(r.dtype(), shape)], numbers)


@draws("Pad")
def pad(r):
    mode = r.pick(["constant", "constant", "reflect", "edge", "wrap"])
    if mode == "wrap" and r.schema.since_version < 19:
        raise CannotBeSaid
    dtype = r.dtype()
    shape = r.shape(1, 4, 0.04 if mode == "constant" else 0)
    parameters = {}
    axes = range(len(shape))
    if r.schema.since_version >= 18 and r.chance(0.5):
        axes = r.axes(len(shape), least=1)
        parameters["axes"] = ints(axes)
    low = -1 if r.chance(0.3) else 0
    high = [max(shape[a] - 1, 0) if mode == "reflect" else 3 for a in axes]
    before = [r.int(low, h) for h in high]
    after = [r.int(low, h) for h in high]
    parameters["pads"] = ints(before + after)
    if mode == "constant" and r.chance(0.5):
        name = "value" if r.schema.since_version < 11 else "constant_value"
        parameters[name] = r.values(dtype, [])
    return Drawn([r.values(dtype, shape)], parameters,
                 {"mode": mode if mode != "constant" or r.chance(0.5) else None})


@draws("Expand")
def expand(r):
    a, b = r.broadcast_pair()
    return Drawn([r.values(r.dtype(), a)], {"shape": ints(b)})


@draws("Tile")
def tile(r):
    shape = r.shape(1, 4)
    if r.schema.since_version < 6:
        raise CannotBeSaid
    return Drawn([r.values(r.dtype(), shape)],
                 {"repeats": ints([r.int(0 if r.chance(0.1) else 1, 3) for _ in shape])})


@draws("Trilu")
def trilu(r):
    parameters = {}
    if r.chance(0.7):
        parameters["k"] = np.array(r.int(-9, 9) if r.chance(0.8) else r.pick([2**62, -2**62]), np.int64)
    return Drawn([r.values(r.dtype(), r.shape(0, 2) + [r.dim(), r.dim()])], parameters,
                 {"upper": r.pick([None, 0, 1])})


def indices(r, dtype, shape, length):
    low = -length if r.schema.since_version >= 11 else 0
    if length == 0 and int(np.prod(shape)):
        raise CannotBeSaid
    return r.rng.integers(low, max(length, 1), shape).astype(dtype)


@draws("Gather")
def gather(r):
    shape = r.shape(1, 4)
    axis = r.axis(len(shape))
    return Drawn([r.values(r.dtype(), shape), indices(r, r.dtype(1), r.shape(0, 3), shape[axis])], {},
                 {"axis": axis if axis or r.chance(0.5) else None})


@draws("GatherElements")
def gather_elements(r):
    shape = r.shape(1, 4, 0)
    axis = r.axis(len(shape))
    positive = axis % len(shape)
    own = [r.dim(0.05) if i == positive else r.int(1, d) for i, d in enumerate(shape)]
    return Drawn([r.values(r.dtype(), shape), indices(r, r.dtype(1), own, shape[axis])], {},
                 {"axis": axis if axis or r.chance(0.5) else None})


def nd_indices(r, shape, lead, depth, batch=0):
    low = [-shape[batch + i] if r.schema.since_version >= 11 else 0 for i in range(depth)]
    columns = [r.rng.integers(low[i], shape[batch + i], lead) for i in range(depth)]
    return np.stack(columns, -1).astype(np.int64)


@draws("GatherND")
def gather_nd(r):
    shape = r.shape(1, 4, 0)
    batch = r.int(0, len(shape) - 1) if r.chance(0.4) and "batch_dims" in r.schema.attributes else 0
    depth = r.int(1, len(shape) - batch)
    lead = shape[:batch] + r.shape(0, 2, 0.03)
    return Drawn([r.values(r.dtype(), shape), nd_indices(r, shape, lead, depth, batch)], {},
                 {"batch_dims": batch or None})


@draws("ScatterND")
def scatter_nd(r):
    dtype = r.dtype()
    shape = r.shape(1, 4, 0)
    depth = r.int(1, len(shape))
    lead = r.shape(0, 2, 0.03)
    at = nd_indices(r, shape, lead, depth)
    attributes = {}
    if "reduction" in r.schema.attributes:
        names = ["none", "add", "mul"] + (["max", "min"] if r.schema.since_version >= 18 else [])
        attributes["reduction"] = r.pick([None] + names)
    if attributes.get("reduction") in (None, "none"):  # which of two updates wins is not said
        spots = [tuple(int(i) % d for i, d in zip(row, shape)) for row in at.reshape(-1, depth)]
        if len(set(spots)) != len(spots):
            raise CannotBeSaid
    return Drawn([r.values(dtype, shape), at, r.values(dtype, lead + shape[depth:])], {}, attributes)
