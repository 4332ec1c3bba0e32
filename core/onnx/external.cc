#include "core/onnx/external.h"

#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/base/log.h"
#include "core/base/status_macros.h"
#include "core/onnx/errors.h"
#include "core/onnx/external_reference.h"
#include "core/onnx/names.h"
#include "core/onnx/parse.h"
#include "core/onnx/tensor_walk.h"

namespace quotient::onnx {

absl::Status CheckExternalLocation(absl::string_view location, absl::string_view where,
                                   const Limits& limits) {
  const auto refuse = [&](absl::string_view why) {
    return ErrorAt(Reason::kExternalDataPath, where,
                   absl::StrCat("external data location '", Escaped(location), "' ", why));
  };
  if (location.empty()) return refuse("is empty");
  if (!CheckName(location, where, limits).ok()) return refuse("is no usable text");
  // The reader of a model may run on another operating system than its writer.
  if (location[0] == '/' || location[0] == '\\') return refuse("is absolute");
  if (location.size() > 1 && location[1] == ':' && absl::ascii_isalpha(location[0])) {
    return refuse("names a drive");
  }
  for (absl::string_view part : absl::StrSplit(location, absl::ByAnyChar("/\\"))) {
    if (part == "..") return refuse("leaves the model's folder");
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::string>> ExternalLocations(absl::string_view model_bytes,
                                                           const Limits& limits) {
  QUOTIENT_ASSIGN_OR_RETURN(ParsedModel parsed, ParseModel(model_bytes, limits));
  std::vector<std::string> locations;
  absl::flat_hash_set<std::string> seen;
  const TensorVisitor visit = [&](TensorProto& tensor, absl::string_view where) -> absl::Status {
    if (!IsExternal(tensor)) return absl::OkStatus();
    QUOTIENT_ASSIGN_OR_RETURN(const ExternalReference reference,
                              ReadExternalReference(tensor, where, limits));
    if (seen.insert(reference.location).second) locations.push_back(reference.location);
    return absl::OkStatus();
  };
  for (TensorProto& tensor : *parsed.proto.mutable_graph()->mutable_initializer()) {
    QUOTIENT_RETURN_IF_ERROR(
        visit(tensor, absl::StrCat("initializer '", Escaped(tensor.name()), "'")));
  }
  QUOTIENT_RETURN_IF_ERROR(VisitNestedTensors(parsed.proto, visit));
  return locations;
}

}  // namespace quotient::onnx
