"""A model as its user has it: a path, bytes, an onnx.ModelProto, or an export of torch.onnx."""

from __future__ import annotations

import contextlib
import mmap
import os
import pathlib
import stat
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol, Union

from quotient._onnx_wire import external_locations
from quotient.errors import ModelError


class SavesItself(Protocol):
    """What torch.onnx.export returns: it writes itself, and its weights beside it, to a path."""

    def save(self, destination: Any, /) -> Any: ...


class Serializable(Protocol):
    """onnx.ModelProto."""

    def SerializeToString(self) -> bytes: ...


ModelLike = Union[str, "os.PathLike[str]", bytes, bytearray, memoryview, Serializable, SavesItself]


@dataclass
class OpenModel:
    """The bytes of a model's files. Those that come from files are mapped and not read."""

    name: str
    graph: memoryview
    external: dict[str, memoryview] = field(default_factory=dict)  # By location.


@contextlib.contextmanager
def open_model(model: ModelLike, name: str | None = None) -> Iterator[OpenModel]:
    """The files of a model, as long as the context lasts. `name` takes the place of the file's name.

    Raises OSError if the model cannot be opened; `ModelError` if it cannot be read or names external data
    that is missing or not in its folder; TypeError if it is no model.
    """
    with contextlib.ExitStack() as stack:
        if isinstance(model, (str, os.PathLike)):
            yield _of_path(pathlib.Path(model), name, stack)
        elif isinstance(model, (bytes, bytearray, memoryview)):
            yield _of_bytes(memoryview(model).cast("B"), name)
        elif callable(getattr(model, "SerializeToString", None)):
            yield _of_bytes(memoryview(_serialized(model)), name)
        elif callable(save := getattr(model, "save", None)):
            folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="quotient-")))
            path = folder / "model.onnx"
            save(path)
            yield _of_path(path, name, stack)
        else:
            raise TypeError("a model is a path, bytes, an onnx.ModelProto or an export of torch.onnx, "
                            f"not {type(model).__name__}")


def _serialized(model: Any) -> bytes:
    try:
        return model.SerializeToString()
    except Exception as error:  # protobuf has several for messages of more than 2 GiB.
        raise ModelError("LIMIT_BYTES", f"the model cannot be serialized ({error}): save it with its weights in "
                                        "files of their own, and give its path") from error


def _of_bytes(graph: memoryview, name: str | None) -> OpenModel:
    locations = external_locations(graph)
    if locations:
        raise ModelError("EXTERNAL_DATA_MISSING", f"the model has data in {locations[0]!r}: give the path of its file")
    return OpenModel(_utf8(name or "model.onnx"), graph)


def _of_path(path: pathlib.Path, name: str | None, stack: contextlib.ExitStack) -> OpenModel:
    graph = _map(path, stack)
    external = {}
    for location in sorted(external_locations(graph)):
        try:
            external[location] = _map(find_beneath(path.parent, location), stack)
        except OSError as error:
            raise ModelError("EXTERNAL_DATA_MISSING", f"external data {location!r}: {error.strerror}") from error
    return OpenModel(_utf8(name or path.name), graph, external)


def _utf8(text: str) -> str:
    """Names of files can contain any bytes, but fields of messages cannot."""
    return text.encode("utf-8", "replace").decode()


def _map(path: pathlib.Path, stack: contextlib.ExitStack) -> memoryview:
    # A FIFO would block without O_NONBLOCK.
    fd = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    with os.fdopen(fd, "rb") as file:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(0, "is not a regular file", str(path))
        if status.st_size == 0:
            return memoryview(b"")  # Which cannot be mapped.
        mapped = stack.enter_context(mmap.mmap(fd, 0, access=mmap.ACCESS_READ))
    view = memoryview(mapped)
    stack.callback(view.release)
    return view


def check_location(location: str) -> None:
    """Raises EXTERNAL_DATA_PATH for a location that leaves the model's folder, by the rules of any
    operating system: the reader of a model may run on another one than its writer."""
    def refuse(why: str) -> None:
        raise ModelError("EXTERNAL_DATA_PATH", f"external data location {location!r} {why}")

    if not location:
        refuse("is empty")
    if "\0" in location or _utf8(location) != location:
        refuse("is no usable text")
    if location[0] in "/\\":
        refuse("is absolute")
    if location[1:2] == ":" and location[0].isascii() and location[0].isalpha():
        refuse("names a drive")
    if ".." in location.replace("\\", "/").split("/"):
        refuse("leaves the model's folder")


def find_beneath(folder: pathlib.Path, location: str) -> pathlib.Path:
    """The file of a location in a model's folder. Whatever links are on the way, it is inside the folder;
    else raises EXTERNAL_DATA_PATH."""
    check_location(location)
    root = folder.resolve()
    path = (root / location).resolve()
    if not path.is_relative_to(root):
        raise ModelError("EXTERNAL_DATA_PATH", f"external data {location!r} leads out of the model's folder")
    return path
