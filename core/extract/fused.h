#pragma once

// Fusions as e-nodes: an e-node together with children that it is one kernel with is an alternative
// in its class, with their children and the cost of the kernel. So costs stay a plain sum, and
// every extractor weighs fusions without knowing of them.
//
// A selection of such alternatives stands for one of e-nodes that costs no more, unless a class is
// wanted twice, fused with different users: then it is computed once and not fused, which may cost
// more. What selections are said to cost is what they do cost (SelectionCost), and bounds are right
// in any case: the cheapest selection has its alternatives.

#include <span>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/extract/extract.h"

namespace quotient::extract {

struct FusedNode {
  std::vector<ENodeId> parts;     // the e-node whose class it is in, then producers
  std::vector<ClassId> children;  // canonical; as often as they occur
  double cost = 0;
  bool has_epilogue = false;  // the first part is the epilogue of another
};

class FusedNodes {
 public:
  explicit FusedNodes(const Problem& problem);

  bool empty() const { return of_.empty(); }
  // All alternatives with this e-node first, itself alone not among them.
  std::span<const FusedNode> of(ENodeId node) const;
  // False if some were left out because they are too many: bounds do not hold then.
  bool complete() const { return complete_; }

 private:
  struct Producer {
    ENodeId node;
    double saving;
    Fusion::Kind kind;
  };

  void Expand(ENodeId consumer);
  void Fuse(ENodeId consumer, ClassId child, std::vector<FusedNode>& variants);
  bool Extend(const FusedNode& base, ClassId child, const Producer& producer,
              const FusedNode& kernel, std::vector<FusedNode>& variants) const;

  const Problem& problem_;
  absl::flat_hash_map<ENodeId, std::vector<Producer>> producers_;  // by consumer
  absl::flat_hash_map<ENodeId, std::vector<FusedNode>> of_;
  bool complete_ = true;
};

// The sum of the costs of what is needed, less savings: a consumer has those of all kInPlace, and
// the largest of kEpilogue, among the producers that it alone uses.
double SelectionCost(const Problem& problem, const Selection& selection);

}  // namespace quotient::extract
