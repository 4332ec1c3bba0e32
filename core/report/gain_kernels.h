#pragma once

// The kernels of two graphs with the values that they read and make, so that those of one can be
// compared with those of the other. A part of gains.

#include <string>
#include <vector>

#include "core/kernels/kernel_spec.h"
#include "core/report/describe.h"
#include "core/report/gains.h"

namespace quotient::report {

// A kernel of a graph. Values are numbers, each listed once.
struct GainKernel {
  const CostedGraph* graph = nullptr;
  // Both are null for a node that no kernel is known to compute.
  const kernels::KernelGroup* group = nullptr;
  const cost::KernelCost* cost = nullptr;
  std::string work;  // Identifies what it does.
  std::vector<int> reads;
  std::vector<int> results;  // What other kernels may read.
  std::vector<int> makes;    // Also the values that only the kernel itself reads.

  bool is_reorder() const { return group != nullptr && group->nodes.empty(); }
  double us() const { return cost == nullptr ? 0 : cost->us; }
};

// Numbers for values, by their shared names.
class ValueNumbers {
 public:
  explicit ValueNumbers(const SharedNames& names) : names_(names) {}

  int Of(const std::string& name) {
    const auto shared = names_.find(name);
    const std::string& own = shared == names_.end() ? name : shared->second;
    return numbers_.try_emplace(own, static_cast<int>(numbers_.size())).first->second;
  }
  size_t size() const { return numbers_.size(); }

 private:
  const SharedNames& names_;
  absl::flat_hash_map<std::string, int> numbers_;
};

// Adds the kernels of a graph, and the nodes that no kernel is known to compute.
void AddKernels(const CostedGraph& costed, ValueNumbers& numbers, std::vector<GainKernel>& found);

}  // namespace quotient::report
