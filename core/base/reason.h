#pragma once

// Failures that users can see have a stable reason name such as MODEL_MALFORMED besides the status
// code. The name travels as a payload of absl::Status through every layer and becomes
// ErrorInfo.reason on the wire. Scripts should match on it; messages are for people.
//
//   return MakeError(Reason::kModelMalformed, absl::StrCat("node '", name, "': no such input"));

#include <optional>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace quotient {

enum class Reason {
  kModelMalformed,    // INVALID_ARGUMENT: not a valid ONNX model; the message names node or field
  kModelCyclic,       // INVALID_ARGUMENT: the graph (or a function's call graph) has a cycle
  kModelShape,        // INVALID_ARGUMENT: shapes or types of a node contradict each other
  kShapeMissing,      // INVALID_ARGUMENT: the unknown shape of an input must be bound
  kExternalDataPath,  // INVALID_ARGUMENT: external data would leave the model's folder
  kExternalDataMissing,  // FAILED_PRECONDITION: external data was not sent with the model
  kLimitBytes,           // INVALID_ARGUMENT: the model or a tensor is larger than the limit
  kLimitNodes,           // INVALID_ARGUMENT: too many nodes, initializers, attributes, functions
  kLimitDims,            // INVALID_ARGUMENT: rank, dimension or product of dimensions too large
  kLimitDepth,           // INVALID_ARGUMENT: subgraphs nested too deeply
  kModelUnsupported,     // UNIMPLEMENTED: a valid model, but nothing in it is supported
  kOpsetUnknown,         // UNIMPLEMENTED: opset or IR version is not supported
  kOptionInvalid,        // INVALID_ARGUMENT: value of an option; the message names the option
  kBadDigest,            // INVALID_ARGUMENT: uploaded bytes do not have the announced digest
  kBadPageToken,         // INVALID_ARGUMENT
  kRequestIdReused,      // ALREADY_EXISTS: same request id with another payload
  kBlobMissing,          // FAILED_PRECONDITION: the blob must be uploaded first
  kBlobCorrupt,          // DATA_LOSS: a stored blob does not have its digest
  kJournalInvalid,       // INVALID_ARGUMENT: damaged, or does not follow; says where
  kJournalVersion,       // FAILED_PRECONDITION: another version of Quotient made the journal
  kJournalMissing,       // NOT_FOUND: the result has no journal
  kJobNotFound,          // NOT_FOUND
  kJobNotFinished,       // FAILED_PRECONDITION
  kResultNotFound,       // NOT_FOUND: no equal job has a result
  kUploadOffset,         // OUT_OF_RANGE: resume at the committed offset
  kQueueFull,            // UNAVAILABLE
  kQuotaJobs,            // RESOURCE_EXHAUSTED: the client has too many waiting jobs
  kQuotaBytes,           // RESOURCE_EXHAUSTED: the client's jobs have too many bytes
  kQuotaCalls,           // RESOURCE_EXHAUSTED: the client has too many uploads, watches or checks
  kQueueDeadline,        // DEADLINE_EXCEEDED: the job did not begin in time
  kDraining,             // UNAVAILABLE: the server is shutting down
  kStorageDown,          // UNAVAILABLE
  kDeviceNotPresent,     // FAILED_PRECONDITION
  kDeviceLost,           // UNAVAILABLE: a GPU failed; only a new process can use it again
  kProgramReplaced,      // UNAVAILABLE: the server's files are of another build; it ends
  kCancelled,            // CANCELLED
  kRunBudget,            // DEADLINE_EXCEEDED: stopped before there was a valid result
  kPoisoned,             // INTERNAL: its process crashed, hung or took all memory, each time
  kInternal,             // INTERNAL: a broken invariant of Quotient
};

// The stable name, such as "MODEL_MALFORMED".
absl::string_view ReasonName(Reason reason);

// The reason with this name, or nullopt.
std::optional<Reason> ReasonFromName(absl::string_view name);

// The status code of a reason.
absl::StatusCode ReasonCode(Reason reason);

// A status with the reason's code, this message, and the reason as payload.
absl::Status MakeError(Reason reason, absl::string_view message);

// The reason that a status carries; nullopt for OK and for statuses without one.
std::optional<Reason> GetReason(const absl::Status& status);

// `status` with "context: " before its message. Keeps the code and the reason. OK stays OK.
absl::Status Annotate(const absl::Status& status, absl::string_view context);

}  // namespace quotient
