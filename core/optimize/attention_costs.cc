// ENodeCosts: attention as one kernel.

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "absl/base/casts.h"
#include "core/base/fingerprint.h"
#include "core/kernels/attention.h"
#include "core/optimize/enode_costs.h"

namespace quotient::optimize {

using egraph::ENodeId;

void ENodeCosts::AddAttentions(ENodeId weighted) {
  for (AttentionENodes& nodes : FindAttentions(tensors_, weighted)) {
    const int kernel = AttentionKernel(nodes);
    if (kernel >= 0) attentions_.push_back({nodes, kernel});
  }
}

int ENodeCosts::AttentionKernel(const AttentionENodes& nodes) {
  const int scores = KernelOf(nodes.scores), weighted = KernelOf(nodes.weighted);
  const int sum = KernelOf(nodes.sum);
  if (scores < 0 || weighted < 0 || KernelOf(nodes.softmax) < 0) return -1;
  if (nodes.sum.valid() && sum < 0) return -1;
  Fingerprint content;
  for (const int kernel : {scores, weighted, sum}) content.Add(static_cast<uint64_t>(kernel));
  for (const ENodeId node : nodes.transposes) content.Add(static_cast<uint64_t>(KernelOf(node)));
  content.Add(static_cast<uint64_t>(nodes.mask));
  content.Add(absl::bit_cast<uint64_t>(nodes.scale));
  const auto [known, fresh] = attention_kernels_.try_emplace(content.value(), -1);
  if (!fresh) return known->second;
  const kernels::KernelSpec product = prices_.Spec(scores), last = prices_.Spec(weighted);
  std::vector<kernels::Operand> operands = {product.inputs[0], product.inputs[1], last.inputs[1]};
  if (sum >= 0) operands.push_back(prices_.Spec(sum).inputs[nodes.mask]);
  if (!kernels::IsAttention(operands[0].type, operands[1].type, operands[2].type,
                            sum >= 0 ? &operands[3].type : nullptr)) {
    return -1;
  }
  model::AttributeMap attributes;
  if (nodes.scale != 1) attributes.Set("scale", nodes.scale);
  constexpr const char* kPermutations[] = {"q_perm", "k_perm", "v_perm"};
  for (int i = 0; i < 3; ++i) {
    const int transpose = KernelOf(nodes.transposes[i]);
    if (transpose < 0) continue;
    const kernels::KernelSpec spec = prices_.Spec(transpose);
    attributes.Set(kPermutations[i], spec.attributes.GetInts("perm"));
    operands[i] = spec.inputs[0];
    operands[i].layout = kernels::Layout::kPlain;
  }
  return known->second = KernelIndex(kernels::MakeSpec(
             kernels::kAttentionOp, attributes, std::move(operands), {last.outputs[0].type},
             partition_.threads, footprint_log2_, partition_.storage));
}

// What the one kernel saves: all that the Transposes and the Softmax cost, and of the products what
// is more than it takes.
void ENodeCosts::AddAttentionFusions(std::vector<extract::Fusion>* fusions) const {
  using Kind = extract::Fusion::Kind;
  std::map<std::pair<ENodeId, ENodeId>, extract::Fusion> best;  // by consumer and producer
  std::set<ENodeId> last;
  const auto add = [&best](ENodeId consumer, ENodeId producer, double saving, Kind kind) {
    if (!(saving > 0) || std::isinf(saving)) return;
    extract::Fusion& fusion = best[{consumer, producer}];
    if (saving > fusion.saving) fusion = {consumer, producer, saving, kind};
  };
  for (const auto& [nodes, kernel] : attentions_) {
    const double scores = Cost(nodes.scores), softmax = Cost(nodes.softmax);
    const double weighted = Cost(nodes.weighted);
    const double saved = scores + softmax + weighted - CostOf(kernel, false);
    if (!(saved > 0)) continue;
    last.insert(nodes.weighted);
    add(nodes.softmax, nodes.logits, std::min(saved, softmax), Kind::kEpilogue);
    add(nodes.weighted, nodes.softmax, std::min(saved - softmax, weighted), Kind::kEpilogue);
    for (int i = 0; i < 3; ++i) {
      const ENodeId transpose = nodes.transposes[i];
      if (KernelOf(transpose) < 0) continue;
      add(i < 2 ? nodes.scores : nodes.weighted, transpose, Cost(transpose), Kind::kInPlace);
    }
  }
  for (const ENodeId transpose : transposes_) {
    const egraph::EGraph& graph = *tensors_.egraph;
    for (const ENodeId node : graph.nodes(graph.Find(graph.node(transpose).children[0]))) {
      if (last.contains(node)) add(transpose, node, Cost(transpose), Kind::kEpilogue);
    }
  }
  for (const auto& [pair, fusion] : best) fusions->push_back(fusion);
}

}  // namespace quotient::optimize
