// The part of ENodeCosts for attention that runs as one kernel.

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "absl/base/casts.h"
#include "absl/container/flat_hash_set.h"
#include "core/base/fingerprint.h"
#include "core/kernels/attention.h"
#include "core/pricing/enode_costs.h"

namespace quotient::pricing {

using egraph::ENodeId;

void ENodeCosts::AddAttentions() {
  const std::vector<egraph::ClassId> roots = tensors_.CanonicalRoots();
  const absl::flat_hash_set<egraph::ClassId> outputs(roots.begin(), roots.end());
  const auto is_output = [&](ENodeId node) {
    return outputs.contains(tensors_.egraph->class_of(node));
  };
  for (const ENodeId product : products_) {
    for (const AttentionENodes& nodes : FindAttentions(tensors_, product)) {
      if (is_output(nodes.scores) || is_output(nodes.logits) || is_output(nodes.softmax)) continue;
      const int kernel = AttentionKernel(nodes);
      if (kernel >= 0) attentions_.push_back({nodes, kernel});
    }
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
  }
  for (kernels::Operand& operand : operands) operand.layout = kernels::Layout::kPlain;
  return known->second = KernelIndex(kernels::MakeSpec(
             kernels::kAttentionOp, attributes, std::move(operands), {last.outputs[0].type},
             partition_.threads, footprint_log2_, partition_.storage));
}

// A Fusion is a pair of e-nodes and saves at most the cost of its consumer, so what the attention
// kernel saves is divided between two pairs. As much as possible goes to the last product with the
// Softmax, whose result nothing else may read then. The rest goes to the Softmax with its logits.
void ENodeCosts::AddAttentionFusions(std::vector<extract::Fusion>* fusions) const {
  std::map<std::pair<ENodeId, ENodeId>, double> savings;  // The largest by consumer and producer.
  const auto add = [&savings](ENodeId consumer, ENodeId producer, double saving) {
    double& largest = savings[{consumer, producer}];
    largest = std::max(largest, saving);
  };
  for (const auto& [nodes, kernel] : attentions_) {
    const double softmax = Cost(nodes.softmax), weighted = Cost(nodes.weighted);
    const double saved = Cost(nodes.scores) + softmax + weighted - CostOf(kernel, false);
    if (!std::isfinite(saved) || saved <= 0) continue;
    add(nodes.weighted, nodes.softmax, std::min(saved, weighted));
    add(nodes.softmax, nodes.logits, std::clamp(saved - weighted, 0.0, softmax));
  }
  for (const auto& [pair, saving] : savings) {
    if (saving > 0) fusions->push_back({pair.first, pair.second, saving});
  }
}

}  // namespace quotient::pricing
