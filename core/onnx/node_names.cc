#include "core/onnx/node_names.h"

#include "absl/strings/str_cat.h"

namespace quotient::onnx {
namespace {

bool IsOriginal(const model::Node& node) { return node.is_opaque() || !node.source.empty(); }

}  // namespace

NodeNames::NodeNames(const Skeleton& skeleton, const model::Graph& graph)
    : names_(graph.nodes.size()) {
  NamePool originals;
  bool were_unique = true;
  for (const NodeProto& node : skeleton.proto.graph().node()) {
    if (!node.name().empty()) were_unique &= originals.Take(node.name());
    pool_.Take(node.name());
  }
  NamePool used;
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const model::Node& node = graph.nodes[n];
    if (!IsOriginal(node) || node.name.empty()) continue;
    const bool is_first = used.Take(node.name);
    pool_.Take(node.name);
    names_[n] = is_first || !were_unique ? node.name : pool_.Fresh(node.name);
  }
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const model::Node& node = graph.nodes[n];
    if (IsOriginal(node)) continue;
    names_[n] = pool_.Fresh(node.name.empty() ? absl::StrCat("quotient_", node.op) : node.name);
  }
}

}  // namespace quotient::onnx
