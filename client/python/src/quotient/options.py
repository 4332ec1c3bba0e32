"""The options of a job: those of OptimizeOptions and JobPolicy in the API, whose comments explain them
(proto/quotient/v1/options.proto, optimizer.proto). Times are seconds or timedeltas, and `_seconds` is left
out of their names.
"""

from __future__ import annotations

import datetime
import difflib
import math
from collections.abc import Mapping, Sequence
from typing import Any, TypedDict, Union

from google.protobuf import descriptor, duration_pb2

from quotient.v1 import optimizer_pb2, options_pb2

Seconds = Union[float, datetime.timedelta]
Shapes = Mapping[str, Sequence[int]]


class Options(TypedDict, total=False):
    """What can be given to `submit` and `optimize` by name. What is not given has the server's default."""

    device: str  # auto
    strategy: str  # mcts
    budget: Seconds  # 30
    search_budget: Seconds
    max_nodes: int  # 50000
    max_simulations: int
    threads: int
    seed: int
    max_opset: int
    shapes: Shapes
    measure_shapes: Shapes
    disabled_rules: Sequence[str]
    verify_inputs: int  # 2
    assume_finite_inputs: bool
    freeze_initializers: bool
    why_not: Sequence[str]  # "RULE@NODE"
    kept_values: Sequence[str]
    max_folded_bytes: int  # 1048576
    priority: int
    queue_deadline: Seconds
    run_deadline: Seconds


def _spelled(message: Any) -> dict[str, descriptor.FieldDescriptor]:
    return {field.name.removesuffix("_seconds"): field for field in message.fields}


OPTIMIZE_FIELDS = _spelled(options_pb2.OptimizeOptions.DESCRIPTOR)
POLICY_FIELDS = _spelled(optimizer_pb2.JobPolicy.DESCRIPTOR)


def to_messages(options: Mapping[str, Any]) -> tuple[options_pb2.OptimizeOptions, optimizer_pb2.JobPolicy]:
    """Raises TypeError for an option that does not exist or has a value of another type."""
    optimize, policy = options_pb2.OptimizeOptions(), optimizer_pb2.JobPolicy()
    for name, value in options.items():
        if name in OPTIMIZE_FIELDS:
            _set(optimize, OPTIMIZE_FIELDS[name], name, value)
        elif name in POLICY_FIELDS:
            _set(policy, POLICY_FIELDS[name], name, value)
        else:
            raise TypeError(_unknown(name))
    return optimize, policy


def _unknown(name: str) -> str:
    names = [*OPTIMIZE_FIELDS, *POLICY_FIELDS]
    parts = [each for each in names if each in name or name in each]
    near = sorted(parts, key=len, reverse=True) or difflib.get_close_matches(name, names, n=3, cutoff=0.5)
    return f"there is no option '{name}'" + (f"; did you mean {' or '.join(near[:3])}?" if near else "")


def _set(message: Any, field: descriptor.FieldDescriptor, name: str, value: Any) -> None:
    try:
        if field.message_type is None and isinstance(field.default_value, list):
            if isinstance(value, str):
                raise TypeError("a list is wanted")
            getattr(message, field.name).extend(value)
        elif field.message_type is None:
            setattr(message, field.name, _seconds(value))
        elif field.message_type.full_name == duration_pb2.Duration.DESCRIPTOR.full_name:
            getattr(message, field.name).FromMilliseconds(math.ceil(1000 * _seconds(value)))
        else:
            shapes = getattr(message, field.name)
            for input_name, dims in value.items():
                shapes[input_name].dims.extend(dims)
    except (AttributeError, TypeError, ValueError, OverflowError) as error:
        raise TypeError(f"the option {name} cannot be {value!r}: {error}") from error


def _seconds(value: Any) -> Any:
    return value.total_seconds() if isinstance(value, datetime.timedelta) else value
