#include "core/explain/kernel_map.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/strip.h"
#include "core/ops/op.h"

namespace quotient::explain {
namespace {

using model::NodeId;
using model::ValueId;

constexpr absl::string_view kMoves[] = {"Reshape",   "Transpose", "ReorderInput", "ReorderOutput",
                                        "Unsqueeze", "Squeeze",   "Flatten",      "Cast",
                                        "Slice",     "Reorder"};

bool IsMove(absl::string_view op) { return std::ranges::find(kMoves, op) != std::end(kMoves); }

// Whether a kernel of this operator has a node of this operator as its first one.
bool Begins(absl::string_view kernel, absl::string_view node) {
  const absl::string_view main = MainOperator(kernel);
  return main == node || (main == "Gemm" && node == "MatMul");
}

// Whether a kernel takes such a node in front of the one that it is named after.
bool TakesInFront(absl::string_view kernel, absl::string_view node) {
  if (kernel == "FusedMatMul") return node == "Transpose" || node == "Mul" || node == "Div";
  if (absl::StartsWith(kernel, "Skip")) return node == "Add";
  return MainOperator(kernel) == "Conv" && node == "Pad";
}

// Whether the name of such a kernel may be that of a node which others are taken behind: a blocked
// Conv with a sum, and a Gemm between changes of shape.
bool TakesBehind(absl::string_view kernel) {
  const absl::string_view main = MainOperator(kernel);
  return main == "Conv" || main == "Gemm";
}

bool IsElementwise(const model::Node& node) {
  const ops::OpDef* const op = ops::FindOp(node.op);
  return op != nullptr &&
         (op->op_class == ops::OpClass::kUnary || op->op_class == ops::OpClass::kBinary ||
          node.op == "BatchNormalization");
}

class Mapping {
 public:
  Mapping(const model::Graph& graph, const cost::GraphCost& cost) : graph_(graph), cost_(cost) {
    map_.nodes.resize(cost.groups.size());
    map_.kernel_of.resize(graph.nodes.size());
    is_complete_.resize(cost.groups.size());
    readers_.resize(graph.values.size());
    for (size_t n = 0; n < graph.nodes.size(); ++n) {
      for (const ValueId id : graph.nodes[n].inputs) {
        if (id.valid()) readers_[id.value()].push_back(NodeId(static_cast<uint32_t>(n)));
      }
    }
    outputs_.insert(graph.outputs.begin(), graph.outputs.end());
    for (const kernels::KernelGroup& group : cost.groups) {
      if (group.nodes.empty()) of_unknown_nodes_.insert(std::string(OperatorOf(group.spec)));
    }
  }

  KernelMap Make() {
    for (size_t k = 0; k < cost_.groups.size(); ++k) TakeKnown(k);
    for (size_t n = graph_.nodes.size(); n-- > 0;) TakeIntoReader(NodeId(static_cast<uint32_t>(n)));
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      TakeIntoProducer(NodeId(static_cast<uint32_t>(n)));
    }
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (!map_.kernel_of[n].has_value()) continue;
      map_.nodes[*map_.kernel_of[n]].push_back(NodeId(static_cast<uint32_t>(n)));
    }
    return std::move(map_);
  }

 private:
  std::optional<size_t>& KernelOf(NodeId id) { return map_.kernel_of[id.value()]; }
  absl::string_view Kernel(size_t kernel) const { return OperatorOf(cost_.groups[kernel].spec); }

  // Whether some kernel of this operator comes from a node that is not known, which may be this
  // one.
  bool MayBeAKernel(NodeId id) const { return of_unknown_nodes_.contains(graph_.node(id).op); }

  // A Reshape behind a kernel has the name of a value that the kernel computes.
  bool IsKnown(size_t kernel, NodeId id) const {
    const absl::string_view op = Kernel(kernel);
    return !IsMove(op) || op == graph_.node(id).op;
  }

  void Take(size_t kernel, NodeId id) {
    KernelOf(id) = kernel;
    if (Begins(Kernel(kernel), graph_.node(id).op)) is_complete_[kernel] = true;
  }

  void TakeKnown(size_t kernel) {
    for (const NodeId id : cost_.groups[kernel].nodes) {
      if (IsKnown(kernel, id)) Take(kernel, id);
    }
  }

  // The kernel of all nodes that read what `id` computes, if that is one.
  std::optional<size_t> KernelOfReaders(NodeId id) {
    std::optional<size_t> kernel;
    for (const ValueId value : graph_.node(id).outputs) {
      if (!value.valid()) continue;
      if (outputs_.contains(value)) return std::nullopt;
      for (const NodeId reader : readers_[value.value()]) {
        const std::optional<size_t> own = KernelOf(reader);
        if (!own.has_value() || (kernel.has_value() && *own != *kernel)) return std::nullopt;
        kernel = own;
      }
    }
    return kernel;
  }

  void TakeIntoReader(NodeId id) {
    if (KernelOf(id).has_value()) return;
    const std::optional<size_t> kernel = KernelOfReaders(id);
    if (!kernel.has_value() || IsMove(Kernel(*kernel))) return;
    const absl::string_view op = graph_.node(id).op;
    if (!is_complete_[*kernel] || TakesInFront(Kernel(*kernel), op)) Take(*kernel, id);
  }

  void TakeIntoProducer(NodeId id) {
    if (KernelOf(id).has_value() || !IsElementwise(graph_.node(id)) || MayBeAKernel(id)) return;
    std::optional<size_t> last;
    for (const ValueId value : graph_.node(id).inputs) {
      if (!value.valid() || !graph_.value(value).producer.valid()) continue;
      const std::optional<size_t> kernel = KernelOf(graph_.value(value).producer);
      if (kernel.has_value()) last = std::max(last.value_or(0), *kernel);
    }
    if (last.has_value() && TakesBehind(Kernel(*last))) KernelOf(id) = last;
  }

  const model::Graph& graph_;
  const cost::GraphCost& cost_;
  std::vector<std::vector<NodeId>> readers_;  // By value.
  absl::flat_hash_set<ValueId> outputs_;
  absl::flat_hash_set<std::string> of_unknown_nodes_;  // Operators of kernels without nodes.
  std::vector<bool> is_complete_;  // By kernel: whether it has the node that it is named after.
  KernelMap map_;
};

}  // namespace

absl::string_view OperatorOf(const kernels::KernelSpec& spec) {
  const absl::string_view op = spec.op;
  const size_t colon = op.rfind(':');
  return colon == absl::string_view::npos ? op : op.substr(colon + 1);
}

bool IsBlocked(const kernels::KernelSpec& spec) { return absl::StrContains(spec.op, ".nchwc:"); }

absl::string_view MainOperator(absl::string_view op) {
  absl::ConsumePrefix(&op, "Fused");
  return op;
}

KernelMap MapKernels(const model::Graph& graph, const cost::GraphCost& cost) {
  return Mapping(graph, cost).Make();
}

}  // namespace quotient::explain
