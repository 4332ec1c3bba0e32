"""Generates the messages and stubs of quotient.v1 while the wheel is built; the source tree stays as it is.

The .proto files and the license are those of the repository, or, in a source distribution, the copies
that it has. google.rpc is not part of the wheel: it belongs to the package googleapis-common-protos,
whose modules other programs import, too.
"""

import importlib.resources
import pathlib
import shutil
import tempfile

from grpc_tools import protoc
from hatchling.builders.hooks.plugin.interface import BuildHookInterface


def find(root, name):
    """A file or folder of the repository's root, or the copy of it in a source distribution."""
    for folder in (root, root / ".." / ".."):
        if (folder / name).exists():
            return (folder / name).resolve()
    raise FileNotFoundError(f"{name} is neither in {root} nor two folders above")


def generate(protos, out):
    """Writes quotient/v1/*_pb2.py, *_pb2.pyi and *_pb2_grpc.py below the folder `out`."""
    common = importlib.resources.files("grpc_tools") / "_proto"
    files = sorted(map(str, (protos / "quotient" / "v1").glob("*.proto")))
    status = protoc.main(["protoc", f"-I{protos}", f"-I{common}", f"--python_out={out}", f"--pyi_out={out}",
                          f"--grpc_python_out={out}", *files])
    if status != 0:
        raise RuntimeError(f"protoc ended with status {status}")


class StubsHook(BuildHookInterface):
    def initialize(self, version, build_data):
        self.out = pathlib.Path(tempfile.mkdtemp(prefix="quotient-stubs-"))
        root = pathlib.Path(self.root)
        generate(find(root, "proto"), self.out)
        stubs = self.out / "quotient" / "v1"
        (stubs / "__init__.py").write_text('"""Messages and stubs of the API, generated from its .proto files."""\n')
        build_data["force_include"][str(stubs)] = "quotient/v1"
        build_data["force_include"][str(find(root, "LICENSE"))] = "quotient/LICENSE"

    def finalize(self, version, build_data, artifact_path):
        shutil.rmtree(self.out, ignore_errors=True)
