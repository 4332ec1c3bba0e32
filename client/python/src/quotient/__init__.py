"""Client of Quotient, which makes ONNX models faster and checks that they stay the same.

    result = quotient.optimize("model.onnx", budget=30)
    result.save("model.optimized.onnx")
"""

from quotient import aio
from quotient.client import Client, Job, optimize
from quotient.errors import (
    Cancelled,
    DeviceError,
    Error,
    ModelError,
    NoResult,
    NotFound,
    OptionError,
    QuotaError,
    ServerError,
    Unavailable,
)
from quotient.options import Options
from quotient.progress import Progress
from quotient.report import Report
from quotient.result import Result

__all__ = [
    "Cancelled",
    "Client",
    "DeviceError",
    "Error",
    "Job",
    "ModelError",
    "NoResult",
    "NotFound",
    "OptionError",
    "Options",
    "Progress",
    "QuotaError",
    "Report",
    "Result",
    "ServerError",
    "Unavailable",
    "aio",
    "optimize",
]
