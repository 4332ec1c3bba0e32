#include "core/onnx/content_digest.h"

#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "core/base/status_macros.h"
#include "core/onnx/proto.h"
#include "core/onnx/skeleton.h"
#include "core/onnx/tensor_walk.h"
#include "core/onnx/weights.h"

namespace quotient::onnx {
namespace {

using model::Opaque;

// Replaces the bytes of a tensor, wherever they are, by a reference to their content. Typed data
// stays: it is never moved to a file.
absl::Status ReferToContent(const Skeleton& skeleton, absl::string_view where,
                            TensorProto& tensor) {
  absl::string_view bytes = tensor.raw_data();
  if (IsExternal(tensor)) {
    QUOTIENT_ASSIGN_OR_RETURN(bytes, ExternalBytes(tensor, where, skeleton.weights()));
  } else if (!tensor.has_raw_data()) {
    return absl::OkStatus();
  }
  const ExternalReference content = {Digest::Of(bytes).Hex(), 0,
                                     static_cast<int64_t>(bytes.size())};
  ClearData(&tensor);
  WriteExternalReference(content, &tensor);
  return absl::OkStatus();
}

// Parses the message in `text`, lets `walk` change it and writes it back.
template <typename Message, typename Walk>
absl::Status Rewrite(const Walk& walk, std::string& text) {
  Message message;
  if (!message.ParseFromString(text)) {
    return absl::InternalError("the content of an opaque node is damaged");
  }
  QUOTIENT_RETURN_IF_ERROR(walk(message));
  text = message.SerializeAsString();
  return absl::OkStatus();
}

absl::Status ReferToContents(const Skeleton& skeleton, Opaque& opaque) {
  const auto visit = [&skeleton](TensorProto& tensor, absl::string_view where) {
    return ReferToContent(skeleton, where, tensor);
  };
  switch (opaque.kind) {
    case Opaque::Kind::kNode:
      return Rewrite<NodeProto>([&](NodeProto& node) { return VisitTensors(node, visit); },
                                opaque.proto);
    case Opaque::Kind::kInitializer:
      return Rewrite<TensorProto>(
          [&](TensorProto& tensor) { return visit(tensor, "an initializer"); }, opaque.proto);
    case Opaque::Kind::kSparseInitializer:
      return Rewrite<SparseTensorProto>(
          [&](SparseTensorProto& sparse) {
            return VisitTensors(sparse, "a sparse initializer", visit);
          },
          opaque.proto);
  }
  return absl::InternalError("an opaque node of no known kind");
}

}  // namespace

absl::StatusOr<Digest> ContentDigest(const Model& model) {
  model::Graph graph = model.graph;
  for (model::Node& node : graph.nodes) {
    if (!node.is_opaque()) continue;
    auto opaque = std::make_shared<Opaque>(*node.opaque);
    QUOTIENT_RETURN_IF_ERROR(ReferToContents(*model.skeleton, *opaque));
    node.opaque = std::move(opaque);
  }
  return model::GraphDigest(graph);
}

}  // namespace quotient::onnx
