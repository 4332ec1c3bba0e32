"""Whose fault a failure is. Only those of the server call for its operator."""

# Reasons of failed jobs. A new one has to be put into one of these lists (review.py).
SERVER_REASONS = ("", "BLOB_CORRUPT", "STORAGE_DOWN", "DEVICE_NOT_PRESENT", "DEVICE_LOST",
                  "PROGRAM_REPLACED", "POISONED", "INTERNAL")
TIME_REASONS = ("QUEUE_DEADLINE", "RUN_BUDGET", "CANCELLED", "DRAINING", "QUEUE_FULL", "QUOTA_JOBS",
                "QUOTA_BYTES", "QUOTA_CALLS")
USER_REASONS = (
    "MODEL_MALFORMED", "MODEL_CYCLIC", "MODEL_SHAPE", "SHAPE_MISSING", "EXTERNAL_DATA_PATH",
    "EXTERNAL_DATA_MISSING", "LIMIT_BYTES", "LIMIT_NODES", "LIMIT_DIMS", "LIMIT_DEPTH",
    "MODEL_UNSUPPORTED", "OPSET_UNKNOWN", "OPTION_INVALID", "BAD_DIGEST", "BAD_PAGE_TOKEN",
    "REQUEST_ID_REUSED", "BLOB_MISSING", "JOURNAL_INVALID", "JOURNAL_VERSION", "JOURNAL_MISSING", "JOB_NOT_FOUND",
    "JOB_NOT_FINISHED", "RESULT_NOT_FOUND", "UPLOAD_OFFSET")

# Status codes of calls.
SERVER_CODES = ("Unknown", "Internal", "Unavailable", "DataLoss")

# Matchers for queries. Other servers have the metrics of gRPC, too; ours are those of these services.
SERVER_FAILURES = '{state="failed",reason=~"' + "|".join(SERVER_REASONS) + '"}'
OUR_SERVICES = 'grpc_service=~"quotient.v1.*"'
OUR_CALLS = "{" + OUR_SERVICES + "}"
FAILED_CALLS = "{" + OUR_SERVICES + ',grpc_code=~"' + "|".join(SERVER_CODES) + '"}'

# So many of all calls may fail by the server's fault.
ERROR_BUDGET = 0.001
