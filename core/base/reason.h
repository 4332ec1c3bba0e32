#pragma once

// Failures that a user can see carry, beside the status code, a stable reason name such as
// MODEL_MALFORMED. The name travels as a payload of absl::Status through every layer, becomes
// ErrorInfo.reason on the wire and is what scripts should match on; messages are for people.
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
  kShapeMissing,      // INVALID_ARGUMENT: an input's shape is needed and not known: bind it
  kExternalDataPath,  // INVALID_ARGUMENT: external data would leave the model's folder
  kExternalDataMissing,  // FAILED_PRECONDITION: external data that was not sent along
  kLimitBytes,           // INVALID_ARGUMENT: the model or a tensor is larger than the limit
  kLimitNodes,           // INVALID_ARGUMENT: too many nodes, initializers, attributes, functions
  kLimitDims,            // INVALID_ARGUMENT: rank, dimension or product of dimensions too large
  kLimitDepth,           // INVALID_ARGUMENT: subgraphs nested too deeply
  kModelUnsupported,     // UNIMPLEMENTED: no harm in the model, yet nothing we can work on
  kOpsetUnknown,         // UNIMPLEMENTED: opset or IR version outside of what is understood
  kOptionInvalid,        // INVALID_ARGUMENT: an option's value; the message names the option
  kBadDigest,            // INVALID_ARGUMENT: uploaded bytes do not have the digest announced
  kBadPageToken,         // INVALID_ARGUMENT
  kRequestIdReused,      // ALREADY_EXISTS: same request id, other payload
  kBlobMissing,          // FAILED_PRECONDITION: upload the blob first
  kBlobCorrupt,          // DATA_LOSS: a stored blob fails its digest
  kJobNotFound,          // NOT_FOUND
  kJobNotFinished,       // FAILED_PRECONDITION
  kUploadOffset,         // OUT_OF_RANGE: resume at the committed offset
  kQueueFull,            // UNAVAILABLE
  kDraining,             // UNAVAILABLE: the server is shutting down
  kStorageDown,          // UNAVAILABLE
  kDeviceNotPresent,     // FAILED_PRECONDITION
  kDeviceLost,           // UNAVAILABLE: a GPU that failed; only a new process can use it again
  kCancelled,            // CANCELLED
  kRunBudget,            // DEADLINE_EXCEEDED: stopped before a valid result existed
  kPoisoned,             // INTERNAL: the job took its worker down on every attempt
  kInternal,             // INTERNAL: a broken invariant of ours
};

// The stable name, e.g. "MODEL_MALFORMED".
absl::string_view ReasonName(Reason reason);

// The reason with that name; nothing if there is none.
std::optional<Reason> ReasonFromName(absl::string_view name);

// The status code that goes with a reason.
absl::StatusCode ReasonCode(Reason reason);

// A status with the reason's code, this message and the reason as payload.
absl::Status MakeError(Reason reason, absl::string_view message);

// The reason a status carries; nothing for OK and for statuses made without one.
std::optional<Reason> GetReason(const absl::Status& status);

// `status` with "context: " before its message; code and reason are kept. OK stays OK.
absl::Status Annotate(const absl::Status& status, absl::string_view context);

}  // namespace quotient
