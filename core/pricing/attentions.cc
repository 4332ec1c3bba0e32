#include "core/pricing/attentions.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <map>
#include <utility>

#include "absl/base/casts.h"
#include "absl/container/flat_hash_set.h"
#include "core/kernels/attention.h"

namespace quotient::pricing {

using egraph::ENodeId;

void Attentions::Find(std::span<const ENodeId> products, std::span<const ENodeKernel> enodes) {
  attentions_.clear();
  const std::vector<egraph::ClassId> roots = tensors_.CanonicalRoots();
  const absl::flat_hash_set<egraph::ClassId> outputs(roots.begin(), roots.end());
  const auto is_output = [&](ENodeId node) {
    return outputs.contains(tensors_.egraph->class_of(node));
  };
  for (const ENodeId product : products) {
    for (const AttentionENodes& nodes : FindAttentions(tensors_, product)) {
      if (is_output(nodes.scores) || is_output(nodes.logits) || is_output(nodes.softmax)) continue;
      const int kernel = KernelOf(nodes, enodes);
      if (kernel >= 0) attentions_.push_back({nodes, kernel});
    }
  }
}

int Attentions::KernelOf(const AttentionENodes& nodes, std::span<const ENodeKernel> enodes) {
  const auto kernel_of = [enodes](ENodeId node) {
    return node.valid() ? enodes[node.value()].kernel : -1;
  };
  const int scores = kernel_of(nodes.scores), weighted = kernel_of(nodes.weighted);
  const int sum = kernel_of(nodes.sum);
  if (scores < 0 || weighted < 0 || kernel_of(nodes.softmax) < 0) return -1;
  if (nodes.sum.valid() && sum < 0) return -1;
  SequenceHash content;
  for (const int kernel : {scores, weighted, sum}) content.Add(static_cast<uint64_t>(kernel));
  for (const ENodeId node : nodes.transposes) content.Add(static_cast<uint64_t>(kernel_of(node)));
  content.Add(static_cast<uint64_t>(nodes.mask));
  content.Add(absl::bit_cast<uint64_t>(nodes.scale));
  const auto [known, fresh] = known_.try_emplace(content.value(), -1);
  if (!fresh) return known->second;
  const KernelPrices& prices = kernels_.prices();
  const kernels::KernelSpec product = prices.Spec(scores), last = prices.Spec(weighted);
  std::vector<kernels::Operand> operands = {product.inputs[0], product.inputs[1], last.inputs[1]};
  if (sum >= 0) operands.push_back(prices.Spec(sum).inputs[nodes.mask]);
  if (!kernels::IsAttention(operands[0].type, operands[1].type, operands[2].type,
                            sum >= 0 ? &operands[3].type : nullptr)) {
    return -1;
  }
  model::AttributeMap attributes;
  if (nodes.scale != 1) attributes.Set("scale", nodes.scale);
  constexpr const char* kPermutations[] = {"q_perm", "k_perm", "v_perm"};
  for (int i = 0; i < 3; ++i) {
    const int transpose = kernel_of(nodes.transposes[i]);
    if (transpose < 0) continue;
    const kernels::KernelSpec spec = prices.Spec(transpose);
    attributes.Set(kPermutations[i], spec.attributes.GetInts("perm"));
    operands[i] = spec.inputs[0];
  }
  for (kernels::Operand& operand : operands) operand.layout = kernels::Layout::kPlain;
  return known->second = kernels_.IndexOf(kernels::kAttentionOp, attributes, std::move(operands),
                                          {last.outputs[0].type});
}

// A Fusion is a pair of e-nodes and saves at most the cost of its consumer, so what the attention
// kernel saves is divided between two pairs. As much as possible goes to the last product with the
// Softmax, whose result nothing else may read then. The rest goes to the Softmax with its logits.
void Attentions::AddFusions(std::span<const double> costs,
                            std::vector<extract::Fusion>* fusions) const {
  const auto cost_of = [costs](ENodeId node) { return costs[node.value()]; };
  std::map<std::pair<ENodeId, ENodeId>, double> savings;  // The largest by consumer and producer.
  const auto add = [&savings](ENodeId consumer, ENodeId producer, double saving) {
    double& largest = savings[{consumer, producer}];
    largest = std::max(largest, saving);
  };
  for (const auto& [nodes, kernel] : attentions_) {
    const double softmax = cost_of(nodes.softmax), weighted = cost_of(nodes.weighted);
    const double saved =
        cost_of(nodes.scores) + softmax + weighted - kernels_.CostOf(kernel, false);
    if (!std::isfinite(saved) || saved <= 0) continue;
    add(nodes.weighted, nodes.softmax, std::min(saved, weighted));
    add(nodes.softmax, nodes.logits, std::clamp(saved - weighted, 0.0, softmax));
  }
  for (const auto& [pair, saving] : savings) {
    if (saving > 0) fusions->push_back({pair.first, pair.second, saving});
  }
}

void Attentions::AddKernels(const std::vector<bool>& chosen, std::vector<int>* kernels) const {
  for (const auto& [of, kernel] : attentions_) {
    std::vector<ENodeId> all = {of.scores, of.logits, of.softmax, of.weighted};
    std::ranges::copy_if(of.transposes, std::back_inserter(all), &ENodeId::valid);
    if (std::ranges::all_of(all, [&](ENodeId node) { return chosen[node.value()]; })) {
      kernels->push_back(kernel);
    }
  }
}

}  // namespace quotient::pricing
