#pragma once

// Kernels that compute several e-nodes.
//
// Fusions are expressed as part of a plain sum, so that extractors weigh them without special
// cases. A child that a consumer can fuse with gets a class of its own, "this child, computed
// inside of that consumer", with those e-nodes of the child that can be fused. An alternative of
// the consumer uses this class instead of one child, and costs less by what is saved:
//
//   relu(C), C = {conv(x), ...}        becomes       relu(C) | relu'(I), I = {conv(x)}
//
// A selection of alternatives corresponds to a selection of e-nodes that costs no more, unless the
// child is also used elsewhere. The child is then computed once and not fused, which may cost more.
// Reported costs are those of the e-nodes (SelectionCost). Lower bounds remain valid, since the
// cheapest selection of e-nodes has corresponding alternatives.
//
// A shared kernel gets a class as well, a leaf of its cost. Each member gets an alternative that
// needs this class and costs nothing itself.

#include <span>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/egraph/grouped_list.h"
#include "core/extract/extract.h"

namespace quotient::extract {

// A child that a consumer can fuse with.
struct FusedChild {
  struct Producer {
    ENodeId node;
    double saving;
  };
  ClassId child;
  double most = 0;  // The largest saving.
  std::span<const Producer> producers;
};

class FusionTable {
 public:
  explicit FusionTable(const Problem& problem);

  FusionTable(const FusionTable&) = delete;
  FusionTable& operator=(const FusionTable&) = delete;

  // The fused children of the consumer, sorted by child. Valid as long as the table.
  std::span<const FusedChild> of(ENodeId consumer) const { return children_[consumer.value()]; }

 private:
  void AddConsumer(const Problem& problem, std::span<const Fusion* const> fusions);

  egraph::GroupedList<FusedChild> children_;     // By ENodeId.
  std::vector<FusedChild::Producer> producers_;  // Those of all children.
};

// The shared kernels that can save anything, by member.
class SharedKernelTable {
 public:
  explicit SharedKernelTable(const Problem& problem);

  // Null if there is none. Valid as long as the problem's cost function does not change.
  const SharedKernel* of(ENodeId member) const {
    if (kernel_of_.empty()) return nullptr;
    const auto found = kernel_of_.find(member);
    return found == kernel_of_.end() ? nullptr : found->second;
  }

 private:
  absl::flat_hash_map<ENodeId, const SharedKernel*> kernel_of_;
};

// The items that SelectionCost adds up, each once.
struct Charges {
  struct Node {
    ENodeId node;
    // By how much it costs less than as a kernel of its own.
    double saving = 0;
  };
  std::vector<Node> nodes;
  // Indices into problem.cost.SharedKernels() of kernels that are paid for instead of their
  // members.
  std::vector<size_t> shared;
};
Charges ChargesOf(const Problem& problem, const Selection& selection);

// The sum of the costs of what is needed, less savings. A consumer saves the largest of its fusions
// with producers that only it uses. The chosen members of a shared kernel together cost no more
// than the kernel.
double SelectionCost(const Problem& problem, const Selection& selection);

}  // namespace quotient::extract
