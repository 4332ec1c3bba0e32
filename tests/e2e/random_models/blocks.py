"""The table of blocks: what can be appended to a value. A block takes the graph and a value and
returns one value or several; it raises Invalid where it does not fit."""

import dataclasses
from typing import Callable

from graph import Invalid


@dataclasses.dataclass
class Block:
    name: str
    fits: Callable  # of a Value
    apply: Callable
    weight: float


TABLE = []


def is_image(x):
    return x.is_float and x.dtype.itemsize == 4 and x.rank == 4 and bool(x.dim(1)) and all(
        min(a.shape) > 0 for a in x.arrays)


def is_sequence(x):
    return x.is_float and x.dtype.itemsize == 4 and x.rank == 3 and bool(x.dim(2))


def is_matrix(x):
    return x.is_float and x.dtype.itemsize == 4 and x.rank == 2 and bool(x.dim(1))


def is_float(x):
    return x.is_float and 1 <= x.rank <= 5


def is_float32(x):
    return is_float(x) and x.dtype.itemsize == 4


def is_integer(x):
    return x.dtype.kind in "iu" and 1 <= x.rank <= 5


def is_bool(x):
    return x.dtype.kind == "b" and 1 <= x.rank <= 5


def is_tensor(x):
    return 1 <= x.rank <= 5


def block(fits, weight=1.0):
    def register(function):
        TABLE.append(Block(function.__name__, fits, function, weight))
        return function
    return register


def require(condition):
    if not condition:
        raise Invalid("does not fit")


def applicable(x):
    """The blocks that fit x, and their weights: those of a kind of network come before those
    that fit any tensor, so that networks keep their character."""
    entries = [entry for entry in TABLE if entry.fits(x)]
    general = (is_tensor, is_float, is_float32)
    return entries, [e.weight * (1 if e.fits in general else 3) for e in entries]
