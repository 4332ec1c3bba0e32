#include "core/optimize/same_kernels.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/kernels/kernel_spec.h"

namespace quotient::optimize {
namespace {

std::vector<std::string> Keys(const Costed& graph) {
  std::vector<std::string> keys;
  for (const kernels::KernelGroup& group : graph.cost.groups) {
    if (group.spec.free) continue;
    keys.push_back(kernels::KernelKey(group.spec));
  }
  std::ranges::sort(keys);
  return keys;
}

std::vector<std::string> KeysWithConstants(const Costed& graph) {
  std::vector<std::string> keys;
  for (const kernels::KernelGroup& group : graph.cost.groups) {
    if (group.spec.free) continue;
    std::string& key = keys.emplace_back(kernels::KernelKey(group.spec));
    for (const model::ValueId id : group.operands) {
      const bool is_constant = id.valid() && graph.graph.is_constant(id);
      if (is_constant) absl::StrAppend(&key, " ", graph.graph.value(id).constant->digest().Hex());
    }
  }
  std::ranges::sort(keys);
  return keys;
}

// A backend that runs files optimizes them by itself, so there only equal kernels of its own mean
// equal times.
bool EqualKernelsMeanEqualTimes(const Baseline& baseline) {
  return !baseline.original.device->runs_files() || baseline.file_costs.has_value();
}

Costed KernelsOf(const Packaged& candidate) {
  return {candidate.prepared.cut.graph, candidate.cost};
}

// How often a graph has each kernel whose cost is an estimate, by key.
using EstimatedCounts = std::map<std::string, int>;

EstimatedCounts EstimatedKernels(const cost::GraphCost& graph) {
  EstimatedCounts counts;
  for (size_t i = 0; i < graph.costs.size(); ++i) {
    if (graph.costs[i].source != cost::CostSource::kModel) continue;
    ++counts[kernels::KernelKey(graph.groups[i].spec)];
  }
  return counts;
}

}  // namespace

bool HaveSameKernels(const Costed& a, const Costed& b) {
  // Digests of constants take long, and few graphs need them.
  return Keys(a) == Keys(b) && KeysWithConstants(a) == KeysWithConstants(b);
}

bool HaveSameEstimates(const cost::GraphCost& a, const cost::GraphCost& b) {
  return EstimatedKernels(a) == EstimatedKernels(b);
}

bool TakeSameTime(const Baseline& baseline, const Packaged& a, const Packaged& b) {
  return EqualKernelsMeanEqualTimes(baseline) && HaveSameKernels(KernelsOf(a), KernelsOf(b));
}

bool TakesTimeOfOriginal(const Baseline& baseline, const Packaged& candidate) {
  return EqualKernelsMeanEqualTimes(baseline) &&
         HaveSameKernels(KernelsOf(candidate),
                         {baseline.original.prepared.cut.graph, baseline.cost});
}

}  // namespace quotient::optimize
