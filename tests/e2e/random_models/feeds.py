"""What is fed to a model: shapes of a binding, and values of one of three styles.

normal: standard normal floats, small integers, masks that hide a few positions
wide:   1e-3 to 1e3 of both signs, exact zeros, halves, bounds of Clip; integers up to where they
        wrap; masks that hide whole rows, with -inf or the lowest float
plain:  like normal, all bools true and all masks open, so that guards and branches see both sides
"""

import dataclasses

import numpy as np

STYLES = ("normal", "wide", "plain")
BOUNDS = np.array([0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 1.5, 2.0, 2.5, 3.0, -3.0, 6.0, -6.0, 127.5])


def shape_of(entry, sizes):
    return [sizes[dim] if isinstance(dim, str) else dim for dim in entry.dims]


def floats(random, shape, style):
    if style != "wide":
        return random.standard_normal(shape)
    sizes = 10.0 ** random.uniform(-3, 3, shape)
    wide = sizes * random.choice([-1.0, 1.0], shape)
    exact = random.choice(BOUNDS, shape)
    halves = random.integers(-20, 20, shape) + 0.5
    kind = random.random(shape)
    return np.where(kind < 0.6, wide, np.where(kind < 0.8, exact, halves))


def integers(random, shape, dtype, style):
    limits = np.iinfo(dtype)
    low, high = max(limits.min, -5), 6
    if style == "wide":
        kind = random.random()
        low, high = max(limits.min, -300), min(limits.max, 300)
        if kind < 0.3:
            low, high = limits.min, limits.max
    return random.integers(low, high, shape, dtype=np.int64 if high < 2 ** 62 else dtype)


def mask(random, shape, style):
    if style == "plain":
        return np.zeros(shape)
    hidden = random.random(shape) < 0.3
    low = -10000.0
    if style == "wide":
        low = random.choice([-np.inf, -3.4028235e38, -1e9])
        hidden |= random.random([*shape[:-1], 1]) < 0.3  # whole rows
    return np.where(hidden, low, 0.0)


def draw_one(random, entry, sizes, style):
    shape = shape_of(entry, sizes)
    if entry.kind == "float":
        return floats(random, shape, style).astype(entry.dtype)
    if entry.kind == "mask":
        return mask(random, shape, style).astype(entry.dtype)
    if entry.kind in ("bool", "bit"):
        ones = style == "plain" or random.random() < 0.15
        values = np.ones(shape) if ones else random.random(shape) < random.choice([0.5, 0.8, 0.1])
        return np.asarray(values).astype(entry.dtype)
    if entry.kind == "index":
        low = -entry.limit if style == "wide" else 0
        return random.integers(low, entry.limit, shape).astype(entry.dtype)
    return np.asarray(integers(random, shape, entry.dtype, style)).astype(entry.dtype)


def draw(seed, inputs, sizes, style):
    """Arrays by input name. `sizes` maps symbols to numbers."""
    random = np.random.default_rng([seed, STYLES.index(style), *sizes.values()])
    return {entry.name: draw_one(random, entry, sizes, style) for entry in inputs}


def unlinked(inputs, sizes):
    """The same inputs with a symbol of its own for each dim, bound to numbers that all differ:
    what a model that only shares names accepts, and one that needs the equality refuses."""
    own, result = {}, []
    for entry in inputs:
        dims = []
        for axis, dim in enumerate(entry.dims):
            if not isinstance(dim, str):
                dims.append(dim)
                continue
            name = f"{entry.name}.{axis}"
            own[name] = sizes[dim] + len(own)
            dims.append(name)
        result.append(dataclasses.replace(entry, dims=dims))
    return result, own
