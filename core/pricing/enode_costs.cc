#include "core/pricing/enode_costs.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/hash/hash.h"

namespace quotient::pricing {

using domain::OpWord;
using egraph::ENodeId;

ENodeCosts::ENodeCosts(const domain::TensorEGraph& tensors, KernelPrices* prices,
                       int constant_footprint_log2, double operator_us)
    : tensors_(tensors),
      kernels_(prices, constant_footprint_log2),
      operands_(tensors, kernels_.partition()),
      contents_(tensors, operands_, &kernels_),
      epilogues_(tensors, operands_, prices),
      attentions_(tensors, &kernels_),
      splits_(tensors, operands_, contents_, &kernels_),
      layouts_(tensors, &kernels_),
      operator_us_(operator_us) {
  Refresh();
}

void ENodeCosts::Refresh() {
  kernels_.Refresh();
  const egraph::EGraph& graph = *tensors_.egraph;
  operands_.PlanLayouts();
  contents_.NumberValues();
  costs_.assign(graph.enode_bound(), 0);
  enodes_.assign(graph.enode_bound(), ENodeKernel());
  of_original_.clear();
  elementwise_.clear();
  products_.clear();
  slices_.clear();
  for (egraph::ClassId cls : graph.classes()) {
    for (ENodeId node : graph.nodes(cls)) AddENode(node);
  }
  epilogues_.Find(elementwise_, enodes_);
  attentions_.Find(products_, enodes_);
  splits_.Find(slices_);
  layouts_.Find(enodes_);
  Combine();
}

void ENodeCosts::Combine() {
  fusions_.clear();
  epilogues_.AddFusions(costs_, &fusions_);
  attentions_.AddFusions(costs_, &fusions_);
  layout_us_ = layouts_.Costs();
  shared_kernels_ = splits_.SharedKernels();
  for (extract::SharedKernel& shared : shared_kernels_) shared.cost += operator_us_;
}

void ENodeCosts::AddENode(ENodeId node) {
  const OpWord& word = tensors_.domain->word(tensors_.egraph->node(node).op);
  if (word.sort != OpWord::Sort::kOperator) return;
  const SequenceHash hash = contents_.HashOf(node);
  const ENodeContent content = contents_.ContentOf(node, hash);
  ENodeKernel& info = enodes_[node.value()];
  info = {content.kernel, tensors_.Original(node).node.valid(), content.main, content.is_left,
          content.blocking};
  if (content.kernel >= 0) {
    const auto kernel = static_cast<size_t>(content.kernel);
    if (of_original_.size() <= kernel) of_original_.resize(kernel + 1, false);
    if (info.original) of_original_[kernel] = true;
    costs_[node.value()] = kernels_.CostOf(info.kernel, info.original);
  } else if (!content.is_static && !info.original) {
    // A node of the original with unknown types is an opaque e-node. Such an e-node made by a rule
    // could not be costed, so it must not be chosen.
    costs_[node.value()] = kImpossible;
  }
  if (content.elementwise) elementwise_.push_back({node, hash});
  if (word.name == "Slice") slices_.push_back(node);
  if (kernels_.partition().fuses_attention && word.name == "MatMul") products_.push_back(node);
}

bool ENodeCosts::HasKernelOfOriginal(ENodeId node) const {
  const int kernel = enodes_[node.value()].kernel;
  return kernel < 0 || of_original_[kernel];
}

double ENodeCosts::RankOfKernel(ENodeId node) const {
  const int kernel = enodes_[node.value()].kernel;
  return kernel < 0 ? 0 : kernels_.Rank(kernel);
}

std::vector<bool> ENodeCosts::Marked(std::span<const ENodeId> nodes) const {
  std::vector<bool> marked(enodes_.size(), false);
  for (const ENodeId node : nodes) marked[node.value()] = true;
  return marked;
}

std::vector<domain::Split> ENodeCosts::SplitsAmong(std::span<const ENodeId> nodes) const {
  std::vector<domain::Split> splits;
  for (auto& [split, some] : splits_.Among(Marked(nodes), costs_, operator_us_)) {
    splits.push_back(std::move(some));
  }
  return splits;
}

uint64_t ENodeCosts::KernelsDigest(std::span<const ENodeId> nodes) const {
  std::vector<int> kernels;
  std::vector<bool> alone = Marked(nodes);
  for (const auto& [split, some] : splits_.Among(alone, costs_, operator_us_)) {
    for (const domain::Split::Part& part : some.parts) alone[part.slice.value()] = false;
    if (split->kernel >= 0) kernels.push_back(split->kernel);
  }
  for (const ENodeId node : nodes) {
    const int kernel = enodes_[node.value()].kernel;
    if (kernel >= 0 && alone[node.value()]) kernels.push_back(kernel);
  }
  layouts_.AddKernels(nodes, &kernels);
  std::ranges::sort(kernels);
  return absl::HashOf(kernels);
}

std::vector<int> ENodeCosts::KernelsOfLayouts(const extract::Charges& charges) const {
  std::vector<ENodeId> nodes;
  for (const extract::Charges::Node& charge : charges.nodes) nodes.push_back(charge.node);
  std::vector<int> kernels;
  layouts_.AddKernels(nodes, &kernels);
  return kernels;
}

std::vector<KernelPrices::Part> ENodeCosts::PartsOf(const extract::Charges& charges) const {
  std::map<int, double> amounts;
  for (const extract::Charges::Node& charge : charges.nodes) {
    const int kernel = enodes_[charge.node.value()].kernel;
    if (kernel < 0) continue;
    const double cost = Cost(charge.node) - layout_us_[charge.node.value()];
    amounts[kernel] += cost > 0 ? 1 - charge.saving / cost : 1;
  }
  for (const int kernel : KernelsOfLayouts(charges)) amounts[kernel] += 1;
  const std::vector<const PricedSplit*> shareable = splits_.Shareable();
  for (const size_t shared : charges.shared) amounts[shareable[shared]->kernel] += 1;
  std::vector<KernelPrices::Part> parts;
  for (const auto& [kernel, amount] : amounts) {
    if (amount > 0) parts.push_back({kernel, static_cast<float>(amount)});
  }
  return parts;
}

int ENodeCosts::Request(std::span<const ENodeId> nodes) {
  std::vector<int> kernels;
  for (const ENodeId node : nodes) {
    const int kernel = enodes_[node.value()].kernel;
    if (kernel >= 0) kernels.push_back(kernel);
  }
  const std::vector<bool> chosen = Marked(nodes);
  splits_.AddKernels(chosen, &kernels);
  attentions_.AddKernels(chosen, &kernels);
  layouts_.AddKernels(nodes, &kernels);
  return kernels_.prices().Request(kernels);
}

void ENodeCosts::SetBasis(CostBasis basis) {
  kernels_.SetBasis(basis);
  Update();
}

void ENodeCosts::Update() {
  kernels_.prices().UpdateOnly();
  kernels_.Read();
  for (size_t node = 0; node < enodes_.size(); ++node) {
    const ENodeKernel& info = enodes_[node];
    if (info.kernel >= 0) costs_[node] = kernels_.CostOf(info.kernel, info.original);
  }
  Combine();
}

}  // namespace quotient::pricing
