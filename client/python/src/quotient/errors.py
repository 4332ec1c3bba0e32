"""What can go wrong, as classes. Each error has the server's `reason`, a stable name to match on, and a
`message` for people. One table maps reasons to classes; core/base/reason.h explains the reasons.

Files that cannot be opened or written raise OSError, and options that do not exist TypeError, as usual.
"""

from __future__ import annotations

from typing import Any

import grpc
from google.rpc import error_details_pb2, status_pb2

from quotient._text import printable


class Error(Exception):
    """Base of all errors of this package."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(reason, message)
        self.reason = reason
        self.message = message

    def __str__(self) -> str:
        return printable(f"{self.reason}: {self.message}")


class ModelError(Error):
    """The model is refused: malformed, hostile, over a limit, or without its external data."""


class OptionError(Error):
    """The value of an option is wrong; the message names the option."""


class NotFound(Error):
    """There is no such job."""


class NoResult(Error):
    """A deadline came before there was a result, the job has not ended, or no equal job has a result."""


class Cancelled(NoResult):
    """The job was cancelled."""


class QuotaError(Error):
    """The server refuses more of this client."""


class DeviceError(Error):
    """The server does not have the device."""


class Unavailable(Error):
    """The server cannot be reached, is full or is ending. Calls were repeated before this was raised."""


class ServerError(Error):
    """The server failed, or something that it stores is damaged or gone."""


CLASS_OF_REASON: dict[str, type[Error]] = {
    "MODEL_MALFORMED": ModelError,
    "MODEL_CYCLIC": ModelError,
    "MODEL_SHAPE": ModelError,
    "SHAPE_MISSING": ModelError,
    "EXTERNAL_DATA_PATH": ModelError,
    "EXTERNAL_DATA_MISSING": ModelError,
    "LIMIT_BYTES": ModelError,
    "LIMIT_NODES": ModelError,
    "LIMIT_DIMS": ModelError,
    "LIMIT_DEPTH": ModelError,
    "MODEL_UNSUPPORTED": ModelError,
    "OPSET_UNKNOWN": ModelError,
    "OPTION_INVALID": OptionError,
    "JOB_NOT_FOUND": NotFound,
    "JOB_NOT_FINISHED": NoResult,
    "RESULT_NOT_FOUND": NoResult,
    "QUEUE_DEADLINE": NoResult,
    "RUN_BUDGET": NoResult,
    "CANCELLED": Cancelled,
    "QUOTA_JOBS": QuotaError,
    "QUOTA_BYTES": QuotaError,
    "QUOTA_CALLS": QuotaError,
    "DEVICE_NOT_PRESENT": DeviceError,
    "QUEUE_FULL": Unavailable,
    "DRAINING": Unavailable,
    "STORAGE_DOWN": Unavailable,
    "DEVICE_LOST": Unavailable,
    "PROGRAM_REPLACED": Unavailable,
    "BAD_DIGEST": ServerError,
    "BAD_PAGE_TOKEN": ServerError,
    "REQUEST_ID_REUSED": ServerError,
    "BLOB_MISSING": ServerError,
    "BLOB_CORRUPT": ServerError,
    "UPLOAD_OFFSET": ServerError,
    "JOURNAL_INVALID": ServerError,
    "JOURNAL_VERSION": ServerError,
    "JOURNAL_MISSING": ServerError,
    "POISONED": ServerError,
    "INTERNAL": ServerError,
}

# For reasons that only newer servers have, and for errors of gRPC itself, which have none.
_CLASS_OF_CODE: dict[grpc.StatusCode, type[Error]] = {
    grpc.StatusCode.INVALID_ARGUMENT: OptionError,
    grpc.StatusCode.NOT_FOUND: NotFound,
    grpc.StatusCode.RESOURCE_EXHAUSTED: QuotaError,
    grpc.StatusCode.UNAVAILABLE: Unavailable,
    grpc.StatusCode.DEADLINE_EXCEEDED: NoResult,
    grpc.StatusCode.CANCELLED: Cancelled,
}
_CODE_OF_NUMBER: dict[int, grpc.StatusCode] = {code.value[0]: code for code in grpc.StatusCode}


def make_error(reason: str, message: str, code: grpc.StatusCode = grpc.StatusCode.UNKNOWN) -> Error:
    """An error of the reason's class; `code` decides for reasons that are not in the table."""
    kind = CLASS_OF_REASON.get(reason) or _CLASS_OF_CODE.get(code, ServerError)
    return kind(reason, message)


def from_status(status: status_pb2.Status) -> Error:
    """The error that a google.rpc.Status tells of, which must not be OK."""
    code = _CODE_OF_NUMBER.get(status.code, grpc.StatusCode.UNKNOWN)
    for detail in status.details:
        info = error_details_pb2.ErrorInfo()
        if detail.Is(info.DESCRIPTOR) and detail.Unpack(info):
            return make_error(info.reason, status.message, code)
    return make_error(code.name, status.message, code)


def from_rpc(error: Any) -> Error:
    """The error of a call that failed with grpc.RpcError."""
    for key, value in error.trailing_metadata() or ():
        if key == "grpc-status-details-bin":
            status = status_pb2.Status.FromString(value)
            if status.code != 0:
                return from_status(status)
    # A status without details comes from gRPC, not from the service.
    if error.code() == grpc.StatusCode.DEADLINE_EXCEEDED:
        return Unavailable("UNAVAILABLE", "the server does not answer")
    # A stopping server drops its streams. Those of asyncio may learn no more than that something was wrong.
    is_cut = error.code() == grpc.StatusCode.INTERNAL and error.details() == "Internal error from Core"
    if error.code() == grpc.StatusCode.CANCELLED or is_cut:
        return Unavailable("UNAVAILABLE", "the server dropped the call")
    return make_error(error.code().name, error.details() or "", error.code())


def may_pass(error: Error) -> bool:
    """Whether the same call may succeed in a moment."""
    return isinstance(error, Unavailable) or error.reason == "QUOTA_CALLS"
