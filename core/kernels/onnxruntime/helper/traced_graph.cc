#include "core/kernels/onnxruntime/helper/traced_graph.h"

#include <cstdint>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/onnx/wire.h"

namespace quotient::kernels::onnxruntime {
namespace {

using onnx::AppendBytesField;
using onnx::WireField;
using onnx::WireReader;

// Numbers of fields in ONNX's messages.
constexpr uint32_t kModelGraph = 7;
constexpr uint32_t kGraphNode = 1;
constexpr uint32_t kGraphInitializer = 5;
constexpr uint32_t kGraphInput = 11;
constexpr uint32_t kGraphOutput = 12;
constexpr uint32_t kNodeOutput = 2;
constexpr uint32_t kTensorName = 8;
constexpr uint32_t kValueName = 1;

// Initializers with more bytes are without their data in the outline.
constexpr size_t kLarge = 1024;

// Whether a field of a TensorProto is data: float, int32, string, int64, raw, double, uint64.
bool IsData(uint32_t number) {
  return (number >= 4 && number <= 7) || (number >= 9 && number <= 11);
}

// Calls visit(field) for the fields of a message.
template <typename Visit>
absl::Status ForEachField(absl::string_view message, const Visit& visit) {
  WireReader reader(message);
  WireField field;
  while (reader.Next(&field)) {
    if (absl::Status status = visit(field); !status.ok()) return status;
  }
  if (reader.error() == nullptr) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("this is no ONNX model: ", reader.error()));
}

// The strings of a message in the fields of that number.
absl::StatusOr<std::vector<std::string>> Strings(absl::string_view message, uint32_t number) {
  std::vector<std::string> strings;
  QUOTIENT_RETURN_IF_ERROR(ForEachField(message, [&](const WireField& field) {
    if (field.number == number && field.is_bytes) strings.emplace_back(field.payload);
    return absl::OkStatus();
  }));
  return strings;
}

absl::StatusOr<std::string> WithoutData(absl::string_view tensor) {
  std::string rest;
  QUOTIENT_RETURN_IF_ERROR(ForEachField(tensor, [&](const WireField& field) {
    if (!IsData(field.number)) absl::StrAppend(&rest, field.encoded);
    return absl::OkStatus();
  }));
  return rest;
}

class Tracer {
 public:
  absl::StatusOr<TracedGraph> Trace(absl::string_view model) && {
    QUOTIENT_RETURN_IF_ERROR(ForEachField(model, [this](const WireField& field) {
      if (field.number != kModelGraph || !field.is_bytes) {
        absl::StrAppend(&traced_.outline, field.encoded);
        return absl::OkStatus();
      }
      return AddGraph(field.payload);
    }));
    AppendBytesField(kModelGraph, NewOutputs(), &traced_.more_outputs);
    return std::move(traced_);
  }

 private:
  absl::Status AddGraph(absl::string_view graph) {
    std::string outline;
    QUOTIENT_RETURN_IF_ERROR(ForEachField(graph, [&](const WireField& field) -> absl::Status {
      if (!field.is_bytes || field.number != kGraphInitializer) {
        absl::StrAppend(&outline, field.encoded);
      }
      if (!field.is_bytes) return absl::OkStatus();
      if (field.number == kGraphNode) return AddValues(field.payload, kNodeOutput);
      if (field.number == kGraphInput) return AddValues(field.payload, kValueName);
      if (field.number == kGraphOutput) return AddOutput(field.payload);
      if (field.number != kGraphInitializer) return absl::OkStatus();
      QUOTIENT_RETURN_IF_ERROR(AddValues(field.payload, kTensorName));
      if (field.payload.size() <= kLarge) {
        absl::StrAppend(&outline, field.encoded);
        return absl::OkStatus();
      }
      QUOTIENT_ASSIGN_OR_RETURN(const std::string header, WithoutData(field.payload));
      AppendBytesField(kGraphInitializer, header, &outline);
      return absl::OkStatus();
    }));
    AppendBytesField(kModelGraph, outline, &traced_.outline);
    return absl::OkStatus();
  }

  absl::Status AddValues(absl::string_view message, uint32_t number) {
    QUOTIENT_ASSIGN_OR_RETURN(const std::vector<std::string> names, Strings(message, number));
    for (const std::string& name : names) {
      if (!name.empty() && seen_.insert(name).second) traced_.values.push_back(name);
    }
    return absl::OkStatus();
  }

  absl::Status AddOutput(absl::string_view value) {
    QUOTIENT_ASSIGN_OR_RETURN(const std::vector<std::string> names, Strings(value, kValueName));
    outputs_.insert(names.begin(), names.end());
    return absl::OkStatus();
  }

  // A graph that has nothing but the outputs that are new.
  std::string NewOutputs() const {
    std::string outputs;
    for (const std::string& value : traced_.values) {
      if (outputs_.contains(value)) continue;
      std::string output;
      AppendBytesField(kValueName, value, &output);
      AppendBytesField(kGraphOutput, output, &outputs);
    }
    return outputs;
  }

  TracedGraph traced_;
  absl::flat_hash_set<std::string> seen_;     // Names in traced_.values.
  absl::flat_hash_set<std::string> outputs_;  // Names of the outputs that the model has.
};

}  // namespace

absl::StatusOr<TracedGraph> TraceGraph(absl::string_view model) { return Tracer().Trace(model); }

}  // namespace quotient::kernels::onnxruntime
