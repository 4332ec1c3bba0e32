"""External data that leads out of the model's folder, to what is no file, or beyond its end."""

import os
import pathlib

from onnx import TensorProto

from cases import Cases, add_constant, models, nodes, op

CASES = Cases()


def prepare(folder: pathlib.Path):
    """What the models of this file find beside them, and above."""
    (folder.parent / "secret.bin").write_bytes(b"\0" * 16)
    (folder / "short.bin").write_bytes(b"\0" * 16)
    (folder / "inner").mkdir(exist_ok=True)
    for name, target in {"link.bin": "../secret.bin", "zero.bin": "/dev/zero", "memory.bin": "/proc/self/mem",
                         "inner/up": "..", "loop.bin": "loop.bin"}.items():
        if not (folder / name).is_symlink():
            os.symlink(target, folder / name)
    if not (folder / "pipe.bin").exists():
        os.mkfifo(folder / "pipe.bin")


def external(location, *more, dims=(4,), **entries):
    """A constant in a file. `more` are further entries, which may have keys that there are already."""
    tensor = TensorProto(name="c", data_type=TensorProto.FLOAT, data_location=TensorProto.EXTERNAL)
    tensor.dims.extend(dims)
    pairs = [*({} if location is None else {"location": location}).items(), *entries.items(), *more]
    for key, value in pairs:
        tensor.external_data.add(key=key, value=str(value))
    return add_constant(tensor)


for location in (
        "../secret.bin",
        "inner/../../secret.bin",
        "inner/up/../secret.bin",
        "./../secret.bin",
        "inner/up/short.bin",
        "/etc/passwd",
        "//etc/passwd",
        "..",
        ".",
        "",
        "inner",
        "inner/",
        "short.bin/",
        "..\\secret.bin",
        "C:\\secret.bin",
        "file:///etc/passwd",
        "https://example.com/w.bin",
        "%2e%2e/secret.bin",
        "~/secret.bin",
        "$HOME/secret.bin",
        "nothing.bin",
        "short.bin\0.txt",
        "short.bin\n",
        "link.bin",
        "zero.bin",
        "memory.bin",
        "loop.bin",
        "pipe.bin",
        "bad.onnx",
):
    CASES.add(f"data in {location!r}", external(location))
CASES.add("data in a name of 5000 bytes", external("w" * 5000))
CASES.add("data in a name of 10 MB", lambda: external("w" * 10_000_000))

for name, model in [
        ("without a location", external(None)),
        ("beyond the file", external("short.bin", offset=4096, length=16)),
        ("that ends beyond the file", external("short.bin", offset=4, length=16)),
        ("at a negative offset", external("short.bin", offset=-4, length=16)),
        ("of a negative length", external("short.bin", offset=0, length=-16)),
        ("at 2^63 - 1", external("short.bin", offset=2**63 - 1, length=16)),
        ("at 2^64, which wraps to 0", external("short.bin", offset=2**64, length=16)),
        ("whose end wraps", external("short.bin", offset=2**63 - 8, length=2**63 - 8)),
        ("at an offset that is no number", external("short.bin", offset="0x0", length=16)),
        ("at an offset with a sign and blanks", external("short.bin", offset=" +0", length=16)),
        ("of another length than its shape", external("short.bin", length=8)),
        ("without a length", external("short.bin")),
        ("with two locations", external("short.bin", ("location", "../secret.bin"))),
        ("with an unknown key", external("short.bin", basepath="../")),
        ("with a wrong checksum", external("short.bin", checksum="0" * 40)),
        ("of 2^38 elements", external("short.bin", dims=(2**38,))),
        ("of a size that wraps", external("short.bin", dims=(2**32, 2**32))),
]:
    CASES.add(f"data {name}", model)


@CASES.case("data of a constant with bytes of its own")
def both():
    model = external("short.bin")
    model.graph.initializer[0].raw_data = b"1" * 16
    return model


@CASES.case("data in 20000 files that are not there")
def many():
    model = external("w0.bin")
    for i in range(1, 20_000):
        tensor = model.graph.initializer.add()
        tensor.CopyFrom(model.graph.initializer[0])
        tensor.name = f"c{i}"
        tensor.external_data[0].value = f"w{i}.bin"
    return model


@CASES.case("data of an attribute outside of the folder")
def of_attribute():
    tensor = external("../secret.bin").graph.initializer[0]
    return nodes(op("Constant", [], ["c"], value=tensor), op("Add", ["x", "c"]))
