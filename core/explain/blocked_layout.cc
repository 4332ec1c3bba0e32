#include "core/explain/blocked_layout.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "core/kernels/ort_fusions.h"

namespace quotient::explain {
namespace {

using kernels::kChannelStep;
using model::Node;
using model::NodeId;
using Answer = std::optional<Reason>;

Answer OfChannels(int64_t channels, absl::string_view which, int64_t multiple) {
  if (channels % multiple == 0) return std::nullopt;
  return Reason{"channels",
                absl::StrCat(which, " ", channels, ", which is not a multiple of ", multiple)};
}

Answer OfGroups(int64_t groups, int64_t read, int64_t filters, int64_t block) {
  const int64_t made = filters / groups;
  if (read == 1 && made == 1) return OfChannels(filters, "the number of channels is", kChannelStep);
  if (read == 1) {
    return Reason{"groups", absl::StrCat("each channel has ", made,
                                         " filters of its own, and would have to have one")};
  }
  if (read % block == 0 && made % block == 0) return std::nullopt;
  return Reason{"groups",
                absl::StrCat("each of the ", groups, " groups reads ", read, " channels and makes ",
                             made, ", which would have to be multiples of ", block)};
}

Answer OfConv(const ModelView& model, NodeId id, int64_t block) {
  const Node& node = model.node(id);
  const model::TensorType& x = model.Type(node.inputs[0]);
  if (x.rank() != 4) {
    return Reason{"rank", absl::StrCat("its input has ", x.rank(),
                                       " dimensions, and only images, with four, are blocked")};
  }
  for (size_t i = 1; i < node.inputs.size(); ++i) {
    if (model.IsConstantOperand(id, i)) continue;
    const absl::string_view what = i == 1 ? "its weights are " : "its bias is ";
    return Reason{
        "not_constant",
        absl::StrCat(what, model.IsConstant(node.inputs[i])
                               ? "computed from constants, by nodes that ONNX Runtime runs"
                               : "not constant")};
  }
  const std::vector<int64_t> weights = model.Type(node.inputs[1]).dims();
  const int64_t groups = node.attributes.GetInt("group", 1);
  if (groups > 1) return OfGroups(groups, weights[1], weights[0], block);
  if (weights[1] < block) return std::nullopt;
  return OfChannels(weights[1], "the number of channels that it reads is", kChannelStep);
}

bool IsPooling(absl::string_view op) {
  return op == "MaxPool" || op == "AveragePool" || op == "GlobalAveragePool";
}

bool IsBehindBlocked(const ModelView& model, const Node& node) {
  const NodeId producer = model.Producer(node.inputs[0]);
  if (!producer.valid()) return false;
  const std::optional<size_t> kernel = model.KernelOf(producer);
  return kernel.has_value() && IsBlocked(model.Spec(*kernel));
}

Answer OfMean(const ModelView& model, const Node& node) {
  const bool is_image = model.Type(node.inputs[0]).rank() == 4;
  if (!is_image || node.attributes.GetInts("axes", {}) != model::Ints{2, 3}) return std::nullopt;
  if (!IsBehindBlocked(model, node)) return std::nullopt;
  return Reason{"operator",
                "a ReduceMean is never blocked; a GlobalAveragePool, which computes the "
                "same, may be"};
}

}  // namespace

std::optional<Finding> WhyNotBlocked(const ModelView& model, NodeId id, int64_t block) {
  const Node& node = model.node(id);
  const std::optional<size_t> kernel = model.KernelOf(id);
  if (!kernel.has_value() || IsBlocked(model.Spec(*kernel))) return std::nullopt;
  Answer reason;
  if (node.op == "Conv") {
    reason = OfConv(model, id, block);
  } else if (IsPooling(node.op) && IsBehindBlocked(model, node)) {
    reason = OfChannels(model.Type(node.inputs[0]).dims()[1], "the number of channels is", block);
  } else if (node.op == "ReduceMean") {
    reason = OfMean(model, node);
  }
  if (!reason.has_value()) return std::nullopt;
  return Finding{absl::StrCat(node.op, " not in the blocked layout"), *std::move(reason)};
}

}  // namespace quotient::explain
