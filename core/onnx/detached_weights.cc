#include "core/onnx/detached_weights.h"

#include <cstdint>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "core/base/log.h"
#include "core/base/status_macros.h"
#include "core/onnx/errors.h"
#include "core/onnx/external_reference.h"
#include "core/onnx/limits.h"
#include "core/onnx/proto.h"
#include "core/onnx/wire.h"

namespace quotient::onnx {
namespace {

// Numbers of fields in ONNX's messages.
constexpr uint32_t kModelGraph = 7;
constexpr uint32_t kGraphNode = 1;
constexpr uint32_t kGraphInitializer = 5;
constexpr uint32_t kNodeAttribute = 5;
constexpr uint32_t kAttributeGraph = 6;
constexpr uint32_t kAttributeGraphs = 11;
constexpr uint32_t kTensorRawData = 9;

class Detacher {
 public:
  Detacher(const ExternalFiles& files, const std::string& location, size_t min_bytes, Copies copies)
      : files_(files), location_(location), min_bytes_(min_bytes), copies_(copies) {}

  absl::StatusOr<DetachedWeights> Run(absl::string_view model) && {
    QUOTIENT_ASSIGN_OR_RETURN(detached_.model, Model(model));
    return std::move(detached_);
  }

 private:
  // The message anew, with what `rewrite` makes of the payload of each field. Nullopt stands for a
  // field that stays as it is.
  template <typename Rewrite>
  static absl::StatusOr<std::string> Rewritten(absl::string_view message, const Rewrite& rewrite) {
    std::string out;
    WireReader reader(message);
    WireField field;
    while (reader.Next(&field)) {
      std::optional<std::string> payload;
      if (field.is_bytes) {
        QUOTIENT_ASSIGN_OR_RETURN(payload, rewrite(field));
      }
      if (payload.has_value()) {
        AppendBytesField(field.number, *payload, &out);
      } else {
        absl::StrAppend(&out, field.encoded);
      }
    }
    if (reader.error() == nullptr) return out;
    return Malformed("model", absl::StrCat("this is no ONNX model: ", reader.error()));
  }

  using MaybeString = absl::StatusOr<std::optional<std::string>>;

  absl::StatusOr<std::string> Model(absl::string_view model) {
    return Rewritten(model, [this](const WireField& field) -> MaybeString {
      if (field.number != kModelGraph) return std::nullopt;
      return Graph(field.payload, 0);
    });
  }

  absl::StatusOr<std::string> Graph(absl::string_view graph, int depth) {
    if (depth > Limits().max_subgraph_depth)
      return Malformed("model", "graphs are nested too deep");
    return Rewritten(graph, [this, depth](const WireField& field) -> MaybeString {
      if (field.number == kGraphInitializer) return Initializer(field.payload);
      if (field.number == kGraphNode) return Node(field.payload, depth);
      return std::nullopt;
    });
  }

  absl::StatusOr<std::string> Node(absl::string_view node, int depth) {
    return Rewritten(node, [this, depth](const WireField& field) -> MaybeString {
      if (field.number != kNodeAttribute) return std::nullopt;
      return Attribute(field.payload, depth);
    });
  }

  absl::StatusOr<std::string> Attribute(absl::string_view attribute, int depth) {
    return Rewritten(attribute, [this, depth](const WireField& field) -> MaybeString {
      if (field.number != kAttributeGraph && field.number != kAttributeGraphs) return std::nullopt;
      return Graph(field.payload, depth + 1);
    });
  }

  MaybeString Initializer(absl::string_view initializer) {
    QUOTIENT_ASSIGN_OR_RETURN(const std::optional<absl::string_view> raw, RawData(initializer));
    if (raw.has_value() && raw->size() < min_bytes_) return std::nullopt;
    TensorProto tensor;
    QUOTIENT_ASSIGN_OR_RETURN(tensor, WithoutRawData(initializer));
    if (!IsExternal(tensor)) {
      if (!raw.has_value()) return std::nullopt;
      return Referring(*raw, &tensor);
    }
    const std::string where = absl::StrCat("initializer '", Escaped(tensor.name()), "'");
    QUOTIENT_ASSIGN_OR_RETURN(const ExternalReference reference,
                              ReadExternalReference(tensor, where, Limits()));
    QUOTIENT_ASSIGN_OR_RETURN(const absl::string_view bytes,
                              ResolveReference(reference, files_, where));
    return Referring(bytes, &tensor);
  }

  // The last field of raw data, as protobuf reads it.
  static absl::StatusOr<std::optional<absl::string_view>> RawData(absl::string_view tensor) {
    std::optional<absl::string_view> raw;
    WireReader reader(tensor);
    for (WireField field; reader.Next(&field);) {
      if (field.number == kTensorRawData && field.is_bytes) raw = field.payload;
    }
    if (reader.error() == nullptr) return raw;
    return Malformed("initializer", reader.error());
  }

  static absl::StatusOr<TensorProto> WithoutRawData(absl::string_view encoded) {
    std::string rest;
    WireReader reader(encoded);
    for (WireField field; reader.Next(&field);) {
      if (field.number != kTensorRawData) absl::StrAppend(&rest, field.encoded);
    }
    TensorProto tensor;
    if (!tensor.ParseFromString(rest)) return Malformed("initializer", "it cannot be read");
    return tensor;
  }

  // Where the copies of `bytes` begin differs by a cache line.
  int64_t Place(absl::string_view bytes) {
    if (copies_ == Copies::kEqual || bytes.empty()) return detached_.weights.Append(bytes);
    const size_t copy = placed_[bytes.data()]++;
    return detached_.weights.AppendRotated(bytes, copy * DataFile::kAlignment % bytes.size());
  }

  std::string Referring(absl::string_view bytes, TensorProto* tensor) {
    WriteExternalReference({.location = location_,
                            .offset = Place(bytes),
                            .length = static_cast<int64_t>(bytes.size())},
                           tensor);
    return tensor->SerializeAsString();
  }

  const ExternalFiles& files_;
  const std::string& location_;
  const size_t min_bytes_;
  const Copies copies_;
  absl::flat_hash_map<const char*, size_t> placed_;  // How often, by their first byte.
  DetachedWeights detached_;
};

}  // namespace

absl::StatusOr<DetachedWeights> DetachWeights(absl::string_view model, const ExternalFiles& files,
                                              const std::string& location, size_t min_bytes,
                                              Copies copies) {
  return Detacher(files, location, min_bytes, copies).Run(model);
}

}  // namespace quotient::onnx
