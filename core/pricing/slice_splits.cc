#include "core/pricing/slice_splits.h"

namespace quotient::pricing {
namespace {

// The parts of the split that are chosen.
std::vector<domain::Split::Part> ChosenParts(const domain::Split& split,
                                             const std::vector<bool>& chosen) {
  std::vector<domain::Split::Part> parts;
  for (const domain::Split::Part& part : split.parts) {
    if (chosen[part.slice.value()]) parts.push_back(part);
  }
  return parts;
}

}  // namespace

void SliceSplits::Find(std::span<const egraph::ENodeId> slices) {
  splits_.clear();
  for (domain::Split& split : domain::FindSplits(tensors_, slices)) {
    const int kernel = KernelOf(split);
    const bool original = domain::IsOfOriginal(tensors_, split);
    splits_.push_back({std::move(split), kernel, original});
  }
}

int SliceSplits::KernelOf(const domain::Split& slices) {
  SequenceHash content = contents_.HashOf(slices.parts.front().slice);
  content.Add(static_cast<uint64_t>(slices.axis()));
  content.Add(static_cast<uint64_t>(slices.dim));
  for (const domain::Split::Part& part : slices.parts) {
    content.Add(static_cast<uint64_t>(part.range.begin));
    content.Add(static_cast<uint64_t>(part.range.end));
  }
  const auto [known, fresh] = known_.try_emplace(content.value());
  if (fresh) known->second = MakeKernel(slices);
  return known->second;
}

int SliceSplits::MakeKernel(const domain::Split& slices) {
  const egraph::ENodeId slice = slices.parts.front().slice;
  const domain::ENodeDescription first = domain::Describe(tensors_, slice);
  const std::vector<kernels::Operand> inputs = operands_.Of(slice, first);
  if (first.free || !AllStatic(inputs, first.output.measured)) return -1;
  const auto axis = static_cast<size_t>(slices.axis());
  std::vector<model::TensorType> outputs;
  for (const domain::SplitOutput& output : domain::OutputsOf(slices)) {
    outputs.push_back(first.output.measured);
    (*outputs.back().shape)[axis] = model::Dim(output.size);
  }
  return kernels_.IndexOf("Split", domain::AttributesOf(slices), inputs, std::move(outputs));
}

std::vector<const PricedSplit*> SliceSplits::Shareable() const {
  std::vector<const PricedSplit*> splits;
  for (const PricedSplit& split : splits_) {
    if (split.kernel >= 0 && CostOf(split) != kImpossible) splits.push_back(&split);
  }
  return splits;
}

std::vector<extract::SharedKernel> SliceSplits::SharedKernels() const {
  std::vector<extract::SharedKernel> shared;
  for (const PricedSplit* const split : Shareable()) {
    shared.push_back({.cost = CostOf(*split)});
    for (const domain::Split::Part& part : split->slices.parts) {
      shared.back().members.push_back(part.slice);
    }
  }
  return shared;
}

std::vector<std::pair<const PricedSplit*, domain::Split>> SliceSplits::Among(
    const std::vector<bool>& chosen, std::span<const double> costs, double operator_us) const {
  std::vector<std::pair<const PricedSplit*, domain::Split>> splits;
  for (const PricedSplit& split : splits_) {
    domain::Split some = {.parts = ChosenParts(split.slices, chosen), .dim = split.slices.dim};
    if (some.parts.size() < 2) continue;
    double alone = operator_us * static_cast<double>(some.parts.size());
    for (const domain::Split::Part& part : some.parts) alone += costs[part.slice.value()];
    const double together = operator_us + (split.kernel < 0 ? 0 : CostOf(split));
    // If the costs are equal, the Split is preferred because the graph then has fewer nodes.
    if (together < alone || (together == alone && some.tiles())) {
      splits.emplace_back(&split, std::move(some));
    }
  }
  return splits;
}

void SliceSplits::AddKernels(const std::vector<bool>& chosen, std::vector<int>* kernels) const {
  for (const PricedSplit& split : splits_) {
    if (split.kernel < 0 || ChosenParts(split.slices, chosen).size() < 2) continue;
    kernels->push_back(split.kernel);
  }
}

}  // namespace quotient::pricing
