"""The result of a job: a model, its weights where they are in files of their own, and the report."""

from __future__ import annotations

import contextlib
import filecmp
import os
import pathlib
import secrets
import shutil
import tempfile
import weakref
from typing import TYPE_CHECKING

from quotient._model import check_location
from quotient.errors import OptionError
from quotient.report import Report

if TYPE_CHECKING:
    import onnx


def external_location_of(name: str) -> str:
    """What a result's weights are called if nobody says otherwise: so that `save` with the name that goes
    with it, "NAME.optimized.onnx", may replace those of an earlier run."""
    return f"{pathlib.PurePath(name).stem or 'model'}.optimized.onnx.data"


class Result:
    """Its files are in a temporary folder, which goes with this object."""

    def __init__(self, job: str, improved: bool, report: Report, locations: list[str]) -> None:
        self.job = job
        """The name of the job."""
        self.improved = improved
        """If not, the model is the original, byte for byte."""
        self.report = report
        self.external_data = locations
        """The files beside the model that hold its weights, by the names that the model uses."""
        folder = tempfile.mkdtemp(prefix="quotient-")
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        self.path = pathlib.Path(folder) / model_file_name(locations)
        """The model's file in the temporary folder, with its external data beside it."""

    @property
    def model(self) -> bytes:
        """The bytes of the .onnx file."""
        return self.path.read_bytes()

    def load(self) -> onnx.ModelProto:
        """The model with its external data, by the package onnx."""
        import onnx

        return onnx.load(self.path)

    def save(self, path: str | os.PathLike[str]) -> pathlib.Path:
        """Writes the model, and beside it its external data, under the names that the model uses: either all
        of it or nothing. Raises OptionError if other data would be replaced."""
        target = pathlib.Path(path)
        with contextlib.ExitStack() as stack:
            writes = [self._prepare(location, target, stack) for location in self.external_data]
            writes.append((_copy(self.path, target, stack), target))
            # The model is renamed last, so that its weights exist when it appears.
            for temporary, final in writes:
                os.replace(temporary, final)
        return target

    def place_of(self, location: str) -> pathlib.Path:
        """Where the file of a location goes in the temporary folder. The server is not trusted: its names must
        not lead out of it."""
        check_location(location)
        path = self.path.parent / location
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def _prepare(self, location: str, model: pathlib.Path,
                 stack: contextlib.ExitStack) -> tuple[pathlib.Path, pathlib.Path]:
        source, target = self.path.parent / location, model.parent / location
        if target == model:
            raise OptionError("OPTION_INVALID", f"{model} is what the model calls its weights")
        if not target.resolve().is_relative_to(model.parent.resolve()):
            raise OptionError("OPTION_INVALID", f"{target} leads out of the folder of {model}")
        # A file named after the output comes from an earlier run. Any other may be the weights of another model.
        may_replace = location == f"{model.name}.data" or not target.exists()
        if not may_replace and not filecmp.cmp(source, target, shallow=False):
            raise OptionError("OPTION_INVALID", f"{target} is there with other content, and the model needs its "
                                                "weights under that name: choose another folder")
        return _copy(source, target, stack), target

    def __repr__(self) -> str:
        return f"<quotient.Result of {self.job}: {self.report.headline()}>"

    def __str__(self) -> str:
        return str(self.report)

    def _repr_html_(self) -> str:
        return self.report._repr_html_()


def model_file_name(locations: list[str]) -> str:
    """A name for the model's file that none of its external data has."""
    taken = {pathlib.PurePath(location).parts[0] for location in locations}
    name = "model.onnx"
    while name in taken:
        name = f"_{name}"
    return name


def _copy(source: pathlib.Path, target: pathlib.Path, stack: contextlib.ExitStack) -> pathlib.Path:
    """A copy under a temporary name beside the target, which goes if it is not renamed."""
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(f"{target.name}.{secrets.token_hex(8)}.tmp")
    stack.callback(temporary.unlink, missing_ok=True)
    shutil.copyfile(source, temporary)
    return temporary
