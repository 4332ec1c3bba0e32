#pragma once

// Kernels of several e-nodes.
//
// Fusions as part of a plain sum, so that every extractor weighs them without knowing of them. What
// a consumer fuses with gets a class of its own, "this child, computed inside of that consumer",
// which has the child's e-nodes that fuse; an alternative of the consumer uses it instead of the
// child and costs as much less as is saved:
//
//   relu(C), C = {conv(x), ...}        becomes       relu(C) | relu'(I), I = {conv(x)}
//
// A selection of such alternatives stands for one of e-nodes that costs no more, unless the child
// is wanted elsewhere, too: then it is computed once and fused with nobody, which may cost more.
// What selections are said to cost is what they do cost (SelectionCost), and bounds are right in
// any case: the cheapest selection has its alternatives.
//
// A shared kernel gets a class, too, a leaf of its cost, and each member an alternative that needs
// it and costs nothing else.

#include <span>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/extract/extract.h"

namespace quotient::extract {

// A child that a consumer can fuse with.
struct FusedChild {
  struct Producer {
    ENodeId node;
    double saving;
  };
  ClassId child;
  Fusion::Kind kind;
  double most = 0;  // of the producers' savings, but together no more than the consumer's cost
  std::vector<Producer> producers;
};

class FusionTable {
 public:
  explicit FusionTable(const Problem& problem);

  // Sorted by child. Asked of every e-node, where most e-graphs have none.
  std::span<const FusedChild> of(ENodeId consumer) const {
    if (children_.empty()) return {};
    const auto found = children_.find(consumer);
    return found == children_.end() ? std::span<const FusedChild>() : found->second;
  }

 private:
  void AddConsumer(const Problem& problem, std::span<const Fusion> fusions);

  absl::flat_hash_map<ENodeId, std::vector<FusedChild>> children_;
};

// The shared kernels that can save anything, by member.
class SharedKernelTable {
 public:
  explicit SharedKernelTable(const Problem& problem);

  // Null: none. Valid as long as the table.
  const SharedKernel* of(ENodeId member) const {
    if (kernel_of_.empty()) return nullptr;
    const auto found = kernel_of_.find(member);
    return found == kernel_of_.end() ? nullptr : &kernels_[found->second];
  }

 private:
  std::vector<SharedKernel> kernels_;
  absl::flat_hash_map<ENodeId, size_t> kernel_of_;
};

// What SelectionCost adds up, each once.
struct Charges {
  struct Node {
    ENodeId node;
    double saving = 0;  // how much less it costs than by itself
  };
  std::vector<Node> nodes;
  // Of problem.cost.SharedKernels, those that are paid for instead of their members.
  std::vector<size_t> shared;
};
Charges ChargesOf(const Problem& problem, const Selection& selection);

// The sum of the costs of what is needed, less savings: a consumer has those of all kInPlace, and
// the largest of kEpilogue, among the producers that it alone uses; of the members of a shared
// kernel that are chosen no more is paid than what it costs.
double SelectionCost(const Problem& problem, const Selection& selection);

}  // namespace quotient::extract
