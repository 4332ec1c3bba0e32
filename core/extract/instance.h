#pragma once

// Instance: the relevant part of an extraction problem in flat arrays, numbered without gaps. It
// contains the classes that the roots reach through e-nodes of finite cost, without classes and
// e-nodes for which no finite, acyclic choice exists. Fusions and shared kernels have classes and
// nodes of their own (fusions.h). Immutable.

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/ids.h"
#include "core/egraph/grouped_list.h"
#include "core/extract/extract.h"

namespace quotient::extract {

using Class = StrongId<struct InstanceClassTag>;
using Node = StrongId<struct InstanceNodeTag>;

struct Instance {
  // --- Indexed by Node, in the order of their ENodeId within a class
  std::vector<double> cost;
  std::vector<Class> class_of;
  // Invalid for nodes without an e-node of their own: a producer that is not computed in place
  // after all, a kernel that e-nodes share, or a stand-in for another part.
  std::vector<ENodeId> enode;
  std::vector<uint8_t> rewritten;  // 1 if a rule made the e-node, else 0.
  // In a part (Restrict, Blocks), the corresponding node of the instance that the part was made
  // from. Otherwise empty.
  std::vector<Node> origin;
  egraph::GroupedList<Class> children;  // Each once, in order of occurrence.
  // How often each child occurs, parallel to children. Tree costs count every occurrence.
  egraph::GroupedList<uint32_t> multiplicity;

  // --- Indexed by Class
  std::vector<ClassId> class_id;
  // Whether the class stands for a child that is computed inside of one consumer and only for it.
  std::vector<bool> inside;
  egraph::GroupedList<Node> nodes;    // Never empty.
  egraph::GroupedList<Node> parents;  // Nodes that have the class as a child.

  std::vector<Class> roots;  // Each once.

  // Indexed by Node; empty if nothing fuses. Nodes of several instance classes that compute the
  // same class of the e-graph have the same number here. A selection may contain only one of them,
  // although costs alone might favor computing the class again for each consumer that it fuses
  // with.
  std::vector<uint32_t> computes;
  static constexpr uint32_t kComputesAlone = 0xffffffffu;  // No other class computes it.
  uint32_t num_computed = 0;

  size_t num_classes() const { return class_id.size(); }
  size_t num_nodes() const { return cost.size(); }
};

// NOT_FOUND if there is no finite selection.
absl::StatusOr<Instance> MakeInstance(const Problem& problem);

// The same, including classes and e-nodes for which no acyclic choice exists.
Instance MakeReachableInstance(const Problem& problem);
// The error for a root for which no acyclic choice exists.
absl::Status NoSelection(const Instance& instance, Class root);

// The part of the instance that the roots reach through the e-nodes to keep and that can be
// derived. NOT_FOUND if they contain no acyclic selection.
absl::StatusOr<Instance> Restrict(const Instance& instance, const std::vector<bool>& keep);

// The part in which nothing is computed inside of a consumer. It exists for an instance of a whole
// problem, since everything can be computed for its own sake.
absl::StatusOr<Instance> WithoutFusions(const Instance& instance);

}  // namespace quotient::extract
