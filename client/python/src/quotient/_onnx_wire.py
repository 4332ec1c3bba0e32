"""Which files a model keeps its weights in, read from the bytes of the .onnx file.

ONNX's own package would copy the whole model into memory, and need not be installed. So this follows the
few fields of onnx.proto that lead to tensors, and skips all others.
"""

from __future__ import annotations

from collections.abc import Iterator

from quotient.errors import ModelError

# The message types that lead to tensors, with their fields that are such messages, by number.
_FIELDS: dict[str, dict[int, str]] = {
    "model": {7: "graph", 20: "training", 25: "function"},
    "training": {1: "graph", 2: "graph"},
    "function": {7: "node", 11: "attribute"},
    "graph": {1: "node", 5: "tensor", 15: "sparse"},
    "node": {5: "attribute"},
    "attribute": {5: "tensor", 6: "graph", 10: "tensor", 11: "graph", 22: "sparse", 23: "sparse"},
    "sparse": {1: "tensor", 2: "tensor"},
    "tensor": {13: "entry"},
}
_DATA_LOCATION = 14  # Field of a tensor.
_EXTERNAL = 1
_KEY, _VALUE = 1, 2  # Fields of an entry.

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


def external_locations(model: memoryview) -> list[str]:
    """The locations that tensors of the model name, those in subgraphs and functions included: exactly as
    they are written there, each once. Raises MODEL_MALFORMED."""
    if all(_FIELDS["model"].get(field) != "graph" for field, _ in _fields(model)):
        raise ModelError("MODEL_MALFORMED", "model: has no graph")
    locations: dict[str, None] = {}
    todo = [("model", model)]
    while todo:
        kind, message = todo.pop()
        inner = _FIELDS[kind]
        entries, is_external = [], False
        for field, value in _fields(message):
            if isinstance(value, int):
                is_external = is_external or (kind == "tensor" and field == _DATA_LOCATION and value == _EXTERNAL)
            elif kind == "tensor" and field in inner:
                entries.append(value)
            elif field in inner:
                todo.append((inner[field], value))
        if is_external:
            locations.update(dict.fromkeys(_locations(entries)))
    return list(locations)


def _locations(entries: list[memoryview]) -> Iterator[str]:
    """As text, in which bytes that are not UTF-8 are surrogates."""
    for entry in entries:
        texts = {field: value for field, value in _fields(entry) if not isinstance(value, int)}
        if texts.get(_KEY) == b"location":
            yield bytes(texts.get(_VALUE, b"")).decode(errors="surrogateescape")


def _fields(message: memoryview) -> Iterator[tuple[int, int | memoryview]]:
    """Yields the number and the value of each field: an integer, or a view of its bytes."""
    at, end = 0, len(message)
    try:
        while at < end:
            tag = message[at]
            at += 1
            if tag > 0x7F:
                tag, at = _varint(message, at - 1)
            wire_type = tag & 7
            if wire_type == _BYTES:
                length = message[at]
                at += 1
                if length > 0x7F:
                    length, at = _varint(message, at - 1)
                if length > end - at:
                    raise _malformed()
                yield tag >> 3, message[at:at + length]
                at += length
            elif wire_type == _VARINT:
                value, at = _varint(message, at)
                yield tag >> 3, value
            elif wire_type in (_FIXED64, _FIXED32):
                at += 8 if wire_type == _FIXED64 else 4
                if at > end:
                    raise _malformed()
            else:
                raise _malformed()
    except IndexError:
        raise _malformed() from None


def _varint(message: memoryview, at: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        byte = message[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
    raise _malformed()


def _malformed() -> ModelError:
    return ModelError("MODEL_MALFORMED", "model: is not a valid protobuf message")
